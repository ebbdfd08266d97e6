"""Sequences of one replica in virtual time: signals, dirty walks, waits and intervals.

The numbers name the rows of the collection of sequences that break plausible freshness machines.
"""

from dataclasses import replace

import pytest

from toolcrib.core.freshness.effects import Invalidate, KeepLastGood, Served
from toolcrib.core.freshness.events import (
    Connected,
    Disconnected,
    Failure,
    FailureKind,
    Granted,
    Invalidated,
    Needed,
    Reason,
    Refused,
    StoreFailed,
    StreamLost,
    StreamOpened,
    StreamRefused,
    Viewed,
    Watched,
)
from toolcrib.core.freshness.need import peek
from toolcrib.core.freshness.record import Ticket
from toolcrib.core.freshness.tempo import Strategy, Tempo
from toolcrib.core.snapshot import Hints
from toolcrib.testing.simulator import Listing, Reader, Replica, World

A: Listing = (("a", "b"), ("c",))
B: Listing = (("a", "b", "d"), ("c",))
HOUR = Hints(ttl=3600.0)
DOWN = Failure(FailureKind.TRANSPORT, "connection refused")


def holding(
    listing: Listing = A,
    *,
    hints: Hints = HOUR,
    tempo: Tempo | None = None,
    listening: bool = True,
) -> World:
    """A world at rest: one replica holds the listing, and the time after its connect is over."""
    world = World(tempo=tempo)
    world.server.listing, world.server.hints = listing, hints
    world.start(listening=listening)
    world.run(30)
    assert world.a.names is not None
    world.a.walks.clear()
    world.a.log.clear()
    world.a.requests = 0
    return world


def every(world: World, interval: float, times: int) -> list[Reader]:
    """Readers that come in a regular row; returns them once the last has come."""
    readers: list[Reader] = []
    for _ in range(times):
        readers.append(world.a.read())
        world.run(interval)
    return readers


def test_1_readers_that_arrive_together_share_one_walk_and_are_served_by_it() -> None:
    world = holding(hints=Hints(ttl=60.0))
    world.run(60)
    world.server.listing = B
    readers = [world.a.read() for _ in range(1000)]
    del readers[0]  # the one that came first goes away: the heart does not know readers
    world.run(1)
    assert len(world.a.walks) == 1
    assert {tuple(reader.names or ()) for reader in readers} == {("a", "b", "c", "d")}


def test_a_need_while_a_walk_is_running_begins_no_other() -> None:
    world = holding(hints=Hints())
    world.server.latency = 0.4
    world.a.read()
    world.run(0.5)
    before = len(world.a.log)
    for _ in range(10):
        world.a.tell(Needed(world.instant))
    assert world.a.log[before:] == []
    world.run(5)
    assert len(world.a.walks) == 1


def test_2_a_dirty_walk_is_repeated_at_once_and_not_published() -> None:
    world = holding()
    world.change(B, signal=False)
    world.signal()
    world.run(0.03)  # the walk has begun and read its first page
    world.run(0.01)
    world.change((("a", "b", "e"), ("c",)))
    world.run(0.1)
    assert len(world.a.walks) == 2
    served = [effect.snapshot for effect in world.a.told(Served)]
    assert [[item.key for item in snapshot.items] for snapshot in served] == [["a", "b", "c", "e"]]
    assert world.a.standing.fresh


@pytest.mark.parametrize("signals", [1, 2, 7])
def test_2_however_many_signals_fall_into_a_walk_one_more_follows(signals: int) -> None:
    world = holding()
    world.server.latency = 0.5
    world.change(B)
    world.run(0.2)
    for _ in range(signals):
        world.signal()
        world.run(0.05)
    world.run(3)
    after = [at for at in world.a.walks if at >= world.now - 3]
    assert len(after) <= 1
    assert world.a.names == ["a", "b", "c", "d"]
    assert world.a.standing.fresh


def test_3_an_old_walk_that_answers_late_is_dropped() -> None:
    world = World(2, manual=True)
    a, b = world.a, world.b
    world.server.listing = A
    for replica in (a, b):
        replica.tell(Connected(world.instant))
        settle(replica)
    a.tell(Needed(world.instant))
    advance(world, a, 0.1)
    a.page()
    settle(a)
    world.run(25)  # its lease is over
    b.tell(Needed(world.instant))
    world.server.listing = B
    advance(world, b, 0.1)
    finish(b)
    assert b.names == ["a", "b", "c", "d"]
    world.server.listing = A
    a.page()
    settle(a)
    assert a.names == ["a", "b", "c", "d"]
    assert a.entry.hi == b.entry.hi
    assert not a.fetches


def settle(replica: Replica) -> None:
    """Run every store operation of a manual replica until it sends none."""
    while replica.pending is not None:
        replica.run()
        replica.receive()


def advance(world: World, replica: Replica, seconds: float) -> None:
    """Let time pass for a manual replica, store operations included."""
    settle(replica)
    world.run(seconds)
    settle(replica)


def finish(replica: Replica) -> None:
    """Answer what a manual replica asks for, until it asks for nothing."""
    while replica.fetches or replica.pending is not None:
        settle(replica)
        if replica.fetches:
            replica.page()


def test_4_a_signal_between_the_pages_never_leads_to_a_mixed_listing() -> None:
    world = holding((("a1", "a2"), ("a3",)))
    contents: list[Listing] = [(("b1", "b2"), ("b3",)), (("c1", "c2"), ("c3",)), (("d1",), ("d2",))]
    world.server.latency = 0.1

    def between(cursor: str | None) -> None:
        if cursor is None and contents:
            world.server.listing = contents.pop(0)
            world.at(0, world.signal)

    world.server.after_page = between
    world.signal()
    world.run(10)
    seen = {tuple(item.key for item in each.snapshot.items) for each in world.a.told(Served)}
    assert seen <= {("a1", "a2", "a3"), ("d1", "d2")}
    assert world.a.names == ["d1", "d2"]


def test_4_two_equal_dirty_walks_in_a_row_are_published_as_stale() -> None:
    world = holding()
    world.server.latency = 0.1
    world.server.after_page = lambda cursor: world.at(0, world.signal) if cursor is None else None
    world.server.listing = B
    world.signal()
    world.run(1.5)
    assert world.a.names == ["a", "b", "c", "d"]
    assert not world.a.standing.fresh
    assert all(not each.fresh for each in world.a.told(Served))


def test_5_a_cold_start_in_a_storm_shows_the_first_whole_walk_as_stale() -> None:
    world = World()
    world.server.listing = (("a",), ("b",), ("c",), ("d",), ("e",))
    world.server.latency = 1.0
    world.start()
    for _ in range(12):
        world.run(3)
        world.signal()
    served = world.a.told(Served)
    assert served[0].before is None
    assert not served[0].fresh
    assert world.a.walks[0] + 5 < world.a.walks[1] + 0.1, "the first walk took five seconds"
    assert world.a.names == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("answered", [StreamOpened, StreamRefused])
def test_6_a_walk_that_ended_before_the_stream_was_answered_does_not_count(
    answered: type[StreamOpened | StreamRefused],
) -> None:
    world = World()
    world.server.listing, world.server.hints = A, Hints(ttl=300.0)
    world.start(listening=False)
    world.run(1)
    assert world.a.standing.fresh
    world.server.listing = B
    world.a.tell(answered(world.instant))
    assert not world.a.standing.fresh
    world.run(1)
    assert world.a.standing.fresh
    assert world.a.names == ["a", "b", "c", "d"]


def test_an_acknowledgement_before_the_first_walk_costs_no_second_one() -> None:
    world = World()
    world.server.listing = A
    world.start()
    world.run(1)
    assert len(world.a.walks) == 1


@pytest.mark.parametrize("delay", [0.0, 0.005, 1.1])
def test_7_a_server_that_signals_on_each_of_our_walks_is_settled(delay: float) -> None:
    world = holding(hints=Hints())
    world.server.after_page = lambda cursor: (
        world.at(delay, world.signal) if cursor == "1" else None
    )
    world.a.tell(Watched(1, world.instant))
    world.signal()
    world.run(240)
    assert world.a.reports == ["self_notifying_server"]
    for start in world.a.walks:
        assert sum(1 for at in world.a.walks if start <= at < start + 60) <= 10
    late = len(world.a.walks)
    world.server.listing = B
    world.run(60)
    assert world.a.names == ["a", "b", "c", "d"], "a real change is delayed, not lost"
    assert len(world.a.walks) - late <= 13, "a change of content is followed quickly at first"


def test_7_readers_of_a_settled_server_do_not_wait() -> None:
    world = holding(hints=Hints())
    world.server.after_page = lambda cursor: (
        world.at(0.005, world.signal) if cursor == "1" else None
    )
    world.signal()
    world.run(8)
    reader = world.a.read()
    assert reader.answered == world.now
    assert reader.names == ["a", "b", "c"]


def test_8_a_signal_that_comes_before_the_change_is_found_by_the_recheck() -> None:
    world = holding()
    world.signal()
    world.at(0.2, lambda: world.change(B, signal=False))
    world.run(0.5)
    assert world.a.names == ["a", "b", "c", "d"]
    assert len(world.a.walks) == 2
    world.run(60)
    assert len(world.a.walks) == 2, "one re-check, not more"


def test_8_a_signal_that_changed_something_is_not_checked_again() -> None:
    world = holding()
    world.change(B)
    world.run(60)
    assert len(world.a.walks) == 1


def test_15_a_dead_server_is_asked_at_the_pace_of_the_breaker() -> None:
    world = holding(hints=Hints())
    world.server.failure = DOWN
    world.lots = 0.5
    readers = every(world, 1 / 30, 30 * 120)
    assert len(world.a.walks) <= 10
    assert all(reader.names == ["a", "b", "c"] for reader in readers)
    waited = [(reader.answered or 0.0) - reader.arrived for reader in readers]
    assert sum(1 for seconds in waited if seconds > 0.05) == 0
    retries = [effect.retry_at for effect in world.a.told(KeepLastGood)]
    assert retries == sorted(retries)
    world.server.failure = None
    world.run(60)
    assert world.a.entry.breaker.failures == 0
    assert world.a.standing.trouble == "its hints allow no more"


def test_15_retry_after_is_respected_and_a_reconnect_does_not_lift_it() -> None:
    world = holding(hints=Hints())
    world.server.failure = Failure(FailureKind.RATE_LIMITED, "429", retry_after=30.0)
    world.a.read()
    world.run(1)
    world.server.failure = None
    failed = world.now
    world.a.tell(Disconnected(world.instant))
    world.run(1)
    world.a.tell(Connected(world.instant))
    world.run(60)
    assert len(world.a.walks) == 2
    assert world.a.walks[1] >= failed + 28


def test_an_absurd_retry_after_is_cut_to_ten_minutes() -> None:
    world = holding(hints=Hints())
    world.server.failure = Failure(FailureKind.RATE_LIMITED, "429", retry_after=1e9)
    world.a.read()
    world.run(1)
    assert world.a.entry.breaker.until <= world.now + 600


def test_a_reconnect_closes_a_breaker_that_the_server_did_not_ask_for() -> None:
    world = holding()
    world.server.failure = DOWN
    for _ in range(6):
        world.signal()
        world.run(40)
    assert world.a.entry.breaker.is_open(world.now)
    world.server.failure = None
    world.server.listing = B
    world.a.tell(Disconnected(world.instant))
    world.a.tell(Connected(world.instant))
    world.run(0.1)
    assert world.a.names == ["a", "b", "c", "d"]


def test_21_a_server_without_ttl_is_walked_once_per_interval() -> None:
    world = holding(hints=Hints())
    readers = every(world, 0.002, 1000)
    assert len(world.a.walks) == 1
    every(world, 0.002, 5000)
    assert len(world.a.walks) <= 6
    assert all(reader.names for reader in readers)


def test_24_five_signals_right_after_the_start_cost_at_most_two_walks() -> None:
    world = World()
    names = [f"tool{number}" for number in range(12)]
    world.server.listing = (tuple(names),)
    world.server.latency = 0.05
    world.start()
    for number in range(5):
        world.run(0.002)
        names.append(f"late{number}")
        world.change((tuple(names),))
    world.run(1)
    assert len(world.a.names or ()) == 17
    assert len(world.a.walks) <= 2
    assert world.a.reports == []


@pytest.mark.parametrize("quiet", [0.0, 0.03, 0.06])
def test_24_signals_while_the_first_listing_is_in_flight(quiet: float) -> None:
    world = World()
    world.server.listing = (("x",),)
    world.server.latency = 0.05
    world.start()
    world.run(quiet)
    for number in range(5):
        world.change((("x", *(f"y{each}" for each in range(number + 1))),))
        world.run(0.002)
    world.run(0.24)
    assert len(world.a.names or ()) == 6
    assert len(world.a.walks) <= 2


def test_25_a_lost_stream_invalidates_and_the_next_walk_counts() -> None:
    world = holding()
    world.change(B, signal=False)  # the signal was swallowed with the stream
    world.a.tell(StreamLost(world.instant))
    assert not world.a.standing.fresh
    world.run(0.2)
    assert world.a.names == ["a", "b", "c", "d"]
    world.change(A, signal=False)
    world.a.tell(StreamOpened(world.instant))
    world.run(0.2)
    assert world.a.names == ["a", "b", "c"], "what changed before it was opened again is found"
    assert len(world.a.walks) == 2


def test_25_a_silent_server_is_polled_while_somebody_cares() -> None:
    world = holding(listening=False, hints=Hints())
    world.a.tell(StreamRefused(world.instant))
    world.a.tell(Watched(1, world.instant))
    world.run(1)
    world.a.walks.clear()
    world.change(B, signal=False)
    world.run(75)
    assert world.a.names == ["a", "b", "c", "d"]
    world.run(3600)
    assert len(world.a.walks) <= 4 + 3600 // 600 + 1, "backs off to ten minutes"
    gaps = [b - a for a, b in zip(world.a.walks, world.a.walks[1:], strict=False)]
    assert min(gaps) >= 60
    assert max(gaps) <= 720 + 1
    world.a.tell(Watched(0, world.instant))
    world.run(900)
    before = len(world.a.walks)
    world.run(7200)
    assert len(world.a.walks) == before, "nobody cares: no polls"


def test_a_poll_never_comes_before_the_ttl_is_over() -> None:
    world = holding(listening=False, hints=Hints(ttl=2000.0))
    world.a.tell(Watched(1, world.instant))
    world.run(1900)
    assert world.a.walks == []
    world.run(8000)
    gaps = [b - a for a, b in zip(world.a.walks, world.a.walks[1:], strict=False)]
    assert len(gaps) == 3
    assert min(gaps) >= 2000


@pytest.mark.parametrize(
    ("strategy", "listening", "polls"),
    [
        ("auto", True, False),
        ("auto", False, True),
        ("notify", False, False),
        ("notify", True, False),
        ("poll", True, True),
        ("poll", False, True),
        ("notify+verify", True, False),
        ("notify+verify", False, True),
        ("always", False, False),
    ],
)
def test_which_strategies_poll(strategy: Strategy, *, listening: bool, polls: bool) -> None:
    world = holding(hints=Hints(), tempo=Tempo(strategy=strategy), listening=listening)
    world.a.tell(Watched(1, world.instant))
    world.run(200)
    assert bool(world.a.walks) is polls


def test_with_strategy_notify_an_open_stream_is_trusted_and_a_lost_one_is_not() -> None:
    world = holding(hints=Hints(), tempo=Tempo(strategy="notify"))
    reader = world.a.read()
    assert reader.answered == world.now
    assert world.a.walks == []
    assert world.a.standing.ttl_left == 0, "good enough for us is no promise to others"
    world.a.tell(StreamLost(world.instant))
    world.run(1)
    assert len(world.a.walks) == 1
    world.run(3)
    world.a.read()
    world.run(1)
    assert len(world.a.walks) == 2


def test_26_freshness_is_the_minimum_over_pages_each_from_its_own_receipt() -> None:
    world = World()
    world.server.latency = 0.25
    world.server.listing = A
    world.server.answers = lambda cursor: (
        replace(world.server.page(cursor, world.instant), hints=HOUR)  # type: ignore[type-var] - a Page here
        if cursor is None
        else replace(world.server.page(cursor, world.instant), hints=Hints(ttl=10.0))  # type: ignore[type-var] - a Page here
    )
    world.start()
    world.run(1)
    held = world.a.entry.held
    assert held is not None
    second_page = world.a.walks[0] + 0.5
    assert held.expires == second_page + 10.0
    assert held.read == world.a.walks[0] + 0.25
    world.run(held.expires - world.now - 0.001)
    assert world.a.standing.fresh
    world.run(0.001)
    assert not world.a.standing.fresh


def test_27_ten_thousand_signals_in_a_second_queue_nothing_and_converge() -> None:
    world = holding()
    before = world.store.operations
    for number in range(10_000):
        world.change(((f"t{number}",), ("c",)))
        world.run(0.0001)
    during = world.store.operations - before
    assert during <= 200
    last = world.now
    world.run(30)
    after = [at for at in world.a.walks if at >= last]
    assert len(after) <= 2
    assert world.a.names == ["c", "t9999"]
    assert world.a.standing.fresh


def test_29_the_same_listing_in_another_order_is_the_same_generation() -> None:
    world = holding((("a", "b", "c"), ("d", "e")))
    generation = world.a.standing.generation
    for listing in ((("e", "d"), ("c", "b", "a")), (("c",), ("a", "e"), ("b", "d"))):
        world.change(listing)
        world.run(10)
    assert world.a.standing.generation == generation
    digests = {each.snapshot.digest for each in world.a.told(Served)}
    assert len(digests) == 1
    assert all(each.before.digest in digests for each in world.a.told(Served))


def test_a_call_that_contradicts_the_catalog_refreshes_it_without_debounce() -> None:
    world = holding()
    world.change(B, signal=False)
    world.a.tell(Invalidated(Reason.CALL_CONTRADICTED, world.instant))
    world.run(0.0)
    assert world.a.walks == [world.now]
    world.run(0.1)
    assert world.a.names == ["a", "b", "c", "d"]


def test_a_signal_that_nobody_waits_for_begins_no_walk() -> None:
    world = holding()
    world.run(901)
    world.change(B)
    world.run(10)
    assert world.a.walks == []
    reader = world.a.read()
    world.run(1)
    assert reader.names == ["a", "b", "c", "d"]


def test_strategy_always_walks_before_each_call_and_never_two_at_a_time() -> None:
    world = holding(tempo=Tempo(strategy="always", admit_wait=0.5))
    world.server.latency = 0.05
    world.server.listing = B
    call = world.a.read("admit", force=True)
    assert call.answer is None
    world.run(0.02)
    late = world.a.read("admit", force=True)
    world.run(0.1)
    assert call.names == ["a", "b", "c", "d"]
    assert late.answer is None, "the walk under way began before this call came"
    world.run(0.2)
    assert late.names == ["a", "b", "c", "d"]
    assert len(world.a.walks) == 2


def test_a_fresh_read_touches_neither_store_nor_server() -> None:
    world = holding()
    before, entry = world.store.operations, world.a.entry
    for _ in range(100):
        assert peek(world.a.entry, world.now) is not None
        world.a.tell(Needed(world.instant))
        world.run(0.1)
    assert world.store.operations == before
    assert world.a.entry is entry
    assert world.a.walks == []


def test_a_signal_is_recorded_before_the_result_however_short_the_walk() -> None:
    world = holding()
    world.server.latency = 0.002
    world.signal()
    world.run(0.024)
    world.signal()  # recorded when the walk begins, a moment ago for what follows
    world.run(0.0035)
    world.server.listing = B  # the first page is read
    world.at(0.0005, world.signal)
    world.run(0.5)
    seen = [[item.key for item in each.snapshot.items] for each in world.a.told(Served)]
    assert ["a", "b", "c"] not in seen
    assert seen[0] == ["a", "b", "c", "d"]


def test_a_storm_that_does_not_end_does_not_keep_walks_from_beginning() -> None:
    world = holding()
    for number in range(500):
        world.change(((f"n{number}",), ("c",)))
        world.run(0.01)
    assert 2 <= len(world.a.walks) <= 20
    assert world.a.walks[0] <= 1030.03


def test_a_page_of_an_abandoned_walk_is_dropped_while_the_next_walk_runs() -> None:
    world = holding()
    world.server.latency = 0.3
    world.signal()
    world.run(0.1)  # the first page of the first walk is on its way
    world.a.tell(Disconnected(world.instant))
    world.a.tell(Connected(world.instant))
    world.run(0.1)
    walk = world.a.entry.walk
    assert walk is not None
    assert len(world.a.fetches) == 2
    world.server.listing = (("late",),)
    world.a.page(world.a.fetches[0])
    assert world.a.entry.walk == walk
    world.server.failure = DOWN
    world.a.fetches.insert(0, replace(world.a.fetches[0], ticket=Ticket("other", 1, 1)))
    world.a.page(world.a.fetches[0])
    assert world.a.entry.walk == walk, "nor does its failure end the next walk"
    world.server.failure = None
    world.server.listing = B
    world.run(5)
    assert world.a.names == ["a", "b", "c", "d"]


def test_an_answer_that_nobody_waits_for_is_dropped() -> None:
    world = World(manual=True)
    replica = world.a
    replica.tell(Needed(world.instant))
    assert isinstance(replica.pending, Invalidate)
    replica.run()
    answer = replica.answer
    assert answer is not None
    before = replica.entry
    for event in (
        Viewed("LOOK", answer, world.instant),
        Refused(answer, world.instant),
        Granted(Ticket("x", 1, 1), answer.view, world.instant),
        StoreFailed("LOOK", world.instant),
    ):
        replica.tell(event)
        assert replica.entry == before
    replica.receive()
    assert replica.entry.op is None
    after = replica.entry
    replica.tell(Viewed("INVALIDATE", answer, world.instant))
    assert replica.entry == after


def test_the_times_of_a_listing_are_stored_as_its_pages_say() -> None:
    world = holding(hints=Hints(ttl=60.0))
    world.server.latency = 0.5
    world.signal()
    world.run(3)
    record = world.store.record
    assert record is not None
    assert record.published is not None
    first_page = world.a.walks[0] + 0.5 + world.wall_offset
    assert record.published.read_at == pytest.approx(first_page)
    assert record.published.expires_at == pytest.approx(first_page + 60.0)


def test_a_reconnect_alone_makes_what_is_held_stale_and_is_walked() -> None:
    world = holding(listening=False)
    world.server.listing = B
    world.a.tell(Connected(world.instant))
    assert not world.a.standing.fresh
    world.run(1)
    assert world.a.names == ["a", "b", "c", "d"]


def test_a_burst_is_debounced_before_the_first_request() -> None:
    world = holding()
    for number in range(5):
        world.change(((f"n{number}",), ("c",)))
        world.run(0.004)
    assert world.a.requests == 0
    world.run(0.1)
    assert len(world.a.walks) == 1
    assert world.a.names == ["c", "n4"]
