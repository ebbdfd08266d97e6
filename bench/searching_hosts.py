"""`search_tools` as a host sees it: through a gateway process, beside a bare call in the same run.

    make bench BENCH=searching_hosts ARGS=FOLDER

FOLDER holds data sets as `toolcrib bench search` takes them: the tools of `livemcp_steps`, enlarged
by `toucan_catalog` and `stabletoolbench`, are dealt on to scripted servers (without those few that
a gateway would keep out), and each query of `livemcp_steps` and `livemcp` is asked once. Three
servers stand side by side and take turns: a gateway that searches by words, one that searches by
words and meaning, and FastMCP, which holds the same tools itself and answers with their names
alone. Over stdio and over Streamable HTTP.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import anyio
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from discovery import DISTRACTORS, METHODS, ms
from fastmcp_rankings import PYTHON as FASTMCP
from figures import seconds_of, tell
from made import HOUR_MS
from paths import PYTHON, TOOLCRIB, free_port, process
from rankings import read
from toolcrib.core.quarantine import judge
from toolcrib.core.snapshot import Item, Kind
from toolcrib.discovery.evaluation.enlarging import enlarged
from toolcrib.discovery.evaluation.tasks import KnownTool
from toolcrib.testing.scripted_server import Content, Pages, scripted_http
from wire import Peer, connect

TOOLS = 10_000
SERVERS = 50
HITS = 10
TRANSPORTS = ("stdio", "http")
PATIENCE = 120.0
"""Seconds until a server with all tools listens."""
UNREADY = 0.2
"""Seconds between two looks whether everything is indexed."""


@dataclass(frozen=True, slots=True)
class Host:
    """A host that is connected to one of the servers."""

    peer: Peer
    echo: str
    """What the trivial tool is called there."""

    async def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The text of what a tool answers."""
        result = await self.peer.request("tools/call", {"name": name, "arguments": arguments})
        assert not result.get("isError"), result
        return str(result["content"][0]["text"]) if result["content"] else ""

    async def call_echo(self) -> None:
        assert await self.call(self.echo, {"text": "hello"}) == "hello"

    async def search(self, query: str) -> str:
        return await self.call("search_tools", {"query": query})


def dealt(tools: Sequence[KnownTool], servers: int) -> list[list[dict[str, Any]]]:
    """The definitions for so many servers, those of one server together."""
    hands: list[list[dict[str, Any]]] = [[] for _ in range(servers)]
    by_server = attrgetter("server")
    for n, (_, group) in enumerate(groupby(sorted(tools, key=by_server), by_server)):
        hands[n % servers] += map(definition, group)
    return hands


def definition(tool: KnownTool) -> dict[str, Any]:
    """Named after its server, too."""
    return {**tool.definition, "name": f"{tool.server}_{tool.name}"}


def usable(tool: KnownTool) -> bool:
    """Whether a gateway would not keep it out."""
    return isinstance(judge(Kind.TOOLS, definition(tool)).verdict, Item)


def launched(command: str, *words: str) -> Any:
    """Its environment is ours: a home for the store of the gateways, which share their vectors."""
    return stdio_client(StdioServerParameters(command=command, args=[*words], env=dict(os.environ)))


@asynccontextmanager
async def connected(transport: str, command: str, *words: str, http: str) -> AsyncGenerator[Peer]:
    """A host of a server process; `http` is what makes it serve on `{port}`."""
    async with AsyncExitStack() as stack:
        if transport == "stdio":
            near = launched(command, *words)
        else:
            port = free_port()
            listening = http.format(port=port).split()
            server = process(command, *words, *listening, port=port, within=PATIENCE)
            await stack.enter_async_context(server)
            near = streamable_http_client(f"http://127.0.0.1:{port}/mcp")
        yield await stack.enter_async_context(connect(near, "modern"))


@asynccontextmanager
async def upstreams(
    transport: str, hands: Mapping[str, Sequence[Mapping[str, Any]]]
) -> AsyncGenerator[dict[str, Any]]:
    """The entries of a configuration: the servers that are searched, and one that is called.

    The former are quiet while anything is measured: they are walked once, and listened to.
    """
    entries: dict[str, Any] = {"echo": {"command": PYTHON, "args": ["bench/echo_server.py"]}}
    async with AsyncExitStack() as stack:
        if transport == "http":
            port = free_port()
            command = (PYTHON, "bench/echo_server.py", "--port", str(port))
            await stack.enter_async_context(process(*command, port=port))
            entries["echo"] = {"url": f"http://127.0.0.1:{port}/mcp"}
        for room, hand in hands.items():
            pages = Pages(ttl_ms=HOUR_MS)
            server = await stack.enter_async_context(scripted_http(Content(tools=hand), pages))
            entries[room] = server.entry()
        yield entries


@asynccontextmanager
async def gateway(transport: str, entries: Mapping[str, Any], method: str) -> AsyncGenerator[Host]:
    """A host of a gateway that searches by this method."""
    with tempfile.TemporaryDirectory() as folder:
        servers, how = Path(folder) / "mcp.json", Path(folder) / "toolcrib.toml"
        servers.write_text(json.dumps({"mcpServers": entries}))
        how.write_text(f'[search]\nmethod = "{method}"\n')
        words = ["serve", "--config", str(servers), "--config", str(how)]
        words += ["--exposure", "search", "--log-level", "error"]
        listening = "--http 127.0.0.1:{port}"
        async with connected(transport, TOOLCRIB, *words, http=listening) as peer:
            yield Host(peer, "echo__echo")


@asynccontextmanager
async def fastmcp(transport: str, tools: Sequence[KnownTool]) -> AsyncGenerator[Host]:
    """A host of FastMCP, which holds all tools itself."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tools.json"
        names = ("id", "server", "name", "definition")
        held = [{name: getattr(tool, name) for name in names} for tool in tools]
        file.write_text(json.dumps(held))
        words = ("bench/fastmcp_served.py", str(file), str(HITS))
        async with connected(transport, str(FASTMCP), *words, http="{port}") as peer:
            yield Host(peer, "echo")


async def until_searched(host: Host, rooms: Mapping[str, str], query: str) -> None:
    """A tool of each server is found by its name, and by meaning as by words.

    What a server lists is in the index whole or not at all.
    """
    for room, name in rooms.items():
        while True:
            found = await host.call("search_tools", {"query": name, "server": room})
            if "No tool found" not in found:
                break
            await anyio.sleep(UNREADY)
    while True:
        if not lacking(await host.search(query)):
            break
        await anyio.sleep(UNREADY)


def lacking(answer: str) -> bool:
    """Whether meaning had no say, or not of all tools."""
    return "until they are embedded" in answer or "Searched by words, because" in answer


async def measure(
    transport: str,
    tools: Sequence[KnownTool],
    queries: Sequence[str],
    options: argparse.Namespace,
) -> None:
    """All figures of one transport."""
    hosts: dict[str, Host] = {}
    hands = {f"room{n:02}": hand for n, hand in enumerate(dealt(tools, options.servers)) if hand}
    names = {room: hand[-1]["name"] for room, hand in hands.items()}
    async with AsyncExitStack() as stack:
        entries = await stack.enter_async_context(upstreams(transport, hands))
        for method in ("lexical",) if options.words else METHODS:
            host = await stack.enter_async_context(gateway(transport, entries, method))
            await until_searched(host, names, queries[0])
            hosts[method] = host
        if not options.alone:
            hosts["fastmcp"] = await stack.enter_async_context(fastmcp(transport, tools))
            await hosts["fastmcp"].search("builds the index")
        called: dict[str, list[float]] = {name: [] for name in hosts}
        searched: dict[str, list[float]] = {name: [] for name in hosts}
        for query in queries:
            for name, host in hosts.items():
                called[name].append(await seconds_of(host.call_echo))
                began = time.perf_counter()
                answer = await host.search(query)
                searched[name].append(time.perf_counter() - began)
                assert not lacking(answer), answer[-300:]
    counts: dict[str, float] = {"tools": len(tools), "servers": len(hands), "queries": len(queries)}
    for name in hosts:
        for what, taken in (("bare_call", called[name]), ("search_tools", searched[name])):
            p50, p99 = ms(taken)
            tell(f"{what}_{name}_over_{transport}_p50", p50, "ms", p99=p99, **counts)
        more = statistics.median(
            one - other for one, other in zip(searched[name], called[name], strict=True)
        )
        tell(f"search_beyond_a_call_{name}_over_{transport}_p50", more * 1e3, "ms", **counts)


async def measure_all(options: argparse.Namespace) -> None:
    """Each transport that was asked for, over a store and a key of its own."""
    with tempfile.TemporaryDirectory() as folder:
        home = str(options.home or folder)
        os.environ |= {"XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home}
        await measure_each(options)


async def measure_each(options: argparse.Namespace) -> None:
    steps, tasks = read(options.folder, "livemcp_steps"), read(options.folder, "livemcp")
    others = [read(options.folder, name) for name in DISTRACTORS]
    many = [tool for tool in enlarged(steps, others, options.tools).tools if usable(tool)]
    queries = [task.query for task in (*steps.tasks, *tasks.tasks)][: options.queries]
    for transport in [options.transport] if options.transport else TRANSPORTS:
        await measure(transport, many, queries, options)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tools", type=int, default=TOOLS)
    parser.add_argument("--servers", type=int, default=SERVERS)
    parser.add_argument("--queries", type=int, help="so many at most")
    parser.add_argument("--transport", choices=TRANSPORTS)
    parser.add_argument("--alone", action="store_true", help="without FastMCP")
    parser.add_argument("--words", action="store_true", help="without meaning")
    parser.add_argument("--home", type=Path, help="a folder that keeps vectors for later runs")
    anyio.run(measure_all, parser.parse_args())


if __name__ == "__main__":
    main()
