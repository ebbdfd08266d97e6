"""Two replicas over one record, step by step: the counter-examples that involve a replica.

Each test follows the shortest trace that breaks a simpler protocol, and asserts what must happen
instead. Nothing moves on its own: store operations run, answers arrive and pages are read when the
test says so.
"""

import pytest

from toolcrib.core.freshness.effects import (
    Begin,
    FetchPage,
    Invalidate,
    Look,
    Publish,
    Revoke,
    Served,
    StoreEffect,
)
from toolcrib.core.freshness.events import (
    Connected,
    Disconnected,
    Failure,
    FailureKind,
    Hinted,
    Invalidated,
    Needed,
    Reason,
    Regranted,
    Revoked,
)
from toolcrib.core.freshness.tempo import Tempo
from toolcrib.core.snapshot import Hints
from toolcrib.testing.simulator import Listing, Reader, Replica, World

V0: Listing = (("p:0",), ("q:0",))
V1: Listing = (("p:1",), ("q:1",))
NO_WAITS = Tempo(debounce=0.0, min_interval=0.0, recheck=1000.0, after_loss="wait")


class Pair(World):
    """Two replicas that both hold gen 1 = v0, fresh for a minute, and are at rest."""

    def __init__(self, tempo: Tempo = NO_WAITS) -> None:
        super().__init__(2, tempo=tempo, manual=True, remote=True)
        self.server.listing, self.server.hints = V0, Hints(ttl=60.0)
        for replica in self.replicas:
            replica.tell(Connected(self.instant))
            self.quiet(replica)
        self.a.tell(Needed(self.instant))
        self.finish(self.a)
        self.b.tell(Hinted(self.instant))
        self.finish(self.b)
        self.run(29)
        self.first = self.a.standing.generation
        assert shown(self.a) == shown(self.b) == ["p:0", "q:0"]
        assert self.b.standing.generation == self.first
        for replica in self.replicas:
            replica.log.clear()
            replica.walks.clear()

    def quiet(self, replica: Replica) -> None:
        """Run and answer every store operation of a replica until it sends none."""
        while replica.pending is not None:
            if replica.answer is None and not replica.run():
                return
            replica.receive()

    def until(self, replica: Replica, kind: type[StoreEffect]) -> None:
        """Answer store operations of a replica until one of this kind is sent and has not run."""
        for _ in range(9):
            if isinstance(replica.pending, kind):
                return
            replica.run()
            replica.receive()
        raise AssertionError(f"{replica.name} sends no {kind.__name__}")

    def finish(self, replica: Replica) -> None:
        """Let a replica do all it wants to do."""
        while replica.pending is not None or replica.fetches:
            self.quiet(replica)
            if replica.fetches:
                replica.page()

    def expire(self) -> None:
        """The ttl of what is held is over."""
        self.run(61)

    def needs(self, replica: Replica) -> None:
        """Somebody asks; store operations are answered, and page one is on its way."""
        replica.tell(Needed(self.instant))
        self.quiet(replica)

    def page(self, replica: Replica) -> None:
        """A page is read and arrives; a RENEW is answered, a PUBLISH is not sent on."""
        replica.page()
        if not isinstance(replica.pending, Publish | Invalidate):
            self.quiet(replica)

    def hears(self, *to: Replica) -> None:
        """The change signal reaches these replicas; nothing is recorded yet."""
        for replica in to:
            replica.tell(Invalidated(Reason.SIGNAL, self.instant))

    def published(self) -> list[str]:
        """The names in the record."""
        record = self.store.record
        assert record is not None
        assert record.published is not None
        return [item.fingerprint for item in record.published.snapshot.items]


def shown(replica: Replica | Reader) -> list[str] | None:
    """The definitions that are answered, as `name:state of the server`."""
    snapshot = replica.answer if isinstance(replica, Reader) else replica.standing
    snapshot = None if snapshot is None else snapshot.snapshot
    return None if snapshot is None else [item.fingerprint for item in snapshot.items]


def mixed(replica: Replica) -> bool:
    """Whether a replica was ever told a listing whose pages are of two states of the server."""
    told = [{item.fingerprint[-1] for item in each.snapshot.items} for each in replica.told(Served)]
    return any(len(states) > 1 for states in told)


def test_an_invalidation_by_another_replica_makes_the_walk_dirty() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    pair.expire()
    pair.needs(a)
    pair.page(a)
    pair.server.listing = V1
    pair.hears(b)
    pair.page(a)
    pair.quiet(b)
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
    pair.quiet(b)
    a.tell(Hinted(pair.instant))
    pair.quiet(a)  # it has seen the new epoch before its second page
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
    pair.quiet(a)
    a.fetches.clear()  # it crashed here, as far as the others know
    pair.run(25)
    assert b.standing.generation == pair.first
    pair.needs(b)
    pair.finish(b)
    assert shown(b) == ["p:1", "q:1"]
    assert b.standing.generation == pair.first + 2


def test_a_hint_after_a_revocation_brings_nothing_back() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    pair.expire()
    pair.needs(a)
    pair.page(a)
    pair.page(a)
    b.tell(Revoked(pair.instant))
    a.run()
    a.receive()  # published before the withdrawal was recorded
    assert shown(b) is None
    b.tell(Hinted(pair.instant))
    pair.quiet(b)
    assert shown(b) is None
    assert next(type(each) for each in b.log if isinstance(each, Revoke | Look)) is Revoke
    a.tell(Hinted(pair.instant))
    pair.quiet(a)
    assert shown(a) is None


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
    pair.quiet(a)
    assert a.standing.generation == pair.first + 1
    numbers = [each.generation for each in a.told(Served)]
    assert numbers == sorted(numbers)


def test_after_a_failover_that_lost_the_last_publish_no_generation_goes_back() -> None:
    pair = Pair()
    a = pair.a
    standby = pair.store.record
    pair.expire()
    pair.server.listing = V1
    pair.needs(a)
    pair.finish(a)
    assert a.standing.generation == pair.first + 1
    pair.store.lose(back_to=standby)
    a.tell(Hinted(pair.instant))
    pair.quiet(a)
    assert shown(a) is None, "held back until a walk of the new incarnation"
    pair.run(0.3)
    a.tell(Needed(pair.instant))
    pair.finish(a)
    assert shown(a) == ["p:1", "q:1"]
    assert a.standing.generation > pair.first + 1


def test_after_an_empty_restart_numbers_go_on_above_what_was_served() -> None:
    pair = Pair()
    a = pair.a
    pair.server.listing = V1  # silent
    pair.store.lose()
    a.tell(Hinted(pair.instant))
    pair.quiet(a)
    pair.run(0.3)
    a.tell(Needed(pair.instant))
    pair.finish(a)
    assert shown(a) == ["p:1", "q:1"]
    assert a.standing.generation > pair.first


def test_a_ticket_of_another_incarnation_is_void_even_if_its_numbers_are_equal() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    pair.expire()
    standby = pair.store.record
    pair.needs(a)
    pair.page(a)
    pair.store.lose(back_to=standby)
    pair.server.listing = V1  # silent
    pair.page(a)
    b.tell(Hinted(pair.instant))
    pair.quiet(b)
    pair.run(0.3)
    pair.needs(b)
    pair.finish(b)
    a.run()
    assert a.answer is not None
    assert a.answer.verdict == "refused_fence"
    pair.finish(a)
    assert not mixed(a)
    assert pair.published() == ["p:1", "q:1"]


def test_the_highest_number_served_is_told_to_the_store_where_clocks_are_useless() -> None:
    pair = Pair()
    a = pair.a
    standby = pair.store.record
    pair.expire()
    pair.server.listing = (("p:0",), ("q:1",))
    pair.needs(a)
    pair.finish(a)
    served = a.standing.generation
    pair.wall_offset = -pair.now  # the clock of the new store says 1970
    pair.store.lose(back_to=standby)
    pair.server.listing = V1
    a.tell(Hinted(pair.instant))
    pair.quiet(a)
    pair.run(0.3)
    a.tell(Needed(pair.instant))
    pair.finish(a)
    assert shown(a) == ["p:1", "q:1"]
    assert a.standing.generation > served


def test_after_a_split_only_a_walk_begun_after_the_own_signal_is_adopted() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    pair.expire()
    b.reachable = False  # it stays with the old master
    pair.store.lose(back_to=pair.store.record)
    a.tell(Hinted(pair.instant))
    pair.quiet(a)
    pair.run(0.3)
    pair.needs(a)
    pair.page(a)
    pair.server.listing = V1
    pair.hears(b)
    b.run()
    pair.page(a)
    a.run()
    a.receive()
    assert shown(a) == ["p:0", "q:1"]  # mixed: its signal is recorded nowhere yet
    pair.run(2)
    b.reachable = True
    pair.quiet(b)
    b.tell(Hinted(pair.instant))
    pair.quiet(b)
    assert shown(b) is None
    assert not mixed(b)
    pair.run(0.3)
    b.tell(Needed(pair.instant))
    pair.finish(b)
    assert shown(b) == ["p:1", "q:1"]
    assert not mixed(b)


def test_after_a_loss_last_good_is_hidden_until_a_walk_because_it_may_be_withdrawn() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    standby = pair.store.record
    a.tell(Revoked(pair.instant))
    pair.quiet(a)
    pair.store.lose(back_to=standby)
    pair.server.failure = Failure(FailureKind.FORBIDDEN, "403")
    b.tell(Hinted(pair.instant))
    pair.quiet(b)
    assert shown(b) is None
    pair.run(0.3)
    pair.needs(b)
    pair.page(b)
    pair.quiet(b)
    assert shown(b) is None
    assert b.entry.held is None
    assert pair.store.record is not None
    assert pair.store.record.withdrawn


def test_a_host_that_hops_between_replicas_after_a_loss_never_goes_back() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    standby = pair.store.record
    pair.expire()
    pair.server.listing = V1  # silent
    pair.needs(a)
    pair.finish(a)
    pair.store.lose(back_to=standby)
    seen = a.standing.generation
    for replica in (b, a):
        pair.needs(replica)
        assert shown(replica) is None
    pair.run(0.3)
    pair.needs(b)
    pair.finish(b)
    pair.needs(a)
    assert b.standing.generation > seen
    assert a.standing.generation == b.standing.generation


@pytest.mark.parametrize("operation", [Hinted, Needed])
def test_a_view_that_was_made_before_a_revocation_is_not_believed(
    operation: type[Hinted | Needed],
) -> None:
    pair = Pair()
    a = pair.a
    a.tell(operation(pair.instant))
    a.run()  # the answer shows v0
    a.tell(Revoked(pair.instant))
    a.receive()
    assert shown(a) is None
    assert isinstance(a.pending, Revoke)
    pair.finish(a)
    assert shown(a) is None


def test_a_right_obtained_before_a_later_withdrawal_does_not_open_the_catalog_again() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    a.tell(Revoked(pair.instant))
    pair.quiet(a)
    b.tell(Needed(pair.instant))
    pair.quiet(b)
    b.tell(Disconnected(pair.instant))
    b.tell(Regranted(pair.instant))
    a.tell(Revoked(pair.instant))  # once more, after that
    pair.quiet(a)
    b.tell(Hinted(pair.instant))
    pair.quiet(b)
    b.tell(Connected(pair.instant))
    pair.needs(b)
    pair.run(5)
    pair.quiet(b)
    assert not b.fetches
    b.tell(Regranted(pair.instant))
    pair.finish(b)
    assert shown(b) == ["p:0", "q:0"]


def test_a_right_that_was_never_lost_is_no_ticket_for_a_later_withdrawal() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    b.tell(Regranted(pair.instant))  # only a refreshed credential
    a.tell(Revoked(pair.instant))
    pair.quiet(a)
    pair.needs(b)
    assert shown(b) is None
    assert not b.fetches


def test_a_right_obtained_while_the_withdrawal_is_being_recorded_counts() -> None:
    pair = Pair()
    a = pair.a
    a.tell(Revoked(pair.instant))
    a.run()
    a.tell(Regranted(pair.instant))
    a.tell(Needed(pair.instant))
    pair.finish(a)
    assert shown(a) == ["p:0", "q:0"]


def test_a_right_obtained_before_the_store_was_seen_counts_after_a_start() -> None:
    pair = Pair()
    pair.a.tell(Revoked(pair.instant))
    pair.quiet(pair.a)
    pair.restart(pair.a)
    a = pair.a
    a.tell(Connected(pair.instant))
    a.tell(Regranted(pair.instant))
    a.tell(Needed(pair.instant))
    pair.finish(a)
    pair.run(0.1)
    pair.finish(a)
    assert shown(a) == ["p:0", "q:0"]


def test_a_newer_listing_in_such_a_view_is_not_believed_either() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    pair.server.listing = V1
    pair.hears(b)
    pair.needs(b)
    pair.finish(b)
    a.tell(Hinted(pair.instant))
    a.run()
    assert a.answer is not None
    assert a.answer.view.body is not None, "the answer carries v1"
    a.tell(Revoked(pair.instant))
    a.receive()
    assert shown(a) is None
    assert a.entry.held is None
    pair.finish(a)
    assert shown(a) is None


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


def test_a_walk_begun_before_a_revocation_is_refused_after_it() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    pair.expire()
    pair.needs(a)
    pair.page(a)
    pair.page(a)
    b.tell(Revoked(pair.instant))
    pair.quiet(b)
    a.run()
    assert a.answer is not None
    assert a.answer.verdict == "refused_fence"
    a.receive()
    pair.finish(a)
    assert shown(a) is None
    assert pair.store.record is not None
    assert pair.store.record.published is None


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
        pair.quiet(a)

    pair.hears(a, b)
    pair.quiet(a)
    for second in (V0, V0, V1):
        a.page()
        pair.server.listing = second
        pair.hears(b)
        pair.quiet(b)
        a.page()
        offer()
        pair.server.listing = V0
        pair.run(10)
        pair.quiet(a)
    assert verdicts == ["refused_dirty"] * 3
    assert not mixed(a)
    assert shown(a) == ["p:0", "q:0"]


def test_a_storm_without_changes_does_not_starve_readers() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    verdicts: list[str] = []
    pair.server.listing = V1
    pair.hears(a)
    pair.quiet(a)
    for _ in range(3):
        pair.hears(b)
        pair.quiet(b)
        a.page()
        pair.quiet(a)
        a.page()
        pair.until(a, Publish)
        a.run()
        assert a.answer is not None
        verdicts.append(a.answer.verdict)
        a.receive()
        pair.quiet(a)
        pair.run(2)
        pair.quiet(a)
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
    pair.quiet(a)
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
    pair.quiet(a)
    assert shown(a) == ["p:0", "q:1"]
    assert a.standing.fresh
    pair.hears(b)
    pair.quiet(b)
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


def test_where_availability_goes_first_last_good_is_shown_again_after_a_loss() -> None:
    pair = Pair(Tempo(debounce=0.0, min_interval=0.0, after_loss="serve"))
    a = pair.a
    pair.store.lose()
    a.tell(Hinted(pair.instant))
    pair.quiet(a)
    assert shown(a) is None
    pair.run(3)
    assert shown(a) == ["p:0", "q:0"]
    assert not a.standing.fresh


def test_where_availability_goes_first_a_dead_server_ends_the_hiding_at_once() -> None:
    pair = Pair(Tempo(debounce=0.0, min_interval=0.0, after_loss="serve"))
    a = pair.a
    pair.store.lose()
    a.tell(Hinted(pair.instant))
    pair.quiet(a)
    pair.run(0.3)
    pair.server.failure = Failure(FailureKind.TRANSPORT, "gone")
    a.tell(Needed(pair.instant))
    pair.finish(a)
    assert shown(a) == ["p:0", "q:0"]
    assert not a.standing.fresh


def test_replicas_that_learn_of_a_new_incarnation_share_one_walk() -> None:
    world = World(5, remote=True)
    world.server.listing, world.server.hints = V0, Hints(ttl=60.0)
    world.start()
    world.run(30)
    for replica in world.replicas:
        replica.walks.clear()
    world.store.lose()
    for number, replica in enumerate(world.replicas):
        world.lots = number / 5
        replica.tell(Hinted(world.instant))
        world.run(0.01)
    world.run(5)
    assert sum(len(replica.walks) for replica in world.replicas) == 1
    assert all(shown(replica) == ["p:0", "q:0"] for replica in world.replicas)


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
    pair.quiet(a)
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
    pair.quiet(a)
    assert a.told(FetchPage) == [], "its own lease is in the way"
    pair.run(20)
    a.tell(Needed(pair.instant))
    pair.finish(a)
    assert len(a.walks) == 1
