"""What readers of one keeper get, and the walks it carries out."""

from dataclasses import replace

import anyio
import anyio.lowlevel
import pytest

from toolcrib.catalog.reading import Reading
from toolcrib.core.freshness.events import Failure, FailureKind, Reason
from toolcrib.facts import RefreshFailed, ServedStale, WalkEnded
from toolcrib.testing.keeper_rig import HandListing, keeper_rig

pytestmark = pytest.mark.virtual_time


def names(reading: Reading) -> list[str] | None:
    return None if reading.snapshot is None else [item.key for item in reading.snapshot.items]


# ---- readers ----


async def test_a_cold_reader_asks_for_the_connection_and_waits_for_it() -> None:
    async with keeper_rig("a", "b") as here:
        here.keeper.start()
        async with anyio.create_task_group() as tasks:

            async def connect() -> None:
                await anyio.sleep(1)
                here.keeper.connected()

            tasks.start_soon(connect)
            assert names(await here.keeper.read()) == ["a", "b"]
        assert here.wanted >= 1


async def test_a_cold_reader_of_a_server_that_does_not_come_is_answered_after_its_wait() -> None:
    async with keeper_rig(cold_wait=3.0) as here:
        here.keeper.start()
        began = anyio.current_time()
        reading = await here.keeper.read()
        assert anyio.current_time() - began == pytest.approx(3.0)
        assert (reading.snapshot, reading.fresh) == (None, False)
        assert reading.trouble == "the server was not reached so far"


async def test_a_reader_waits_for_the_walk_under_way_and_no_longer_than_its_wait() -> None:
    async with keeper_rig(list_wait=1.0) as here:
        keeper = await here.settled()
        here.listing.held_back = anyio.Event()
        here.listing.names = ["b"]
        began = anyio.current_time()
        stale = await keeper.read()
        assert anyio.current_time() - began == pytest.approx(1.0)
        assert (names(stale), stale.fresh) == (["a"], False)
        here.listing.held_back.set()
        here.listing.held_back = None
        await anyio.sleep(0.1)
        assert names(keeper.peek()) == ["b"]
        assert here.listing.asked == 1
        assert [fact.age for fact in here.recorder.of(ServedStale)] == pytest.approx([61.0])


async def test_readers_of_every_moment_of_a_walk_share_it_and_get_its_result() -> None:
    async with keeper_rig(list_wait=5.0) as here:
        keeper = await here.settled()
        here.listing.names = ["b"]
        here.listing.held_back = anyio.Event()
        got: list[list[str] | None] = []

        async def read() -> None:
            got.append(names(await keeper.read()))

        async with anyio.create_task_group() as readers:
            for _ in range(10):
                readers.start_soon(read)
                await anyio.sleep(0.1)
            here.listing.held_back.set()
        assert got == [["b"]] * 10
        assert here.listing.asked == 1


@pytest.mark.duty(4)
async def test_a_reader_that_is_cancelled_at_any_moment_takes_nothing_with_it() -> None:
    async with keeper_rig(list_wait=5.0) as here:
        keeper = await here.settled()
        here.listing.names = ["b"]
        here.listing.held_back = anyio.Event()
        for patience in (0.0, 0.001, 0.02, 0.03, 1.0):
            with anyio.move_on_after(patience):
                await keeper.read()
        assert here.listing.cancelled == 0
        here.listing.held_back.set()
        assert names(await keeper.read()) == ["b"]
        assert here.listing.asked == 1


async def test_with_strategy_always_each_call_is_answered_by_a_walk_of_its_own_time() -> None:
    async with keeper_rig() as here:
        here.listing.ttl_ms = 3_600_000
        here.settings = replace(here.settings, strategy="always")
        here.keeper = here.another("pid", here.listing)
        keeper = await here.settled()
        for number in range(3):
            here.listing.names = [f"t{number}"]
            assert names(await keeper.read("admit")) == [f"t{number}"]
            await anyio.sleep(0.001)
        assert here.listing.asked == 3
        assert names(await keeper.read()) == ["t2"]
        assert here.listing.asked == 3


async def test_a_call_waits_half_a_second_for_what_was_invalidated_and_uses_last_good() -> None:
    async with keeper_rig(admit_wait=0.5) as here:
        keeper = await here.settled()
        here.listing.held_back = anyio.Event()
        keeper.invalidate(Reason.SIGNAL)
        began = anyio.current_time()
        reading = await keeper.read("admit")
        assert anyio.current_time() - began == pytest.approx(0.5)
        assert (names(reading), reading.fresh) == (["a"], False)


async def test_past_their_ages_a_listing_is_hidden_first_and_calls_are_refused_later() -> None:
    async with keeper_rig(max_stale_list=3600, max_stale=7200) as here:
        keeper = await here.settled()
        here.listing.failure = Failure(FailureKind.TRANSPORT, "down")
        for hours, listed, called in ((0.5, True, True), (1.5, False, True), (2.5, False, False)):
            await anyio.sleep(hours * 3600 + 61 - anyio.current_time())
            assert ((await keeper.read()).snapshot is not None) == listed
            assert ((await keeper.read("admit")).snapshot is not None) == called
        assert "max_stale " in keeper.peek("admit").trouble
        assert "max_stale_list " in keeper.peek().trouble


# ---- walks ----


@pytest.mark.duty(3)
async def test_a_signal_while_the_listing_is_in_flight_makes_its_answer_an_old_one() -> None:
    async with keeper_rig("v1") as here:
        keeper = await here.settled()
        here.listing.held_back, here.listing.reached = anyio.Event(), anyio.Event()
        keeper.need()
        await here.listing.reached.wait()
        here.listing.names = ["v2"]
        keeper.invalidate(Reason.SIGNAL)
        here.listing.held_back.set()
        await anyio.sleep(30)
        assert [told for told, _ in here.told] == [["v2"]], "v1 was published though it was old"
        assert names(keeper.peek()) == ["v2"]
        assert here.listing.asked == 2


async def test_a_signal_between_any_two_steps_of_a_cold_start_ends_in_the_newest_list() -> None:
    for steps in range(12):
        async with keeper_rig("v1") as here:
            here.keeper.start()
            here.keeper.connected()
            here.keeper.need()
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            here.listing.names = ["v2"]
            here.keeper.invalidate(Reason.SIGNAL)
            await anyio.sleep(5)
            assert names(here.keeper.peek()) == ["v2"], steps
            assert here.listing.asked <= 3, steps


@pytest.mark.parametrize(
    "crash", [KeyError("name"), RecursionError(), ExceptionGroup("both", [OSError()])], ids=repr
)
async def test_a_listing_that_breaks_us_costs_its_own_catalog_only(
    crash: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async with keeper_rig() as here:
        keeper = await here.settled()
        beside = HandListing(here.clock, "beside")
        other = here.another("other", beside)
        other.start()
        other.connected()
        here.listing.failure = crash
        assert names(await keeper.read()) == ["a"]
        assert names(await other.read()) == ["beside"]
        (failed,) = here.recorder.of(RefreshFailed)
        assert (failed.failure, failed.detail) == (
            "malformed",
            f"the answer broke us: {type(crash).__name__}",
        )
        assert "a list request of s broke" in caplog.text
        here.listing.failure = None
        here.listing.names = ["b"]
        await anyio.sleep(5)
        assert names(keeper.peek()) == ["b"], "it is asked again after the failure"


async def test_a_walk_that_the_lost_connection_ended_asks_nothing_more() -> None:
    async with keeper_rig() as here:
        keeper = await here.settled()
        here.listing.held_back, here.listing.reached = anyio.Event(), anyio.Event()
        keeper.need()
        await here.listing.reached.wait()
        keeper.disconnected()
        await anyio.wait_all_tasks_blocked()
        assert here.listing.cancelled == 1
        here.listing.held_back = None
        here.listing.names = ["b"]
        keeper.connected()
        assert names(await keeper.read()) == ["b"]


async def test_walks_and_requests_are_told_as_facts() -> None:
    async with keeper_rig() as here:
        keeper = await here.settled()
        here.listing.names = ["a", "b", "c"]
        await keeper.read()
        here.listing.failure = Failure(FailureKind.TIMEOUT, "no answer")
        keeper.invalidate(Reason.SIGNAL)
        await keeper.read()
        await anyio.sleep(0.1)
        ended = here.recorder.of(WalkEnded)
        assert [(walk.outcome, walk.requests, walk.items) for walk in ended] == [
            ("published", 1, 3),
            ("failed", 1, 0),
        ]
        (failed,) = here.recorder.of(RefreshFailed)
        assert 0.25 <= failed.retry_in <= 0.5
