"""Runs programs in the code mode of FastMCP: run by `.peers/fastmcp`, where it is installed.

The first line of standard input is {"tools": [definitions]}; they are held beside `echo` and
`wait`. Each further line is a program as a JSON string: it is run, and what it returned is written
as a line of JSON. The first line of standard output says the version.
"""

import asyncio
import json
import logging
import sys
from importlib.metadata import version

from fastmcp import FastMCP
from fastmcp.experimental.transforms.code_mode import CodeMode
from fastmcp.tools.base import Tool


def echo(text: str) -> str:
    """Says it again."""
    return text


async def wait(seconds: float) -> float:
    """Waits so long."""
    await asyncio.sleep(seconds)
    return seconds


def serving(tools: list[dict[str, object]]) -> FastMCP:
    """A server that hides these tools behind `execute`."""
    server = FastMCP("measured")
    for tool in tools:
        server.add_tool(
            Tool(
                name=str(tool["name"]),
                description=str(tool["description"]),
                parameters=tool["inputSchema"],
            )
        )
    server.tool(echo)
    server.tool(wait)
    server.add_transform(CodeMode())
    return server


async def main() -> None:
    """Runs what it is given until there is no more."""
    logging.disable(logging.WARNING)
    server = serving(json.loads(sys.stdin.readline())["tools"])
    print(json.dumps(f"FastMCP {version('fastmcp')}"), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        result = await server.call_tool("execute", {"code": json.loads(line)})
        print(json.dumps(result.structured_content), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
