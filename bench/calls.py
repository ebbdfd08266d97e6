"""`tools/call` through the gateway, beside a direct connection and the bare relay, in one run.

The gateway checks the arguments before a call and the structured content after it; before anything
is measured, one call with wrong arguments shows that it does. Prints, for each transport and era:
the median latency of each route and its ratio to the relay, processor time of the middle process
per call, and calls per second at concurrency 16 with its ratio to the relay.
"""

import argparse
import json
import statistics
import time
from typing import Any

import anyio

from paths import Route, http_routes, stdio_routes

CONCURRENCY = 16


async def call(route: Route) -> None:
    """One call, whose answer is checked."""
    result = await route.peer.request(
        "tools/call", {"name": route.tool, "arguments": {"text": "hello", "times": 2}}
    )
    expected = {"text": "hello", "times": 2, "letters": list("hello")}
    if result["content"][0]["text"] != "hello" or result["structuredContent"] != expected:
        raise RuntimeError(f"{route.name} answered {result}")


async def refuses(route: Route) -> None:
    """A call whose arguments do not fit comes back from the gateway itself."""
    result = await route.peer.request(
        "tools/call", {"name": route.tool, "arguments": {"text": 7, "times": 0}}
    )
    if result.get("structuredContent", {}).get("error", {}).get("code") != "bad_arguments":
        raise RuntimeError(f"{route.name} checks no arguments: {result}")


async def one_by_one(routes: list[Route], rounds: int) -> dict[str, dict[str, float]]:
    """Medians of sequential calls, the routes taking turns, and processor time per call."""
    taken: dict[str, list[float]] = {route.name: [] for route in routes}
    before = {route.name: route.cpu() for route in routes}
    for _ in range(rounds):
        for route in routes:
            began = time.perf_counter()
            await call(route)
            taken[route.name].append(time.perf_counter() - began)
    return {
        route.name: {
            "p50_ms": statistics.median(taken[route.name]) * 1e3,
            "cpu_ms": (route.cpu() - before[route.name]) / rounds * 1e3,
        }
        for route in routes
    }


async def side_by_side(routes: list[Route], rounds: int, calls: int) -> dict[str, float]:
    """Median calls per second with 16 callers at once, the routes taking turns."""
    rates: dict[str, list[float]] = {route.name: [] for route in routes}

    async def caller(route: Route, share: int) -> None:
        for _ in range(share):
            await call(route)

    for _ in range(rounds):
        for route in routes:
            began = time.perf_counter()
            async with anyio.create_task_group() as tasks:
                for _ in range(CONCURRENCY):
                    tasks.start_soon(caller, route, calls // CONCURRENCY)
            rates[route.name].append(calls / (time.perf_counter() - began))
    return {name: statistics.median(values) for name, values in rates.items()}


async def measure(transport: str, era: str, rounds: int) -> dict[str, Any]:
    """All figures of one transport and era."""
    opener = stdio_routes if transport == "stdio" else http_routes
    async with opener(era) as routes:
        await refuses(next(route for route in routes if route.name == "gateway"))
        await one_by_one(routes, 30)
        serial = await one_by_one(routes, rounds)
        rates = await side_by_side(routes, 5, 320)
    relay = serial["relay"]["p50_ms"]
    return {
        "transport": transport,
        "era": era,
        "p50_ms": {name: round(row["p50_ms"], 3) for name, row in serial.items()},
        "cpu_ms_per_call": {
            name: round(row["cpu_ms"], 2) for name, row in serial.items() if name != "direct"
        },
        "relay_to_direct": round(relay / serial["direct"]["p50_ms"], 2),
        "gateway_to_relay": round(serial["gateway"]["p50_ms"] / relay, 2),
        "calls_per_second_16": {name: round(rate) for name, rate in rates.items()},
        "gateway_to_relay_16": round(rates["gateway"] / rates["relay"], 2),
    }


def main() -> None:
    """Measures every combination, or the one asked for, and prints one JSON line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--transport", choices=["stdio", "http"])
    parser.add_argument("--era", choices=["modern", "handshake"])
    options = parser.parse_args()
    for transport in [options.transport] if options.transport else ["stdio", "http"]:
        for era in [options.era] if options.era else ["modern", "handshake"]:
            print(json.dumps(anyio.run(measure, transport, era, options.rounds)), flush=True)


if __name__ == "__main__":
    main()
