"""Rules that another rule hides in most orders of events: here the hidden one decides alone."""

from dataclasses import replace

from toolcrib.core.freshness import operations
from toolcrib.core.freshness.effects import Begin, Served
from toolcrib.core.freshness.events import Needed
from toolcrib.core.freshness.record import Caller, StoreClock
from toolcrib.core.snapshot import Hints
from toolcrib.testing.pair import Pair
from toolcrib.testing.simulator import World

HERE = Caller()


def test_a_walk_of_ours_that_outlives_its_lease_is_still_the_only_one() -> None:
    pair = Pair()
    a = pair.a
    pair.expire()
    pair.needs(a)
    pair.run(25)  # nobody's lease holds the next walk back any longer
    before = len(a.log)
    a.tell(Needed(pair.instant))
    a.quiet()
    assert not any(isinstance(effect, Begin) for effect in a.log[before:])
    assert len(a.walks) == 1


def test_5_a_cold_start_shows_the_first_whole_walk_though_it_is_dirty() -> None:
    world = World()
    world.server.listing = (("a",), ("b",), ("c",), ("d",), ("e",))
    world.server.latency = 1.0
    world.start()
    world.run(3)
    world.signal()
    world.run(2.5)
    served = world.a.told(Served)
    assert [each.fresh for each in served] == [False]
    assert world.a.names == ["a", "b", "c", "d", "e"]


def test_9_without_a_newer_right_the_store_grants_no_walk() -> None:
    world = World.at_rest(hints=Hints())
    clock = StoreClock(world.store.name, world.instant.wall)
    record = operations.revoke(world.store.record, HERE, clock).record
    here = Caller(record.inc)
    refused = operations.begin(record, here, clock, force=True)
    assert refused.answer.verdict == "refused_withdrawn"
    granted = operations.begin(record, here, clock, regranted=True)
    assert granted.answer.verdict == "done"


def test_9_what_was_withdrawn_does_not_come_back_by_a_dirty_walk() -> None:
    world = World.at_rest(hints=Hints())
    clock = StoreClock(world.store.name, world.instant.wall)
    assert world.store.record is not None
    candidate = world.store.record.published
    assert candidate is not None
    record = operations.revoke(world.store.record, HERE, clock).record
    granted = operations.begin(record, HERE, clock, regranted=True)
    ticket = granted.answer.ticket
    assert ticket is not None
    record = operations.invalidate(granted.record, HERE, clock).record
    refused = operations.publish(record, HERE, clock, ticket, candidate)
    assert refused.answer.verdict == "refused_dirty"
    assert refused.record.published is None


def test_18_no_more_than_the_ttl_is_left_of_a_listing_whatever_its_record_says() -> None:
    world = World.at_rest(hints=Hints(ttl=60.0))
    record = world.store.record
    assert record is not None
    assert record.published is not None
    week = replace(record.published, expires_at=record.published.expires_at + 604_800)
    view = operations.view_of(replace(record, published=week), HERE, world.instant.wall)
    assert view.ttl_left == 60.0


def test_27_signals_between_two_walks_are_one_invalidation_in_the_record() -> None:
    world = World.at_rest()
    clock = StoreClock(world.store.name, world.instant.wall)
    assert world.store.record is not None
    before = world.store.record.epoch
    record = world.store.record
    for _ in range(5):
        record = operations.invalidate(record, HERE, clock).record
    assert record.epoch == before + 1


def test_a_ticket_of_another_incarnation_is_void_in_the_store_too() -> None:
    world = World.at_rest()
    clock = StoreClock(world.store.name, world.instant.wall)
    granted = operations.begin(world.store.record, HERE, clock, force=True)
    ticket, candidate = granted.answer.ticket, granted.record.published
    assert ticket is not None
    assert candidate is not None
    foreign = replace(ticket, inc="another")
    refused = operations.publish(granted.record, HERE, clock, foreign, candidate)
    assert refused.answer.verdict == "refused_fence"
