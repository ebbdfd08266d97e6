"""A crib in front of scripted servers, all in this process and on the event loop's own time."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from math import inf
from typing import Any, Final

from toolcrib.adapters.linear_patterns import linear_pattern
from toolcrib.adapters.schema.checker import JsonSchemaChecker
from toolcrib.adapters.sealing import AesSealer
from toolcrib.adapters.stemming import EnglishStemmer
from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.compose import LateSandboxes, Parts
from toolcrib.config.keys import InstallationKey
from toolcrib.context.tokens import HeuristicCounter
from toolcrib.crib import Crib
from toolcrib.discovery.instruments import Instruments
from toolcrib.ports import ClientProfile, EraMemory, Sandboxes, Signals, Upstream
from toolcrib.settings import (
    ApprovalSettings,
    CodeSettings,
    GatewaySettings,
    Limits,
    SearchSettings,
    ServerSettings,
    Settings,
    StdioLaunch,
)
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.virtual_clock import LoopClock

PATIENT: Final = SearchSettings(index_wait_seconds=inf)
"""Where time is virtual it jumps while a thread works: nobody could wait for that in seconds."""


class ScriptedServers:
    """The Connector that hands each configured server its own script."""

    def __init__(self, scripts: Mapping[str, ScriptedUpstream]) -> None:
        self._scripts = dict(scripts)

    def connect(
        self,
        server: ServerSettings,
        profile: ClientProfile,
        signals: Signals,
        remembered: EraMemory | None,
    ) -> AbstractAsyncContextManager[Upstream]:
        """A connection to the script of that server."""
        return self._scripts[server.id].connect(server, profile, signals, remembered)

    def add(self, server: str, script: ScriptedUpstream) -> None:
        """Scripts one more server."""
        self._scripts[server] = script


def server_settings(server: str, **changes: Any) -> ServerSettings:
    """Settings of one scripted server; keyword arguments replace fields."""
    return replace(ServerSettings(server, StdioLaunch(server)), **changes)


class ScriptedWorld:
    """What a scripted crib is made of, for a test to look into."""

    def __init__(
        self,
        scripts: Mapping[str, ScriptedUpstream],
        store: MemoryStore | None,
        sandboxes: Sandboxes | None = None,
    ) -> None:
        self.clock = LoopClock()
        self.recorder = Recorder()
        self.servers = ScriptedServers(scripts)
        self.store = store or MemoryStore(self.clock)
        self.sandboxes = sandboxes or LateSandboxes(CodeSettings())

    def parts(self) -> Parts:
        """The parts for `Crib.open`."""
        keys = InstallationKey(b"k" * 32)
        return Parts(
            clock=self.clock,
            observer=self.recorder,
            keys=keys,
            store=self.store,
            bus=self.store.bus,
            watch_store=self.store.watch,
            connector=self.servers,
            entries=self.store.entries,
            sealer=AesSealer(keys, self.clock),
            checker=JsonSchemaChecker(Limits()),
            instruments=Instruments(EnglishStemmer(), linear_pattern, HeuristicCounter()),
            sandboxes=self.sandboxes,
        )


@asynccontextmanager
async def scripted_crib(
    scripts: Mapping[str, ScriptedUpstream],
    *,
    settings: Mapping[str, ServerSettings] | None = None,
    limits: Limits | None = None,
    store: MemoryStore | None = None,
    gateway: GatewaySettings | None = None,
    approval: ApprovalSettings | None = None,
    sandboxes: Sandboxes | None = None,
    **others: Any,
) -> AsyncGenerator[tuple[Crib, ScriptedWorld]]:
    """A running crib with one server for each script.

    Args:
        scripts: By server id.
        settings: Those of single servers, where the defaults do not do.
        limits: The limits of the crib.
        store: The memory that snapshots survive in; a new one where none is given.
        gateway: How it shows itself, and what it relays.
        approval: Which calls a person is asked about.
        sandboxes: Where programs run; the real runtimes where none are given.
        others: Further members of `Settings`, such as `exposure` and `skills`. Without `search`,
            every search waits until all is indexed (`PATIENT`).
    """
    runtimes = sandboxes or LateSandboxes(others.get("code") or CodeSettings())
    world = ScriptedWorld(scripts, store, runtimes)
    servers = tuple((settings or {}).get(name) or server_settings(name) for name in scripts)
    patient: dict[str, Any] = {"search": PATIENT, **others}
    everything = Settings(
        servers=servers,
        limits=limits or Limits(),
        gateway=gateway or GatewaySettings(),
        approval=approval or ApprovalSettings(),
        **patient,
    )
    async with Crib.open(everything, world.parts()) as crib:
        yield crib, world
