"""A host that speaks JSON-RPC in lines of bytes to a gateway in this process.

Between the two stands what stands there on standard streams, the pipe apart: lines are read and
written by the gateway's own code, and what it writes is read by a parser that takes JSON alone.
"""

import json
import math
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
from mcp.shared.message import SessionMessage

from toolcrib.gateway.server import Gateway
from toolcrib.protocol.envelope import modern_meta
from toolcrib.wire.lines import line_of, message_of

_HELLO: Final = {
    "protocolVersion": "2025-11-25",
    "clientInfo": {"name": "lines", "version": "1"},
}

Replying = Callable[[str, Mapping[str, Any]], object]
"""(method, parameters) of a question -> the result that it is answered with."""


def strictly(line: bytes) -> dict[str, Any]:
    """The message on a line. Raises `ValueError` for what is no JSON, NaN among it."""
    message = json.loads(line.decode(), parse_constant=_no_json)
    if not isinstance(message, dict) or b"\n" in line.removesuffix(b"\n"):
        raise ValueError(f"this is no message on a line: {line[:200]!r}")
    return message  # pyright: ignore[reportUnknownVariableType] - keys of JSON are texts


class LineHost:
    """Sends lines, and keeps what comes back; requests are numbered from 1."""

    def __init__(self, to_gateway: Any, *, modern: bool, capabilities: Mapping[str, Any]) -> None:
        self._to_gateway = to_gateway
        self._modern = modern
        self._capabilities = capabilities
        self._ids = 0
        self._grew = anyio.Event()
        self.heard: list[dict[str, Any]] = []
        """Every message that came, in order."""
        self.replying: Replying = lambda _method, _params: {"action": "decline"}
        """Answers what the gateway asks."""

    async def send(self, line: bytes) -> None:
        """Write a line, which need not be a message."""
        message = message_of(line)
        if isinstance(message, SessionMessage):
            await self._to_gateway.send(message)
        else:
            await self.hear(line_of(SessionMessage(message)))

    async def hear(self, line: bytes) -> None:
        """Take a line of the gateway; a question is answered."""
        message = strictly(line)
        self.heard.append(message)
        self._grew.set()
        self._grew = anyio.Event()
        if "method" in message and "id" in message:
            result = self.replying(message["method"], message.get("params") or {})
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            await self.send(json.dumps(answer).encode())

    async def open(self) -> None:
        """Shake hands, where the era has a handshake."""
        if not self._modern:
            await self.ask("initialize", {**_HELLO, "capabilities": dict(self._capabilities)})
            await self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        raw: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The response to one request, with its `result` or its `error`.

        Args:
            method: The method.
            params: Parameters; the envelope is added where the era has one.
            raw: More parameters, as text that is put in as it is. What makes the line unreadable
                is answered without an id: then no other request may be under way.
        """
        self._ids += 1
        begun = len(self.heard)
        members = {name: json.dumps(value) for name, value in self._whole(params).items()}
        inner = ",".join(f"{json.dumps(k)}:{v}" for k, v in {**members, **(raw or {})}.items())
        await self.send(
            f'{{"jsonrpc":"2.0","id":{self._ids},"method":{json.dumps(method)},'
            f'"params":{{{inner}}}}}'.encode()
        )
        return await self._response(self._ids, begun)

    def _whole(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        given = dict(params or {})
        if not self._modern:
            return given
        meta = modern_meta("2026-07-28", "lines", "1", self._capabilities)
        return {**given, "_meta": {**meta, **given.get("_meta", {})}}

    async def _response(self, request_id: int, begun: int) -> dict[str, Any]:
        while True:
            for message in self.heard[begun:]:
                if "method" not in message and message.get("id") in {request_id, None}:
                    return message
            await self._grew.wait()


@asynccontextmanager
async def line_host(
    gateway: Gateway, *, modern: bool, capabilities: Mapping[str, Any] | None = None
) -> AsyncGenerator[LineHost]:
    """A host with a connection of its own, hands shaken where its era does that.

    Args:
        gateway: It has to be running.
        modern: Whether it speaks the stateless revision, or the newest with a handshake.
        capabilities: What it declares.
    """
    to_gateway, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
    outgoing, from_gateway = anyio.create_memory_object_stream[SessionMessage](math.inf)
    host = LineHost(to_gateway, modern=modern, capabilities=capabilities or {})

    async def listen() -> None:
        async for message in from_gateway:
            await host.hear(line_of(message))

    async with to_gateway, from_gateway, anyio.create_task_group() as tasks:
        tasks.start_soon(gateway.serve_streams, incoming, outgoing)
        tasks.start_soon(listen)
        await host.open()
        yield host
        tasks.cancel_scope.cancel()


def _no_json(word: str) -> float:
    raise ValueError(f"{word} is no JSON")
