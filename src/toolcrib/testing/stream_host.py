"""A host that speaks raw JSON-RPC over a pair of message streams, as over stdio."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, jsonrpc_message_adapter

from toolcrib.core.partition import LOCAL
from toolcrib.protocol.envelope import modern_meta
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.streams import serve_streams

CLIENT = {"name": "host", "version": "1"}


class StreamHost:
    """Sends messages as they are, and keeps what comes back in order."""

    def __init__(self, outgoing: Any) -> None:
        self._outgoing = outgoing
        self._grew = anyio.Event()
        self.heard: list[dict[str, Any]] = []
        """Every message received."""

    def take(self, message: SessionMessage | Exception) -> None:
        """Keep one received message."""
        assert isinstance(message, SessionMessage)  # noqa: S101 - memory streams carry no others
        dumped = message.message.model_dump(by_alias=True, exclude_unset=True)
        if isinstance(message.message, JSONRPCError):
            dumped["error"] = {k: v for k, v in dumped["error"].items() if v is not None}
        self.heard.append(dumped)
        self._grew.set()
        self._grew = anyio.Event()

    async def wait(self, count: int) -> None:
        """Wait until so many messages were received."""
        while len(self.heard) < count:
            await self._grew.wait()

    async def send(self, method: str, params: Any = None, **members: Any) -> None:
        """Send a message; with `id=` it is a request."""
        message = {"jsonrpc": "2.0", "method": method, **members}
        if params is not None:
            message["params"] = params
        await self._outgoing.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))

    async def respond(self, request_id: str | int, **members: Any) -> None:
        """Answer a request of the server: with `result=`, or with `error=`."""
        message = {"jsonrpc": "2.0", "id": request_id, **members}
        await self._outgoing.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))

    async def ask(self, request_id: str | int, method: str, params: Any = None) -> dict[str, Any]:
        """Send a request and wait for the response to it."""
        begun = len(self.heard)
        await self.send(method, params, id=request_id)
        return await self.response(request_id, begun)

    async def response(self, request_id: str | int, begun: int = 0) -> dict[str, Any]:
        """Wait for the response to a request; earlier messages than `begun` are not looked at."""
        while True:
            for message in self.heard[begun:]:
                if message.get("id") == request_id:
                    return message
            await self._grew.wait()

    async def initialize(self, version: str = "2025-11-25") -> dict[str, Any]:
        """Do the handshake; the response to it."""
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
        answer = await self.ask("init", "initialize", params)
        await self.send("notifications/initialized")
        return answer


def enveloped(params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Parameters with the envelope of 2026-07-28."""
    given = dict(params or {})
    meta = {**modern_meta("2026-07-28", "host", "1", {}), **given.pop("_meta", {})}
    return {**given, "_meta": meta}


@asynccontextmanager
async def stream_host(kernel: Kernel) -> AsyncGenerator[StreamHost]:
    """A host at the other end of a served pair of streams; leaving closes its side."""
    async with (
        create_client_server_memory_streams() as ((incoming, outgoing), server),
        anyio.create_task_group() as tasks,
    ):
        host = StreamHost(outgoing)

        async def hear() -> None:
            async for message in incoming:
                host.take(message)

        tasks.start_soon(serve_streams, kernel, *server, LOCAL)
        tasks.start_soon(hear)
        yield host
        await outgoing.aclose()
