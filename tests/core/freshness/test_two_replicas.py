"""Two replicas over one record, step by step: the counter-examples of simpler protocols."""

import pytest

from toolcrib.core.freshness.effects import (
    Begin,
    FetchPage,
    Invalidate,
    Publish,
    Served,
)
from toolcrib.core.freshness.events import (
    Connected,
    Disconnected,
    Hinted,
    Needed,
    Revoked,
)
from toolcrib.core.snapshot import Hints
from toolcrib.testing.pair import V0, V1, Pair, mixed, shown
from toolcrib.testing.simulator import World


def test_an_invalidation_by_another_replica_makes_the_walk_dirty() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    pair.expire()
    pair.needs(a)
    pair.page(a)
    pair.server.listing = V1
    pair.hears(b)
    pair.page(a)
    b.quiet()
    assert isinstance(a.pending, Publish)
    a.run()
    assert a.answer is not None
    assert a.answer.verdict == "refused_dirty"
    pair.finish(a)
    assert not mixed(a)
    assert shown(a) == ["p:1", "q:1"]


def test_the_epoch_of_a_walk_is_the_one_of_its_grant() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    pair.expire()
    pair.needs(a)
    pair.page(a)
    pair.server.listing = V1
    pair.hears(b)
    b.quiet()
    a.tell(Hinted(pair.instant))
    a.quiet()  # it has seen the new epoch before its second page
    pair.page(a)
    publish = a.pending
    assert isinstance(publish, Publish)
    assert publish.provisional, "known to be dirty"
    assert publish.ticket.epoch == a.entry.epoch - 1
    pair.finish(a)
    assert not mixed(a)
    assert shown(a) == ["p:1", "q:1"]


def test_a_signal_that_the_walker_heard_is_recorded_before_its_result_is_offered() -> None:
    pair = Pair()
    a = pair.a
    pair.expire()
    pair.needs(a)
    pair.page(a)
    pair.server.listing = V1
    pair.hears(a)
    pair.page(a)
    pair.finish(a)
    kinds = [type(each) for each in a.log]
    assert kinds.index(Invalidate) < kinds.index(Publish)
    assert not mixed(a)
    assert shown(a) == ["p:1", "q:1"]
    assert len(a.walks) == 2


def test_a_late_walker_is_refused_after_another_was_granted_and_published() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    pair.expire()
    pair.needs(a)
    pair.page(a)
    pair.run(25)
    pair.server.listing = V1  # silent
    pair.page(a)
    pair.needs(b)
    pair.finish(b)
    assert shown(b) == ["p:1", "q:1"]
    a.run()
    assert a.answer is not None
    assert a.answer.verdict == "refused_fence"
    a.receive()
    assert shown(a) == ["p:1", "q:1"], "it takes in what the store has instead"
    assert not mixed(a)


def test_a_late_walker_is_refused_even_before_the_newer_walk_was_published() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    pair.expire()
    pair.needs(a)
    pair.page(a)
    pair.run(25)
    pair.needs(b)
    pair.page(b)
    pair.page(b)
    pair.server.listing = V1  # silent
    pair.page(a)
    a.run()
    assert a.answer is not None
    assert a.answer.verdict == "refused_fence"
    pair.finish(b)
    assert pair.published() == ["p:0", "q:0"]


def test_numbers_come_from_the_store_only() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    pair.expire()
    pair.needs(a)
    pair.page(a)
    pair.server.listing = V1  # its signal is not heard yet
    pair.page(a)
    a.run()
    a.receive()
    assert a.standing.generation == pair.first + 1  # mixed, but nobody was told of the change
    pair.hears(a)
    a.quiet()
    a.fetches.clear()  # it crashed here, as far as the others know
    pair.run(25)
    assert b.standing.generation == pair.first
    pair.needs(b)
    pair.finish(b)
    assert shown(b) == ["p:1", "q:1"]
    assert b.standing.generation == pair.first + 2


def test_a_hint_only_queues_a_look_behind_the_operation_in_flight() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    pair.server.listing = V1
    pair.hears(a)
    a.run()  # its INVALIDATE shows gen 1, the answer is under way
    pair.needs(b)
    pair.finish(b)
    assert shown(b) == ["p:1", "q:1"]
    a.tell(Hinted(pair.instant))
    assert isinstance(a.pending, Invalidate)
    a.receive()
    assert a.standing.generation == pair.first
    a.quiet()
    assert a.standing.generation == pair.first + 1
    numbers = [each.generation for each in a.told(Served)]
    assert numbers == sorted(numbers)


def test_a_walk_whose_lease_was_taken_over_asks_for_no_further_page() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    pair.server.listing = (("p:0",), ("q:0",), ("r:0",), ("s:0",))
    pair.expire()
    pair.needs(a)
    pair.run(25)
    pair.needs(b)
    assert b.fetches
    pair.page(a)  # its RENEW says `lost`
    assert a.entry.walk is None
    asked = a.requests
    pair.page(a)  # the second page, asked for before that was known, is dropped
    assert a.requests == asked
    assert not a.fetches


def test_a_long_walk_keeps_its_lease_with_every_page() -> None:
    world = World(2, remote=True)
    world.server.listing = [[f"t{number}"] for number in range(5)]
    world.server.latency, world.server.hints = 9.0, Hints(ttl=3600.0)
    world.a.read()
    for replica in world.replicas:
        replica.tell(Connected(world.instant))
    world.run(25)
    world.b.read()
    world.run(30)
    assert len(world.a.walks) == 1
    assert world.b.walks == []
    assert len(shown(world.b) or ()) == 5


def test_in_a_storm_a_walk_that_differs_from_the_one_before_is_not_published() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    verdicts: list[str] = []

    def offer() -> None:
        pair.until(a, Publish)
        a.run()
        assert a.answer is not None
        verdicts.append(a.answer.verdict)
        a.receive()
        a.quiet()

    pair.hears(a, b)
    a.quiet()
    for second in (V0, V0, V1):
        a.page()
        pair.server.listing = second
        pair.hears(b)
        b.quiet()
        a.page()
        offer()
        pair.server.listing = V0
        pair.run(10)
        a.quiet()
    assert verdicts == ["refused_dirty"] * 3
    assert not mixed(a)
    assert shown(a) == ["p:0", "q:0"]


def test_a_storm_without_changes_does_not_starve_readers() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    verdicts: list[str] = []
    pair.server.listing = V1
    pair.hears(a)
    a.quiet()
    for _ in range(3):
        pair.hears(b)
        b.quiet()
        a.page()
        a.quiet()
        a.page()
        pair.until(a, Publish)
        a.run()
        assert a.answer is not None
        verdicts.append(a.answer.verdict)
        a.receive()
        a.quiet()
        pair.run(2)
        a.quiet()
    assert verdicts == ["refused_dirty", "refused_dirty", "done"]
    assert shown(a) == ["p:1", "q:1"]
    assert not a.standing.fresh


def test_a_lost_hint_is_made_good_by_the_next_look() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    pair.server.listing = V1
    pair.hears(a)
    pair.finish(a)
    assert shown(b) == ["p:0", "q:0"]
    b.tell(Hinted(pair.instant))  # its bus was connected again
    pair.finish(b)
    assert shown(b) == ["p:1", "q:1"]


def test_a_remote_store_is_looked_at_on_a_slow_timer_while_somebody_cares() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    b.tell(Needed(pair.instant))
    pair.finish(b)
    pair.server.listing = V1
    pair.hears(a)
    pair.finish(a)
    pair.run(37)
    pair.finish(b)
    assert shown(b) == ["p:1", "q:1"]


def test_a_signal_heard_while_the_store_is_away_is_recorded_when_it_is_back() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    a.reachable = False
    pair.server.listing = V1
    pair.hears(a)
    a.run()
    assert not a.standing.fresh
    assert a.walks == []
    pair.run(2)
    a.reachable = True
    pair.finish(a)
    b.tell(Hinted(pair.instant))
    pair.finish(b)
    assert shown(a) == shown(b) == ["p:1", "q:1"]


def test_a_start_is_a_signal_because_one_may_have_been_lost_with_the_process() -> None:
    pair = Pair()
    pair.server.listing = V1
    pair.hears(pair.a)  # and it crashes before it is recorded
    pair.restart(pair.a)
    a = pair.a
    a.tell(Needed(pair.instant))
    a.quiet()
    assert shown(a) == ["p:0", "q:0"]
    assert not a.standing.fresh
    a.tell(Connected(pair.instant))
    pair.finish(a)
    assert shown(a) == ["p:1", "q:1"]


def test_limit_a_signal_later_than_the_publish_leaves_a_mixed_listing_until_it_is_recorded() -> (
    None
):
    pair = Pair()
    a, b = pair.a, pair.b
    pair.expire()
    pair.needs(a)
    pair.page(a)
    pair.server.listing = V1  # the signal reaches only b, which is paused
    pair.page(a)
    a.quiet()
    assert shown(a) == ["p:0", "q:1"]
    assert a.standing.fresh
    pair.hears(b)
    b.quiet()
    pair.needs(a)
    assert not a.standing.fresh
    pair.finish(a)
    assert shown(a) == ["p:1", "q:1"]


def test_limit_a_replica_that_is_cut_off_serves_last_good_with_its_age() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    b.reachable = False
    pair.server.listing = V1
    pair.hears(a)
    pair.finish(a)
    reader = b.read()
    b.run()
    assert shown(reader) == ["p:0", "q:0"]
    assert reader.answer is not None
    assert not reader.answer.fresh
    assert reader.answer.age is not None
    assert b.walks == []


def test_ten_replicas_and_a_signal_to_all_cost_one_walk_and_one_recheck() -> None:
    world = World(10, remote=True)
    world.server.listing, world.server.hints = V0, Hints(ttl=60.0)
    world.start()
    world.run(30)
    for replica in world.replicas:
        replica.walks.clear()
    world.signal()
    world.run(0.2)
    assert sum(len(replica.walks) for replica in world.replicas) <= 2
    world.run(20)
    assert sum(len(replica.walks) for replica in world.replicas) <= 4
    for replica in world.replicas:
        replica.walks.clear()
    world.change(V1)
    world.run(20)
    assert sum(len(replica.walks) for replica in world.replicas) <= 2
    assert all(shown(replica) == ["p:1", "q:1"] for replica in world.replicas)
    assert len({replica.standing.generation for replica in world.replicas}) == 1


def test_a_crashed_walker_is_followed_by_another_when_its_lease_is_over() -> None:
    world = World(2, remote=True)
    world.server.listing, world.server.hints = V0, Hints(ttl=1.0)
    world.start()
    world.run(30)
    world.server.latency = 1.0
    world.a.read()
    world.run(0.5)
    world.a.alive = False
    world.b.walks.clear()
    world.server.latency = 0.01
    world.b.read()
    world.run(10)
    assert world.b.walks == []
    world.run(15)
    assert len(world.b.walks) == 1


def test_a_publish_without_an_answer_is_not_repeated_but_looked_up() -> None:
    pair = Pair()
    a = pair.a
    pair.server.listing = V1
    pair.hears(a)
    a.quiet()
    pair.page(a)
    pair.page(a)
    pair.until(a, Publish)
    a.run()
    a.lose_answer()
    assert shown(a) == ["p:0", "q:0"]
    pair.run(2)
    pair.finish(a)
    assert shown(a) == ["p:1", "q:1"]
    assert len(a.told(Publish)) == 1


@pytest.mark.parametrize("event", [Disconnected, Revoked])
def test_a_grant_that_comes_too_late_begins_no_walk_and_leaves_no_lease(
    event: type[Disconnected | Revoked],
) -> None:
    pair = Pair()
    a = pair.a
    pair.expire()
    a.tell(Needed(pair.instant))
    pair.until(a, Begin)
    a.run()
    a.tell(event(pair.instant))
    a.quiet()
    assert a.told(FetchPage) == []
    assert a.entry.walk is None
    assert pair.store.record is not None
    assert pair.store.record.lease_until == 0.0


def test_a_store_that_calls_it_fresh_ends_the_wish_however_slow_its_answers_are() -> None:
    pair = Pair()
    b = pair.b
    pair.run(29.5)
    b.tell(Needed(pair.instant))
    b.quiet()
    pair.run(0.5)
    b.tell(Needed(pair.instant))
    pair.run(0.5)
    b.run()
    pair.run(0.3)
    b.receive()
    assert isinstance(b.pending, Begin)
    pair.run(0.1)
    b.run()
    assert b.answer is not None
    assert b.answer.verdict == "refused_fresh"
    pair.run(0.05)
    b.receive()
    assert b.pending is None
    assert not b.entry.wanted


def test_a_grant_without_an_answer_costs_its_lease_and_no_walk_is_lost() -> None:
    pair = Pair()
    a = pair.a
    pair.expire()
    a.tell(Needed(pair.instant))
    pair.until(a, Begin)
    a.run()
    a.lose_answer()
    assert a.told(FetchPage) == []
    pair.run(2)
    a.quiet()
    assert a.told(FetchPage) == [], "its own lease is in the way"
    pair.run(20)
    a.tell(Needed(pair.instant))
    pair.finish(a)
    assert len(a.walks) == 1
