"""Listings that shrink, take turns, go in circles or are partly unusable."""

from dataclasses import replace
from itertools import pairwise

import pytest

from toolcrib.core.freshness.effects import (
    KeepLastGood,
    Served,
)
from toolcrib.core.freshness.events import (
    Connected,
    Disconnected,
    Failure,
    FailureKind,
    StreamOpened,
    Watched,
)
from toolcrib.core.freshness.need import callable_item
from toolcrib.core.snapshot import Hints, Page, Quarantined
from toolcrib.testing.simulator import Listing, World

A: Listing = (("a", "b"), ("c",))
B: Listing = (("a", "b", "d"), ("c",))
EMPTY: Listing = ((),)
DOWN = Failure(FailureKind.TRANSPORT, "connection refused")


def tools(number: int) -> Listing:
    return (tuple(f"t{each:02}" for each in range(number)),)


def reconnect(world: World) -> None:
    world.a.tell(Disconnected(world.instant))
    world.a.tell(Connected(world.instant))
    world.a.tell(StreamOpened(world.instant))


def test_11_a_server_that_registers_its_tools_slowly_loses_none_of_them() -> None:
    world = World.at_rest(tools(17))
    world.server.listing = EMPTY
    reconnect(world)
    world.run(0.3)
    world.change(tools(12))
    world.run(1.5)
    world.change(tools(17))
    world.run(20)
    served = [len(effect.snapshot) for effect in world.a.told(Served)]
    assert 0 not in served
    assert served[-1] == 17
    assert len(world.a.names or ()) == 17


@pytest.mark.parametrize("growth", [(0, 1, 4, 6, 9, 17), (5, 0, 5, 8, 8, 17), (0, 1, 2, 3, 17)])
def test_11_no_shrunken_listing_is_published_while_it_still_changes(
    growth: tuple[int, ...],
) -> None:
    world = World.at_rest(tools(17))
    world.server.listing = tools(growth[0])
    reconnect(world)
    for number in growth[1:]:
        world.run(0.4)
        world.change(tools(number), signal=False)
    world.run(5)
    assert {len(effect.snapshot) for effect in world.a.told(Served)} <= {9, 12, 17}
    assert len(world.a.names or ()) == 17


@pytest.mark.parametrize("left", [0, 1, 8])
def test_12_a_loss_after_a_reconnect_is_confirmed_once_and_then_published(left: int) -> None:
    world = World.at_rest(tools(17))
    world.server.listing = tools(left)
    reconnect(world)
    world.run(0.4)
    assert len(world.a.names or ()) == 17
    world.run(5)
    assert len(world.a.names or ()) == left
    assert len(world.a.walks) == 2
    assert world.a.walks[1] - world.a.walks[0] >= 0.5


def test_12_less_than_half_gone_is_published_at_once() -> None:
    world = World.at_rest(tools(17))
    world.server.listing = tools(9)
    reconnect(world)
    world.run(0.2)
    assert len(world.a.names or ()) == 9
    assert len(world.a.walks) == 1


def test_12_without_a_reconnect_an_empty_listing_is_published_at_once() -> None:
    world = World.at_rest(tools(17))
    world.change(EMPTY)
    world.run(0.2)
    assert world.a.names == []


def test_12_if_the_confirmation_fails_last_good_stays() -> None:
    world = World.at_rest(tools(17))
    world.server.listing = EMPTY
    reconnect(world)
    world.run(0.2)
    world.server.failure = DOWN
    world.run(1)
    assert len(world.a.names or ()) == 17
    assert len(world.a.told(KeepLastGood)) >= 1
    world.server.failure, world.server.listing = None, tools(17)
    world.run(60)
    assert len(world.a.names or ()) == 17
    assert world.a.standing.fresh


def test_12_after_a_failed_confirmation_the_loss_is_confirmed_anew() -> None:
    world = World.at_rest(tools(17))
    world.server.listing = EMPTY
    reconnect(world)
    world.run(0.2)
    world.server.failure = DOWN
    world.run(0.5)
    assert world.a.entry.failure is not None
    world.server.failure = None
    world.run(1.0)
    assert world.a.entry.failure is None
    walks = len(world.a.walks)
    assert len(world.a.names or ()) in {0, 17}
    world.run(2.0)
    assert world.a.names == []
    last = world.a.walks[: walks + 1][-2:]
    assert last[1] - last[0] >= 0.5, "two walks that agree, half a second apart, after the failure"


def test_12_a_warm_start_that_meets_an_empty_server_confirms_it() -> None:
    world = World.at_rest(tools(17))
    world.restart(world.a)
    world.a.read()
    world.run(1)
    assert len(world.a.names or ()) == 17, "served before the server is there"
    assert not world.a.standing.fresh
    world.server.listing = EMPTY
    world.a.tell(Connected(world.instant))
    world.a.tell(StreamOpened(world.instant))
    world.run(0.3)
    assert len(world.a.names or ()) == 17
    world.run(3)
    assert world.a.names == []


def alternating(world: World, *listings: Listing) -> None:
    """Another replica of the server answers each walk."""
    turn = iter(range(1_000_000))

    def next_page(cursor: str | None) -> None:
        if cursor is None:
            world.server.listing = listings[next(turn) % len(listings)]

    world.server.listing = listings[0]

    def answers(cursor: str | None) -> None:
        next_page(cursor)

    world.server.answers = answers


def test_13_replicas_of_the_server_that_disagree_are_reported_and_held() -> None:
    world = World.at_rest(hints=Hints())
    alternating(world, B, A)
    for _ in range(20):
        world.a.read()
        world.run(2.5)
    assert world.a.reports == ["replica_disagreement"]
    contents = [tuple(item.key for item in each.snapshot.items) for each in world.a.told(Served)]
    changes = sum(1 for x, y in pairwise(contents) if x != y)
    assert changes <= 3
    for key in ("a", "b", "c", "d"):
        assert callable_item(world.a.entry, world.now, key) is not None
    assert callable_item(world.a.entry, world.now, "x") is None


def test_13_a_quiet_minute_publishes_what_stayed() -> None:
    world = World.at_rest(hints=Hints())
    alternating(world, B, A)
    for _ in range(8):
        world.a.read()
        world.run(2.5)
    world.server.answers = None
    held = world.a.names
    other = B if held == ["a", "b", "c"] else A
    world.server.listing = other
    for _ in range(20):
        world.a.read()
        world.run(2.5)
    assert world.a.names == held, "held during the minute"
    for _ in range(10):
        world.a.read()
        world.run(2.5)
    assert world.a.names == sorted(name for page in other for name in page)
    assert world.a.entry.alternation.other is None


def test_13_after_the_quiet_minute_it_is_published_without_any_reader() -> None:
    world = World.at_rest(hints=Hints())
    alternating(world, B, A)
    for _ in range(8):
        world.a.read()
        world.run(2.5)
    world.server.answers = None
    world.server.listing = B if world.a.names == ["a", "b", "c"] else A
    world.run(140)
    assert world.a.names == sorted(name for page in world.server.listing for name in page)


def test_13_with_signals_a_listing_that_changes_to_and_fro_is_published_each_time() -> None:
    world = World.at_rest()
    for _ in range(6):
        world.change(B)
        world.run(3)
        assert world.a.names == ["a", "b", "c", "d"]
        world.change(A)
        world.run(3)
        assert world.a.names == ["a", "b", "c"]
    assert world.a.reports == []


def test_13_a_signal_ends_the_hold_because_the_server_says_that_it_changed() -> None:
    world = World.at_rest(hints=Hints())
    alternating(world, B, A)
    for _ in range(8):
        world.a.read()
        world.run(2.5)
    assert world.a.entry.alternation.other is not None
    world.server.answers = None
    world.change(B if world.a.names == ["a", "b", "c"] else A)
    assert world.a.entry.alternation.other is None
    world.run(1)
    assert world.a.names == sorted(name for page in world.server.listing for name in page)


def test_13_silent_changes_between_signals_are_not_counted_together() -> None:
    world = World.at_rest(hints=Hints())
    for listing in (B, A):
        world.change(listing, signal=False)
        world.a.read()
        world.run(3)
    world.signal()
    world.run(3)
    world.change(B, signal=False)
    world.a.read()
    world.run(3)
    assert world.a.names == ["a", "b", "c", "d"]
    assert world.a.reports == []


@pytest.mark.parametrize("back_after", [5.0, 120.0, 3600.0])
def test_14_a_silent_change_and_its_reversal_are_published(back_after: float) -> None:
    world = World.at_rest(hints=Hints())
    world.a.tell(Watched(1, world.instant))
    world.change(B, signal=False)
    world.a.read()
    world.run(back_after)
    assert world.a.names == ["a", "b", "c", "d"]
    world.change(A, signal=False)
    world.a.read()
    world.run(3)
    world.a.read()
    world.run(3)
    assert world.a.names == ["a", "b", "c"]
    assert world.a.reports == []


def test_a_listing_that_goes_in_circles_is_reported_once_in_a_row() -> None:
    world = World.at_rest()

    def answers(cursor: str | None) -> Page:
        page = world.server.page(None if cursor is None else "1", world.instant)
        assert isinstance(page, Page)
        return page if cursor is None else replace(page, items=(), next_cursor="1")

    world.server.answers = answers
    world.server.listing = (("a", "b"), ("x",))
    for _ in range(3):
        world.signal()
        world.run(10)
    assert world.a.reports == ["cursor_cycle"]
    assert world.a.names == ["a", "b"]
    world.server.answers = None
    world.signal()
    world.run(10)
    assert world.a.names == ["a", "b", "x"]
    world.server.answers = answers
    world.signal()
    world.run(10)
    assert world.a.reports == ["cursor_cycle", "cursor_cycle"]


def test_names_that_a_server_always_doubles_cost_one_second_walk_in_all() -> None:
    world = World()
    world.server.listing = (("get:a", "get:b", "put"),)
    world.start()
    world.run(30)
    assert world.a.names == ["get", "put"]
    assert len(world.a.walks) == 2
    for _ in range(3):
        world.signal()
        world.run(30)
    assert len(world.a.walks) == 2 + 2 * 3, "each signal: a walk and its re-check, none repeated"


def test_28_one_malformed_tool_costs_one_tool_and_its_repair_is_noticed() -> None:
    world = World.at_rest(tools(99))
    bad = Quarantined("t99", "no_input_schema", "inputSchema is missing", "t99:bad")
    world.server.malformed = (bad,)
    world.signal()
    world.run(10)
    generation = world.a.standing.generation
    snapshot = world.a.standing.snapshot
    assert snapshot is not None
    assert len(snapshot) == 99
    assert snapshot.quarantined == (bad,)
    world.server.malformed = (replace(bad, fingerprint="t99:worse"),)
    world.signal()
    world.run(10)
    assert world.a.standing.generation == generation + 1
    world.server.malformed = ()
    world.change(tools(100))
    world.run(10)
    assert len(world.a.names or ()) == 100
