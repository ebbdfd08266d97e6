"""The server at the end of every measured path, on the SDK: one tool that answers at once.

Its arguments and its result have schemas, so that a gateway that checks both does so.
"""

import argparse
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "times": {"type": "integer", "minimum": 1}},
    "required": ["text"],
}
OUTPUT_SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "times": {"type": "integer", "minimum": 1},
        "letters": {"type": "array", "items": {"type": "string", "maxLength": 1}},
    },
    "required": ["text", "times"],
    "additionalProperties": False,
}


def build(tools: int) -> Server[Any]:
    """A server with `echo` and as many further tools as asked for."""
    echo = types.Tool(
        name="echo",
        description="Says it again.",
        input_schema=SCHEMA,
        output_schema=OUTPUT_SCHEMA,
    )
    listing = [echo]
    listing += [
        types.Tool(
            name=f"tool_{number}",
            description=f"Does thing {number} with a text, as often as wanted. " * 3,
            input_schema=SCHEMA,
        )
        for number in range(tools - 1)
    ]

    async def on_list(
        _ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        start = int(params.cursor) if params is not None and params.cursor else 0
        page = listing[start : start + 1000]
        more = start + 1000 < len(listing)
        return types.ListToolsResult(tools=page, next_cursor=str(start + 1000) if more else None)

    async def on_call(
        _ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        given = params.arguments or {}
        text, times = str(given.get("text", "")), int(given.get("times", 1))
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)],
            structured_content={"text": text, "times": times, "letters": list(text)},
        )

    return Server("echo", version="1", on_list_tools=on_list, on_call_tool=on_call)


async def serve_stdio(server: Server[Any]) -> None:
    """Serves on stdin and stdout until they close."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main() -> None:
    """Serves on stdio, or with `--port` on HTTP."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--tools", type=int, default=1)
    options = parser.parse_args()
    server = build(options.tools)
    if options.port is None:
        anyio.run(serve_stdio, server)
    else:
        uvicorn.run(
            server.streamable_http_app(), host="127.0.0.1", port=options.port, log_level="error"
        )


if __name__ == "__main__":
    main()
