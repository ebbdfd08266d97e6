"""A host that speaks raw HTTP to an ASGI application, and may hang up at any moment."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from toolcrib.protocol.envelope import modern_headers, modern_meta

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

MODERN: Final = "2026-07-28"
BASE: Final[Mapping[str, str]] = {
    "host": "127.0.0.1:8770",
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}


@dataclass(slots=True)
class Exchange:
    """One request and what has come back of it so far."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    begun: anyio.Event = field(default_factory=anyio.Event)
    ended: anyio.Event = field(default_factory=anyio.Event)
    """Set once the answer is complete, or the application is done with it."""
    flowing: anyio.Event = field(default_factory=anyio.Event)
    """Set while the host reads; put a new one to let the application wait until it is set."""
    _gone: anyio.Event = field(default_factory=anyio.Event)
    _grew: anyio.Event = field(default_factory=anyio.Event)

    def hang_up(self) -> None:
        """Close the connection from the host's side."""
        self._gone.set()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The JSON-RPC messages so far: the one of a JSON answer, or those of a stream."""
        if self.headers.get("content-type") == "application/json":
            return [json.loads(self.body)] if self.body else []
        lines = self.body.decode().split("\r\n")
        return [json.loads(line.removeprefix("data: ")) for line in lines if line[:6] == "data: "]

    @property
    def message(self) -> dict[str, Any]:
        """The last message."""
        return self.messages[-1]

    async def wait_messages(self, count: int) -> list[dict[str, Any]]:
        """Wait until a stream has brought so many messages."""
        await self.begun.wait()
        while len(self.messages) < count:
            await self._grew.wait()
        return self.messages

    def take(self, message: Message) -> None:
        """Take one message of the application."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            self.begun.set()
            return
        self.body += message.get("body", b"")
        self._grew.set()
        self._grew = anyio.Event()
        if not message.get("more_body", False):
            self.ended.set()

    async def wait_gone(self) -> None:
        """Wait until the connection is closed from either side."""
        async with anyio.create_task_group() as tasks:

            async def until(event: anyio.Event) -> None:
                await event.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(until, self._gone)
            tasks.start_soon(until, self.ended)


class AsgiHost:
    """Sends requests to one application; a header with an empty value is left out."""

    def __init__(self, app: App, server: tuple[str, int] = ("127.0.0.1", 8770)) -> None:
        self._app = app
        self._server = server
        self._last_id = 0

    @asynccontextmanager
    async def exchange(
        self,
        method: str = "POST",
        path: str = "/mcp",
        *,
        headers: Mapping[str, str] | list[tuple[str, str]] = BASE,
        body: bytes | list[bytes] = b"",
    ) -> AsyncGenerator[Exchange]:
        """Send a request, and hang up at the end if it is still going on."""
        lines = headers.items() if isinstance(headers, Mapping) else headers
        scope: Message = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in lines if value],
            "client": ("127.0.0.1", 50_000),
            "server": self._server,
        }
        exchange = Exchange()
        exchange.flowing.set()
        parts = body if isinstance(body, list) else [body]
        queue: list[Message] = [
            {"type": "http.request", "body": part, "more_body": rest > 0}
            for rest, part in zip(reversed(range(len(parts))), parts, strict=True)
        ]

        async def receive() -> Message:
            if queue:
                return queue.pop(0)
            await exchange.wait_gone()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            await exchange.flowing.wait()
            exchange.take(message)

        async def run() -> None:
            await self._app(scope, receive, send)
            exchange.ended.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            yield exchange
            exchange.hang_up()

    async def ask(
        self,
        method: str = "POST",
        path: str = "/mcp",
        *,
        headers: Mapping[str, str] | list[tuple[str, str]] = BASE,
        body: bytes | list[bytes] = b"",
    ) -> Exchange:
        """Send a request and wait for the whole answer."""
        async with self.exchange(method, path, headers=headers, body=body) as exchange:
            await exchange.ended.wait()
        return exchange

    def modern(
        self, method: str, params: Mapping[str, Any] | None = None, **changes: str
    ) -> dict[str, Any]:
        """A request of 2026-07-28, as arguments of `ask`; keywords replace headers."""
        given = dict(params or {})
        meta = {**modern_meta(MODERN, "host", "1", {}), **given.pop("_meta", {})}
        whole = {**given, "_meta": meta}
        headers = {**BASE, **_lower(modern_headers(MODERN, method, whole)), **_spelled(changes)}
        return {"headers": headers, "body": self._body(method, whole)}

    def handshake(
        self, method: str, params: Mapping[str, Any] | None = None, *, session: str = ""
    ) -> dict[str, Any]:
        """A request of a handshake revision, in a session."""
        headers = {**BASE, "mcp-protocol-version": "2025-11-25", "mcp-session-id": session}
        return {"headers": headers, "body": self._body(method, params)}

    def notification(
        self, method: str, params: Mapping[str, Any] | None = None, *, session: str = ""
    ) -> dict[str, Any]:
        """A notification in a session."""
        message = {"jsonrpc": "2.0", "method": method, "params": dict(params or {})}
        headers = {**BASE, "mcp-session-id": session}
        return {"headers": headers, "body": json.dumps(message).encode()}

    async def initialize(self, version: str = "2025-11-25") -> str:
        """Open a session of a handshake revision; its id."""
        client = {"name": "host", "version": "1"}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        answered = await self.ask(headers=BASE, body=self._body("initialize", params))
        session = answered.headers["mcp-session-id"]
        await self.ask(**self.notification("notifications/initialized", session=session))
        return session

    @property
    def last_id(self) -> int:
        """The id of the request that was made last."""
        return self._last_id

    def _body(self, method: str, params: Mapping[str, Any] | None) -> bytes:
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method}
        return json.dumps({**message, "params": dict(params or {})}).encode()


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _spelled(changes: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in changes.items()}
