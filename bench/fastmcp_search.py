"""Ranks tools with the search of FastMCP: run by `.peers/fastmcp`, where it is installed.

Standard input: {"tools": [{"id", "server", "name", "definition"}], "queries": [{"qid", "query"}],
"hits": 50}. Standard output: {"name", "rankings": {qid: [ids]}, "seconds": [of each answer]}.

One server holds all tools, under the names that FastMCP gives to those of mounted servers. What is
timed is one call of its `search_tools` in this process, with an answer of names only.
"""

import asyncio
import json
import logging
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools.base import Tool


def names(tools: Sequence[Tool]) -> str:
    """The answer: names, one a line."""
    return "\n".join(tool.name for tool in tools)


def serving(tools: list[dict[str, Any]], hits: int) -> tuple[FastMCP, dict[str, str]]:
    """A server that hides these tools behind its search, and their ids by exposed name."""
    server = FastMCP("measured")
    ids: dict[str, str] = {}
    for tool in tools:
        name = f"{tool['server']}_{tool['name']}"
        while name in ids:  # two that differ only in where the server's name ends
            name += "_"
        ids[name] = tool["id"]
        definition = tool["definition"]
        server.add_tool(
            Tool(
                name=name,
                description=definition.get("description"),
                parameters=definition["inputSchema"],
            )
        )
    server.add_transform(BM25SearchTransform(max_results=hits, search_result_serializer=names))
    return server, ids


async def main() -> None:
    """Ranks and writes."""
    logging.disable(logging.WARNING)
    asked = json.load(sys.stdin)
    server, ids = serving(asked["tools"], asked["hits"])
    await server.call_tool("search_tools", {"query": "index"})  # builds the index
    rankings: dict[str, list[str]] = {}
    seconds: list[float] = []
    for task in asked["queries"]:
        began = time.perf_counter()
        result = await server.call_tool("search_tools", {"query": task["query"]})
        seconds.append(time.perf_counter() - began)
        text: str = result.content[0].text
        rankings[task["qid"]] = [ids[name] for name in text.split("\n") if name]
    name = f"FastMCP {version('fastmcp')}"
    json.dump({"name": name, "rankings": rankings, "seconds": seconds}, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
