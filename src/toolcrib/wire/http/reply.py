"""One HTTP answer: JSON, or a stream of events where something precedes the result.

Committing to a stream is put off as long as possible, because the status of an error can only be
told before (MCP 2026-07-28, streamable HTTP: sending messages).
"""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final

import anyio

from toolcrib.calls.results.encoding import encode
from toolcrib.wire.http.guard import Headers, Turned

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Field = tuple[bytes, bytes]

TEXT: Final[Field] = (b"content-type", b"text/plain; charset=utf-8")
JSON: Final[Field] = (b"content-type", b"application/json")
EVENTS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
COMMENT: Final = b": still here\r\n\r\n"
_BREAKING: Final = (
    (b"\xc2\x85", b"\\u0085"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)
"""Characters that some readers take for the end of a line, and their JSON escapes."""


def event(message: bytes, event_id: str = "") -> bytes:
    """Frame one encoded JSON-RPC message as an event, with an id where there is one."""
    for raw, escaped in _BREAKING:
        if raw in message:
            message = message.replace(raw, escaped)
    name = b"id: " + event_id.encode() + b"\r\n" if event_id else b""
    return b"event: message\r\n" + name + b"data: " + message + b"\r\n\r\n"


async def send_whole(
    send: Send, status: int, body: bytes = b"", fields: tuple[Field, ...] = ()
) -> None:
    """Send an answer that is no stream."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*fields, length]})
    await send({"type": "http.response.body", "body": body})


async def send_json(send: Send, status: int, body: bytes, fields: tuple[Field, ...] = ()) -> None:
    """Send one encoded JSON message."""
    await send_whole(send, status, body, (JSON, *fields))


async def turn_away(send: Send, turned: Turned) -> None:
    """Answer a request that is not served, in plain text; the connection is not kept."""
    fields = (TEXT, (b"connection", b"close"))
    await send_whole(send, turned.status, turned.reason.encode() + b"\n", fields)


def header_lines(scope: Mapping[str, Any]) -> Headers:
    """The header lines of an ASGI request as text; their names are in lower case already."""
    return tuple(
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
    )


class Reply:
    """The answer to one request; safe to use from several tasks."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._streaming = False
        self._over = False
        self._lock = anyio.Lock(fast_acquire=True)
        self.lost = False
        """Whether the host hung up and cannot hear anything of this answer any more."""

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification on this answer's stream; nothing once it is over."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        await self._say(encode(message))

    async def request(self, request_id: int, method: str, params: Mapping[str, Any]) -> None:
        """Send a request of ours on this answer's stream."""
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        await self._say(encode(message))

    def hung_up(self) -> None:
        """Take note that the host closed the connection, and did not mean to cancel by it."""
        self.lost = True

    async def keep_alive(self) -> None:
        """Send a comment, so that no proxy takes the silence for the end."""
        await self._stream(COMMENT)

    async def finish(self, message: bytes, status: int) -> None:
        """Send the response; as JSON with its status, or as the last event of the stream."""
        async with self._lock:
            self._over = True
            if self._streaming:
                await self._send({"type": "http.response.body", "body": event(message)})
            else:
                await send_json(self._send, status, message)

    async def end(self) -> None:
        """End a stream that has no response, such as the one a handshake host opens with GET."""
        async with self._lock:
            self._over = True
            if not self._streaming:
                await self._open()
            await self._send({"type": "http.response.body", "body": b""})

    async def _say(self, message: bytes) -> None:
        await self._stream(event(message))

    async def _stream(self, chunk: bytes) -> None:
        async with self._lock:
            if self._over:
                return
            if not self._streaming:
                await self._open()
            await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def _open(self) -> None:
        self._streaming = True
        await self._send({"type": "http.response.start", "status": 200, "headers": list(EVENTS)})


async def exchange(
    reply: Reply,
    receive: Receive,
    work: Callable[[], Awaitable[None]],
    *,
    keepalive: float,
    on_disconnect: Callable[[], None] | None = None,
) -> None:
    """Run `work`, which uses `reply`, while keeping the connection alive and watching it.

    A host of 2026-07-28 cancels a request by closing its stream; one of a handshake revision that
    goes away has cancelled nothing (MCP 2025-11-25, transports), so its work is carried to the end,
    and `on_disconnect` is called instead.
    """

    async def watch() -> None:
        while True:
            with anyio.move_on_after(keepalive) as patience:
                message = await receive()
                if message["type"] != "http.disconnect":
                    continue
                if on_disconnect is None:
                    tasks.cancel_scope.cancel()
                else:
                    on_disconnect()
                return
            if patience.cancelled_caught:
                await reply.keep_alive()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await work()
        tasks.cancel_scope.cancel()
