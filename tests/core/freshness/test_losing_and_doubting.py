"""Sequences of one replica in virtual time: rights that go, listings that shrink, replicas that
disagree.
"""

from dataclasses import replace
from itertools import pairwise

import pytest

from toolcrib.core.freshness import operations
from toolcrib.core.freshness.effects import KeepLastGood, Report, Revoke, Served, Withdrawn
from toolcrib.core.freshness.events import (
    Connected,
    Disconnected,
    Failure,
    FailureKind,
    Invalidated,
    Reason,
    Regranted,
    Revoked,
    StreamOpened,
    Watched,
)
from toolcrib.core.freshness.need import callable_item
from toolcrib.core.freshness.record import Caller
from toolcrib.core.freshness.tempo import Tempo
from toolcrib.core.snapshot import Hints, Page, Quarantined, Scope
from toolcrib.testing.simulator import Listing, World

A: Listing = (("a", "b"), ("c",))
B: Listing = (("a", "b", "d"), ("c",))
EMPTY: Listing = ((),)
HOUR = Hints(ttl=3600.0)
FORBIDDEN = Failure(FailureKind.FORBIDDEN, "403 after one refresh")
DOWN = Failure(FailureKind.TRANSPORT, "connection refused")


def tools(number: int) -> Listing:
    return (tuple(f"t{each:02}" for each in range(number)),)


def holding(
    listing: Listing = A,
    *,
    hints: Hints = HOUR,
    tempo: Tempo | None = None,
    shared: bool = False,
) -> World:
    world = World(tempo=tempo, shared=shared)
    world.server.listing, world.server.hints = listing, hints
    world.start()
    world.run(30)
    assert world.a.names is not None
    world.a.walks.clear()
    world.a.log.clear()
    return world


def reconnect(world: World) -> None:
    world.a.tell(Disconnected(world.instant))
    world.a.tell(Connected(world.instant))
    world.a.tell(StreamOpened(world.instant))


# ---- 9: a right is gone ----


def test_9_a_page_that_arrives_after_the_revocation_is_dropped() -> None:
    world = holding()
    world.change(B)
    world.run(0.04)  # the first page is read, the second on its way
    assert world.a.entry.walk is not None
    assert world.a.entry.walk.pages
    world.a.tell(Revoked(world.instant))
    assert world.a.names is None
    world.run(10)
    assert world.a.names is None
    assert world.store.record is not None
    assert world.store.record.published is None
    assert world.store.record.withdrawn
    assert world.a.told(Served) == []


def test_9_the_withdrawal_is_told_and_recorded_before_anything_else() -> None:
    world = holding()
    world.signal()
    before = len(world.a.log)
    world.a.tell(Revoked(world.instant))
    world.run(0)
    effects = [type(effect) for effect in world.a.log[before:]]
    assert effects.index(Withdrawn) == 0
    stored = [kind for kind in effects if kind.__name__ in {"Invalidate", "Revoke", "Begin"}]
    assert stored[0] is Revoke


def test_9_a_refused_listing_withdraws_and_is_not_asked_again_until_a_new_right() -> None:
    world = holding(hints=Hints())
    world.server.failure = FORBIDDEN
    reader = world.a.read()
    world.run(1)
    assert reader.names is None
    assert reader.answer is not None
    assert reader.answer.trouble == "the right to see this catalog is gone"
    for _ in range(50):
        world.a.read()
        world.run(2)
    assert len(world.a.walks) == 1
    generation = world.a.entry.hi
    world.server.failure = None
    world.a.tell(Regranted(world.instant))
    world.run(1)
    assert world.a.names == ["a", "b", "c"]
    assert world.a.standing.generation > generation
    assert not world.a.entry.withdrawn


def test_9_a_second_refusal_withdraws_again() -> None:
    world = holding(hints=Hints())
    world.server.failure = FORBIDDEN
    world.a.read()
    world.run(1)
    world.a.tell(Regranted(world.instant))
    world.run(1)
    assert world.a.names is None
    assert len(world.a.walks) == 2
    assert not world.a.entry.regranted
    assert len(world.a.told(Withdrawn)) == 1, "there was nothing left to withdraw"


def test_a_walk_that_fails_in_transport_after_a_new_right_is_tried_again() -> None:
    world = holding()
    world.a.tell(Revoked(world.instant))
    world.run(1)
    world.server.failure = DOWN
    world.a.tell(Regranted(world.instant))
    world.run(0.3)
    world.server.failure = None
    world.run(5)
    assert world.a.names == ["a", "b", "c"]


# ---- 10: scope ----


def test_10_an_equal_listing_that_became_private_is_withdrawn_where_it_was_shared() -> None:
    world = holding(hints=Hints(3600.0, Scope.PUBLIC), shared=True)
    world.server.hints = Hints(3600.0, Scope.PRIVATE)
    world.signal()
    world.run(5)
    assert world.a.names is None
    assert world.a.reports == ["scope_tightened"]
    assert world.store.record is not None
    assert world.store.record.withdrawn
    kinds = [type(each) for each in world.a.log if isinstance(each, Withdrawn | Report | Revoke)]
    assert kinds == [Withdrawn, Report, Revoke]


def test_10_where_nothing_is_shared_the_scope_changes_and_the_generation_stays() -> None:
    world = holding(hints=Hints(3600.0, Scope.PUBLIC))
    generation = world.a.standing.generation
    world.server.hints = Hints(3600.0, Scope.PRIVATE)
    world.signal()
    world.run(5)
    assert world.a.standing.generation == generation
    assert world.a.standing.scope is Scope.PRIVATE
    assert world.a.reports == []


def test_10_one_private_page_makes_the_whole_listing_private() -> None:
    world = World(shared=True)
    world.server.listing = A

    def page(cursor: str | None) -> Page:
        read = world.server.page(cursor, world.instant)
        assert isinstance(read, Page)
        return replace(read, hints=Hints(60.0, Scope.PUBLIC if cursor is None else Scope.PRIVATE))

    world.server.answers = page
    world.start()
    world.run(5)
    assert world.a.names is None
    assert world.a.reports == ["scope_tightened"]


# ---- 11, 12: losses ----


def test_11_a_server_that_registers_its_tools_slowly_loses_none_of_them() -> None:
    world = holding(tools(17))
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
    world = holding(tools(17))
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
    world = holding(tools(17))
    world.server.listing = tools(left)
    reconnect(world)
    world.run(0.4)
    assert len(world.a.names or ()) == 17
    world.run(5)
    assert len(world.a.names or ()) == left
    assert len(world.a.walks) == 2
    assert world.a.walks[1] - world.a.walks[0] >= 0.5


def test_12_less_than_half_gone_is_published_at_once() -> None:
    world = holding(tools(17))
    world.server.listing = tools(9)
    reconnect(world)
    world.run(0.2)
    assert len(world.a.names or ()) == 9
    assert len(world.a.walks) == 1


def test_12_without_a_reconnect_an_empty_listing_is_published_at_once() -> None:
    world = holding(tools(17))
    world.change(EMPTY)
    world.run(0.2)
    assert world.a.names == []


def test_12_if_the_confirmation_fails_last_good_stays() -> None:
    world = holding(tools(17))
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


def test_12_a_warm_start_that_meets_an_empty_server_confirms_it() -> None:
    world = holding(tools(17))
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


# ---- 13, 14: disagreement ----


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
    world = holding(hints=Hints())
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
    world = holding(hints=Hints())
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
    world = holding(hints=Hints())
    alternating(world, B, A)
    for _ in range(8):
        world.a.read()
        world.run(2.5)
    world.server.answers = None
    world.server.listing = B if world.a.names == ["a", "b", "c"] else A
    world.run(140)
    assert world.a.names == sorted(name for page in world.server.listing for name in page)


def test_13_with_signals_a_listing_that_changes_to_and_fro_is_published_each_time() -> None:
    world = holding()
    for _ in range(6):
        world.change(B)
        world.run(3)
        assert world.a.names == ["a", "b", "c", "d"]
        world.change(A)
        world.run(3)
        assert world.a.names == ["a", "b", "c"]
    assert world.a.reports == []


@pytest.mark.parametrize("back_after", [5.0, 120.0, 3600.0])
def test_14_a_silent_change_and_its_reversal_are_published(back_after: float) -> None:
    world = holding(hints=Hints())
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


# ---- 16, 17, 28: pages ----


def test_16_a_refused_cursor_restarts_the_walk_once_and_counts_as_dirty() -> None:
    world = holding()
    refusals = [True]

    def answers(cursor: str | None) -> Failure | None:
        if cursor is not None and refusals:
            refusals.pop()
            world.server.listing = B
            return Failure(FailureKind.REFUSED_CURSOR, "-32602")
        return None

    world.server.answers = answers
    world.signal()
    world.run(0.055)  # debounce, page one, the refusal, page one again
    assert world.a.entry.dirty == 1
    world.run(0.2)
    assert world.a.names == ["a", "b", "c", "d"]
    assert len(world.a.walks) == 2
    assert world.a.told(KeepLastGood) == []


def test_16_a_cursor_refused_twice_fails_the_walk() -> None:
    world = holding()
    world.server.answers = lambda cursor: (
        None if cursor is None else Failure(FailureKind.REFUSED_CURSOR, "-32602")
    )
    world.signal()
    world.run(0.2)
    assert world.a.names == ["a", "b", "c"]
    assert [each.failure.kind for each in world.a.told(KeepLastGood)] == [
        FailureKind.REFUSED_CURSOR
    ]


def test_16_a_first_page_that_is_refused_is_a_failure_and_no_restart() -> None:
    world = holding()
    world.server.failure = Failure(FailureKind.REFUSED_CURSOR, "-32602")
    world.signal()
    world.run(0.2)
    assert len(world.a.walks) == 1
    assert len(world.a.told(KeepLastGood)) == 1


@pytest.mark.parametrize(
    "kind", [FailureKind.TRANSPORT, FailureKind.TIMEOUT, FailureKind.MALFORMED, FailureKind.LIMIT]
)
def test_17_a_failing_second_page_publishes_nothing(kind: FailureKind) -> None:
    world = holding()
    world.change(B, signal=False)
    world.server.answers = lambda cursor: (
        None if cursor is None else Failure(kind, "the second page")
    )
    world.signal()
    world.run(0.2)
    assert world.a.names == ["a", "b", "c"]
    assert "the second page" in world.a.standing.trouble
    assert world.store.record is not None
    assert world.store.record.lease_until == 0.0, "the lease was given back"


def test_17_where_nothing_is_held_a_failing_second_page_is_an_error_and_no_half_list() -> None:
    world = World()
    world.server.listing = A
    world.server.answers = lambda cursor: (
        None if cursor is None else Failure(FailureKind.TRANSPORT, "gone")
    )
    reader = world.a.read()
    world.a.tell(Connected(world.instant))
    world.run(0.1)
    assert reader.names is None
    assert reader.answer is not None
    assert "gone" in reader.answer.trouble
    assert reader.answered is not None
    assert reader.answered < reader.arrived + 0.1, "an open breaker is not waited for"


def test_28_one_malformed_tool_costs_one_tool_and_its_repair_is_noticed() -> None:
    world = holding(tools(99))
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


# ---- 18, 20: clocks and outages ----


@pytest.mark.parametrize("jump", [-3600.0, -1.0, 3600.0])
def test_18_a_clock_that_jumps_never_lengthens_a_ttl(jump: float) -> None:
    world = holding(hints=Hints(ttl=60.0))
    world.signal()
    world.run(10)
    confirmed = world.a.walks[-1] + 0.01
    world.wall_offset += jump
    world.run(1)
    assert world.a.standing.ttl_left <= 60 - (world.now - confirmed) + 1e-6
    assert 0 <= (world.a.standing.age or 0.0) <= 60
    world.restart(world.a)
    world.a.read()
    world.a.tell(Connected(world.instant))
    world.run(3)
    assert world.a.standing.fresh, "a lease or a time from before the jump holds nobody up"
    assert world.a.standing.ttl_left <= 60


def test_18_a_snapshot_received_in_the_future_is_stale() -> None:
    world = holding(hints=HOUR)
    world.wall_offset -= 86_400
    world.restart(world.a)
    world.a.read()
    world.run(1)
    standing = world.a.standing
    assert standing.snapshot is not None
    assert not standing.fresh
    assert standing.ttl_left == 0
    assert standing.age is not None
    assert standing.age >= 0


def test_18_the_store_does_not_call_fresh_what_it_received_in_the_future() -> None:
    world = holding(hints=HOUR)
    assert world.store.record is not None
    wall = world.instant.wall
    assert not operations.needs_walk(world.store.record, wall)
    assert operations.needs_walk(world.store.record, wall - 86_400)
    view = operations.view_of(world.store.record, Caller(), wall - 86_400)
    assert view.ttl_left == 0
    assert view.age is not None
    assert view.age < 0
    assert view.lease_left == 0


def test_18_a_lease_from_before_the_jump_does_not_block() -> None:
    world = holding(hints=Hints())
    world.server.latency = 5.0
    world.a.read()
    world.run(1)
    world.restart(world.a)  # in the middle of a walk, its lease not given back
    world.wall_offset -= 3600
    world.server.latency = 0.01
    world.a.read()
    world.a.tell(Connected(world.instant))
    world.run(1)
    assert len(world.a.walks) == 1


def test_20_last_good_survives_an_outage_and_a_reconnect_as_stale() -> None:
    world = holding()
    world.a.tell(Disconnected(world.instant))
    assert world.a.names == ["a", "b", "c"]
    reader = world.a.read()
    assert reader.answered == world.now
    assert not world.a.standing.fresh
    world.run(600)
    assert world.a.names == ["a", "b", "c"]
    assert world.a.walks == []
    world.server.latency = 0.3
    world.a.tell(Connected(world.instant))
    world.run(0.1)
    assert world.a.names == ["a", "b", "c"]
    assert not world.a.standing.fresh
    world.run(1)
    assert world.a.standing.fresh


def test_a_walk_that_was_under_way_when_the_connection_broke_is_dropped_and_repeated() -> None:
    world = holding()
    world.server.latency = 0.1
    world.change(B)
    world.run(0.15)
    world.a.tell(Disconnected(world.instant))
    world.run(1)
    assert world.a.names == ["a", "b", "c"], "its late pages are worth nothing"
    world.a.tell(Connected(world.instant))
    world.run(1)
    assert world.a.names == ["a", "b", "c", "d"]


def test_a_store_that_cannot_be_reached_stops_walks_and_keeps_last_good() -> None:
    world = holding(hints=Hints())
    world.lots = 0.5
    world.store.down = True
    world.change(B)
    for _ in range(30):
        reader = world.a.read()
        world.run(1)
        assert reader.answered == reader.arrived
        assert reader.names == ["a", "b", "c"]
    assert world.a.walks == []
    assert world.a.standing.trouble == "the store does not answer"
    world.store.down = False
    world.run(60)
    world.a.read()
    world.run(1)
    assert world.a.names == ["a", "b", "c", "d"]


def test_a_revocation_while_the_store_is_away_is_recorded_when_it_is_back() -> None:
    world = holding()
    world.store.down = True
    world.a.tell(Revoked(world.instant))
    world.run(10)
    assert world.a.names is None
    assert world.store.record is not None
    assert not world.store.record.withdrawn
    world.store.down = False
    world.run(60)
    assert world.store.record.withdrawn
    assert world.a.names is None


def test_beyond_max_stale_list_nothing_is_listed_and_beyond_max_stale_nothing_admitted() -> None:
    world = holding(tempo=Tempo(max_stale_list=100.0, max_stale=200.0))
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
    world = holding()
    world.run(2000)
    world.change(B, signal=False)
    world.a.tell(Invalidated(Reason.REQUESTED, world.instant))
    world.run(1)
    assert world.a.names == ["a", "b", "c", "d"]
