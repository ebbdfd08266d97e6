"""Two replicas and a store that loses its memory: a failover, an empty restart, a split."""

from dataclasses import replace

from toolcrib.core.freshness.effects import Served
from toolcrib.core.freshness.events import Failure, FailureKind, Hinted, Needed, Revoked
from toolcrib.core.freshness.tempo import Tempo
from toolcrib.core.snapshot import Hints
from toolcrib.testing.pair import V0, V1, Pair, mixed, shown
from toolcrib.testing.simulator import World


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
    a.quiet()
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
    a.quiet()
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
    b.quiet()
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
    a.quiet()
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
    a.quiet()
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
    b.quiet()
    b.tell(Hinted(pair.instant))
    b.quiet()
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
    a.quiet()
    pair.store.lose(back_to=standby)
    pair.server.failure = Failure(FailureKind.FORBIDDEN, "403")
    b.tell(Hinted(pair.instant))
    b.quiet()
    assert shown(b) is None
    pair.run(60)
    assert shown(b) is None, "however long it takes"
    pair.needs(b)
    pair.page(b)
    b.quiet()
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


def test_where_availability_goes_first_last_good_is_shown_again_after_a_loss() -> None:
    pair = Pair(Tempo(debounce=0.0, min_interval=0.0, after_loss="serve"))
    a = pair.a
    pair.store.lose()
    a.tell(Hinted(pair.instant))
    a.quiet()
    assert shown(a) is None
    pair.run(3)
    assert shown(a) == ["p:0", "q:0"]
    assert not a.standing.fresh


def test_where_availability_goes_first_a_dead_server_ends_the_hiding_at_once() -> None:
    pair = Pair(Tempo(debounce=0.0, min_interval=0.0, after_loss="serve"))
    a = pair.a
    pair.store.lose()
    a.tell(Hinted(pair.instant))
    a.quiet()
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


def test_a_lower_number_in_the_same_line_is_never_adopted_whatever_a_store_says() -> None:
    pair = Pair()
    a = pair.a
    a.tell(Hinted(pair.instant))
    a.run()
    assert a.answer is not None
    record = pair.store.record
    assert record is not None
    assert record.published is not None
    view = replace(a.answer.view, gen=a.answer.view.gen - 1, body=record.published)
    a.answer = replace(a.answer, view=view)
    a.receive()
    assert a.standing.generation == pair.first
    assert a.told(Served) == []
