"""Every verb that looks, for people and for programs, at servers and at a running gateway."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from toolcrib.settings import StdioLaunch
from toolcrib.testing.live.gateway import LiveGateway, serving
from toolcrib.testing.live.room import COMMAND, Ran, Room
from toolcrib.testing.scripted_server import (
    Answer,
    Content,
    ScriptedServer,
    scripted_stdio,
    tool,
)

CONTENT = Content(
    tools=[
        {**tool("add", a={"type": "integer"}, b={"type": "integer"}), "title": "Adder"},
        tool("fail"),
    ],
    prompts=[{"name": "greet", "description": "Greets."}],
    resources=[{"uri": "note://one", "name": "one"}],
    templates=[{"uriTemplate": "note://{id}", "name": "any"}],
)
SUM = {"content": [{"type": "text", "text": "42"}], "structuredContent": {"sum": 42}}
FAILURE = {"content": [{"type": "text", "text": "no"}], "isError": True}

Server = ScriptedServer[StdioLaunch]


@asynccontextmanager
async def adder() -> AsyncGenerator[Server]:
    async with scripted_stdio(CONTENT) as server:
        await server.on("tools/call:add", Answer({"resultType": "complete", **SUM}))
        await server.on("tools/call:fail", Answer({"resultType": "complete", **FAILURE}))
        yield server


@asynccontextmanager
async def shop(room: Room) -> AsyncGenerator[tuple[Server, Path, LiveGateway]]:
    """A server, the file that configures it, and a gateway in front of it."""
    async with adder() as server:
        config = room.configure({"calc": server.entry()})
        async with serving(room, "--config", config) as gateway:
            await gateway.heard("refreshed", server="calc")
            yield server, config, gateway


async def run_all(room: Room, *commands: list[str | Path]) -> list[Ran]:
    """Runs commands side by side; what came of each."""
    results: dict[int, Ran] = {}

    async def run(number: int, command: list[str | Path]) -> None:
        results[number] = await room.run(*command)

    async with anyio.create_task_group() as tasks:
        for number, command in enumerate(commands):
            tasks.start_soon(run, number, command)
    return [results[number] for number in range(len(commands))]


def lasting(ran: Ran) -> list[dict[str, Any]]:
    """The rows of a listing without what depends on the moment, and on who was asked."""
    passing = {"age", "fresh", "server", "key"}
    return [{k: v for k, v in row.items() if k not in passing} for row in ran.document["tools"]]


async def test_list_shows_the_same_at_the_servers_and_at_the_gateway(room: Room) -> None:
    async with shop(room) as (_, config, gateway):
        here: list[str | Path] = ["list", "--config", config]
        there: list[str | Path] = ["list", "--url", gateway.url]
        ran = await run_all(room, there, [*here, "--json"], [*there, "--json"])
    assert [one.err for one in ran] == [""] * 3
    assert [one.code for one in ran] == [0] * 3
    url, as_json, url_json = ran
    assert "calc__add" in url.out
    assert "Adder: Does add." in url.out
    assert [item["name"] for item in as_json.document["tools"]] == ["calc__add", "calc__fail"]
    assert lasting(as_json) == lasting(url_json)


async def test_list_shows_other_kinds_too(room: Room) -> None:
    kinds = ["prompts", "templates"]
    async with adder() as server:
        config = room.configure({"calc": server.entry()})
        ran = await run_all(
            room, *(["list", "--kind", kind, "--config", config, "--json"] for kind in kinds)
        )
    shown = [one.document[kind][0]["name"] for kind, one in zip(kinds, ran, strict=True)]
    assert shown == ["calc__greet", "note://{id}"]


async def test_list_of_servers_tells_their_state_and_what_is_wrong(room: Room) -> None:
    async with adder() as server:
        config = room.configure(
            {"calc": server.entry(), "gone": {"command": "no-such-command-anywhere"}}
        )
        ran = await room.run("list", "--servers", "--config", config, "--json")
    assert ran.code == 1
    rows = {row["id"]: row for row in ran.document["servers"]}
    assert rows["calc"]["state"] == "ready"
    assert rows["calc"]["counts"] == {"tools": 2, "prompts": 1, "resources": 1, "templates": 1}
    assert rows["gone"]["state"] == "backoff"
    assert "was not found" in rows["gone"]["trouble"]
    assert "configure its full path" in rows["gone"]["trouble"]


async def test_show_tells_all_of_one_definition(room: Room) -> None:
    async with shop(room) as (_, config, gateway):
        direct, url_json = await run_all(
            room,
            ["show", "calc__add", "--config", config],
            ["show", "note://{id}", "--kind", "templates", "--url", gateway.url, "--json"],
        )
    assert [one.code for one in (direct, url_json)] == [0, 0]
    assert direct.out.startswith("calc__add  Adder\nof calc, there add, ")
    assert '"integer"' in direct.out
    assert not [line for line in direct.out.splitlines() if line != line.rstrip()]
    assert url_json.document["definition"]["uriTemplate"] == "note://{id}"


async def test_call_calls_and_tells_errors_by_its_exit_code(room: Room) -> None:
    async with shop(room) as (server, config, gateway):
        here: list[str | Path] = ["call", "--config", config]
        there: list[str | Path] = ["call", "--url", gateway.url]
        add = ["calc__add", "a=19", "b:=23"]
        fine, url_json, failed, url_failed = await run_all(
            room,
            [*here, *add],
            [*there, *add, "--json"],
            [*here, "calc__fail"],
            [*there, "calc__fail", "--json"],
        )
        assert (fine.code, fine.out) == (0, '42\n{\n  "sum": 42\n}\n')
        assert url_json.code == 0
        assert url_json.document["structuredContent"] == {"sum": 42}
        assert (failed.code, failed.out) == (1, "the tool reports an error\nno\n")
        assert (url_failed.code, url_failed.document["isError"]) == (1, True)
        assert await given_to(server, "add") == [{"a": 19, "b": 23}] * 2
        given = b'{"a": 1, "b": 2}'
        piped = await room.run(*here, "calc__add", "--args", "-", "a=3", stdin=given)
        assert piped.code == 0
        assert (await given_to(server, "add"))[-1] == {"a": 3, "b": 2}
        wrong = await room.run(*here, "calc__add", "a=3", "b:={}", stdin=given)
        assert wrong.code == 1
        assert "`b` is an object" in wrong.err
        assert len(await given_to(server, "add")) == 3


async def given_to(server: Server, name: str) -> list[dict[str, Any]]:
    """The arguments with which a tool was called."""
    calls = [one.message["params"] for one in await server.heard("tools/call")]
    return [call["arguments"] for call in calls if call["name"] == name]


async def test_watch_prints_a_line_for_each_change(room: Room) -> None:
    async with shop(room) as (server, config, gateway):
        for target in (["--config", str(config)], ["--url", gateway.url]):
            command = [*COMMAND, "watch", "--json", *target]
            with anyio.fail_after(100):
                process = await anyio.open_process(command, env=room.env, cwd=room.path)
                async with process:
                    lines = line_by_line(process)
                    assert len((await published(lines))["added"]) == len(CONTENT.tools)
                    await server.change(Content(tools=[tool("mul")]))
                    change = await published(lines)
                    process.terminate()
                    assert await process.wait() == 0
            assert [name.removeprefix("calc__") for name in change["added"]] == ["mul"]
            assert {name.removeprefix("calc__") for name in change["removed"]} == {"add", "fail"}
            await server.change(CONTENT)
            await gateway.heard("refreshed", server="calc", added=2)


async def line_by_line(process: anyio.abc.Process) -> AsyncGenerator[dict[str, Any]]:
    assert process.stdout is not None
    rest = b""
    async for chunk in process.stdout:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield json.loads(line)


async def published(lines: AsyncGenerator[dict[str, Any]]) -> dict[str, Any]:
    """The next line that tells of new content."""
    async for line in lines:
        if line["event"] == "published":
            return line
    raise EOFError


async def test_diff_compares_with_what_was_kept(room: Room) -> None:
    async with adder() as server:
        config = room.configure({"calc": server.entry()})
        command: list[str | Path] = ["diff", "--config", config]
        first = await room.run(*command)
        assert (first.code, first.out.splitlines()[0]) == (1, "calc tools: 2 added")
        await server.set(Content(tools=[tool("add", a={"type": "string"})]))
        (changed,) = (await room.run(*command, "--json")).document["changes"]
        assert (changed["server"], changed["removed"]) == ("calc", ["fail"])
        assert changed["changed"][0]["key"] == "add"
        assert changed["changed"][0]["contract_changed"] is True
        assert changed["changed"][0]["changes"]
        same = await room.run(*command, "calc")
        assert (same.code, same.out, same.err) == (0, "Nothing changed.\n", "")
        await server.stop()
        away = await room.run(*command, "--wait", "1")
        assert (away.code, away.out) == (1, "Nothing changed.\n")
        assert "calc" in away.err


async def test_probe_finds_a_server_that_disagrees_with_itself(room: Room) -> None:
    few = ("probe", "--walks", "2", "--connections", "1")
    async with shop(room) as (server, config, gateway):
        url, as_json = await run_all(
            room, [*few, "--url", gateway.url], [*few, "--config", config, "--json"]
        )
        assert (url.code, as_json.code) == (0, 0)
        assert "gateway tools: all listings are equal" in url.out
        (report,) = as_json.documents
        assert (report["server"], report["consistent"]) == ("calc", True)
        assert [walk["items"] for walk in report["walks"]] == [2, 2]
        await server.set(Content(tools=[tool("a")], other_tools=[tool("b")]))
        again = await room.run(*few, "calc", "--config", config)
    assert again.code == 1
    assert "calc tools: the listings are not all equal\nreplica_disagreement: " in again.out


async def test_a_gateway_that_is_not_there_is_a_finding(room: Room) -> None:
    url = "http://127.0.0.1:9/mcp"
    people, programs = await run_all(
        room, ["list", "--url", url], ["call", "any", "--url", url, "--json"]
    )
    assert (people.code, programs.code) == (1, 1)
    assert "gateway" in people.err
    assert programs.document["error"]["code"] == "tool_gone"
    assert "not reached: gateway" in programs.document["error"]["message"]
