"""Without a change the bytes that a prompt begins with are one string, whatever else happens."""

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio.testing

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.meta.definitions import CALL, DETAILS, SEARCH
from toolcrib.errors import UpstreamUnreachable
from toolcrib.settings import Exposure, ExposureSettings, GatewaySettings, StoreSettings
from toolcrib.testing.fake_service import host_request
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import ScriptedServers, server_settings
from toolcrib.testing.scripted_gateway import ScriptedGateway, ServedGateway, scripted_gateway
from toolcrib.testing.virtual_clock import LoopClock
from toolcrib.testing.wired_gateway import wired_gateway
from toolcrib.wire.jsonwire import Prepared

TOOLS = {
    name: [
        tool(f"{name}{number}", x={"type": "string"}, y={"enum": [*"abc"]}) for number in range(9)
    ]
    for name in ("alpha", "beta", "gamma")
}
PINNED = ("beta__*4", "alpha__alpha1")
SETTINGS = ExposureSettings(window=10_000, share=0.05, pinned=PINNED)
"""Under `auto` the tools cost more than the share."""
WANTED: list[Exposure] = ["search", "full", "auto"]


def scripts(**latencies: float) -> dict[str, ScriptedUpstream]:
    return {
        name: ScriptedUpstream(tools, latency=latencies.get(name, 0.0))
        for name, tools in TOOLS.items()
    }


async def shown(gateway: ServedGateway) -> bytes:
    """What goes out of a listing, apart from how long it may be kept."""
    answer = await gateway.gateway.answer(host_request("tools/list"))
    assert isinstance(answer, Prepared)
    return answer.encoded + repr(answer.members["_meta"]).encode()


@asynccontextmanager
async def started(
    wanted: Exposure, servers: dict[str, ScriptedUpstream], store: MemoryStore | None = None
) -> AsyncGenerator[ScriptedGateway]:
    shows = GatewaySettings(exposure=wanted)
    made = scripted_gateway(servers, store=store, gateway=shows, exposure=SETTINGS)
    async with made as gateway:
        yield gateway


async def happen(chance: random.Random, servers: dict[str, ScriptedUpstream]) -> None:
    """Something that leaves every tool as it was."""
    script = chance.choice(list(servers.values()))
    tools = list(script.items[Kind.TOOLS])
    match chance.randrange(5):
        case 0:
            script.change(chance.sample(tools, len(tools)))
        case 1:
            script.lose_stream()
            await anyio.sleep(chance.random() * 5)
            script.reopen_stream()
        case 2:
            script.drop()
        case 3:
            script.faults.lists = UpstreamUnreachable("away")
            script.signal()
            await anyio.sleep(chance.random() * 90)
            script.faults.lists = None
        case _:
            await anyio.sleep(chance.random() * 900)
    await anyio.sleep(chance.random())


@pytest.mark.virtual_time
@pytest.mark.parametrize("wanted", WANTED)
async def test_a_thousand_refreshes_reconnects_and_restarts_give_one_string(
    wanted: Exposure,
) -> None:
    chance = random.Random(f"{wanted}")  # noqa: S311 - a test that repeats
    store = MemoryStore(LoopClock())
    seen: list[bytes] = []
    async with started(wanted, scripts(), store) as gateway:
        seen.append(await shown(gateway))
    starts = 0
    while len(seen) < 1_000:
        starts += 1
        servers = scripts(**{name: chance.random() * 9 for name in TOOLS})
        down = chance.choice([None, *servers.values()])
        if down is not None:
            down.faults.connect = UpstreamUnreachable("refused")
        async with started(wanted, servers, store) as gateway:
            for _ in range(chance.randrange(1, 40)):
                seen.append(await shown(gateway))
                await happen(chance, servers)
    assert starts > 20
    assert len(set(seen)) == 1
    assert_real(wanted, seen[0])


def assert_real(wanted: Exposure, listing: bytes) -> None:
    """Meta-tools and pinned tools alone, as they are defined; or all tools."""
    meta, pinned = [SEARCH, DETAILS, CALL], ["alpha__alpha1", "beta__beta4"]
    everything = [f"{name}__{name}{number}" for name in sorted(TOOLS) for number in range(9)]
    expected = everything if wanted == "full" else [*meta, *pinned]
    assert [it["name"] for it in json.loads(listing.partition(b"]{")[0] + b"]")] == expected


@pytest.mark.parametrize("wanted", WANTED)
async def test_restarts_over_one_file_give_one_string(wanted: Exposure, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "gateway": GatewaySettings(exposure=wanted),
        "exposure": SETTINGS,
        "store": StoreSettings(str(tmp_path / "store.sqlite")),
    }
    seen: list[bytes] = []
    with anyio.fail_after(60):
        for start in range(6):
            servers = scripts()
            if start % 3 == 1:
                servers["beta"].faults.connect = UpstreamUnreachable("refused")
            for script in servers.values():
                script.items[Kind.TOOLS].reverse()
            async with wired_gateway(
                *map(server_settings, servers), connector=ScriptedServers(servers), **settings
            ) as gateway:
                for _ in range(2):
                    seen.append(await shown(gateway))
                    await gateway.crib.catalogs().reach()
    assert len(seen) == 12
    assert len(set(seen)) == 1
    assert_real(wanted, seen[0])


@pytest.mark.virtual_time
@pytest.mark.parametrize("at", ["a_start", "run_time"])
@pytest.mark.parametrize("name", ["aardvark", "betamax", "zebra"])
async def test_an_added_server_changes_no_byte_under_search_and_renames_nothing_under_full(
    name: str, at: str
) -> None:
    before: dict[Exposure, bytes] = {}
    after: dict[Exposure, bytes] = {}
    for wanted in WANTED:
        store = MemoryStore(LoopClock())
        async with started(wanted, scripts(), store) as gateway:
            before[wanted] = await shown(gateway)
            if at == "run_time":
                gateway.world.servers.add(name, ScriptedUpstream(TOOLS["beta"]))
                settings = gateway.crib.settings
                more = (*settings.servers, server_settings(name))
                await gateway.crib.apply(replace(settings, servers=more))
                await anyio.sleep(5)
                after[wanted] = await shown(gateway)
        if at == "a_start":
            more_scripts = {**scripts(), name: ScriptedUpstream(TOOLS["beta"])}
            async with started(wanted, more_scripts, store) as gateway:
                await anyio.sleep(5)
                after[wanted] = await shown(gateway)
    assert after["search"] == before["search"]
    assert after["auto"] == before["auto"] == before["search"]
    one, other = (json.loads(it["full"].partition(b"]{")[0] + b"]") for it in (before, after))
    assert [each for each in other if not each["name"].startswith(name)] == one
    assert len(other) == len(one) + 9


# ---- PC1: servers that settle in random order, under several seeds of hashing ----


async def _settle(wanted: Exposure, chance: random.Random) -> str:
    servers = scripts(**{name: chance.random() for name in TOOLS})
    for script in servers.values():
        tools = script.items[Kind.TOOLS]
        script.items[Kind.TOOLS] = chance.sample(tools, len(tools))
    order = {name: servers[name] for name in chance.sample(list(servers), len(servers))}
    async with started(wanted, order) as gateway:
        return hashlib.sha256(await shown(gateway)).hexdigest()


async def _settle_often(times: int, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a test that repeats
    for wanted in WANTED:
        print(wanted, *sorted({await _settle(wanted, chance) for _ in range(times)}))  # noqa: T201


def settle(seed: int) -> None:
    """What a process of its own runs: it prints the digests of 17 cold starts per exposure."""
    options = {"clock": trio.testing.MockClock(autojump_threshold=0)}
    anyio.run(_settle_often, 17, seed, backend="trio", backend_options=options)


def test_fifty_cold_starts_give_one_string_whatever_settles_first_and_however_hashes_fall() -> None:
    here = Path(__file__)
    answers: set[str] = set()
    for seed in ("0", "1", "4242"):
        code = f"import sys; sys.path.insert(0, {str(here.parent)!r}); "
        code += f"import {here.stem}; {here.stem}.settle({seed})"
        ran = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        answers.add(ran.stdout)
    (answer,) = answers
    lines = [line.split() for line in answer.splitlines()]
    assert [(wanted, len(digests)) for wanted, *digests in lines] == [(it, 1) for it in WANTED]
