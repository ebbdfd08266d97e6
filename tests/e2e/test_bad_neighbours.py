"""A dead, a slow and a malformed server beside a good one: each costs only itself, and shows."""

import anyio
import httpx2

from toolcrib.testing.live.gateway import serving
from toolcrib.testing.live.host import http_host, stdio_host
from toolcrib.testing.live.room import Room
from toolcrib.testing.raw_client import RawHttp
from toolcrib.testing.raw_http import RawExchange, serve_raw_http
from toolcrib.testing.scripted_server import (
    Answer,
    Content,
    Delay,
    Noise,
    scripted_http,
    scripted_stdio,
    tool,
)

DEAD = {"command": "sleep", "args": ["1000"]}
MALFORMED = Content(
    tools=[
        tool("sound"),
        {"name": "no-schema"},
        {"name": "null-schema", "inputSchema": None},
        {"name": "", "inputSchema": {"type": "object"}},
        "no object at all",
        {"name": "wrong", "inputSchema": {"type": "object", "properties": {"type": "object"}}},
    ]
)


async def names_at(http: RawHttp) -> list[str]:
    result = (await http.ask("tools/list")).json()["result"]
    return [item["name"] for item in result["tools"]]


async def test_the_first_listing_has_the_good_ones_and_the_pages_say_who_is_missing(
    room: Room,
) -> None:
    async def never(request: RawExchange) -> None:
        await request.wait_gone()

    async with (
        scripted_stdio(Content(tools=[tool("add")])) as good,
        scripted_http(Content(tools=[tool("late")])) as slow,
        scripted_stdio(MALFORMED) as malformed,
        scripted_stdio(Content(tools=[tool("lost")])) as garbled,
        serve_raw_http(never) as mute,
    ):
        await slow.on("tools/list", Delay(4), times=1)
        await malformed.on("connect", Noise("Starting up…"), Noise('{"level": "info"}'))
        await garbled.on("tools/list", Answer({"tools": "none"}))
        config = room.configure(
            {
                "good": good.entry(),
                "slow": slow.entry(),
                "malformed": malformed.entry(),
                "garbled": garbled.entry(),
                "dead": DEAD,
                "mute": {"url": mute.url},
                "refusing": {"url": "http://127.0.0.1:9/mcp"},
                "missing": {"command": "no-such-command-anywhere"},
            }
        )
        async with (
            serving(room, "--config", config) as gateway,
            http_host(gateway) as http,
            httpx2.AsyncClient(trust_env=False, timeout=60) as pages,
        ):
            address = gateway.url.removesuffix("/mcp")
            assert (await pages.get(f"{address}/healthz")).json() == {"alive": True}
            early = await pages.get(f"{address}/readyz")
            assert (early.status_code, early.json()["ready"]) == (503, False)
            with anyio.fail_after(15):  # more than the start budget, less than any time-out
                assert await names_at(http) == ["good__add", "malformed__sound"]
                while (ready := await pages.get(f"{address}/readyz")).status_code != 200:  # noqa: ASYNC110
                    await anyio.sleep(0.1)
            states = {it["id"]: it["state"] for it in ready.json()["servers"]}
            assert states["good"] == states["malformed"] == states["slow"] == "ready"
            assert states["dead"] == states["mute"] == "connecting"
            assert states["missing"] == states["refusing"] == "backoff"
            await gateway.heard("refreshed", server="slow", kind="tools")
            assert await names_at(http) == ["good__add", "malformed__sound", "slow__late"]
            metrics = (await pages.get(f"{address}/metrics")).text
            assert 'toolcrib_connections{server="dead",state="connecting"} 1.0' in metrics
            assert 'toolcrib_connections{server="good",state="ready"} 1.0' in metrics
            assert metrics.count("toolcrib_quarantined_total{") >= 1
            quarantined = gateway.records("item_quarantined", server="malformed")
            assert len(quarantined) == len(MALFORMED.tools) - 1
            assert all(record["reason"] for record in quarantined)
            assert gateway.records("refresh_failed", server="garbled")


async def test_on_stdio_the_first_listing_comes_within_the_start_budget(room: Room) -> None:
    async with scripted_stdio(Content(tools=[tool("add")])) as good:
        config = room.configure({"dead": DEAD, "good": good.entry()})
        async with stdio_host(room, "--config", config) as pipe:
            await good.until(lambda seen: seen.connects == 1)
            with anyio.fail_after(15):  # as above
                answer = await pipe.ask("tools/list")
            assert [it["name"] for it in answer["result"]["tools"]] == ["good__add"]
            assert answer["result"]["ttlMs"] == 0
