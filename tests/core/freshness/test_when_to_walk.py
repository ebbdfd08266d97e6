"""When a walk begins, and what readers get until then: one replica in virtual time."""

from dataclasses import replace

import pytest

from toolcrib.core.freshness.events import (
    Connected,
    Disconnected,
    Invalidated,
    Needed,
    Reason,
    StreamLost,
    StreamOpened,
    StreamRefused,
    Watched,
)
from toolcrib.core.freshness.need import peek
from toolcrib.core.freshness.tempo import Strategy, Tempo
from toolcrib.core.snapshot import Hints
from toolcrib.testing.simulator import Listing, Reader, World

A: Listing = (("a", "b"), ("c",))
B: Listing = (("a", "b", "d"), ("c",))
HOUR = Hints(ttl=3600.0)


def every(world: World, interval: float, times: int) -> list[Reader]:
    """Readers that come in a regular row; returns them once the last has come."""
    readers: list[Reader] = []
    for _ in range(times):
        readers.append(world.a.read())
        world.run(interval)
    return readers


def test_1_readers_that_arrive_together_share_one_walk_and_are_served_by_it() -> None:
    world = World.at_rest(hints=Hints(ttl=60.0))
    world.run(60)
    world.server.listing = B
    readers = [world.a.read() for _ in range(1000)]
    del readers[0]  # the one that came first goes away: the heart does not know readers
    world.run(1)
    assert len(world.a.walks) == 1
    assert {tuple(reader.names or ()) for reader in readers} == {("a", "b", "c", "d")}


def test_a_need_while_a_walk_is_running_begins_no_other() -> None:
    world = World.at_rest(hints=Hints())
    world.server.latency = 0.4
    world.a.read()
    world.run(0.5)
    before = len(world.a.log)
    for _ in range(10):
        world.a.tell(Needed(world.instant))
    assert world.a.log[before:] == []
    world.run(5)
    assert len(world.a.walks) == 1


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


def test_21_a_server_without_ttl_is_walked_once_per_interval() -> None:
    world = World.at_rest(hints=Hints())
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
    world = World.at_rest()
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
    world = World.at_rest(listening=False, hints=Hints())
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


@pytest.mark.duty(14)
def test_polls_are_spread_by_lot() -> None:
    world = World.at_rest(listening=False, hints=Hints())
    world.lots = 0.75
    world.a.read()
    world.run(1)
    world.a.tell(Watched(1, world.instant))
    world.a.walks.clear()
    world.run(68)
    assert world.a.walks == []
    world.run(2)
    assert len(world.a.walks) == 1


def test_a_poll_never_comes_before_the_ttl_is_over() -> None:
    world = World.at_rest(listening=False, hints=Hints(ttl=2000.0))
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
    world = World.at_rest(hints=Hints(), tempo=Tempo(strategy=strategy), listening=listening)
    world.a.tell(Watched(1, world.instant))
    world.run(200)
    assert bool(world.a.walks) is polls


def test_with_strategy_notify_an_open_stream_is_trusted_and_a_lost_one_is_not() -> None:
    world = World.at_rest(hints=Hints(), tempo=Tempo(strategy="notify"))
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


@pytest.mark.duty(7)
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


def test_a_call_that_contradicts_the_catalog_refreshes_it_without_debounce() -> None:
    world = World.at_rest()
    world.change(B, signal=False)
    world.a.tell(Invalidated(Reason.CALL_CONTRADICTED, world.instant))
    world.run(0.0)
    assert world.a.walks == [world.now]
    world.run(0.1)
    assert world.a.names == ["a", "b", "c", "d"]


def test_a_signal_that_nobody_waits_for_begins_no_walk() -> None:
    world = World.at_rest()
    world.run(901)
    world.change(B)
    world.run(10)
    assert world.a.walks == []
    reader = world.a.read()
    world.run(1)
    assert reader.names == ["a", "b", "c", "d"]


def test_strategy_always_walks_before_each_call_and_never_two_at_a_time() -> None:
    world = World.at_rest(tempo=Tempo(strategy="always", admit_wait=0.5))
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
    world = World.at_rest()
    before, entry = world.store.operations, world.a.entry
    for _ in range(100):
        assert peek(world.a.entry, world.now) is not None
        world.a.tell(Needed(world.instant))
        world.run(0.1)
    assert world.store.operations == before
    assert world.a.entry is entry
    assert world.a.walks == []


def test_the_times_of_a_listing_are_stored_as_its_pages_say() -> None:
    world = World.at_rest(hints=Hints(ttl=60.0))
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
    world = World.at_rest(listening=False)
    world.server.listing = B
    world.a.tell(Connected(world.instant))
    assert not world.a.standing.fresh
    world.run(1)
    assert world.a.names == ["a", "b", "c", "d"]


def test_beyond_max_stale_list_nothing_is_listed_and_beyond_max_stale_nothing_admitted() -> None:
    world = World.at_rest(tempo=Tempo(max_stale_list=100.0, max_stale=200.0))
    world.a.tell(Disconnected(world.instant))
    world.run(40)
    assert world.a.read("list").names == ["a", "b", "c"]
    world.run(60)
    old = world.a.read("list")
    assert old.names is None
    assert old.answer is not None
    assert "max_stale_list" in old.answer.trouble
    assert world.a.read("admit").names == ["a", "b", "c"]
    world.run(100)
    admitted = world.a.read("admit")
    assert admitted.names is None
    assert admitted.answer is not None
    assert "max_stale" in admitted.answer.trouble


def test_a_requested_refresh_walks_although_nobody_was_interested() -> None:
    world = World.at_rest()
    world.run(2000)
    world.change(B, signal=False)
    world.a.tell(Invalidated(Reason.REQUESTED, world.instant))
    world.run(1)
    assert world.a.names == ["a", "b", "c", "d"]
