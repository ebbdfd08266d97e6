"""One gateway before another, in this process: over streams as over stdio, or over loopback."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

import anyio
import anyio.abc
from mcp.shared.memory import create_client_server_memory_streams

from toolcrib.adapters.background import background
from toolcrib.adapters.connector import McpConnector
from toolcrib.adapters.redaction import Redaction
from toolcrib.adapters.session.attempt import Attempt
from toolcrib.adapters.session.era import EraSearch
from toolcrib.adapters.session.guarded_signals import GuardedSignals
from toolcrib.adapters.session.handshake_streams import HandshakeStreams
from toolcrib.adapters.session.listen import ListenLoop
from toolcrib.adapters.session.session import Session
from toolcrib.adapters.stdio.noise_count import NoiseCount
from toolcrib.adapters.stdio.stderr_tail import StderrTail
from toolcrib.adapters.stdio.transport import StdioFacts
from toolcrib.gateway.server import Gateway
from toolcrib.ports import (
    ClientProfile,
    Era,
    EraMemory,
    Progress,
    RequestContext,
    ServerFacts,
    Signals,
)
from toolcrib.settings import Limits, ServerSettings
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.virtual_clock import LoopClock

__all__ = ["Hop", "Sent", "listening"]

Sent = tuple[str, Mapping[str, Any]]
"""Method and parameters, before the envelope."""

_LIMITS: Final = Limits()


class Hop:
    """A Connector between two gateways, which counts what the outer one asks.

    Args:
        inner: The gateway behind it, reached over streams; None: at the server's own URL.
        era: In which the two speak.
    """

    def __init__(self, inner: Gateway | None, era: Era) -> None:
        self._inner = inner
        self._era: Era = era
        self.sent: list[Sent] = []
        """What the outer gateway asked."""

    def count(self, method: str) -> int:
        """How many requests of a method the outer gateway sent."""
        return sum(1 for sent, _ in self.sent if sent == method)

    @asynccontextmanager
    async def connect(
        self,
        server: ServerSettings,
        profile: ClientProfile,
        signals: Signals,
        remembered: EraMemory | None,
    ) -> AsyncGenerator["_Counted"]:
        """One attempt, as the Connector port wants it."""
        del remembered
        recorder, clock = Recorder(), LoopClock()
        handshake = EraMemory("handshake", "2025-11-25", clock.now().wall)
        memory = handshake if self._era == "handshake" else None
        async with AsyncExitStack() as stack:
            if self._inner is None:
                connector = McpConnector(limits=_LIMITS, observer=recorder, clock=clock)
                opened = connector.connect(server, profile, signals, memory)
                session = await stack.enter_async_context(opened)
            else:
                guarded = GuardedSignals(signals, server.id, recorder)
                attempt = Attempt(server, profile, guarded, _LIMITS, recorder, clock)
                opened = _over_streams(self._inner, attempt, memory)
                session = await stack.enter_async_context(opened)
            if session.facts.era != self._era:
                raise AssertionError(f"met as {session.facts.era}, not as {self._era}")
            yield _Counted(session, self.sent)


class _Counted:
    """An Upstream whose requests are noted."""

    def __init__(self, session: Session, sent: list[Sent]) -> None:
        self._session = session
        self._sent = sent

    @property
    def facts(self) -> ServerFacts:
        return self._session.facts

    @property
    def closed(self) -> bool:
        return self._session.closed

    @property
    def stderr(self) -> str:
        return ""

    async def wait_closed(self) -> str:
        return await self._session.wait_closed()

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        await self._session.notify(method, params)

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
        headers: Mapping[str, str] | None = None,
        context: RequestContext | None = None,
    ) -> dict[str, Any]:
        self._sent.append((method, dict(params or {})))
        return await self._session.request(
            method, params, timeout=timeout, progress=progress, headers=headers, context=context
        )


@asynccontextmanager
async def _over_streams(
    inner: Gateway, attempt: Attempt, memory: EraMemory | None
) -> AsyncGenerator[Session]:
    redaction = Redaction(())
    noise = NoiseCount(attempt.server.id, 1000, redaction, attempt.observer)
    transport = StdioFacts(0, StderrTail(1000, redaction), noise)
    streams = HandshakeStreams(attempt.signals)
    async with (
        create_client_server_memory_streams() as ((source, sink), server),
        background() as tasks,
    ):
        tasks.start_soon(inner.serve_streams, *server)
        session = Session(attempt, source, sink, transport)
        await tasks.start(session.run)

        async def renew() -> Session:
            raise AssertionError("the gateway had to be started anew")

        await EraSearch(attempt, session, renew, "stdio").run(memory)
        if session.facts.era == "modern":
            tasks.start_soon(ListenLoop(attempt, session).run)
        else:
            streams.begin(session.facts.capabilities, pipe=True)
        yield session


@asynccontextmanager
async def listening(gateway: Gateway) -> AsyncGenerator[str]:
    """A gateway that is configured for HTTP, on its port; the URL of its MCP endpoint."""

    async def serve(*, task_status: anyio.abc.TaskStatus[int]) -> None:
        await gateway.serve_http(task_status=task_status)

    async with anyio.create_task_group() as tasks:
        port = await tasks.start(serve)
        yield f"http://127.0.0.1:{port}/mcp"
        tasks.cancel_scope.cancel()
