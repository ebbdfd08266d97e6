"""An answer whose stream may break off, or be let go, and be taken up again by its host.

MCP 2025-11-25, transports: resumability and redelivery. Every event has an id that names its stream
and its place in it; the first one has no content and makes the stream resumable before anything has
happened. A host comes back with the last id it saw and is told what followed it, of this stream and
of no other.
"""

import re
import secrets
from collections import deque
from dataclasses import dataclass, field
from typing import Final

import anyio

from toolcrib.wire.http.guard import HttpLimits
from toolcrib.wire.http.reply import COMMENT, EVENTS, Message, Reply, Send, event, send_json

FAREWELL: Final = 5.0
"""Seconds in which a response that is done is closed."""

PER_SESSION: Final = 16
"""Finished streams that are kept for one session."""

_EVENT_ID: Final = re.compile(r"([0-9a-f]{16})-([0-9]{1,9})")


@dataclass(slots=True, eq=False)
class Line:
    """One HTTP response that carries the stream, for as long as it does."""

    send: Send
    done: anyio.Event = field(default_factory=anyio.Event)
    """Set when it carries the stream no longer, and is to be closed."""
    closed: anyio.Event = field(default_factory=anyio.Event)

    async def close_when_done(self) -> None:
        """Close the response once it carries nothing any more; the host may come back."""
        await self.done.wait()
        await self.send({"type": "http.response.body", "body": b""})
        self.closed.set()

    async def wait_closed(self) -> None:
        """Wait until a response that is done is closed, for a moment: nobody need be reading it."""
        if self.done.is_set():
            with anyio.move_on_after(FAREWELL):
                await self.closed.wait()


class ResumableReply(Reply):
    """The answer to one request of a host that may come back for it."""

    def __init__(self, line: Line, limits: HttpLimits) -> None:
        super().__init__(line.send)
        self.name: Final = secrets.token_hex(8)
        """What the ids of its events begin with."""
        self.line: Line | None = line
        """The response that carries it now; None while its host is away."""
        self._limits = limits
        self._events: deque[tuple[int, bytes]] = deque()
        self._size = 0
        self._count = 0
        self._sending: anyio.CancelScope | None = None

    @property
    def size(self) -> int:
        """Bytes of what is kept for a host that comes back."""
        return self._size

    @property
    def resumable(self) -> bool:
        """Whether the host has an id to come back with."""
        return self._streaming

    @property
    def over(self) -> bool:
        """Whether the response to the request was given."""
        return self._over

    async def begin(self) -> None:
        """Make a stream of the answer, if it is none yet."""
        async with self._lock:
            if not (self._streaming or self._over):
                await self._open()

    async def keep_alive(self) -> None:
        """Send a comment to the host that is there."""
        async with self._lock:
            if not self._over:
                if not self._streaming:
                    await self._open()
                await self._pass({"body": COMMENT, "more_body": True})

    async def finish(self, message: bytes, status: int) -> None:
        """Send the response; where there is a stream, as its last event, which is kept."""
        async with self._lock:
            self._over = True
            if not self._streaming:
                await send_json(self._send, status, message)
                return
            await self._pass({"body": self._kept(message), "more_body": True})
            self._end_line()

    async def let_go(self, line: Line) -> None:
        """Close a response that carries the stream; what follows is kept until its host is back."""
        async with self._lock:
            if self.line is line:
                self._end_line()

    def leave(self, line: Line) -> None:
        """Take note that a response carries nothing any more: its host hung up."""
        if self.line is line:
            self.line = None

    async def take_up(self, send: Send, after: int) -> Line:
        """Go on over another response, from the event after that one; the older one is closed."""
        if self._sending is not None:
            # A host that comes back does not read the old response any more.
            self._sending.cancel()
        async with self._lock:
            self._end_line()
            line = self.line = Line(send)
            await send({"type": "http.response.start", "status": 200, "headers": list(EVENTS)})
            missed = b"".join(chunk for number, chunk in self._events if number > after)
            await self._pass({"body": missed or COMMENT, "more_body": True})
            if self._over:
                self._end_line()
        return line

    def _end_line(self) -> None:
        if self.line is not None:
            self.line.done.set()
            self.line = None

    async def _say(self, message: bytes) -> None:
        async with self._lock:
            if self._over:
                return
            if not self._streaming:
                await self._open()
            await self._pass({"body": self._kept(message), "more_body": True})

    async def _open(self) -> None:
        self._streaming = True
        await self._pass({"type": "http.response.start", "status": 200, "headers": list(EVENTS)})
        retry = int(self._limits.retry_seconds * 1000)
        primer = f"id: {self.name}-0\r\nretry: {retry}\r\ndata:\r\n\r\n"
        await self._pass({"body": primer.encode(), "more_body": True})

    async def _pass(self, message: Message) -> None:
        """Send to the host that is there; broken off when it comes back over another response."""
        if self.line is None:
            return
        with anyio.CancelScope() as self._sending:
            await self.line.send({"type": "http.response.body", **message})
        self._sending = None

    def _kept(self, message: bytes) -> bytes:
        """The next event, kept for a host that comes back."""
        self._count += 1
        chunk = event(message, f"{self.name}-{self._count}")
        self._events.append((self._count, chunk))
        self._size += len(chunk)
        while self._size > self._limits.replay_bytes and len(self._events) > 1:
            self._size -= len(self._events.popleft()[1])
        return chunk


class Shelf:
    """Finished streams that their hosts may still come back for: bounded, whoever they are of."""

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits
        self._kept: dict[ResumableReply, tuple[float, dict[str, ResumableReply]]] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, reply: ResumableReply, streams: dict[str, ResumableReply]) -> None:
        """Keep a finished stream among the streams of its session for a while."""
        self._kept[reply] = (anyio.current_time(), streams)
        self._size += reply.size
        finished = [kept for kept in streams.values() if kept in self._kept]
        for kept in finished[:-PER_SESSION]:
            self._forget(kept, streams)
        self.tidy()

    def tidy(self) -> None:
        """Forget what is too old, and the oldest while all together are too large."""
        limits, now = self._limits, anyio.current_time()
        for reply, (since, streams) in tuple(self._kept.items()):
            if self._size <= limits.replays_bytes and now - since <= limits.replays_seconds:
                return
            self._forget(reply, streams)

    def clear(self, streams: dict[str, ResumableReply]) -> None:
        """Forget all streams of a session."""
        for reply in tuple(streams.values()):
            self._forget(reply, streams)

    def _forget(self, reply: ResumableReply, streams: dict[str, ResumableReply]) -> None:
        streams.pop(reply.name, None)
        if self._kept.pop(reply, None) is not None:
            self._size -= reply.size


def place(last_event_id: str) -> tuple[str, int] | None:
    """The stream and the place in it that an event id names; None for no id of ours."""
    found = _EVENT_ID.fullmatch(last_event_id)
    return None if found is None else (found[1], int(found[2]))
