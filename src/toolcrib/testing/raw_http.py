"""An HTTP/1.1 server that does what a test says, to the byte: for faults no framework makes."""

import json
import socket
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

__all__ = ["Behaviour", "RawExchange", "RawHttpServer", "serve_raw_http"]

_HEAD_BYTES: Final = 64 * 1024
_GONE: Final = (
    anyio.EndOfStream,
    anyio.IncompleteRead,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
)
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


class RawExchange:
    """One request as it came, and the ways to answer it."""

    def __init__(self, stream: SocketStream, method: str, path: str) -> None:
        self._stream = stream
        self.method = method
        self.path = path
        self.headers: dict[str, str] = {}
        """By lower-case name."""
        self.body = b""
        self.gone = False
        """Whether the connection cannot carry another request."""

    @property
    def message(self) -> dict[str, Any]:
        """The JSON-RPC message in the body."""
        return json.loads(self.body)

    async def raw(self, text: bytes) -> None:
        """Send these bytes."""
        await self._stream.send(text)

    async def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Send a whole answer; `_` in a header's name stands for `-`."""
        lines = [f"HTTP/1.1 {status} -", f"content-length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    async def answer(self, *, status: int = 200, **fields: Any) -> None:
        """Send a JSON-RPC answer as JSON, such as `result={}`, under the id of the request."""
        message = {"jsonrpc": "2.0", "id": self.message.get("id"), **fields}
        await self.reply(status, json.dumps(message).encode(), content_type="application/json")

    async def begin_events(self, **headers: str) -> None:
        """Send the head of an event stream."""
        lines = ["HTTP/1.1 200 -", "content-type: text/event-stream", "transfer-encoding: chunked"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n")

    async def event(self, message: object = None, *, text: str = "", **fields: str) -> None:
        """Send one event: fields such as `id="1"` and `retry="5"`, then the message as data."""
        lines = [f"{name}: {value}" for name, value in fields.items()]
        if message is not None or text:
            lines.append("data: " + (text or json.dumps(message)))
        block = ("\n".join(lines) + "\n\n").encode()
        await self.raw(f"{len(block):x}\r\n".encode() + block + b"\r\n")

    async def end_events(self) -> None:
        """End an event stream in good order."""
        await self.raw(b"0\r\n\r\n")

    async def hang_up(self) -> None:
        """Close the connection in good order, wherever the answer is."""
        self.gone = True
        await self._stream.aclose()

    async def reset(self) -> None:
        """Break the connection so that the other side sees a reset."""
        sock = self._stream.extra_attributes[SocketAttribute.raw_socket]()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        await self.hang_up()

    async def wait_gone(self) -> None:
        """Wait until the other side closes the connection."""
        self.gone = True
        with suppress(*_GONE):
            while True:
                await self._stream.receive()


Behaviour = Callable[[RawExchange], Awaitable[None]]


class RawHttpServer:
    """Hands each request to a behaviour and remembers it."""

    def __init__(self, behaviour: Behaviour, port: int) -> None:
        self._behaviour = behaviour
        self.port = port
        self.requests: list[RawExchange] = []
        """Every request, in the order in which their bodies were whole."""
        self.connections = 0
        """How many connections were accepted."""

    @property
    def url(self) -> str:
        """Where the server is reached."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def sent(self, method: str) -> list[RawExchange]:
        """The requests of one HTTP method."""
        return [request for request in self.requests if request.method == method]

    async def serve(self, stream: SocketStream) -> None:
        """Answer the requests of one connection."""
        self.connections += 1
        reader = BufferedByteReceiveStream(stream)
        async with stream:
            with suppress(*_GONE):
                while True:
                    request = await self._read(reader, stream)
                    self.requests.append(request)
                    await self._behaviour(request)
                    if request.gone:
                        return

    @staticmethod
    async def _read(reader: BufferedByteReceiveStream, stream: SocketStream) -> RawExchange:
        head = (await reader.receive_until(b"\r\n\r\n", _HEAD_BYTES)).decode("latin-1")
        first, *lines = head.split("\r\n")
        method, path, _ = first.split(" ", 2)
        request = RawExchange(stream, method, path)
        for line in lines:
            name, _, value = line.partition(":")
            request.headers[name.lower()] = value.strip()
        length = int(request.headers.get("content-length", "0"))
        if length:
            request.body = await reader.receive_exactly(length)
        return request


@asynccontextmanager
async def serve_raw_http(behaviour: Behaviour) -> AsyncGenerator[RawHttpServer]:
    """Serve on a free loopback port as long as the context lasts.

    An exception of the behaviour ends the context with it.
    """
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        port = listener.extra_attributes[SocketAttribute.local_port]()
        server = RawHttpServer(behaviour, port)
        tasks.start_soon(listener.serve, server.serve)
        yield server
        tasks.cancel_scope.cancel()
