"""A session over streams in memory, with a server at the other end that a test scripts."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from toolcrib.adapters.background import background
from toolcrib.adapters.http.outcome import HttpOutcome, join_outcome
from toolcrib.adapters.http.wire import HttpFacts
from toolcrib.adapters.redaction import Redaction
from toolcrib.adapters.session.attempt import Attempt
from toolcrib.adapters.session.guarded_signals import GuardedSignals
from toolcrib.adapters.session.session import Session
from toolcrib.adapters.stdio.noise_count import NoiseCount
from toolcrib.adapters.stdio.stderr_tail import StderrTail
from toolcrib.adapters.stdio.transport import StdioFacts
from toolcrib.ports import ClientProfile
from toolcrib.settings import Limits, Reconnect, ServerSettings, StdioLaunch
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.signal_log import SignalLog
from toolcrib.testing.virtual_clock import LoopClock

__all__ = ["Behaviour", "Message", "Peer", "SessionRig", "ignore", "open_rig", "reopen"]

Message = dict[str, Any]

_PROFILE: Final = ClientProfile(name="rig", version="9")
_RECONNECT: Final = Reconnect()


class Peer:
    """The server's end of one connection: what came, and the ways to answer."""

    def __init__(self, *, http: bool) -> None:
        self.http = http
        self.received: list[Message] = []
        self.headers: list[dict[str, str] | None] = []
        """The headers that came with each message."""
        self.out, self.read = anyio.create_memory_object_stream[SessionMessage | Exception](1000)
        self.write, self._in = anyio.create_memory_object_stream[SessionMessage](0)
        self._arrived = anyio.Event()

    def sent(self, method: str) -> list[Message]:
        """The received messages of one method."""
        return [message for message in self.received if message.get("method") == method]

    def answer(self, message: Message, **result: Any) -> None:
        """Answer a request with a result."""
        response = JSONRPCResponse(jsonrpc="2.0", id=message["id"], result=result)
        self.out.send_nowait(SessionMessage(response))

    def refuse(
        self,
        message: Message,
        code: int,
        text: str = "no",
        *,
        data: object = None,
        outcome: HttpOutcome | None = None,
    ) -> None:
        """Answer a request with an error, as an HTTP transport would where there is an outcome."""
        error = ErrorData(code=code, message=text, data=data)
        if outcome is not None:
            error = join_outcome(error, outcome)
        refusal = JSONRPCError(jsonrpc="2.0", id=message["id"], error=error)
        self.out.send_nowait(SessionMessage(refusal))

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        notification = JSONRPCNotification(jsonrpc="2.0", method=method, params=params)
        self.out.send_nowait(SessionMessage(notification))

    def ask(self, request_id: int | str, method: str, **params: Any) -> None:
        """Send a request of the server."""
        request = JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method, params=params)
        self.out.send_nowait(SessionMessage(request))

    def hang_up(self) -> None:
        """End the connection."""
        self.out.close()

    async def wait_for(self, method: str | None, times: int = 1) -> Message:
        """Wait for that many messages of a method (None: responses); the last of them."""
        while True:
            found = [one for one in self.received if one.get("method") == method]
            if len(found) >= times:
                return found[times - 1]
            await self._arrived.wait()

    async def serve(self, behave: "Behaviour") -> None:
        """Hand each message to the behaviour."""
        async with self._in:
            async for item in self._in:
                metadata = item.metadata
                headers = metadata.headers if isinstance(metadata, ClientMessageMetadata) else None
                message = item.message.model_dump(by_alias=True, exclude_unset=True)
                self.received.append(message)
                self.headers.append(headers)
                self._arrived.set()
                self._arrived = anyio.Event()
                await behave(self, message)

    def close(self) -> None:
        """Close every stream of this end."""
        for stream in (self.out, self.read, self.write, self._in):
            stream.close()


Behaviour = Callable[[Peer, Message], Awaitable[None]]


async def ignore(peer: Peer, message: Message) -> None:
    """The behaviour of a server that answers nothing."""


@dataclass(slots=True)
class SessionRig:
    """Everything a test of a session looks at."""

    attempt: Attempt
    signals: SignalLog
    facts: Recorder
    transport: StdioFacts | HttpFacts
    peers: list[Peer]
    """One for each connection that was opened, the last is the live one."""
    session: Session
    tasks: TaskGroup

    @property
    def peer(self) -> Peer:
        """The server's end of the live connection."""
        return self.peers[-1]


@asynccontextmanager
async def open_rig(
    behave: Behaviour = ignore,
    *,
    http: bool = False,
    profile: ClientProfile = _PROFILE,
    reconnect: Reconnect = _RECONNECT,
    request_seconds: float | None = None,
) -> AsyncGenerator[SessionRig]:
    """A running session whose era is not known yet."""
    recorder, signals = Recorder(), SignalLog()
    launch = StdioLaunch("rig")
    server = ServerSettings("rig", launch, reconnect=reconnect, request_seconds=request_seconds)
    guarded = GuardedSignals(signals, "rig", recorder)
    attempt = Attempt(server, profile, guarded, Limits(), recorder, LoopClock())
    peers: list[Peer] = []
    try:
        async with background() as tasks:
            peer, session, transport = await _open(attempt, behave, tasks, http=http)
            peers.append(peer)
            yield SessionRig(attempt, signals, recorder, transport, peers, session, tasks)
    finally:
        for peer in peers:
            peer.close()


async def reopen(rig: SessionRig, behave: Behaviour) -> Session:
    """End the rig's connection and open another, as a new start of the process does."""
    rig.peer.hang_up()
    await rig.session.wait_closed()
    peer, rig.session, rig.transport = await _open(
        rig.attempt, behave, rig.tasks, http=rig.peer.http
    )
    rig.peers.append(peer)
    return rig.session


async def _open(
    attempt: Attempt, behave: Behaviour, tasks: TaskGroup, *, http: bool
) -> tuple[Peer, Session, StdioFacts | HttpFacts]:
    peer = Peer(http=http)
    redaction = Redaction(())
    noise = NoiseCount("rig", 1000, redaction, attempt.observer)
    transport = HttpFacts() if http else StdioFacts(0, StderrTail(1000, redaction), noise)
    session = Session(attempt, peer.read, peer.write, transport)
    tasks.start_soon(peer.serve, behave)
    await tasks.start(session.run)
    return peer, session, transport
