"""Change signals, storms and expiry, through the gateway: what a host sees, and what it costs."""

from collections.abc import Mapping
from typing import Any

import anyio
import anyio.abc
import pytest

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.core.snapshot import Item, Kind
from toolcrib.facts import Finding
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib, server_settings
from toolcrib.testing.scripted_gateway import HostEra, ScriptedGateway, scripted_gateway
from toolcrib.testing.virtual_clock import LoopClock

pytestmark = pytest.mark.virtual_time

HOUR = 3600.0


def listing(*names: str) -> list[dict[str, Any]]:
    return [tool(name) for name in names]


def _held(gateway: ScriptedGateway, server: str = "s") -> tuple[Item, ...]:
    snapshot = gateway.crib.catalogs().peek(server, Kind.TOOLS).snapshot
    assert snapshot is not None
    return snapshot.items


# ---- signals ----


@pytest.mark.parametrize("signals", [1, 5, 200, 2_000])
@pytest.mark.parametrize("latency", [0.0, 0.01, 0.3])
async def test_a_storm_during_a_call_costs_two_walks_and_ends_in_the_servers_list(
    signals: int, latency: float
) -> None:
    script = ScriptedUpstream(listing("a"), latency=latency)

    async def storm(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        for number in range(signals):
            script.change(listing("a", f"t{number}"))
            await anyio.sleep(0.05 / signals)
        return {"content": []}

    script.on_call = storm
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        await anyio.sleep(30)
        before = script.walks[Kind.TOOLS]
        await gateway.call("s__a")
        await anyio.sleep(30)
        listed = [item.key for item in _held(gateway)]
        assert listed == ["a", f"t{signals - 1}"]
        assert script.walks[Kind.TOOLS] - before <= 2


@pytest.mark.parametrize("held", [True, False], ids=["something held", "cold"])
@pytest.mark.parametrize("page_size", [None, 1])
async def test_a_change_while_a_listing_is_in_flight_is_followed_by_a_second_walk_at_once(
    page_size: int | None, *, held: bool
) -> None:
    script = ScriptedUpstream(listing("v1"), latency=0.4, page_size=page_size)
    async with scripted_gateway({"s": script}) as gateway:
        if held:
            await gateway.names()
            await anyio.sleep(30)
        else:
            gateway.crib.catalogs()
            await gateway.crib.catalogs().reach()
        before = script.walks[Kind.TOOLS]
        gateway.crib.catalogs().server("s").keeper(Kind.TOOLS).need()
        while script.walks[Kind.TOOLS] == before:  # noqa: ASYNC110 - virtual time
            await anyio.sleep(0.01)
        script.change(listing("v1", "v2"))
        await anyio.sleep(3)
        assert [item.key for item in _held(gateway)] == ["v1", "v2"]
        assert script.walks[Kind.TOOLS] - before == 2
        await anyio.sleep(HOUR)
        assert [item.key for item in _held(gateway)] == ["v1", "v2"], "without another signal"


@pytest.mark.parametrize("every", [0.001, 0.02, 0.6])
async def test_a_cold_start_in_a_storm_shows_tools_within_one_walk(every: float) -> None:
    script = ScriptedUpstream(listing("a"), latency=1.0)

    async def storm() -> None:
        while True:
            await anyio.sleep(every)
            script.signal()

    async with scripted_gateway({"s": script}) as gateway, anyio.create_task_group() as tasks:
        tasks.start_soon(storm)
        await gateway.crib.catalogs().reach()
        began = anyio.current_time()
        result = await gateway.ask("tools/list")
        assert [each["name"] for each in result["tools"]] == ["s__a"]
        assert result["ttlMs"] == 0
        assert anyio.current_time() - began <= 1.2
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("delay", [0.005, 1.1])
async def test_a_server_that_signals_on_each_listing_is_slowed_down_and_its_changes_are_seen(
    delay: float,
) -> None:
    class Echoing(ScriptedUpstream):
        def list_page(self, kind: Kind, cursor: str | None) -> dict[str, Any]:
            tasks.start_soon(self.later)
            return super().list_page(kind, cursor)

        async def later(self) -> None:
            await anyio.sleep(delay)
            self.signal()

    script = Echoing(listing("a"))
    async with anyio.create_task_group() as tasks:
        async with scripted_gateway({"s": script}) as gateway:
            await gateway.names()
            await anyio.sleep(60)
            before = script.walks[Kind.TOOLS]
            await anyio.sleep(600)
            assert script.walks[Kind.TOOLS] - before <= 100, "ten in a minute"
            assert "self_notifying_server" in {
                fact.code for fact in gateway.world.recorder.of(Finding)
            }
            script.items[Kind.TOOLS] = list(listing("a", "real"))
            await anyio.sleep(15)
            assert [item.key for item in _held(gateway)] == ["a", "real"]
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "undeclared"])
@pytest.mark.parametrize("commit", [0.0, 0.05, 0.2, 0.27])
async def test_a_signal_that_comes_before_its_change_is_looked_after_once_more(
    commit: float, *, declared: bool
) -> None:
    capabilities = {"tools": {"listChanged": True} if declared else {}}
    script = ScriptedUpstream(listing("old"), capabilities=capabilities)
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        await anyio.sleep(30)
        script.signal()
        await anyio.sleep(commit)
        script.items[Kind.TOOLS] = list(listing("new"))
        await anyio.sleep(2 - commit)
        assert [item.key for item in _held(gateway)] == ["new"]


async def test_five_signals_right_after_the_start_end_in_the_whole_list_after_two_walks() -> None:
    script = ScriptedUpstream(listing(*(f"t{n}" for n in range(12))), latency=0.02)
    async with scripted_gateway({"s": script}) as gateway:
        catalogs = gateway.crib.catalogs()
        await catalogs.reach()
        for number in range(12, 17):
            await anyio.sleep(0.002)
            script.change(listing(*(f"t{n}" for n in range(number + 1))))
        await anyio.sleep(5)
        assert len(_held(gateway)) == 17
        assert script.walks[Kind.TOOLS] <= 2
        assert len(await gateway.names()) == 17


async def test_a_silent_change_and_its_reversal_are_both_shown() -> None:
    script = ScriptedUpstream(listing("day"), stream="refused")
    async with scripted_gateway({"s": script}) as gateway:
        for turn in range(4):
            now = ["night", "day"][turn % 2]
            script.change(listing(now), signal=False)
            await anyio.sleep(5 * 60)
            assert await gateway.names() == [f"s__{now}"]


@pytest.mark.parametrize("host", ["legacy", "auto"])
async def test_a_host_that_subscribed_hears_of_a_silent_change_however_long_it_was_quiet(
    host: HostEra,
) -> None:
    script = ScriptedUpstream(listing("old"), stream="refused")
    heard: list[str] = []

    async def hear(message: object) -> None:
        heard.append(type(message).__name__)

    async with (
        scripted_gateway({"s": script}) as gateway,
        gateway.host(host, message_handler=hear) as client,
        anyio.create_task_group() as tasks,
    ):
        await client.list_tools()
        if host == "auto":

            async def listen(*, task_status: anyio.abc.TaskStatus[None]) -> None:
                async with client.listen(tools_list_changed=True) as changes:
                    task_status.started()
                    async for _ in changes:
                        pass

            await tasks.start(listen)
        await anyio.sleep(5 * HOUR)
        script.change(listing("new"), signal=False)
        await anyio.sleep(HOUR)
        assert "ToolListChangedNotification" in heard
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(("servers", "signals"), [(50, 500), (5, 10_000), (1, 10_000)])
async def test_storms_of_many_servers_stay_bounded_and_all_lists_converge(
    servers: int, signals: int
) -> None:
    scripts = {
        f"s{n}": ScriptedUpstream(listing("a"), latency=0.01 * (n % 7)) for n in range(servers)
    }
    async with scripted_gateway(scripts) as gateway:
        await gateway.names()
        await anyio.sleep(30)
        for number in range(signals):
            for script in scripts.values():
                script.change(listing(f"t{number}"))
            if number % (signals // 100) == 0:
                await anyio.sleep(0.01)
        last = {name: script.walks[Kind.TOOLS] for name, script in scripts.items()}
        await anyio.sleep(30)
        expected = sorted(f"{name}__t{signals - 1}" for name in scripts)
        for name in scripts:
            assert [item.key for item in _held(gateway, name)] == [f"t{signals - 1}"]
        assert all(s.walks[Kind.TOOLS] - last[name] <= 2 for name, s in scripts.items())
        assert sorted(await gateway.names()) == expected


# ---- expiry ----


@pytest.mark.parametrize("readers", [2, 5, 300])
async def test_hosts_that_list_at_expiry_share_one_walk_although_the_first_goes_away(
    readers: int,
) -> None:
    script = ScriptedUpstream(listing("a"), latency=0.3, ttl_ms=10_000)
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        await anyio.sleep(20)
        before = script.walks[Kind.TOOLS]
        got: list[list[str]] = []

        async def read() -> None:
            got.append(await gateway.names())

        first = anyio.CancelScope()
        async with anyio.create_task_group() as tasks:

            async def impatient() -> None:
                with first:
                    await gateway.names()

            tasks.start_soon(impatient)
            await anyio.sleep(0.05)
            for _ in range(readers):
                tasks.start_soon(read)
            await anyio.sleep(0.05)
            first.cancel()
        assert first.cancelled_caught
        assert got == [["s__a"]] * readers
        assert script.walks[Kind.TOOLS] - before == 1


@pytest.mark.parametrize(("listings", "seconds"), [(200, 2.0), (1_000, 2.0), (50, 1.0)])
async def test_many_listings_without_a_ttl_cost_one_walk_per_interval(
    listings: int, seconds: float
) -> None:
    script = ScriptedUpstream(listing("a"), latency=0.01)
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        await anyio.sleep(60)
        before = script.walks[Kind.TOOLS]
        for _ in range(listings):
            await gateway.names()
            await anyio.sleep(seconds / listings)
        assert script.walks[Kind.TOOLS] - before <= 2


async def test_an_old_walk_that_answers_after_a_newer_one_was_published_is_dropped() -> None:
    slow, quick = ScriptedUpstream(listing("v0")), ScriptedUpstream(listing("v0"))
    store = MemoryStore(LoopClock())
    patient = {"s": server_settings("s", request_seconds=60.0)}
    async with (
        scripted_crib({"s": slow}, store=store, settings=patient) as (one, _),
        scripted_crib({"s": quick}, store=store) as (two, _),
    ):
        for crib in (one, two):
            await crib.catalogs().read(Kind.TOOLS)
        await anyio.sleep(30)
        slow.items[Kind.TOOLS] = list(listing("v1"))
        slow.latency = 40
        slow.signal()
        await anyio.sleep(25)  # the lease of the slow walk is over
        slow.items[Kind.TOOLS] = quick.items[Kind.TOOLS] = list(listing("v2"))
        quick.signal()
        await anyio.sleep(5)
        generations: list[int] = []
        for _ in range(30):
            for crib in (one, two):
                reading = crib.catalogs().peek("s", Kind.TOOLS)
                assert reading.snapshot is not None
                assert [item.key for item in reading.snapshot.items] == ["v2"]
                generations.append(reading.generation)
            await anyio.sleep(2)
        assert len(set(generations)) == 1
