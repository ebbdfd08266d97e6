"""Rights that go and come back, and scopes that tighten."""

from dataclasses import replace

import pytest

from toolcrib.core.freshness.effects import (
    Begin,
    FetchPage,
    Look,
    Report,
    Revoke,
    Served,
    Withdrawn,
)
from toolcrib.core.freshness.events import (
    Connected,
    Disconnected,
    Failure,
    FailureKind,
    Hinted,
    Needed,
    Regranted,
    Revoked,
)
from toolcrib.core.snapshot import Hints, Page, Scope
from toolcrib.testing.pair import V1, Pair, shown
from toolcrib.testing.simulator import Listing, World

A: Listing = (("a", "b"), ("c",))
B: Listing = (("a", "b", "d"), ("c",))
FORBIDDEN = Failure(FailureKind.FORBIDDEN, "403 after one refresh")
DOWN = Failure(FailureKind.TRANSPORT, "connection refused")


def test_9_a_page_that_arrives_after_the_revocation_is_dropped() -> None:
    world = World.at_rest()
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
    world = World.at_rest()
    world.signal()
    before = len(world.a.log)
    world.a.tell(Revoked(world.instant))
    world.run(0)
    effects = [type(effect) for effect in world.a.log[before:]]
    assert effects.index(Withdrawn) == 0
    stored = [kind for kind in effects if kind.__name__ in {"Invalidate", "Revoke", "Begin"}]
    assert stored[0] is Revoke


def test_9_a_refused_listing_withdraws_and_is_not_asked_again_until_a_new_right() -> None:
    world = World.at_rest(hints=Hints())
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
    assert not world.a.entry.regranted, "it was used up"


def test_9_a_second_refusal_withdraws_again() -> None:
    world = World.at_rest(hints=Hints())
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
    world = World.at_rest()
    world.a.tell(Revoked(world.instant))
    world.run(1)
    world.server.failure = DOWN
    world.a.tell(Regranted(world.instant))
    world.run(0.3)
    world.server.failure = None
    world.run(5)
    assert world.a.names == ["a", "b", "c"]


def test_10_an_equal_listing_that_became_private_is_withdrawn_where_it_was_shared() -> None:
    world = World.at_rest(hints=Hints(3600.0, Scope.PUBLIC), shared=True)
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
    world = World.at_rest(hints=Hints(3600.0, Scope.PUBLIC))
    generation = world.a.standing.generation
    world.server.hints = Hints(3600.0, Scope.PRIVATE)
    world.signal()
    world.run(5)
    assert world.a.standing.generation == generation
    assert world.a.standing.scope is Scope.PRIVATE
    assert world.a.reports == []


@pytest.mark.duty(6)
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
    b.quiet()
    assert shown(b) is None
    assert next(type(each) for each in b.log if isinstance(each, Revoke | Look)) is Revoke
    a.tell(Hinted(pair.instant))
    a.quiet()
    assert shown(a) is None


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
    a.quiet()
    b.tell(Needed(pair.instant))
    b.quiet()
    b.tell(Disconnected(pair.instant))
    b.tell(Regranted(pair.instant))
    a.tell(Revoked(pair.instant))  # once more, after that
    a.quiet()
    b.tell(Hinted(pair.instant))
    b.quiet()
    b.tell(Connected(pair.instant))
    pair.needs(b)
    pair.run(5)
    b.quiet()
    assert not b.fetches
    b.tell(Regranted(pair.instant))
    pair.finish(b)
    assert shown(b) == ["p:0", "q:0"]


def test_a_right_that_was_never_lost_is_no_ticket_for_a_later_withdrawal() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    b.tell(Regranted(pair.instant))  # only a refreshed credential
    a.tell(Revoked(pair.instant))
    a.quiet()
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
    pair.a.quiet()
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


def test_a_walk_begun_before_a_revocation_is_refused_after_it() -> None:
    pair = Pair()
    a, b = pair.a, pair.b
    pair.expire()
    pair.needs(a)
    pair.page(a)
    pair.page(a)
    b.tell(Revoked(pair.instant))
    b.quiet()
    a.run()
    assert a.answer is not None
    assert a.answer.verdict == "refused_fence"
    a.receive()
    pair.finish(a)
    assert shown(a) is None
    assert pair.store.record is not None
    assert pair.store.record.published is None


def test_a_grant_from_before_a_revocation_is_void_even_if_a_new_right_is_there_already() -> None:
    pair = Pair()
    a = pair.a
    pair.expire()
    a.tell(Needed(pair.instant))
    pair.until(a, Begin)
    a.run()
    assert a.answer is not None
    void = a.answer.ticket
    a.tell(Revoked(pair.instant))
    a.tell(Regranted(pair.instant))
    a.receive()
    assert a.told(FetchPage) == []
    pair.finish(a)
    tickets = {each.ticket for each in a.told(FetchPage)}
    assert len(tickets) == 1
    assert void not in tickets
    assert shown(a) == ["p:0", "q:0"]
