import anyio
import pytest

from toolcrib.catalog.reading import Reading
from toolcrib.core.snapshot import Kind
from toolcrib.crib import Crib
from toolcrib.errors import AuthRequired
from toolcrib.settings import ToolFilter
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib, server_settings

pytestmark = pytest.mark.virtual_time


def names(reading: Reading) -> list[str]:
    return [] if reading.snapshot is None else [item.key for item in reading.snapshot.items]


async def test_the_first_listing_of_a_cold_crib_has_the_tools() -> None:
    script = ScriptedUpstream([tool("a"), tool("b")], latency=0.1)
    async with scripted_crib({"s": script}) as (crib, _):
        (reading,) = await crib.catalogs().read(Kind.TOOLS)
        assert names(reading) == ["a", "b"]
        assert script.walks[Kind.TOOLS] == 1


async def test_a_signalled_change_is_listed_next() -> None:
    script = ScriptedUpstream([tool("a")])
    async with scripted_crib({"s": script}) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.read(Kind.TOOLS)
        await anyio.sleep(30)
        script.change([tool("a"), tool("b")])
        (reading,) = await catalogs.read(Kind.TOOLS)
        assert names(reading) == ["a", "b"]


@pytest.mark.duty(4)
async def test_a_thousand_readers_at_expiry_cause_one_walk() -> None:
    script = ScriptedUpstream([tool("a")], latency=0.2)
    async with scripted_crib({"s": script}) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.read(Kind.TOOLS)
        await anyio.sleep(20)
        before = script.walks[Kind.TOOLS]
        fresh: list[bool] = []

        async def read() -> None:
            (reading,) = await catalogs.read(Kind.TOOLS)
            fresh.append(reading.snapshot is not None)

        async with anyio.create_task_group() as readers:
            for _ in range(1000):
                readers.start_soon(read)
        assert fresh == [True] * 1000
        assert script.walks[Kind.TOOLS] - before == 1


@pytest.mark.duty(4)
async def test_cancelling_the_reader_that_started_a_walk_harms_nobody() -> None:
    script = ScriptedUpstream([tool("a")], latency=0.5)
    async with scripted_crib({"s": script}) as (crib, _):
        catalogs = crib.catalogs()
        with anyio.move_on_after(0.1) as first:
            await catalogs.read(Kind.TOOLS)
        assert first.cancelled_caught
        (reading,) = await catalogs.read(Kind.TOOLS)
        assert names(reading) == ["a"]
        assert script.walks[Kind.TOOLS] == 1


async def test_two_hundred_listings_in_two_seconds_at_ttl_zero_cause_two_walks_at_most() -> None:
    script = ScriptedUpstream([tool("a")], latency=0.01)
    async with scripted_crib({"s": script}) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.read(Kind.TOOLS)
        await anyio.sleep(60)
        before = script.walks[Kind.TOOLS]
        for _ in range(200):
            await catalogs.read(Kind.TOOLS)
            await anyio.sleep(0.01)
        assert script.walks[Kind.TOOLS] - before <= 2


@pytest.mark.parametrize("page_size", [None, 1], ids=["one page", "pages"])
@pytest.mark.parametrize("latency", [0.0, 0.003, 0.05, 0.4, 3.0])
async def test_after_the_last_of_ten_thousand_signals_two_walks_find_the_servers_list(
    latency: float, page_size: int | None
) -> None:
    script = ScriptedUpstream([tool("a")], latency=latency, page_size=page_size)
    async with scripted_crib({"s": script}) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.read(Kind.TOOLS)
        await anyio.sleep(30)
        for number in range(10_000):
            script.change([tool(f"t{number}"), tool("b")])
            if number % 10 == 9:
                await anyio.sleep(0.001)
        last = script.walks[Kind.TOOLS]
        await anyio.sleep(60)
        assert names(catalogs.peek("s", Kind.TOOLS)) == ["b", "t9999"]
        assert script.walks[Kind.TOOLS] - last <= 2


@pytest.mark.parametrize("latency", [0.0, 0.003, 0.05, 0.4, 3.0])
async def test_after_the_last_of_ten_thousand_signals_without_a_change_one_more_look_is_taken(
    latency: float,
) -> None:
    script = ScriptedUpstream([tool("a")], latency=latency)
    async with scripted_crib({"s": script}) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.read(Kind.TOOLS)
        await anyio.sleep(30)
        before = script.walks[Kind.TOOLS]
        for number in range(10_000):
            script.signal()
            if number % 10 == 9:
                await anyio.sleep(0.001)
        last = script.walks[Kind.TOOLS]
        await anyio.sleep(60)
        assert names(catalogs.peek("s", Kind.TOOLS)) == ["a"]
        assert script.walks[Kind.TOOLS] - last <= 3
        assert script.walks[Kind.TOOLS] - before <= 10, "the cap of one minute"


async def test_a_dead_server_costs_only_itself() -> None:
    dead = ScriptedUpstream()
    dead.faults.hang = True
    good = ScriptedUpstream([tool("g")])
    async with scripted_crib({"dead": dead, "good": good}) as (crib, _):
        began = anyio.current_time()
        one, two = await crib.catalogs().read(Kind.TOOLS)
        assert (names(one), names(two)) == ([], ["g"])
        assert one.trouble
        assert anyio.current_time() - began <= 3.0


async def test_denied_tools_are_not_listed() -> None:
    script = ScriptedUpstream([tool("read_a"), tool("write_a")])
    settings = {"s": server_settings("s", tools=ToolFilter(deny=("write_*",)))}
    async with scripted_crib({"s": script}, settings=settings) as (crib, _):
        (reading,) = await crib.catalogs().read(Kind.TOOLS)
        assert names(reading) == ["read_a"]


async def test_a_server_that_lets_us_in_again_is_listed_again_after_a_minute() -> None:
    script = ScriptedUpstream([tool("a")])
    async with scripted_crib({"s": script}) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.read(Kind.TOOLS)
        script.faults.lists = AuthRequired("the server answered 403")
        script.signal()
        await anyio.sleep(1)
        (reading,) = await catalogs.read(Kind.TOOLS)
        assert reading.snapshot is None
        script.faults.lists = None
        before = script.walks[Kind.TOOLS]
        (reading,) = await catalogs.read(Kind.TOOLS)
        assert reading.snapshot is None
        assert script.walks[Kind.TOOLS] == before
        await anyio.sleep(61)
        (reading,) = await catalogs.read(Kind.TOOLS)
        assert names(reading) == ["a"]


async def test_two_cold_cribs_on_one_store_share_a_walk_and_both_list_its_result() -> None:
    script = ScriptedUpstream([tool("a")], latency=1.0)
    seen: list[list[str]] = []
    async with (
        scripted_crib({"s": script}) as (first, world),
        scripted_crib({"s": script}, store=world.store) as (second, _),
    ):

        async def read(crib: Crib) -> None:
            await crib.catalogs().reach()
            (reading,) = await crib.catalogs().read(Kind.TOOLS)
            seen.append(names(reading))

        async with anyio.create_task_group() as readers:
            readers.start_soon(read, first)
            readers.start_soon(read, second)
    assert seen == [["a"], ["a"]]
    assert script.walks[Kind.TOOLS] == 1


@pytest.mark.duty(3)
@pytest.mark.parametrize("age", [0.0, 0.5, 2.5, 600.0, 3_500.0])
@pytest.mark.parametrize("ttl_ms", [3_600_000, 86_400_000, 10**15])
async def test_a_signal_beats_a_listing_that_is_still_fresh(ttl_ms: int, age: float) -> None:
    script = ScriptedUpstream([tool("a")], ttl_ms=ttl_ms)
    async with scripted_crib({"s": script}) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.read(Kind.TOOLS)
        await anyio.sleep(age)
        assert catalogs.peek("s", Kind.TOOLS).fresh
        script.change([tool("b")])
        assert not catalogs.peek("s", Kind.TOOLS).fresh
        (reading,) = await catalogs.read(Kind.TOOLS)
        assert (names(reading), reading.fresh) == (["b"], True)
