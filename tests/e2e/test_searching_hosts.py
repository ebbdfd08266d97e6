"""Hosts that are shown meta-tools search, enable and call through gateways that are processes."""

import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from toolcrib.context.tokens import Costs, HeuristicCounter
from toolcrib.core.naming import expose
from toolcrib.testing.live.census import Resident, residents, until_gone
from toolcrib.testing.live.gateway import serving
from toolcrib.testing.live.room import COMMAND, Room
from toolcrib.testing.scripted_server import (
    Change,
    Content,
    Profile,
    Signal,
    scripted_http,
    scripted_stdio,
    tool,
)

ROOT = Path(__file__).resolve().parents[2]
NODE = ROOT / ".peers/venv/bin/node"
INSPECTOR = ROOT / "peers/node_modules/.bin/mcp-inspector"
HIT = re.compile(r"^\d+\. ([\w.-]+)", re.MULTILINE)
HANDLE = "dev.toolcrib/handle"
FINDING = ["search_tools", "get_tool_details", "call_tool"]
ENABLING = ["search_available_servers", "enable_server", "disable_server"]
PINNED = "files__read_text_file"
TUNING = f"""
[exposure]
pinned = ["{PINNED}"]
[dynamic]
idle_seconds = 3
[servers.memory]
on_demand = true
description = "A graph of what should be remembered."
"""

Wire = Literal["http", "stdio"]
Servers = dict[str, dict[str, Any]]


class Host:
    """What a test asks of a gateway through a client of the SDK."""

    def __init__(self, client: Client, meta: Mapping[str, Any] | None) -> None:
        self.client = client
        self._meta: Any = meta

    async def names(self) -> list[str]:
        return [each.name for each in (await self.client.list_tools()).tools]

    async def call(self, name: str, /, **arguments: Any) -> Any:
        return await self.client.call_tool(name, arguments, meta=self._meta)

    async def text(self, name: str, /, **arguments: Any) -> str:
        """The text of a call that has to succeed."""
        result = await self.call(name, **arguments)
        assert not result.is_error, result
        return str(result.content[0].text)

    async def hits(self, query: str) -> list[str]:
        return HIT.findall(await self.text("search_tools", query=query))


@asynccontextmanager
async def hosting(room: Room, wire: Wire, mode: str, *options: str | Path) -> AsyncGenerator[Host]:
    """A host in front of a gateway of its own."""
    async with AsyncExitStack() as stack:
        if wire == "http":
            gateway = await stack.enter_async_context(serving(room, *options, cwd=ROOT))
            target: Any = gateway.url
        else:
            command, *args = [*COMMAND, "serve", *map(str, options), "--log-level", "error"]
            entry = StdioServerParameters(
                command=command, args=args, env=dict(room.env), cwd=str(ROOT)
            )
            target = stdio_client(entry)
        # Nobody but a handle tells anonymous callers apart who speak without sessions.
        meta = {HANDLE: "one-host-of-many-hosts"} if (wire, mode) == ("http", "auto") else None
        async with Client(target, mode=mode) as client:
            yield Host(client, meta)


def running(room: Room, part: str) -> list[Resident]:
    """The processes whose command holds that part."""
    return [resident for resident in residents(room) if part in resident.command]


async def until_idle(room: Room, part: str) -> None:
    """Waits for the end of these processes, those included that a call began meanwhile."""
    while found := running(room, part):
        await until_gone(found)


# ---- real servers ----


@pytest.mark.duty("D5")
@pytest.mark.peers
@pytest.mark.duty(11)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("wire", ["http", "stdio"])
async def test_a_host_finds_and_calls_what_it_is_not_shown(
    room: Room, real_servers: Servers, wire: Wire, mode: str
) -> None:
    few = {server: real_servers[server] for server in ("everything", "files", "memory")}
    options = ("--config", room.configure(few), "--config", room.write("toolcrib.toml", TUNING))
    with anyio.fail_after(100):
        async with hosting(room, wire, mode, *options, "--exposure", "search") as host:
            while PINNED not in await host.names():
                pass
            shown = [*FINDING, *ENABLING, PINNED]
            assert await host.names() == shown
            await _finds_and_calls(host)
            await _enables(host, room)
            assert await host.names() == shown


async def _finds_and_calls(host: Host) -> None:
    """A deferred tool is found, read, and called in both ways; the pinned one as ever."""
    while "everything__get-sum" not in await host.hits("add two numbers"):
        pass
    assert (await host.hits("add two numbers"))[0] == "everything__get-sum"
    assert "files__search_files" in await host.hits("find files by a pattern")
    details = await host.text("get_tool_details", names=["everything__get-sum"])
    assert "inputSchema" in details
    for numbers in ({"a": 19, "b": 23}, {"a": 40, "b": 2}):
        assert "42" in await host.text("call_tool", name="everything__get-sum", args=numbers)
        assert "42" in await host.text("everything__get-sum", **numbers)
    path = ROOT / "examples/files/opening-hours.txt"
    said = await anyio.Path(path).read_text()
    assert (await host.text(PINNED, path=str(path))).strip() == said.strip()
    refused = await host.call("call_tool", name="everything__get-sum", args={"a": "19"})
    assert refused.structured_content["error"]["code"] == "bad_arguments"


async def _enables(host: Host, room: Room) -> None:
    """A server on demand has a process exactly while it is wanted."""
    assert running(room, "server-memory") == []
    assert "memory__read_graph" not in await host.hits("read the whole knowledge graph")
    refused = await host.call("call_tool", name="memory__read_graph")
    assert refused.structured_content["error"]["code"] == "not_allowed"
    assert "enable_server" in refused.structured_content["error"]["message"]
    assert "memory" in await host.text("search_available_servers", query="remember")
    assert running(room, "server-memory") == []
    assert "memory__read_graph" in await host.text("enable_server", server="memory")
    assert running(room, "server-memory")
    assert (await host.hits("read the whole knowledge graph"))[0] == "memory__read_graph"
    graph: dict[str, list[object]] = {"entities": [], "relations": []}
    assert json.loads(await host.text("call_tool", name="memory__read_graph")) == graph
    await until_idle(room, "server-memory")
    assert (await host.hits("read the whole knowledge graph"))[0] == "memory__read_graph"
    assert running(room, "server-memory") == []
    assert json.loads(await host.text("memory__read_graph")) == graph
    second = running(room, "server-memory")
    assert second
    assert "disabled" in await host.text("disable_server", server="memory")
    await until_gone(second)
    assert "memory__read_graph" not in await host.hits("read the whole knowledge graph")


@pytest.mark.peers
@pytest.mark.parametrize(("wire", "era"), [("http", "legacy"), ("stdio", "modern")])
async def test_the_inspector_lists_searches_and_calls(
    room: Room, real_servers: Servers, wire: Wire, era: str
) -> None:
    config = room.configure({"files": real_servers["files"]})
    serve = ["serve", "--config", str(config), "--exposure", "search"]

    async def inspected(target: list[str | Path], *options: str) -> Any:
        command = [NODE, INSPECTOR, "--cli", *target, *options, f"--protocol-era={era}"]
        done = await anyio.run_process(
            [str(word) for word in command], check=False, env=room.env, cwd=ROOT
        )
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    with anyio.fail_after(100):
        async with AsyncExitStack() as stack:
            if wire == "http":
                options = serve[1:]
                gateway = await stack.enter_async_context(serving(room, *options, cwd=ROOT))
                target: list[str | Path] = [gateway.url]
            else:
                command, *args = [*COMMAND, *serve, "--log-level", "error"]
                entry = {"command": command, "args": args, "cwd": str(ROOT), "env": {**room.env}}
                hosts = room.configure({"crib": entry}, "host.json")
                target = ["--config", hosts, "--server", "crib"]
            listed = await inspected(target, "--method=tools/list")
            assert [each["name"] for each in listed["tools"]] == FINDING
            found = await inspected(
                target,
                "--method=tools/call",
                "--tool-name=search_tools",
                "--tool-arg",
                "query=read a text file",
            )
            assert "files__read_text_file" in HIT.findall(found["content"][0]["text"])


# ---- the exposure that is decided ----


SHARE = 5_000
"""Tokens up to which all definitions are shown; all again below two thirds of it."""
TABLES = f"[exposure]\nwindow = {SHARE * 20}\nshare = 0.05\n"


def catalog(tokens: float) -> Content:
    """Tools that cost about so much together."""
    one = tool("task_100", plan={"type": "string", "description": "Which plan it belongs to."})
    cost = Costs(HeuristicCounter()).of_definition(one, expose("s", one["name"]))
    numbers = range(100, 100 + int(tokens / cost))
    return Content(tools=[{**one, "name": f"task_{number}"} for number in numbers])


@pytest.mark.duty("D1")
async def test_what_auto_decided_survives_a_restart_with_the_same_store(
    room: Room, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    less = catalog(SHARE * 0.8)  # between the two: what was decided before stands
    async with scripted_stdio(catalog(SHARE * 1.2)) as server:

        async def shown(where: Room) -> list[str]:
            config = where.configure({"s": server.entry()})
            tables = where.write("toolcrib.toml", TABLES)
            options = ("--config", config, "--config", tables, "--exposure", "auto")
            with anyio.fail_after(100):
                async with hosting(where, "stdio", "auto", *options) as host:
                    while not (names := await host.names()):
                        pass
                    if names == FINDING:
                        assert "s__task_101" in await host.hits("task 101")
                    return names

        assert await shown(room) == FINDING
        await server.set(less)
        assert await shown(room) == FINDING
        assert len(await shown(Room(other))) == len(less.tools)


# ---- servers that change, and come late ----


@pytest.mark.parametrize(("wire", "mode"), [("http", "auto"), ("stdio", "legacy")])
async def test_tools_that_a_call_brought_are_found_by_the_next_search(
    room: Room, wire: Wire, mode: str
) -> None:
    before = [tool("start_daemon")]
    after = Content(tools=[*before, *(tool(f"gadget{n}") for n in range(89))])
    era = Profile(modern=()) if wire == "stdio" else Profile()
    async with scripted_stdio(Content(tools=before), era) as server:
        await server.on("tools/call:start_daemon", Change(after), Signal())
        config = room.configure({"s": server.entry()})
        with anyio.fail_after(100):
            async with hosting(room, wire, mode, "--config", config, "--exposure=search") as host:
                while await host.hits("start a daemon") != ["s__start_daemon"]:
                    pass
                assert await host.hits("gadget42") == []
                await host.text("call_tool", name="s__start_daemon")
                assert (await host.hits("gadget42"))[0] == "s__gadget42"
                await host.text("s__gadget42")


async def test_a_server_that_is_away_at_the_start_is_found_when_it_is_there(room: Room) -> None:
    async with scripted_http(Content(tools=[tool("forecast")])) as server:
        await server.stop()
        config = room.configure({"late": server.entry()})
        with anyio.fail_after(100):
            async with hosting(
                room, "stdio", "auto", "--config", config, "--exposure=search"
            ) as host:
                while "`late` (" not in (told := await host.text("search_tools", query="forecast")):
                    pass
                assert "Not reached" in told
                assert await host.names() == FINDING
                await server.start()
                while await host.hits("forecast") != ["late__forecast"]:
                    pass
                await host.text("late__forecast")
