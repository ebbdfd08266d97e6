"""Which servers nothing is held of, once all are up to date, without a reading of each catalog."""

from collections.abc import Mapping

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.settings import Waits
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib, server_settings

LONG = 3_600_000


def scripts(**ttl_ms: int) -> Mapping[str, ScriptedUpstream]:
    return {
        server: ScriptedUpstream([tool("a")], ttl_ms=ttl, stream="refused")
        for server, ttl in ttl_ms.items()
    }


@pytest.mark.virtual_time
async def test_nothing_is_asked_of_servers_whose_catalogs_are_fresh() -> None:
    async with scripted_crib(scripts(one=LONG, two=LONG)) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.reach()
        assert await catalogs.lacking(Kind.TOOLS) == ()
        held = [catalogs.peek(it, Kind.TOOLS).generation for it in ("one", "two")]
        assert await catalogs.lacking(Kind.TOOLS) == ()
        assert [catalogs.peek(it, Kind.TOOLS).generation for it in ("one", "two")] == held


@pytest.mark.virtual_time
async def test_what_is_stale_is_renewed_as_by_a_listing() -> None:
    known = scripts(fresh=LONG, stale=0)
    async with scripted_crib(known) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.reach()
        await catalogs.lacking(Kind.TOOLS)
        walks = {it: script.walks[Kind.TOOLS] for it, script in known.items()}
        await anyio.sleep(60)
        known["stale"].items[Kind.TOOLS].append(tool("b"))
        assert await catalogs.lacking(Kind.TOOLS, {"fresh"}) == ()
        assert {it: script.walks[Kind.TOOLS] for it, script in known.items()} == walks
        assert await catalogs.lacking(Kind.TOOLS, {"fresh", "stale", "unknown"}) == ()
        held = catalogs.peek("stale", Kind.TOOLS).snapshot
        assert held is not None
        assert [item.key for item in held.items] == ["a", "b"]
        assert known["fresh"].walks[Kind.TOOLS] == walks["fresh"]


@pytest.mark.virtual_time
@pytest.mark.parametrize("asked", [None, {"silent", "there"}])
async def test_a_server_that_never_answers_is_lacking_after_one_wait(
    asked: set[str] | None,
) -> None:
    known = {**scripts(there=LONG), "silent": ScriptedUpstream([tool("a")], latency=1e6)}
    waits = Waits(cold_wait=2.0)
    settings = {"silent": server_settings("silent", waits=waits)}
    async with scripted_crib(known, settings=settings) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.reach()
        began = anyio.current_time()
        assert await catalogs.lacking(Kind.TOOLS, asked) == ("silent",)
        assert anyio.current_time() - began <= waits.cold_wait


@pytest.mark.virtual_time
async def test_a_catalog_is_fresh_for_a_listing_as_long_as_its_reading_says() -> None:
    async with scripted_crib(scripts(one=90_000)) as (crib, world):
        catalogs = crib.catalogs()
        await catalogs.reach()
        await catalogs.read(Kind.TOOLS)
        server = catalogs.server("one")
        seen: list[bool] = []
        for step in range(30):
            if step == 20:
                catalogs.invalidate("one", Kind.TOOLS, why="a test")
            seen.append(catalogs.peek("one", Kind.TOOLS).fresh)
            assert server.is_fresh(Kind.TOOLS, world.clock.now().mono) == seen[-1]
            await anyio.sleep(7)
        assert set(seen) == {True, False}
        assert not server.is_fresh(Kind.PROMPTS, world.clock.now().mono), "nobody asked for these"
