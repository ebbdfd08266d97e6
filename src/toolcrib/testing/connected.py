"""A scripted server on a real wire, and this package's own connection to it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from toolcrib.adapters.connector import McpConnector
from toolcrib.adapters.system_clock import SystemClock
from toolcrib.ports import ClientProfile, Era, Upstream
from toolcrib.settings import HttpLaunch, Limits, StdioLaunch
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted_server import (
    Content,
    Profile,
    ScriptedServer,
    scripted_http,
    scripted_sse,
    scripted_stdio,
    tool,
)
from toolcrib.testing.server.behaviour import Group
from toolcrib.testing.server.rulebook import Wire
from toolcrib.testing.signal_log import SignalLog

__all__ = ["ASKABLE", "PAIRS", "Connected", "connected"]

PAIRS: Final[tuple[tuple[Wire, Era], ...]] = (
    ("stdio", "modern"),
    ("stdio", "handshake"),
    ("http", "modern"),
    ("http", "handshake"),
)
"""Transport and era, in every combination that the specification knows today."""

ASKABLE: Final = ClientProfile(
    {"elicitation": {"form": {}, "url": {}}, "roots": {}, "sampling": {}}, name="rig", version="9"
)
_TOOLS: Final = Content(tools=[tool("slow"), tool("quick"), tool("other")])
_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Connected:
    """Both ends of a connection."""

    server: ScriptedServer[StdioLaunch] | ScriptedServer[HttpLaunch]
    upstream: Upstream
    signals: SignalLog
    facts: Recorder


@asynccontextmanager
async def connected(
    wire: Wire,
    era: Era,
    *groups: Group,
    profile: ClientProfile = ASKABLE,
    limits: Limits = _LIMITS,
) -> AsyncGenerator[Connected]:
    """A server of that era with the tools `slow`, `quick` and `other`, connected to.

    A server of the handshake era answers calls over HTTP as event streams; a `Profile` among the
    groups must say so itself.
    """
    own = Profile() if era == "modern" else Profile(modern=(), event_answers=True)
    recorder, signals = Recorder(), SignalLog()
    connector = McpConnector(limits=limits, observer=recorder, clock=SystemClock())
    open_server = {"stdio": scripted_stdio, "http": scripted_http, "sse": scripted_sse}[wire]
    async with (
        open_server(_TOOLS, own, *groups) as server,
        connector.connect(server.settings(), profile, signals, None) as upstream,
    ):
        if upstream.facts.era != era:
            raise AssertionError(f"met as {upstream.facts.era}, not as {era}")
        yield Connected(server, upstream, signals, recorder)
