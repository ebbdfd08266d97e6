"""The measuring client: the SDK's transports and dispatcher in one era, and nothing else."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
from mcp.shared.dispatcher import CallOptions
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
INFO = {"name": "bench", "version": "1"}


class Peer:
    """Sends requests in one era over one connection."""

    def __init__(self, dispatcher: JSONRPCDispatcher[Any], era: str) -> None:
        self._dispatcher = dispatcher
        self._modern = era == "modern"

    async def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The raw result."""
        out = dict(params)
        if not self._modern:
            headers = {} if method == "initialize" else {"mcp-protocol-version": HANDSHAKE}
            return await self._dispatcher.send_raw_request(
                method, out, CallOptions(headers=headers)
            )
        out["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": INFO,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
        if isinstance(params.get("name"), str):
            headers["mcp-name"] = params["name"]
        return await self._dispatcher.send_raw_request(method, out, CallOptions(headers=headers))

    async def open(self) -> None:
        """Shakes hands, where the era has a handshake."""
        if self._modern:
            return
        hello = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": INFO}
        await self.request("initialize", hello)
        headers = {"mcp-protocol-version": HANDSHAKE}
        await self._dispatcher.notify(
            "notifications/initialized", None, CallOptions(headers=headers)
        )


@asynccontextmanager
async def connect(transport: AbstractAsyncContextManager[Any], era: str) -> AsyncGenerator[Peer]:
    """A connection in that era over one of the SDK's client transports."""

    async def refuse(_ctx: Any, method: str, _params: Any) -> dict[str, Any]:
        raise ValueError(method)

    async def ignore(_ctx: Any, _method: str, _params: Any) -> None:
        await anyio.lowlevel.checkpoint()

    async with transport as (read, write), anyio.create_task_group() as tasks:
        dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(read, write)
        await tasks.start(dispatcher.run, refuse, ignore)
        peer = Peer(dispatcher, era)
        await peer.open()
        yield peer
        tasks.cancel_scope.cancel()
