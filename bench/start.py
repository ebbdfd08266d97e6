"""How soon a started gateway is there, and how soon it lists what it kept of silent servers.

The start of the process, imports included, stands beside `python -c "import mcp"`, the two taking
turns. Then 30 servers, half of them processes and half of them on HTTP, are listed once; from then
on none of them ever says a word, and a new process has only its store.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psutil

from figures import median, tell
from paths import TOOLCRIB, free_port
from toolcrib.settings import HttpLaunch, Secret, StdioLaunch
from toolcrib.testing.raw_client import RawHttp, RawPipe, raw_http, raw_pipe
from toolcrib.testing.scripted_server import (
    Content,
    Hang,
    scripted_http,
    scripted_stdio,
    tool,
)

RATIO_AIM = 1.3
LIST_AIM_MS = 100.0
SERVERS = 30
TOOLS_EACH = 10
LOOK = 0.002
"""Seconds between two looks whether HTTP is there."""

Gateway = Callable[[str], AbstractAsyncContextManager[tuple[int, Any]]]


@dataclass(frozen=True, slots=True)
class Start:
    """What one start takes, in seconds; processor time does not mind what else the machine does."""

    wall: float
    cpu: float


def configuration(folder: Path, servers: dict[str, dict[str, Any]]) -> str:
    """A configuration file with these servers."""
    path = folder / f"{len(servers)}.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return str(path)


def command(config: str, *more: str) -> tuple[str, ...]:
    """The arguments of `toolcrib serve`."""
    return ("serve", "--config", config, "--log-level", "error", *more)


@asynccontextmanager
async def stdio_gateway(config: str) -> AsyncGenerator[tuple[int, RawPipe]]:
    """A gateway on stdio that has answered its first question."""
    async with raw_pipe(StdioLaunch(TOOLCRIB, command(config))) as pipe:
        assert "result" in await pipe.ask("server/discover")
        yield pipe.process.pid, pipe
        await pipe.stdin.aclose()
        await pipe.process.wait()


@asynccontextmanager
async def http_gateway(config: str) -> AsyncGenerator[tuple[int, RawHttp]]:
    """A gateway on HTTP whose health page is there."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    launch = StdioLaunch(TOOLCRIB, command(config, "--http", f"127.0.0.1:{port}"))
    async with (
        raw_pipe(launch) as pipe,
        raw_http(HttpLaunch(Secret(f"{address}/mcp")), keep_alive=True) as client,
    ):
        while True:
            try:
                if (await client.http.get(f"{address}/healthz")).is_success:
                    break
            except httpx2.TransportError:
                await anyio.sleep(LOOK)
        yield pipe.process.pid, client
        pipe.process.terminate()
        await pipe.process.wait()


async def import_the_sdk() -> Start:
    """What a start is compared with."""
    began = time.perf_counter()
    say = "import mcp, time; print(time.process_time())"
    done = await anyio.run_process([sys.executable, "-c", say])
    return Start(time.perf_counter() - began, float(done.stdout))


async def until_ready(gateway: Gateway, config: str) -> Start:
    """A start of the gateway; its end is not counted."""
    began = time.perf_counter()
    async with gateway(config) as (pid, _):
        taken = time.perf_counter() - began
        times = psutil.Process(pid).cpu_times()
        return Start(taken, times.user + times.system)


async def measure_start(folder: Path, rounds: int) -> None:
    """Starts without any server, beside the import of the SDK."""
    config = configuration(folder, {})
    taken: dict[str, list[Start]] = {"stdio": [], "http": [], "sdk": []}
    for _ in range(rounds):
        taken["sdk"].append(await import_the_sdk())
        taken["stdio"].append(await until_ready(stdio_gateway, config))
        taken["http"].append(await until_ready(http_gateway, config))
    middle = {
        name: Start(median([one.wall for one in all_]), median([one.cpu for one in all_]))
        for name, all_ in taken.items()
    }
    sdk = middle["sdk"]
    for wire in ("stdio", "http"):
        ready = middle[wire]
        tell(
            f"start_to_ready_on_{wire}",
            ready.wall / sdk.wall,
            "import mcp",
            aim=RATIO_AIM,
            ready_ms=ready.wall * 1e3,
            import_mcp_ms=sdk.wall * 1e3,
            cpu_ratio=ready.cpu / sdk.cpu,
        )


async def listed_over_stdio(config: str) -> float:
    """Seconds a new process takes for its listing, once it is ready."""
    async with stdio_gateway(config) as (_, pipe):
        began = time.perf_counter()
        answer = await pipe.ask("tools/list")
        taken = time.perf_counter() - began
        assert len(answer["result"]["tools"]) == SERVERS * TOOLS_EACH, answer
        return taken


async def listed_over_http(config: str) -> float:
    """The same over HTTP."""
    async with http_gateway(config) as (_, client):
        began = time.perf_counter()
        answer = await client.ask("tools/list")
        taken = time.perf_counter() - began
        assert len(answer.json()["result"]["tools"]) == SERVERS * TOOLS_EACH, answer.text
        return taken


async def listed_at_last(listed: Callable[[str], Awaitable[float]], config: str) -> None:
    """List until everything is there: the first listing of a cold start may miss some."""
    while True:
        try:
            await listed(config)
        except AssertionError:
            continue
        return


async def measure_listing(folder: Path, rounds: int) -> None:
    """Listings from the store, while 30 servers never answer."""
    content = Content(tools=[tool(f"tool_{number}") for number in range(TOOLS_EACH)])
    async with scripted_stdio(content) as processes, scripted_http(content) as site:
        servers: dict[str, dict[str, Any]] = {}
        for number in range(SERVERS // 2):
            entry = processes.entry()
            servers[f"process_{number}"] = {**entry, "args": [*entry["args"], str(number)]}
            servers[f"site_{number}"] = {**site.entry(), "url": f"{site.entry()['url']}?n={number}"}
        config = configuration(folder, servers)
        await listed_at_last(listed_over_stdio, config)
        await listed_at_last(listed_over_http, config)
        for server in (processes, site):
            await server.on("connect", Hang())
        works = {"stdio": listed_over_stdio, "http": listed_over_http}
        taken: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(rounds):
            for name, listed in works.items():
                taken[name].append(await listed(config))
    for name, samples in taken.items():
        tell(
            f"tools_list_from_disk_over_{name}",
            median(samples) * 1e3,
            "ms",
            aim=LIST_AIM_MS,
            silent_servers=SERVERS,
            tools=SERVERS * TOOLS_EACH,
            slowest=max(samples) * 1e3,
        )


async def measure(rounds: int) -> None:
    """All of it, over a store and a key of its own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}
        await measure_start(Path(folder), rounds)
        await measure_listing(Path(folder), rounds)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    anyio.run(measure, parser.parse_args().rounds)


if __name__ == "__main__":
    main()
