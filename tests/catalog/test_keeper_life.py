"""How one keeper lives: its end, who cares for it, its store and the right to it."""

from dataclasses import replace

import anyio
import pytest

from toolcrib.catalog.reading import Reading
from toolcrib.core.freshness.events import Failure, FailureKind, Reason
from toolcrib.facts import Finding, Withdrawn
from toolcrib.settings import Waits
from toolcrib.testing.keeper_rig import HandListing, keeper_rig

pytestmark = pytest.mark.virtual_time


def names(reading: Reading) -> list[str] | None:
    return None if reading.snapshot is None else [item.key for item in reading.snapshot.items]


# ---- its own life ----


async def test_work_under_way_ends_with_the_keeper() -> None:
    async with keeper_rig() as here:
        keeper = await here.settled()
        here.listing.held_back, here.listing.reached = anyio.Event(), anyio.Event()
        keeper.need()
        await here.listing.reached.wait()
        keeper.close()
        await anyio.wait_all_tasks_blocked()
        assert keeper.closed
        assert here.listing.cancelled == 1
        keeper.invalidate(Reason.SIGNAL)
        keeper.need()
        await anyio.sleep(100)
        assert here.listing.asked == 1
        assert here.told == []


async def test_a_closed_keeper_still_answers_what_it_held() -> None:
    async with keeper_rig() as here:
        keeper = await here.settled()
        keeper.close()
        with anyio.fail_after(5):
            reading = await keeper.read()
        assert names(reading) == ["a"]
        assert not reading.fresh


async def test_a_keeper_that_is_closed_in_the_middle_of_a_store_operation_is_quiet() -> None:
    async with keeper_rig() as here:
        here.keeper.start()
        here.keeper.close()
        await anyio.sleep(10)
        assert here.listing.asked == 0
        assert names(here.keeper.peek()) is None


async def test_a_listener_that_signals_again_causes_a_walk_and_no_disorder() -> None:
    async with keeper_rig("v0") as here:
        keeper = await here.settled()

        def change_again() -> None:
            held = keeper.peek()
            assert names(held) == here.told[-1][0], "told of something that is not held"
            if len(here.told) < 5:
                here.listing.names = [f"v{len(here.told) + 1}"]
                keeper.invalidate(Reason.SIGNAL)
                keeper.need()

        here.on_told = change_again
        here.listing.names = ["v1"]
        keeper.invalidate(Reason.SIGNAL)
        await anyio.sleep(30)
        assert [told for told, _ in here.told] == [[f"v{n}"] for n in range(1, 6)]
        numbers = [number for _, number in here.told]
        assert numbers == sorted(set(numbers))


async def test_a_listener_that_closes_the_keeper_ends_it() -> None:
    async with keeper_rig() as here:
        keeper = await here.settled()
        here.on_told = keeper.close
        here.listing.names = ["b"]
        keeper.invalidate(Reason.SIGNAL)
        await anyio.sleep(30)
        assert len(here.told) == 1
        assert keeper.closed


async def test_other_waits_hold_at_once() -> None:
    async with keeper_rig(max_stale_list=86_400.0, poll_base=600.0) as here:
        keeper = await here.settled()
        here.listing.failure = Failure(FailureKind.TRANSPORT, "down")
        keeper.retune(replace(here.settings, waits=Waits(max_stale_list=30.0)))
        assert keeper.peek().snapshot is None
        keeper.retune(replace(here.settings, waits=Waits(max_stale_list=3000.0)))
        assert names(keeper.peek()) == ["a"]


async def test_a_shorter_interval_of_polls_moves_the_next_poll() -> None:
    async with keeper_rig(poll_base=600.0) as here:
        keeper = await here.settled()
        keeper.stream_changed("refused")
        await keeper.read()
        here.listing.asked = 0
        await anyio.sleep(100)
        assert here.listing.asked == 0
        keeper.retune(replace(here.settings, waits=Waits(poll_base=10.0)))
        await anyio.sleep(1)
        assert here.listing.asked == 1


async def test_another_strategy_holds_at_once() -> None:
    async with keeper_rig() as here:
        keeper = await here.settled()
        keeper.retune(replace(here.settings, strategy="poll"))
        await anyio.sleep(300)
        assert here.listing.asked >= 2
        keeper.retune(replace(here.settings, strategy="notify"))
        here.listing.asked = 0
        await anyio.sleep(700)
        assert here.listing.asked == 0


# ---- who cares ----


async def test_polling_ends_when_nobody_asked_for_long() -> None:
    async with keeper_rig(wanted_for=900.0) as here:
        keeper = await here.settled()
        keeper.stream_changed("refused")
        await keeper.read()
        here.listing.asked = 0
        await anyio.sleep(900)
        assert here.listing.asked >= 2
        await anyio.sleep(700)
        here.listing.asked = 0
        await anyio.sleep(24 * 3600)
        assert here.listing.asked == 0


async def test_polling_goes_on_while_anybody_watches() -> None:
    async with keeper_rig(wanted_for=900.0, poll_max=600.0) as here:
        keeper = await here.settled()
        keeper.stream_changed("refused")
        ends = [keeper.watch() for _ in range(3)]
        await anyio.sleep(4 * 3600)
        here.listing.names = ["b"]
        await anyio.sleep(800)
        assert [told for told, _ in here.told] == [["b"]]
        ends[0]()
        ends[0]()
        ends[1]()
        here.listing.asked = 0
        await anyio.sleep(4 * 3600)
        assert here.listing.asked >= 4 * 3600 // 720, "two of three left, one of them twice"
        ends[2]()
        await anyio.sleep(700)
        here.listing.asked = 0
        await anyio.sleep(24 * 3600)
        assert here.listing.asked == 0


@pytest.mark.duty(14)
async def test_a_quiet_server_is_polled_ever_more_seldom_up_to_the_maximum() -> None:
    async with keeper_rig(poll_base=60.0, poll_max=600.0) as here:
        keeper = await here.settled()
        keeper.stream_changed("refused")
        keeper.watch()
        await anyio.sleep(24 * 3600)
        assert 24 * 6 / 1.2 - 1 <= here.listing.asked <= 24 * 6 + 10


async def test_a_signal_of_a_server_that_nobody_cares_for_costs_nothing_until_somebody_does() -> (
    None
):
    async with keeper_rig() as here:
        keeper = await here.settled()
        await anyio.sleep(3600)
        here.listing.names = ["b"]
        for _ in range(100):
            keeper.invalidate(Reason.SIGNAL)
            await anyio.sleep(1)
        assert here.listing.asked == 0
        assert names(await keeper.read()) == ["b"]
        assert here.listing.asked == 1


# ---- the store and the right ----


async def test_a_store_that_is_away_keeps_last_good_and_is_asked_again() -> None:
    async with keeper_rig() as here:
        keeper = await here.settled()
        here.store.away = True
        here.listing.names = ["b"]
        keeper.invalidate(Reason.SIGNAL)
        await anyio.sleep(20)
        reading = await keeper.read()
        assert (names(reading), reading.fresh) == (["a"], False)
        assert reading.trouble == "the store does not answer"
        assert here.listing.asked == 0, "nobody may publish without the store"
        here.store.away = False
        await anyio.sleep(120)
        assert names(keeper.peek()) == ["b"]


async def test_a_revoked_catalog_is_gone_at_once_and_told() -> None:
    async with keeper_rig() as here:
        keeper = await here.settled()
        here.listing.held_back, here.listing.reached = anyio.Event(), anyio.Event()
        keeper.need()
        await here.listing.reached.wait()
        keeper.revoked()
        assert keeper.peek().snapshot is None
        here.listing.held_back.set()
        await anyio.sleep(60)
        assert keeper.peek().snapshot is None
        assert [told for told, _ in here.told] == [None]
        assert len(here.recorder.of(Withdrawn)) == 1
        assert (await keeper.read()).trouble == "the right to see this catalog is gone"


async def test_a_forbidden_listing_is_a_withdrawal() -> None:
    async with keeper_rig() as here:
        keeper = await here.settled()
        here.listing.failure = Failure(FailureKind.FORBIDDEN, "401")
        await keeper.read()
        assert keeper.peek().snapshot is None
        assert [told for told, _ in here.told] == [None]


async def test_two_keepers_of_one_catalog_share_walks_and_content() -> None:
    async with keeper_rig() as here:
        keeper = await here.settled()
        behind = HandListing(here.clock, "a")
        other = here.another("pid", behind)
        other.start()
        other.connected()
        assert names(await other.read()) == ["a"]

        def hinted(_pid: str | None) -> None:
            keeper.hinted()
            other.hinted()

        here.store.bus.subscribe(hinted)
        await anyio.sleep(10)
        here.listing.names = behind.names = ["b"]
        here.listing.asked = behind.asked = 0
        keeper.invalidate(Reason.SIGNAL)
        await anyio.sleep(5)
        assert names(keeper.peek()) == names(other.peek()) == ["b"]
        assert keeper.peek().generation == other.peek().generation
        assert here.listing.asked + behind.asked == 1


async def test_what_is_odd_is_told_as_a_finding() -> None:
    async with keeper_rig() as here:
        keeper = await here.settled()
        keeper.watch()
        for _ in range(4):
            keeper.invalidate(Reason.SIGNAL)
            await anyio.sleep(1)
        codes = [fact.code for fact in here.recorder.of(Finding)]
        assert codes == ["self_notifying_server"]
