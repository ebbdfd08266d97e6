"""What `toolcrib serve` says, to the log and to models, where no server can be used."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest

from toolcrib.cli.serve_instructions import NOBODY, instructions_of
from toolcrib.discovery.meta.definitions import SEARCH
from toolcrib.settings import Exposure, GatewaySettings, Settings
from toolcrib.testing.live.gateway import serving
from toolcrib.testing.live.host import http_host
from toolcrib.testing.live.room import Room
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_server import Content, scripted_stdio, tool


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


# ---------------------------------------------------------------- to models


def told(exposure: Exposure, *servers: Mapping[str, Any]) -> str:
    made = [server_settings(f"s{place}", **changes) for place, changes in enumerate(servers)]
    return instructions_of(Settings(tuple(made), gateway=GatewaySettings(exposure=exposure)))


@pytest.mark.parametrize("exposure", ["auto", "full", "search", "code"])
def test_a_model_is_told_why_there_is_nothing(exposure: Exposure) -> None:
    assert told(exposure) == NOBODY
    assert told(exposure, {"disabled": True}) == NOBODY
    assert told(exposure, {"disabled": True}, {}) != NOBODY
    assert told(exposure, {"on_demand": True}) != NOBODY


def test_a_model_that_has_no_search_is_not_told_to_search() -> None:
    assert told("full", {}) == ""
    assert SEARCH in told("full", {}, {"on_demand": True})
    assert told("full", {}, {"on_demand": True, "disabled": True}) == ""


def test_what_auto_says_holds_whatever_is_shown() -> None:
    (sentence,) = told("auto", {}).rstrip(".").split(". ")
    assert sentence.startswith(f"If {SEARCH} is in your list, ")


# ---------------------------------------------------------------- to the log


async def test_a_gateway_without_a_server_says_so_until_there_is_one(room: Room) -> None:
    config = room.path / "mcp.json"
    async with (
        scripted_stdio(Content(tools=[tool("a")])) as good,
        serving(room, "--config", config) as gateway,
        http_host(gateway) as http,
    ):
        record = await gateway.heard("no server is configured: ")
        assert record["level"] == "warning"
        assert record["event"].endswith(f"; waiting for a change of {config}")
        described = (await http.ask("server/discover")).json()["result"]
        assert described["instructions"] == NOBODY
        room.configure({"good": good.entry()})
        await gateway.heard("refreshed", server="good")
        described = (await http.ask("server/discover")).json()["result"]
        assert described["instructions"] != NOBODY
        room.configure({"good": good.entry() | {"disabled": True}})
        await gateway.heard("every configured server is disabled: ")
        described = (await http.ask("server/discover")).json()["result"]
        assert described["instructions"] == NOBODY


async def test_a_gateway_that_does_not_watch_does_not_promise_to(room: Room) -> None:
    config = room.write("empty.json", '{"mcpServers": {}}')
    async with serving(room, "--config", config, "--no-watch") as gateway:
        record = await gateway.heard("no server is configured: ")
    assert "waiting" not in record["event"]
    assert f"a change of {config} is taken over at the next start" in record["event"]


async def test_a_gateway_with_a_server_warns_of_nothing(room: Room) -> None:
    config = room.write("one.json", json.dumps({"mcpServers": {"one": {"command": "cat"}}}))
    async with serving(room, "--config", config) as gateway:
        await gateway.heard("serving ")
        await anyio.lowlevel.checkpoint()
    assert [it for it in gateway.log if "hosts get no tools" in str(it["event"])] == []
