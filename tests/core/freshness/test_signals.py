"""Signals, storms and dirty walks: one replica in virtual time."""

from dataclasses import replace

import pytest

from toolcrib.core.freshness.effects import (
    Invalidate,
    Served,
)
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
    Viewed,
    Watched,
)
from toolcrib.core.freshness.record import Ticket
from toolcrib.core.snapshot import Hints
from toolcrib.testing.simulator import Listing, Replica, World

A: Listing = (("a", "b"), ("c",))
B: Listing = (("a", "b", "d"), ("c",))
DOWN = Failure(FailureKind.TRANSPORT, "connection refused")


def test_2_a_dirty_walk_is_repeated_at_once_and_not_published() -> None:
    world = World.at_rest()
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
    world = World.at_rest()
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


@pytest.mark.duty(3)
def test_3_an_old_walk_that_answers_late_is_dropped() -> None:
    world = World(2, manual=True)
    a, b = world.a, world.b
    world.server.listing = A
    for replica in (a, b):
        replica.tell(Connected(world.instant))
        replica.quiet()
    a.tell(Needed(world.instant))
    advance(world, a, 0.1)
    a.page()
    a.quiet()
    world.run(25)  # its lease is over
    b.tell(Needed(world.instant))
    world.server.listing = B
    advance(world, b, 0.1)
    finish(b)
    assert b.names == ["a", "b", "c", "d"]
    world.server.listing = A
    a.page()
    a.quiet()
    assert a.names == ["a", "b", "c", "d"]
    assert a.entry.hi == b.entry.hi
    assert not a.fetches


def advance(world: World, replica: Replica, seconds: float) -> None:
    """Let time pass for a manual replica, store operations included."""
    replica.quiet()
    world.run(seconds)
    replica.quiet()


def finish(replica: Replica) -> None:
    """Answer what a manual replica asks for, until it asks for nothing."""
    while replica.fetches or replica.pending is not None:
        replica.quiet()
        if replica.fetches:
            replica.page()


@pytest.mark.duty(2)
def test_4_a_signal_between_the_pages_never_leads_to_a_mixed_listing() -> None:
    world = World.at_rest((("a1", "a2"), ("a3",)))
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
    world = World.at_rest()
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


@pytest.mark.parametrize("delay", [0.0, 0.005, 1.1])
def test_7_a_server_that_signals_on_each_of_our_walks_is_settled(delay: float) -> None:
    world = World.at_rest(hints=Hints())
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
    assert world.a.reports == ["self_notifying_server"], "said once"


def test_7_readers_of_a_settled_server_do_not_wait() -> None:
    world = World.at_rest(hints=Hints())
    world.server.after_page = lambda cursor: (
        world.at(0.005, world.signal) if cursor == "1" else None
    )
    world.signal()
    world.run(8)
    reader = world.a.read()
    assert reader.answered == world.now
    assert reader.names == ["a", "b", "c"]


def test_7_a_requested_refresh_does_not_wait_for_the_pace_of_a_settled_server() -> None:
    world = World.at_rest(hints=Hints())
    world.server.after_page = lambda cursor: (
        world.at(0.005, world.signal) if cursor == "1" else None
    )
    world.signal()
    world.run(8)
    assert world.a.entry.echo.settled
    before = len(world.a.walks)
    world.a.tell(Invalidated(Reason.REQUESTED, world.instant))
    world.run(0.1)
    assert len(world.a.walks) == before + 1


def test_8_a_signal_that_comes_before_the_change_is_found_by_the_recheck() -> None:
    world = World.at_rest()
    world.signal()
    world.at(0.2, lambda: world.change(B, signal=False))
    world.run(0.5)
    assert world.a.names == ["a", "b", "c", "d"]
    assert len(world.a.walks) == 2
    world.run(60)
    assert len(world.a.walks) == 2, "one re-check, not more"


def test_8_a_walk_for_the_next_signal_takes_the_place_of_the_recheck() -> None:
    world = World.at_rest()
    world.signal()
    world.run(0.2)
    assert world.a.entry.recheck_at > world.now
    world.change(B)
    world.run(60)
    assert len(world.a.walks) == 2


def test_8_a_recheck_that_fails_is_made_up_for() -> None:
    world = World.at_rest()
    world.signal()
    world.run(0.2)
    assert len(world.a.walks) == 1
    world.server.failure = DOWN
    world.run(0.2)
    assert len(world.a.walks) == 2
    world.server.failure = None
    world.change(B, signal=False)
    world.run(2)
    assert world.a.names == ["a", "b", "c", "d"]


def test_8_a_signal_that_changed_something_is_not_checked_again() -> None:
    world = World.at_rest()
    world.change(B)
    world.run(60)
    assert len(world.a.walks) == 1


def test_27_ten_thousand_signals_in_a_second_queue_nothing_and_converge() -> None:
    world = World.at_rest()
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
    world = World.at_rest((("a", "b", "c"), ("d", "e")))
    generation = world.a.standing.generation
    for listing in ((("e", "d"), ("c", "b", "a")), (("c",), ("a", "e"), ("b", "d"))):
        world.change(listing)
        world.run(10)
    assert world.a.standing.generation == generation
    digests = {each.snapshot.digest for each in world.a.told(Served)}
    assert len(digests) == 1
    assert all(each.before.digest in digests for each in world.a.told(Served))


def test_a_signal_is_recorded_before_the_result_however_short_the_walk() -> None:
    world = World.at_rest()
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
    world = World.at_rest()
    for number in range(500):
        world.change(((f"n{number}",), ("c",)))
        world.run(0.01)
    assert 2 <= len(world.a.walks) <= 20
    assert world.a.walks[0] <= 1030.03


def test_a_page_of_an_abandoned_walk_is_dropped_while_the_next_walk_runs() -> None:
    world = World.at_rest()
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


def test_a_burst_is_debounced_before_the_first_request() -> None:
    world = World.at_rest()
    for number in range(5):
        world.change(((f"n{number}",), ("c",)))
        world.run(0.004)
    assert world.a.requests == 0
    world.run(0.1)
    assert len(world.a.walks) == 1
    assert world.a.names == ["c", "n4"]
