"""Builds the adapters and hands them to the rooms: the one file that sees both sides.

Adapters are imported when they are built, so that a command pays only for what it uses.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import anyio
import anyio.to_thread

from toolcrib.ports import (
    ClientProfile,
    Clock,
    Connector,
    EraMemory,
    InvalidationBus,
    Keys,
    Observer,
    Signals,
    SnapshotStore,
    Upstream,
)
from toolcrib.settings import HttpLaunch, Limits, Secret, ServerSettings, Settings, StdioLaunch


@dataclass(frozen=True, slots=True)
class Parts:
    """What a crib is built of; replace any of them to test, or to run on something else."""

    clock: Clock
    observer: Observer
    keys: Keys
    store: SnapshotStore
    bus: InvalidationBus
    watch_store: Callable[[], Coroutine[Any, Any, None]]
    """Runs beside the crib and brings in what other processes wrote."""
    connector: Connector


@contextmanager
def open_parts(settings: Settings, *, observer: Observer, keys: Keys) -> Generator[Parts]:
    """The parts of production: the system's clock, the real transports, the configured store.

    A store that cannot be used is replaced by one in memory, and the observer is told.
    """
    from toolcrib.adapters.store.memory import MemoryStore
    from toolcrib.adapters.system_clock import SystemClock

    clock = SystemClock()
    path = settings.store.path
    if path is None:
        store = MemoryStore(clock)
    else:
        from toolcrib.adapters.sqlite.store import open_store

        store = open_store(path, clock, observer)
    try:
        yield Parts(
            clock=clock,
            observer=observer,
            keys=keys,
            store=store,
            bus=store.bus,
            watch_store=store.watch,
            connector=LateConnector(settings.limits, observer, clock),
        )
    finally:
        store.close()


class LateConnector:
    """Imports the transports beside the event loop when the first server is connected.

    They are a fifth of what a gateway imports, and hosts are answered from the store before.
    """

    def __init__(self, limits: Limits, observer: Observer, clock: Clock) -> None:
        self._limits = limits
        self._observer = observer
        self._clock = clock
        self._loaded: Connector | None = None

    @asynccontextmanager
    async def connect(
        self,
        server: ServerSettings,
        profile: ClientProfile,
        signals: Signals,
        remembered: EraMemory | None,
    ) -> AsyncGenerator[Upstream]:
        """A connection, as the Connector port describes it."""
        connector = self._loaded
        if connector is None:
            connector = self._loaded = await anyio.to_thread.run_sync(self._load)
        async with connector.connect(server, profile, signals, remembered) as upstream:
            yield upstream

    def _load(self) -> Connector:
        from toolcrib.adapters.connector import McpConnector

        return self._loaded or McpConnector(
            limits=self._limits, observer=self._observer, clock=self._clock
        )


class Observation:
    """Logs on standard error and counters for Prometheus; no configured secret gets through."""

    def __init__(
        self, settings: Settings, *, log_format: Literal["text", "json"], log_level: int
    ) -> None:
        from toolcrib.adapters.observing.log_lines import start_logging
        from toolcrib.adapters.observing.log_observer import LogObserver

        self.protect(settings)
        start_logging(log_format, level=log_level, redact=self._blot)
        self.observer: Observer = LogObserver()
        """Takes every fact."""
        self.metrics: Callable[[], bytes] | None = None
        """What `/metrics` shows, where there is such a page."""
        if settings.gateway.http is not None:
            from toolcrib.adapters.observing.fan_out import FanOut
            from toolcrib.adapters.observing.prometheus_observer import PrometheusObserver

            prometheus = PrometheusObserver()
            self.observer = FanOut([self.observer, prometheus])
            self.metrics = prometheus.render

    def protect(self, settings: Settings) -> None:
        """Blots the secrets of these settings out of every log line from now on."""
        from toolcrib.adapters.redaction import Redaction

        self._redact: Callable[[str], str] = Redaction(secrets_of(settings))

    def _blot(self, text: str) -> str:
        """What the newest settings allow to be written; a handler keeps this method for good."""
        return self._redact(text)


def secrets_of(settings: Settings) -> list[Secret]:
    """Every configured value that may be a secret."""
    found: list[Secret] = []
    for server in settings.servers:
        match server.launch:
            case StdioLaunch(env=env):
                found += env.values()
            case HttpLaunch(url=url, headers=headers):
                found += [url, *headers.values()]
    return found
