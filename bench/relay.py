"""The bare relay: the SDK's server and dispatcher forwarding raw, and nothing else.

It is what a gateway costs at least.
"""

import argparse
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from wire import Peer, connect


def build(upstream: str, era: str) -> Server[Any]:
    """A server that forwards listings and calls to one upstream (a URL, or `stdio`)."""
    peer: list[Peer] = []

    @asynccontextmanager
    async def lifespan(_server: Server[Any]) -> AsyncGenerator[None]:
        if upstream == "stdio":
            command = StdioServerParameters(command=sys.executable, args=["bench/echo_server.py"])
            transport = stdio_client(command)
        else:
            transport = streamable_http_client(upstream)
        async with connect(transport, era) as connected:
            peer.append(connected)
            yield

    async def on_list(
        _ctx: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> Any:
        return await peer[0].request("tools/list", {})

    async def on_call(_ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> Any:
        raw = {"name": params.name, "arguments": params.arguments}
        return await peer[0].request("tools/call", raw)

    return Server(
        "relay", version="1", lifespan=lifespan, on_list_tools=on_list, on_call_tool=on_call
    )


async def serve_stdio(server: Server[Any]) -> None:
    """Serves on stdin and stdout until they close."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main() -> None:
    """Serves on stdio, or with `--port` on HTTP."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--upstream", required=True)
    parser.add_argument("--era", choices=["modern", "handshake"], required=True)
    options = parser.parse_args()
    server = build(options.upstream, options.era)
    if options.port is None:
        anyio.run(serve_stdio, server)
    else:
        uvicorn.run(
            server.streamable_http_app(), host="127.0.0.1", port=options.port, log_level="error"
        )


if __name__ == "__main__":
    main()
