"""A small HTTP/1.1 server on a loopback port, over h11, that can break off anywhere.

Not an ASGI server: those do not let an application close a connection in the middle of an answer,
refuse to listen for a while, or run on trio; and each costs more to start than all of this.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from typing import Final
from urllib.parse import parse_qs, urlsplit

import anyio
import h11
from anyio.abc import SocketAttribute, SocketStream, TaskGroup, TaskStatus
from anyio.streams.stapled import MultiListener

__all__ = ["HttpRequest", "HttpServer", "port_of"]

_READ: Final = 65_536
_EVENT_HEADERS: Final = {"content-type": "text/event-stream", "cache-control": "no-cache"}
_GONE: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)


class HttpRequest:
    """One request, and the ways to answer it."""

    def __init__(self, connection: "_Connection", head: h11.Request, body: bytes) -> None:
        url = urlsplit(head.target.decode("ascii", "replace"))
        self.method = head.method.decode("ascii")
        self.path = url.path
        self.query = {key: values[-1] for key, values in parse_qs(url.query).items()}
        self.headers = {key.decode("ascii"): value.decode("latin-1") for key, value in head.headers}
        """By lower-case name; of a repeated one the last."""
        self.body = body
        self.begun = False
        """Whether the answer's head is on its way."""
        self.answered = False
        """Whether the end of the answer is on its way."""
        self.left = False
        """Whether the client went away before that."""
        self._connection = connection

    async def respond(
        self, status: int, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> None:
        """Answer in one piece."""
        self.answered = True
        await self._begin(status, {**(headers or {}), "content-length": str(len(body))})
        await self._connection.send(h11.Data(data=body), h11.EndOfMessage())

    async def begin_events(self, headers: Mapping[str, str] | None = None) -> None:
        """Answer with a stream of events, and send its head."""
        await self._begin(200, {**_EVENT_HEADERS, **(headers or {})})

    async def send_event(self, data: bytes, *, event: str = "message", count: int = 1) -> None:
        """Send one event, so many times."""
        await self._connection.send(h11.Data(data=_event(data, event) * count))

    async def end_events(self) -> None:
        """End the stream in an orderly way."""
        self.answered = True
        await self._connection.send(h11.EndOfMessage())

    async def break_off(self, body: bytes = b"") -> None:
        """Send half of that answer, or nothing at all, and close the connection."""
        self.answered = True
        if body and self.begun:
            whole = _event(body, "message")
            await self._connection.send(h11.Data(data=whole[: len(whole) // 2]))
        elif body:
            headers = {"content-type": "application/json", "content-length": str(len(body))}
            await self._begin(200, headers)
            await self._connection.send(h11.Data(data=body[: len(body) // 2]))
        await self._connection.close()

    async def _begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.begun = True
        await self._connection.send(h11.Response(status_code=status, headers=list(headers.items())))


App = Callable[[HttpRequest], Awaitable[None]]
Admit = Callable[[], AbstractAsyncContextManager[bool]]
"""Entered for each connection, left when it is over; says whether it is served at all."""


def _event(data: bytes, event: str) -> bytes:
    return b"event: " + event.encode() + b"\ndata: " + data + b"\n\n"


class _Connection:
    """One TCP connection: requests one after the other, each watched for a client that leaves."""

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.SERVER)
        self._closed = False
        self._lock = anyio.Lock()

    async def run(self, app: App) -> None:
        """Serve until either side has had enough."""
        while (request := await self._next()) is not None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch, request, tasks)
                await app(request)
                tasks.cancel_scope.cancel()
            if self._http.our_state is not h11.DONE or self._closed:
                return
            self._http.start_next_cycle()

    async def _next(self) -> HttpRequest | None:
        """The next request with its whole body; None when there is none."""
        head: h11.Request | None = None
        body = bytearray()
        while True:
            match self._http.next_event():
                case h11.Request() as head:
                    pass
                case h11.Data(data):
                    body += data
                case h11.EndOfMessage() if head is not None:
                    return HttpRequest(self, head, bytes(body))
                case h11.NEED_DATA:
                    if not await self._feed():
                        return None
                case _:
                    return None

    async def _feed(self) -> bool:
        """Take in what the client sends; False when it sends no more."""
        try:
            self._http.receive_data(await self._stream.receive(_READ))
        except _GONE:
            return False
        return True

    async def _watch(self, request: HttpRequest, tasks: TaskGroup) -> None:
        """Stop serving a request whose client has gone."""
        while await self._feed():
            pass
        request.left = not request.answered
        tasks.cancel_scope.cancel()

    async def send(self, *events: h11.Event) -> None:
        """Send parts of an answer. A client that is gone is noticed by the watch."""
        async with self._lock:
            pieces = [self._http.send(event) or b"" for event in events]
            with suppress(*_GONE):
                await self._stream.send(b"".join(pieces))

    async def close(self) -> None:
        """Close it, whatever is unsaid."""
        self._closed = True
        await self._stream.aclose()


def port_of(listener: MultiListener[SocketStream]) -> int:
    """The port that a listener was given."""
    return listener.extra(SocketAttribute.local_port)  # noqa: S610 - no query


class HttpServer:
    """Listens on one loopback port, which stays the same over stops and starts."""

    def __init__(self, app: App, *, admit: Admit | None = None) -> None:
        self.port = 0
        """Known once it has listened."""
        self._app = app
        self._admit = admit
        self._listening: anyio.CancelScope | None = None
        self._stopped = anyio.Event()
        self._live: dict[anyio.CancelScope, None] = {}

    async def start(self, tasks: TaskGroup) -> None:
        """Listen; returns once it does. Nothing happens where it listens already."""
        if self._listening is None:
            await tasks.start(self._listen)

    async def stop(self) -> None:
        """Stop listening and cut every connection; returns once the port is closed."""
        if self._listening is not None:
            self.interrupt()
            await self._stopped.wait()

    def interrupt(self) -> None:
        """Stop without waiting: for a connection that cuts itself."""
        if self._listening is not None:
            self._listening.cancel()

    def drop(self) -> None:
        """Cut every connection that is up, and go on listening."""
        for scope in self._live:
            scope.cancel()

    async def _listen(self, *, task_status: TaskStatus[None]) -> None:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=self.port)
        self.port = port_of(listener)
        self._stopped = anyio.Event()
        try:
            with anyio.CancelScope() as self._listening:
                async with listener:
                    task_status.started()
                    await listener.serve(self._serve)
        finally:
            self._listening = None
            self._stopped.set()

    async def _serve(self, stream: SocketStream) -> None:
        with anyio.CancelScope() as scope:
            self._live[scope] = None
            try:
                async with (
                    stream,
                    self._admit() if self._admit else nullcontext(enter_result=True) as admitted,
                ):
                    if admitted:
                        await _Connection(stream).run(self._app)
            finally:
                del self._live[scope]
