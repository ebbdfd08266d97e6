"""The files are watched: what they say now holds, and what did not change is not touched."""

import json
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.settings import StdioLaunch
from toolcrib.testing.live.census import children_of
from toolcrib.testing.live.gateway import LiveGateway, serving
from toolcrib.testing.live.host import http_host, stdio_host
from toolcrib.testing.live.room import Room
from toolcrib.testing.raw_client import RawHttp, RawPipe, enveloped
from toolcrib.testing.scripted_server import Content, ScriptedServer, scripted_stdio, tool

ONE = Content(tools=[tool("a"), tool("b")])
LISTEN = enveloped({"notifications": {"toolsListChanged": True}})
WHATEVER_COMES_LATE = 0.5
"""Seconds: several times as long as announcements are collected."""


async def names_at(http: RawHttp) -> list[str]:
    result = (await http.ask("tools/list")).json()["result"]
    return [item["name"] for item in result["tools"]]


async def pids(server: ScriptedServer[StdioLaunch]) -> list[int]:
    return [process.pid for process in await server.processes()]


def running(gateway: LiveGateway) -> set[int]:
    return {child.pid for child in children_of(gateway.process.pid)}


async def test_servers_come_go_and_are_launched_anew_while_others_stay(room: Room) -> None:
    async with (
        scripted_stdio(ONE) as kept,
        scripted_stdio(ONE) as leaving,
        scripted_stdio(ONE) as coming,
        scripted_stdio(ONE) as altered,
    ):
        servers: dict[str, Mapping[str, Any]] = {
            "kept": kept.entry(),
            "leaving": leaving.entry(),
            "altered": altered.entry(),
        }
        config = room.configure(servers)
        async with serving(room, "--config", config) as gateway, http_host(gateway) as http:
            for server in servers:
                await gateway.heard("refreshed", server=server)
            assert len(await names_at(http)) == len(servers) * 2

            del servers["leaving"]
            servers["coming"] = coming.entry()
            servers["altered"] = altered.entry() | {"env": {"NEW": "1"}}
            room.configure(servers)
            await gateway.heard("configuration: added coming")
            await gateway.heard("configuration: removed leaving")
            await gateway.heard("configuration: relaunched altered")
            await gateway.heard("refreshed", server="coming")
            await gateway.heard("refreshed", 2, server="altered")
            assert {name.split("__")[0] for name in await names_at(http)} == {
                "altered",
                "coming",
                "kept",
            }
            assert len(await pids(kept)) == 1
            (first, second) = await altered.processes()
            assert ("NEW" in first.env, second.env["NEW"]) == (False, "1")
            assert running(gateway) == {*await pids(kept), *await pids(coming), second.pid}

            room.configure({})
            await gateway.heard("configuration: removed", 2)
            assert await names_at(http) == []
            assert running(gateway) == set()


async def told(pipe: RawPipe) -> list[str]:
    """The notifications that come until none has come for a while."""
    heard: list[str] = []
    while True:
        with anyio.move_on_after(WHATEVER_COMES_LATE) as quiet:
            heard.append((await pipe.next())["method"])
        if quiet.cancelled_caught:
            return heard


@pytest.mark.parametrize("modern", [True, False], ids=["stateless", "handshake"])
async def test_a_filter_hides_a_tool_and_hosts_hear_of_it_once(room: Room, *, modern: bool) -> None:
    async with scripted_stdio(ONE) as good:
        config = room.configure({"good": good.entry()})
        tuning = room.write("toolcrib.toml", "")
        with anyio.fail_after(100):
            async with stdio_host(room, "--config", config, "--config", tuning) as pipe:
                ask = pipe.ask if modern else pipe.ask_plainly
                if modern:
                    await pipe.begin("subscriptions/listen", LISTEN)
                    acknowledgement = await pipe.next()
                    assert acknowledgement["method"].endswith("/acknowledged")
                else:
                    await pipe.shake_hands()
                shown = (await ask("tools/list"))["result"]["tools"]
                assert [item["name"] for item in shown] == ["good__a", "good__b"]
                pipe.passed.clear()
                room.write("toolcrib.toml", '[servers.good]\ntools.deny = ["b"]\n')
                first = await pipe.next()
                assert first["method"] == "notifications/tools/list_changed"
                assert await told(pipe) == []
                left = (await ask("tools/list"))["result"]["tools"]
                assert [item["name"] for item in left] == ["good__a"]
                refused = await ask("tools/call", {"name": "good__b", "arguments": {}})
                assert "result" not in refused or refused["result"]["isError"] is True
                room.write("toolcrib.toml", '# nothing else\n[servers.good]\ntools.deny = ["b"]\n')
                assert await told(pipe) == []
        assert (await good.counts()).calls["b"] == 0
        assert len(await pids(good)) == 1


async def test_a_broken_file_changes_nothing_and_a_mended_one_does(room: Room) -> None:
    async with scripted_stdio(ONE) as good, scripted_stdio(ONE) as other:
        config = room.configure({"good": good.entry()})
        async with serving(room, "--config", config) as gateway, http_host(gateway) as http:
            await gateway.heard("refreshed", server="good")
            room.write("mcp.json", '{"mcpServers": {"good": ')
            await gateway.heard(f"{config}:1: error")
            assert await names_at(http) == ["good__a", "good__b"]
            unusable = {"good": {"command": ""}, "other": other.entry()}
            room.write("mcp.json", json.dumps({"mcpServers": unusable}))
            await gateway.heard("refreshed", server="other")
            assert await names_at(http) == ["good__a", "good__b", "other__a", "other__b"]
            assert len(await pids(good)) == 1


async def test_a_file_that_is_not_there_yet_may_come(room: Room) -> None:
    async with scripted_stdio(ONE) as good:
        async with serving(room, "--config", room.path / "mcp.json") as gateway:
            room.configure({"good": good.entry()})
            await gateway.heard("refreshed", server="good")
        assert "does not exist" in gateway.told()
        assert len(await pids(good)) == 1


async def test_unwatched_files_are_left_alone(room: Room) -> None:
    async with scripted_stdio(ONE) as good:
        config = room.configure({})
        async with serving(room, "--config", config, "--no-watch") as gateway:
            room.configure({"good": good.entry()})
            await anyio.sleep(WHATEVER_COMES_LATE)
            assert gateway.records("configuration") == []
        assert await pids(good) == []


async def test_what_cannot_change_while_serving_is_said(room: Room) -> None:
    tuning = room.write("toolcrib.toml", "")
    async with serving(room, "--config", tuning) as gateway:
        room.write("toolcrib.toml", '[gateway]\nnames = "plain"\n[limits]\nrequest_seconds = 3\n')
        record = await gateway.heard("takes effect at the next start")
    assert record["level"] == "warning"
    assert "gateway.names" in record["event"]
    assert "limits.request_seconds" in record["event"]
