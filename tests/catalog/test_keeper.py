"""One keeper over a listing that the test answers by hand: interleavings are forced by events."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.adapters.store.records import Operation
from toolcrib.catalog.keeper import Keeper, Surroundings
from toolcrib.catalog.reading import Reading
from toolcrib.core.freshness.events import Failure, FailureKind, Reason
from toolcrib.core.freshness.record import Answer
from toolcrib.core.snapshot import Kind, Page, Snapshot
from toolcrib.errors import StoreUnreachable
from toolcrib.facts import Finding, RefreshFailed, ServedStale, WalkEnded, Withdrawn
from toolcrib.protocol.listing import parse_page
from toolcrib.settings import Limits, Waits
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.virtual_clock import LoopClock

pytestmark = pytest.mark.virtual_time


class Listing:
    """A list of names behind one page, answered when the test lets it."""

    def __init__(self, clock: LoopClock, *names: str) -> None:
        self._clock = clock
        self.names = list(names)
        self.ttl_ms = 0
        self.asked = 0
        """List requests so far."""
        self.cancelled = 0
        self.failure: Failure | Exception | None = None
        self.held_back: anyio.Event | None = None
        """While there is one, answers wait for it; their content is that of the question."""
        self.reached = anyio.Event()
        """Set when a request arrives; put a new one to wait for the next."""

    async def fetch(self, cursor: str | None) -> Page | Failure:
        self.asked += 1
        definitions = [tool(name) for name in self.names]
        self.reached.set()
        try:
            if self.held_back is not None:
                await self.held_back.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        if isinstance(self.failure, Exception):
            raise self.failure
        if self.failure is not None:
            return self.failure
        result = {
            "resultType": "complete",
            "tools": definitions,
            "ttlMs": self.ttl_ms,
            "cacheScope": "private",
        }
        return parse_page(Kind.TOOLS, result, era="modern", received=self._clock.now())


class FlakyStore(MemoryStore):
    """A memory that can be away."""

    away = False

    async def decide(self, pid: str, operation: Operation) -> Answer:
        if self.away:
            raise StoreUnreachable("locked")
        return await super().decide(pid, operation)


class World:
    """One keeper and all that it speaks to."""

    def __init__(self, tasks: anyio.abc.TaskGroup, names: tuple[str, ...], waits: Waits) -> None:
        self.clock = LoopClock()
        self.recorder = Recorder()
        self.store = FlakyStore(self.clock)
        self.listing = Listing(self.clock, *names)
        self.told: list[tuple[list[str] | None, int]] = []
        """Names and generation of every change of content."""
        self.on_told: Callable[[], None] | None = None
        self.wanted = 0
        """How often the connection was asked for."""
        self.settings = server_settings("s", waits=waits)
        self._around = Surroundings(tasks, self.clock, self.recorder, self.store, Limits())
        self.keeper = self.another("pid", self.listing)

    def another(self, pid: str, listing: Listing) -> Keeper:
        return Keeper(
            self._around,
            self.settings,
            Kind.TOOLS,
            pid,
            fetch=listing.fetch,
            tell=self._told,
            want=self._want,
        )

    def _want(self) -> None:
        self.wanted += 1

    def _told(
        self, kind: Kind, before: Snapshot | None, after: Snapshot | None, generation: int
    ) -> None:
        names = None if after is None else [item.key for item in after.items]
        self.told.append((names, generation))
        if self.on_told is not None:
            self.on_told()

    async def settled(self) -> Keeper:
        """A keeper that listed once over an open stream, and that nobody asked for a minute."""
        self.keeper.start()
        self.keeper.connected()
        self.keeper.stream_changed("open")
        await self.keeper.read()
        await anyio.sleep(60)
        self.told.clear()
        self.recorder.facts.clear()
        self.listing.asked = 0
        return self.keeper


@asynccontextmanager
async def world(*names: str, **waits: float) -> AsyncGenerator[World]:
    changes: dict[str, Any] = waits
    async with anyio.create_task_group() as tasks:
        yield World(tasks, names or ("a",), replace(Waits(), **changes))
        tasks.cancel_scope.cancel()


def names(reading: Reading) -> list[str] | None:
    return None if reading.snapshot is None else [item.key for item in reading.snapshot.items]


# ---- readers ----


async def test_a_cold_reader_asks_for_the_connection_and_waits_for_it() -> None:
    async with world("a", "b") as here:
        here.keeper.start()
        async with anyio.create_task_group() as tasks:

            async def connect() -> None:
                await anyio.sleep(1)
                here.keeper.connected()

            tasks.start_soon(connect)
            assert names(await here.keeper.read()) == ["a", "b"]
        assert here.wanted >= 1


async def test_a_cold_reader_of_a_server_that_does_not_come_is_answered_after_its_wait() -> None:
    async with world(cold_wait=3.0) as here:
        here.keeper.start()
        began = anyio.current_time()
        reading = await here.keeper.read()
        assert anyio.current_time() - began == pytest.approx(3.0)
        assert (reading.snapshot, reading.fresh) == (None, False)
        assert reading.trouble == "the server was not reached so far"


async def test_a_reader_waits_for_the_walk_under_way_and_no_longer_than_its_wait() -> None:
    async with world(list_wait=1.0) as here:
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
    async with world(list_wait=5.0) as here:
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


async def test_a_reader_that_is_cancelled_at_any_moment_takes_nothing_with_it() -> None:
    async with world(list_wait=5.0) as here:
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
    async with world() as here:
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
    async with world(admit_wait=0.5) as here:
        keeper = await here.settled()
        here.listing.held_back = anyio.Event()
        keeper.invalidate(Reason.SIGNAL)
        began = anyio.current_time()
        reading = await keeper.read("admit")
        assert anyio.current_time() - began == pytest.approx(0.5)
        assert (names(reading), reading.fresh) == (["a"], False)


async def test_past_their_ages_a_listing_is_hidden_first_and_calls_are_refused_later() -> None:
    async with world(max_stale_list=3600, max_stale=7200) as here:
        keeper = await here.settled()
        here.listing.failure = Failure(FailureKind.TRANSPORT, "down")
        for hours, listed, called in ((0.5, True, True), (1.5, False, True), (2.5, False, False)):
            await anyio.sleep(hours * 3600 + 61 - anyio.current_time())
            assert ((await keeper.read()).snapshot is not None) == listed
            assert ((await keeper.read("admit")).snapshot is not None) == called
        assert "max_stale " in keeper.peek("admit").trouble
        assert "max_stale_list " in keeper.peek().trouble


# ---- walks ----


async def test_a_signal_while_the_listing_is_in_flight_makes_its_answer_an_old_one() -> None:
    async with world("v1") as here:
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
        async with world("v1") as here:
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
    async with world() as here:
        keeper = await here.settled()
        beside = Listing(here.clock, "beside")
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
    async with world() as here:
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
    async with world() as here:
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


# ---- its own life ----


async def test_work_under_way_ends_with_the_keeper() -> None:
    async with world() as here:
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
    async with world() as here:
        keeper = await here.settled()
        keeper.close()
        with anyio.fail_after(5):
            reading = await keeper.read()
        assert names(reading) == ["a"]
        assert not reading.fresh


async def test_a_keeper_that_is_closed_in_the_middle_of_a_store_operation_is_quiet() -> None:
    async with world() as here:
        here.keeper.start()
        here.keeper.close()
        await anyio.sleep(10)
        assert here.listing.asked == 0
        assert names(here.keeper.peek()) is None


async def test_a_listener_that_signals_again_causes_a_walk_and_no_disorder() -> None:
    async with world("v0") as here:
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
    async with world() as here:
        keeper = await here.settled()
        here.on_told = keeper.close
        here.listing.names = ["b"]
        keeper.invalidate(Reason.SIGNAL)
        await anyio.sleep(30)
        assert len(here.told) == 1
        assert keeper.closed


async def test_other_waits_hold_at_once() -> None:
    async with world(max_stale_list=86_400.0, poll_base=600.0) as here:
        keeper = await here.settled()
        here.listing.failure = Failure(FailureKind.TRANSPORT, "down")
        keeper.retune(replace(here.settings, waits=Waits(max_stale_list=30.0)))
        assert keeper.peek().snapshot is None
        keeper.retune(replace(here.settings, waits=Waits(max_stale_list=3000.0)))
        assert names(keeper.peek()) == ["a"]


async def test_a_shorter_interval_of_polls_moves_the_next_poll() -> None:
    async with world(poll_base=600.0) as here:
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
    async with world() as here:
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
    async with world(wanted_for=900.0) as here:
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
    async with world(wanted_for=900.0, poll_max=600.0) as here:
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


async def test_a_quiet_server_is_polled_ever_more_seldom_up_to_the_maximum() -> None:
    async with world(poll_base=60.0, poll_max=600.0) as here:
        keeper = await here.settled()
        keeper.stream_changed("refused")
        keeper.watch()
        await anyio.sleep(24 * 3600)
        assert 24 * 6 / 1.2 - 1 <= here.listing.asked <= 24 * 6 + 10


async def test_a_signal_of_a_server_that_nobody_cares_for_costs_nothing_until_somebody_does() -> (
    None
):
    async with world() as here:
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
    async with world() as here:
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
    async with world() as here:
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
    async with world() as here:
        keeper = await here.settled()
        here.listing.failure = Failure(FailureKind.FORBIDDEN, "401")
        await keeper.read()
        assert keeper.peek().snapshot is None
        assert [told for told, _ in here.told] == [None]


async def test_two_keepers_of_one_catalog_share_walks_and_content() -> None:
    async with world() as here:
        keeper = await here.settled()
        behind = Listing(here.clock, "a")
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
    async with world() as here:
        keeper = await here.settled()
        keeper.watch()
        for _ in range(4):
            keeper.invalidate(Reason.SIGNAL)
            await anyio.sleep(1)
        codes = [fact.code for fact in here.recorder.of(Finding)]
        assert codes == ["self_notifying_server"]
