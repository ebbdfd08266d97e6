"""A version in a response header: handed up with each result, and never a server's own word."""

import json
from typing import Any

import anyio
import pytest

from toolcrib.adapters.connector import McpConnector
from toolcrib.adapters.http.version_header import version_header
from toolcrib.adapters.system_clock import SystemClock
from toolcrib.core.snapshot import Kind
from toolcrib.ports import ClientProfile
from toolcrib.settings import HttpLaunch, Limits, Secret, ServerSettings, Waits
from toolcrib.testing.raw_http import RawExchange, serve_raw_http
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import tool
from toolcrib.testing.scripted_crib import scripted_crib
from toolcrib.testing.signal_log import SignalLog

KEY = "dev.toolcrib/version"
HINTS = {"resultType": "complete", "ttlMs": 86_400_000, "cacheScope": "private"}


class Versioned:
    """A modern server over HTTP whose version is in a header of its answers."""

    def __init__(self, *, events: bool = False) -> None:
        self.version: str | None = "1"
        self.events = events
        self.meta: object = {KEY: "forged", "own": 1}
        self.walks = 0
        self.tools = [tool("t")]

    async def __call__(self, request: RawExchange) -> None:
        if request.method != "POST":
            await request.reply(405)
            return
        message = request.message
        if "id" not in message:
            await request.reply(202)
            return
        result: dict[str, Any]
        match message["method"]:
            case "server/discover":
                result = {
                    "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "versioned", "version": "1"},
                }
            case "tools/list":
                self.walks += 1
                result = {"tools": self.tools}
            case "tools/call":
                result = {"content": [], "_meta": self.meta}
            case _:
                await request.answer(error={"code": -32601, "message": "no"}, status=404)
                return
        headers = {} if self.version is None else {"X_Version": self.version}
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": {**HINTS, **result}}
        if self.events:
            await request.begin_events(**headers)
            await request.event(answer)
            await request.end_events()
            return
        body = json.dumps(answer).encode()
        await request.reply(200, body, content_type="application/json", **headers)


async def called(server: Versioned, version_from: str) -> dict[str, Any]:
    """The result of one call over a connection of its own."""
    connector = McpConnector(limits=Limits(), observer=Recorder(), clock=SystemClock())
    with anyio.fail_after(5):
        async with serve_raw_http(server) as http:
            launch = HttpLaunch(Secret(http.url))
            settings = ServerSettings("s", launch, version_from=version_from)
            opened = connector.connect(settings, ClientProfile(), SignalLog(), None)
            async with opened as upstream:
                return await upstream.request("tools/call", {"name": "t", "arguments": {}})


@pytest.mark.parametrize("events", [False, True], ids=["json", "events"])
async def test_the_header_goes_up_with_the_result(*, events: bool) -> None:
    result = await called(Versioned(events=events), "header:x-VERSION")
    assert result["_meta"] == {KEY: "1", "own": 1}


@pytest.mark.parametrize("meta", [None, {KEY: "forged"}, "text", {}], ids=str)
async def test_a_server_cannot_write_the_key_itself(meta: object) -> None:
    server = Versioned()
    server.version, server.meta = None, meta
    result = await called(server, "header:x-version")
    assert "forged" not in str(result)


@pytest.mark.parametrize("version_from", ["", "meta:own", "tool:t#/v"])
async def test_without_a_header_to_look_at_results_are_left_alone(version_from: str) -> None:
    result = await called(Versioned(), version_from)
    assert result["_meta"] == {KEY: "forged", "own": 1}


@pytest.mark.parametrize(
    ("text", "header"), [("header:ETag", "etag"), ("meta:etag", ""), ("", ""), ("wrong", "")]
)
def test_which_header_it_is(text: str, header: str) -> None:
    assert version_header(text) == header


async def test_another_version_in_the_header_costs_one_listing() -> None:
    server = Versioned()
    connector: Any = McpConnector(limits=Limits(), observer=Recorder(), clock=SystemClock())
    waits = Waits(admit_max_age=100_000.0, min_interval=0.0, debounce=0.0)
    with anyio.fail_after(10):
        async with serve_raw_http(server) as http:
            launch = HttpLaunch(Secret(http.url))
            settings = ServerSettings("s", launch, version_from="header:X-Version", waits=waits)
            async with scripted_crib({"s": connector}, settings={"s": settings}) as (crib, _):
                await crib.catalogs().read(Kind.TOOLS)
                await crib.call(("s", "t"))
                walks = server.walks
                await crib.call(("s", "t"))
                server.version = "2"
                server.tools = [tool("t"), tool("new")]
                await crib.call(("s", "t"))
                held = (await crib.catalogs().read(Kind.TOOLS))[0].snapshot
                assert held is not None
                assert held.get("new") is not None
                await crib.call(("s", "t"))
                assert server.walks == walks + 1
