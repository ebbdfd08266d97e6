"""A server's process that dies fails its calls at once, keeps its tools, and comes back."""

import os
import signal
from typing import Any

import anyio
import pytest

from toolcrib.settings import StdioLaunch
from toolcrib.testing.live.census import children_of
from toolcrib.testing.live.gateway import serving
from toolcrib.testing.live.host import http_host
from toolcrib.testing.live.room import Room
from toolcrib.testing.raw_client import RawHttp
from toolcrib.testing.scripted_server import (
    Content,
    Exit,
    Hang,
    Leave,
    Profile,
    ScriptedServer,
    scripted_stdio,
    tool,
)

TOOLS = Content(tools=[tool("quick"), tool("slow")])
SHOWN = ["good__quick", "good__slow"]


async def names_at(http: RawHttp) -> list[str]:
    result = (await http.ask("tools/list")).json()["result"]
    return [item["name"] for item in result["tools"]]


async def call(http: RawHttp, name: str) -> dict[str, Any]:
    return (await http.ask("tools/call", {"name": name, "arguments": {}})).json()["result"]


async def newest_process(server: ScriptedServer[StdioLaunch]) -> int:
    return (await server.processes())[-1].pid


@pytest.mark.parametrize("profile", [Profile(), Profile(modern=())], ids=["stateless", "handshake"])
async def test_a_killed_server_fails_its_call_at_once_keeps_its_tools_and_comes_back(
    room: Room, profile: Profile
) -> None:
    async with scripted_stdio(TOOLS, profile) as good:
        config = room.configure({"good": good.entry()})
        await good.on("tools/call:slow", Hang(), times=1)
        async with serving(room, "--config", config) as gateway, http_host(gateway) as http:
            await gateway.heard("refreshed", server="good")
            assert await names_at(http) == SHOWN
            results: list[dict[str, Any]] = []

            async def call_slowly() -> None:
                results.append(await call(http, "good__slow"))

            with anyio.fail_after(100):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(call_slowly)
                    await good.until(lambda seen: seen.calls["slow"] == 1)
                    os.kill(await newest_process(good), signal.SIGKILL)
                error = results[0]["structuredContent"]["error"]
                assert results[0]["isError"] is True
                assert (error["code"], error["server"]) == ("server_unavailable", "good")
                assert "SIGKILL" in error["message"]
                assert await names_at(http) == SHOWN
                await gateway.heard("connection_changed", server="good", state="backoff", attempt=1)
                await gateway.heard("connection_changed", 2, server="good", state="ready")
                assert "isError" not in await call(http, "good__slow")
                assert await names_at(http) == SHOWN
            assert (await good.counts()).calls["slow"] == 2
            assert len(await good.processes()) == 2
            assert len(gateway.records("refreshed", server="good")) == 1
            assert [child.pid for child in children_of(gateway.process.pid)] == [
                await newest_process(good)
            ]


async def test_a_server_that_exits_is_started_anew_with_growing_pauses(room: Room) -> None:
    async with scripted_stdio(TOOLS) as good:
        config = room.configure({"good": good.entry()})
        await good.on("tools/list", Leave(7))
        async with serving(room, "--config", config) as gateway:
            with anyio.fail_after(100):
                await good.until(lambda seen: seen.connects == 3)
            changes = gateway.records("connection_changed", server="good", state="backoff")
            assert [record["attempt"] for record in changes] == [1, 2]
            assert all("status 7" in record["detail"] for record in changes)
            assert len(gateway.records("refreshed", server="good")) == 1


async def test_a_server_that_exits_at_the_probe_is_started_again_with_a_handshake(
    room: Room,
) -> None:
    async with scripted_stdio(TOOLS, Profile(modern=())) as old:
        await old.on("server/discover", Exit(status=1))
        config = room.configure({"good": old.entry()})
        async with serving(room, "--config", config) as gateway, http_host(gateway) as http:
            await gateway.heard("refreshed", server="good")
            assert await names_at(http) == SHOWN
            assert len(await old.processes()) == 2
            assert len(children_of(gateway.process.pid)) == 1
        again = await room.run("list", "--config", config, "--json", "--wait", "50")
        assert again.code == 0
        assert len(again.document["tools"]) == len(SHOWN)
        assert len(await old.processes()) == 3
