"""A server that never comes up costs one wait, whoever lists whatever of it."""

import anyio
import pytest

from toolcrib.catalog.catalogs import Catalogs
from toolcrib.core.snapshot import Kind
from toolcrib.errors import UpstreamUnreachable
from toolcrib.settings import Waits
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib, server_settings

pytestmark = pytest.mark.virtual_time

COLD = Waits().cold_wait


def hanging() -> ScriptedUpstream:
    """A server whose connection is never up."""
    dead = ScriptedUpstream()
    dead.faults.silent = True
    return dead


async def seconds(catalogs: Catalogs, kind: Kind = Kind.TOOLS) -> float:
    """How long a listing takes that comes now."""
    began = anyio.current_time()
    await catalogs.read(kind)
    return anyio.current_time() - began


async def test_only_the_first_listing_waits_for_a_server_that_hangs() -> None:
    scripts = {"dead": hanging(), "time": ScriptedUpstream([tool("now")])}
    async with scripted_crib(scripts) as (crib, _):
        catalogs = crib.catalogs()
        assert await seconds(catalogs) == pytest.approx(COLD, abs=0.2)
        assert [await seconds(catalogs) for _ in range(3)] == pytest.approx([0, 0, 0], abs=0.2)
        dead, time = await catalogs.read(Kind.TOOLS)
        assert (dead.snapshot, dead.trouble) == (None, "the server was not reached so far")
        assert time.snapshot is not None


async def test_kinds_that_are_asked_for_later_do_not_wait_again() -> None:
    async with scripted_crib({"dead": hanging()}) as (crib, _):
        catalogs = crib.catalogs()
        await anyio.sleep(1)
        waits = [await seconds(catalogs, kind) for kind in Kind]
        assert waits == pytest.approx([COLD - 1, 0, 0, 0], abs=0.2)


async def test_a_listing_that_comes_long_after_the_start_waits_for_nothing() -> None:
    async with scripted_crib({"dead": hanging()}) as (crib, _):
        catalogs = crib.catalogs()
        await anyio.sleep(COLD + 1)
        assert await seconds(catalogs) == pytest.approx(0, abs=0.2)


async def test_a_server_that_crashed_before_it_was_asked_for_is_not_waited_for() -> None:
    crashing = ScriptedUpstream()
    crashing.faults.connect = UpstreamUnreachable("it died", server="s")
    settings = {"s": server_settings("s", connect="eager")}
    async with scripted_crib({"s": crashing}, settings=settings) as (crib, _):
        catalogs = crib.catalogs()
        await anyio.sleep(0.3)
        assert catalogs.status("s").state == "backoff"
        assert [await seconds(catalogs, kind) for kind in Kind] == pytest.approx([0] * 4, abs=0.2)


async def test_what_comes_late_is_listed_and_told() -> None:
    late = ScriptedUpstream([tool("now")], latency=COLD + 2)
    async with scripted_crib({"late": late}) as (crib, _):
        catalogs = crib.catalogs()
        told: list[str] = []
        catalogs.on_published(lambda change: told.append(change.server))
        await seconds(catalogs)
        assert await seconds(catalogs) == pytest.approx(0, abs=0.2)
        await anyio.sleep(60)
        (reading,) = await catalogs.read(Kind.TOOLS)
        assert (reading.snapshot is not None, told) == (True, ["late"])
