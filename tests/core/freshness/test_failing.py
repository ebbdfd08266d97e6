"""Servers, pages, stores and clocks that fail: one replica in virtual time."""

import pytest

from toolcrib.core.freshness import operations
from toolcrib.core.freshness.effects import (
    KeepLastGood,
)
from toolcrib.core.freshness.events import (
    Connected,
    Disconnected,
    Failure,
    FailureKind,
    Hinted,
    Needed,
    Revoked,
)
from toolcrib.core.freshness.record import Caller
from toolcrib.core.snapshot import Hints
from toolcrib.testing.simulator import Listing, Reader, World

A: Listing = (("a", "b"), ("c",))
B: Listing = (("a", "b", "d"), ("c",))
HOUR = Hints(ttl=3600.0)
DOWN = Failure(FailureKind.TRANSPORT, "connection refused")


def every(world: World, interval: float, times: int) -> list[Reader]:
    """Readers that come in a regular row; returns them once the last has come."""
    readers: list[Reader] = []
    for _ in range(times):
        readers.append(world.a.read())
        world.run(interval)
    return readers


def test_15_a_dead_server_is_asked_at_the_pace_of_the_breaker() -> None:
    world = World.at_rest(hints=Hints())
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
    world = World.at_rest(hints=Hints())
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
    world = World.at_rest(hints=Hints())
    world.server.failure = Failure(FailureKind.RATE_LIMITED, "429", retry_after=1e9)
    world.a.read()
    world.run(1)
    assert world.a.entry.breaker.until <= world.now + 600


def test_a_reconnect_closes_a_breaker_that_the_server_did_not_ask_for() -> None:
    world = World.at_rest()
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


@pytest.mark.duty(2)
def test_16_a_refused_cursor_restarts_the_walk_once_and_counts_as_dirty() -> None:
    world = World.at_rest()
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


@pytest.mark.duty(2)
def test_16_a_cursor_refused_twice_fails_the_walk() -> None:
    world = World.at_rest()
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
    world = World.at_rest()
    world.server.failure = Failure(FailureKind.REFUSED_CURSOR, "-32602")
    world.signal()
    world.run(0.2)
    assert len(world.a.walks) == 1
    assert len(world.a.told(KeepLastGood)) == 1


@pytest.mark.duty(1)
@pytest.mark.parametrize(
    "kind", [FailureKind.TRANSPORT, FailureKind.TIMEOUT, FailureKind.MALFORMED, FailureKind.LIMIT]
)
def test_17_a_failing_second_page_publishes_nothing(kind: FailureKind) -> None:
    world = World.at_rest()
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


@pytest.mark.parametrize("jump", [-3600.0, -1.0, 3600.0])
def test_18_a_clock_that_jumps_never_lengthens_a_ttl(jump: float) -> None:
    world = World.at_rest(hints=Hints(ttl=60.0))
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
    world = World.at_rest(hints=HOUR)
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
    world = World.at_rest(hints=HOUR)
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
    world = World.at_rest(hints=Hints())
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
    world = World.at_rest()
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
    world = World.at_rest()
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
    world = World.at_rest(hints=Hints())
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


def test_a_hint_is_a_reason_to_try_the_store_at_once() -> None:
    world = World.at_rest()
    world.lots = 0.9
    world.store.down = True
    world.change(B)
    world.run(100)
    assert world.a.entry.store.is_open(world.now + 1)
    world.store.down = False
    world.a.tell(Hinted(world.instant))
    world.run(0.2)
    assert world.a.names == ["a", "b", "c", "d"]


def test_a_whole_walk_is_offered_even_if_the_connection_broke_since() -> None:
    world = World(manual=True)
    world.server.listing, world.server.hints = A, HOUR
    replica = world.a
    replica.tell(Connected(world.instant))
    replica.tell(Needed(world.instant))
    replica.quiet()
    world.run(0.03)
    replica.quiet()
    replica.page()  # its RENEW is not answered yet
    replica.page()
    assert replica.entry.walk is not None
    assert replica.entry.walk.candidate is not None
    replica.tell(Disconnected(world.instant))
    replica.quiet()
    assert replica.names == ["a", "b", "c"]


def test_a_revocation_while_the_store_is_away_is_recorded_when_it_is_back() -> None:
    world = World.at_rest()
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
