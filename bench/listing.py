"""The gateway's `tools/list` of 1,000 tools: in this process up to the bytes, and over HTTP.

Over HTTP it stands beside the same list from the server itself and through the bare relay, the
three taking turns. In this process it is shown, too, what a change of 10,000 tools costs everybody
else: the longest pause of the event loop while it is fetched, published and compiled.
"""

import argparse
import json
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from figures import in_turns_of, median, seconds_of, tell
from made import CLOCK, HOUR_MS, SERVER, crib_over, made_contents
from paths import PYTHON, TOOLCRIB, free_port, process
from toolcrib.core.freshness.events import Reason
from toolcrib.core.partition import LOCAL
from toolcrib.crib import Crib, Deaf
from toolcrib.gateway.server import Gateway
from toolcrib.settings import GatewaySettings, HttpLaunch, Limits, Secret, Waits
from toolcrib.testing.raw_client import RawHttp, raw_http
from toolcrib.testing.scripted_server import Pages, scripted_http
from toolcrib.wire.jsonwire import encode_response
from toolcrib.wire.service import HostRequest

AIM_MS = 30.0
TOOLS = 1_000
MANY = 10_000


async def ignore(method: str, params: Mapping[str, Any]) -> None:
    """Notifications of a request that has none."""


REQUEST = HostRequest("tools/list", {}, 1, "2026-07-28", LOCAL, ignore)


@asynccontextmanager
async def gateway_over(crib: Crib) -> AsyncGenerator[Callable[[], Awaitable[bytes]]]:
    """Asks a gateway in this process for its tools; the answer as it would go out."""
    gateway = Gateway(crib.catalogs, crib.calls, GatewaySettings(), Limits(), Deaf(), CLOCK)

    async def listed() -> bytes:
        return encode_response(1, await gateway.answer(REQUEST))

    async with gateway.running():
        yield listed


async def in_this_process(count: int, rounds: int) -> None:
    """Listings of a fresh catalog, and of one that just changed."""
    contents = made_contents(count, 4)
    pages = Pages(ttl_ms=HOUR_MS)
    waits = Waits(list_wait=60, cold_wait=60)
    async with (
        scripted_http(contents[0], pages, apart=True) as server,
        crib_over(server.settings(SERVER, waits=waits)) as (crib, keeper),
        gateway_over(crib) as listed,
    ):
        size = len(await listed())
        again = [await seconds_of(listed) for _ in range(rounds)]
        anew: list[float] = []
        for turn in range(max(3, rounds // 20)):
            await server.set(contents[1 + turn % 4])
            keeper.invalidate(Reason.REQUESTED)
            await keeper.read()
            anew.append(await seconds_of(listed))
    beside: dict[str, float] = {"tools": count, "bytes": size}
    aim = AIM_MS if count == TOOLS else None
    tell("tools_list_in_process_p50", median(again) * 1e3, "ms", aim=aim, **beside)
    tell("tools_list_in_process_first_after_a_change", median(anew) * 1e3, "ms", **beside)


async def pauses(count: int, rounds: int) -> None:
    """How long nobody else is served while a large catalog is fetched, published and compiled."""
    contents = made_contents(count, 4)
    gaps: list[float] = []
    async with (
        scripted_http(contents[0], Pages(size=1_000), apart=True) as server,
        crib_over(server.settings(SERVER, waits=Waits(list_wait=60, cold_wait=60))) as (
            crib,
            keeper,
        ),
        gateway_over(crib) as listed,
        anyio.create_task_group() as tasks,
    ):

        async def tick() -> None:
            while True:
                gaps.append(await seconds_of(lambda: anyio.sleep(0.001)))

        await listed()
        tasks.start_soon(tick)
        for turn in range(rounds):
            await server.set(contents[1 + turn % 4])
            gaps.clear()
            keeper.invalidate(Reason.REQUESTED)
            await listed()
        tasks.cancel_scope.cancel()
    ordered = sorted(gaps)
    tell(
        "longest_pause_of_the_loop_during_a_refresh",
        ordered[-1] * 1e3,
        "ms",
        tools=count,
        p99=ordered[int(len(ordered) * 0.99)] * 1e3,
    )


@asynccontextmanager
async def routes(count: int) -> AsyncGenerator[dict[str, RawHttp]]:
    """Clients of the server itself, of the bare relay, and of the gateway in front of it."""
    echo_port, relay_port, gateway_port = free_port(), free_port(), free_port()
    url = f"http://127.0.0.1:{echo_port}/mcp"
    echo = [PYTHON, "bench/echo_server.py", "--port", str(echo_port), "--tools", str(count)]
    relay = [PYTHON, "bench/relay.py", "--upstream", url, "--era", "modern"]
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "mcp.json"
        config.write_text(json.dumps({"mcpServers": {SERVER: {"url": url}}}))
        gateway = [TOOLCRIB, "serve", "--config", str(config), "--no-store"]
        async with (
            process(*echo, port=echo_port),
            process(*relay, "--port", str(relay_port), port=relay_port),
            process(*gateway, "--http", f"127.0.0.1:{gateway_port}", port=gateway_port),
            client_of(echo_port) as direct,
            client_of(relay_port) as relayed,
            client_of(gateway_port) as through,
        ):
            yield {"direct": direct, "relay": relayed, "gateway": through}


def client_of(port: int) -> Any:
    """A client that keeps its connection."""
    return raw_http(HttpLaunch(Secret(f"http://127.0.0.1:{port}/mcp")), keep_alive=True)


async def over_http(count: int, rounds: int) -> None:
    """The same list over the three routes."""
    async with routes(count) as clients:

        async def listed(client: RawHttp) -> None:
            answer = await client.ask("tools/list")
            assert answer.content.count(b'"inputSchema"') == count

        await clients["gateway"].ask("tools/list")
        works = {name: (lambda one=one: listed(one)) for name, one in clients.items()}
        await in_turns_of(works, 3)
        taken = await in_turns_of(works, rounds)
    ms = {name: one * 1e3 for name, one in taken.items()}
    tell(
        "tools_list_over_http_p50",
        ms["gateway"],
        "ms",
        aim=AIM_MS,
        tools=count,
        direct=ms["direct"],
        relay=ms["relay"],
    )


async def measure(rounds: int) -> None:
    """All of it."""
    await in_this_process(TOOLS, rounds)
    await in_this_process(MANY, rounds // 4)
    await pauses(MANY, 3)
    await over_http(TOOLS, rounds)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    anyio.run(measure, parser.parse_args().rounds)


if __name__ == "__main__":
    main()
