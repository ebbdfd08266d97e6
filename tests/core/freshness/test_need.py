"""What readers get, and how long they wait for it."""

from dataclasses import replace

import pytest

from toolcrib.core.freshness.breaker import Breaker
from toolcrib.core.freshness.effects import Invalidate, Look
from toolcrib.core.freshness.entry import Entry, Held, Link, Op, but
from toolcrib.core.freshness.events import Failure, FailureKind, Needed
from toolcrib.core.freshness.need import (
    Purpose,
    callable_item,
    is_satisfied,
    peek,
    standing,
    wait_until,
)
from toolcrib.core.freshness.record import Ticket
from toolcrib.core.freshness.replica import caller_of, step
from toolcrib.core.freshness.settling import Alternation
from toolcrib.core.freshness.tempo import NEVER, Tempo
from toolcrib.core.freshness.walk import Walk
from toolcrib.core.instant import Instant
from toolcrib.core.snapshot import Hints, Kind, Scope, Snapshot
from toolcrib.testing.simulator import item

T = 1000.0
CHANGED = "a change was signalled, or may have been missed"
TICKET = Ticket("inc", 2, 5)


def snapshot(*texts: str, hints: Hints | None = None) -> Snapshot:
    items = tuple(item(text) for text in texts)
    return Snapshot(Kind.TOOLS, items, digest="+".join(texts), hints=hints or Hints())


def held(*, read: float = T, ttl: float = 0.0, epoch: int = 5, hidden: float = -NEVER) -> Held:
    return Held(
        snapshot("a", "b", hints=Hints(ttl, Scope.PUBLIC)),
        generation=7,
        inc="inc",
        epoch=epoch,
        read=read,
        expires=read + ttl,
        begun=read,
        walked=read,
        hidden_until=hidden,
    )


def entry(
    *,
    held: Held | None = None,
    up: bool = True,
    tempo: Tempo | None = None,
    wanted: bool = False,
    remote: bool = False,
) -> Entry:
    return Entry(
        Kind.TOOLS,
        tempo or Tempo(),
        remote=remote,
        held=held,
        inc="inc",
        epoch=5,
        hi=7,
        heard=False,
        link=Link(up=up, tried=True, listening=up),
        asked=T,
        wanted=wanted,
        good_until=NEVER,
    )


# ---- standing ----


def test_a_fresh_listing_stands_with_age_and_remaining_ttl() -> None:
    stands = standing(entry(held=held(ttl=60.0)), T + 20)
    assert (stands.fresh, stands.age, stands.ttl_left) == (True, 20.0, 40.0)
    assert (stands.generation, stands.scope, stands.trouble) == (7, Scope.PUBLIC, "")
    assert not stands.invalidated


@pytest.mark.parametrize(
    ("change", "trouble"),
    [
        ({"heard": True}, CHANGED),
        ({"epoch": 6}, CHANGED),
        ({"op": Op(Invalidate(), T)}, CHANGED),
        ({"store": Breaker(1, T + 9)}, "the store does not answer"),
        ({"inc": "other"}, CHANGED),
    ],
)
def test_what_was_invalidated_is_not_fresh_and_promises_nothing(
    change: dict[str, object], trouble: str
) -> None:
    stands = standing(replace(entry(held=held(ttl=60.0)), **change), T + 1)
    assert stands.snapshot is not None
    assert (stands.fresh, stands.ttl_left, stands.invalidated) == (False, 0.0, True)
    assert stands.trouble == trouble


def test_an_operation_that_records_nothing_leaves_it_fresh() -> None:
    assert standing(replace(entry(held=held(ttl=60.0)), op=Op(Look(), T)), T + 1).fresh


@pytest.mark.parametrize(("purpose", "limit"), [("list", 100.0), ("admit", 200.0)])
def test_what_is_too_old_is_neither_listed_nor_admitted(purpose: Purpose, limit: float) -> None:
    old = entry(held=held(), tempo=Tempo(max_stale_list=100.0, max_stale=200.0))
    assert standing(old, T + limit, purpose).snapshot is not None
    stands = standing(old, T + limit + 1, purpose)
    assert stands.snapshot is None
    assert stands.age == limit + 1
    assert "max_stale" in stands.trouble


def test_what_is_hidden_after_a_loss_is_not_shown_before_its_time() -> None:
    hidden = entry(held=held(hidden=T + 3))
    assert standing(hidden, T + 2).snapshot is None
    assert "lost its memory" in standing(hidden, T + 2).trouble
    assert standing(hidden, T + 3).snapshot is not None
    assert callable_item(hidden, T + 2, "a") is None


@pytest.mark.parametrize(
    ("change", "trouble"),
    [
        ({"withdrawn": True}, "right"),
        ({"failure": Failure(FailureKind.TIMEOUT, "no answer in 20 s")}, "no answer in 20 s"),
        ({}, "nothing was listed so far"),
        ({"link": Link()}, "not reached so far"),
    ],
)
def test_why_nothing_is_there_is_said(change: dict[str, object], trouble: str) -> None:
    stands = standing(replace(entry(), **change), T)
    assert stands.snapshot is None
    assert trouble in stands.trouble


@pytest.mark.parametrize(
    ("change", "trouble"),
    [
        ({"link": Link(tried=True)}, "the server is away"),
        ({"link": Link()}, "the server was not reached so far"),
        ({"failure": Failure(FailureKind.TIMEOUT, "slow")}, "the last refresh failed: slow"),
        ({}, "its hints allow no more"),
    ],
)
def test_why_last_good_is_not_fresh_is_said(change: dict[str, object], trouble: str) -> None:
    assert standing(replace(entry(held=held()), **change), T + 5).trouble == trouble


# ---- at once ----


def test_the_fast_path_answers_without_a_step_and_only_while_it_may() -> None:
    ready = replace(entry(held=held(ttl=60.0)), good_until=T + 60)
    assert peek(ready, T + 59) is not None
    assert peek(ready, T + 60) is None
    assert peek(replace(ready, remote=True), T) is None, "a remote store is looked at first"


def test_a_step_for_a_reader_that_can_be_answered_changes_nothing() -> None:
    ready = replace(entry(held=held(ttl=60.0)), good_until=T + 60)
    assert step(ready, Needed(Instant(T + 1, 0.0))) == (ready, ())
    assert step(ready, Needed(Instant(T + 1, 0.0)))[0] is ready


def test_a_reader_is_noted_now_and_then_even_if_all_is_fresh() -> None:
    ready = replace(entry(held=held(ttl=3600.0)), good_until=T + 60)
    later, effects = step(ready, Needed(Instant(T + 61, 0.0)))
    assert effects == ()
    assert later.asked == T + 61
    assert peek(later, T + 120) is not None
    assert peek(later, T + 122) is None


@pytest.mark.parametrize(
    ("tempo", "ttl", "age", "satisfied"),
    [
        (Tempo(), 0.0, 1.9, True),
        (Tempo(), 0.0, 2.0, False),
        (Tempo(), 30.0, 29.9, True),
        (Tempo(), 30.0, 30.0, False),
        (Tempo(min_interval=0.0), 0.0, 0.0, False),
        (Tempo(strategy="notify"), 0.0, 5000.0, True),
        (Tempo(strategy="notify", max_stale_list=4000.0), 0.0, 5000.0, False),
    ],
)
def test_which_listings_need_no_walk(
    tempo: Tempo, ttl: float, age: float, *, satisfied: bool
) -> None:
    there = entry(held=held(ttl=ttl), tempo=tempo)
    assert is_satisfied(there, T + age, T + age, "list") is satisfied


@pytest.mark.parametrize(
    ("tempo", "ttl", "age", "satisfied"),
    [
        (Tempo(), 0.0, 59.0, True),
        (Tempo(), 0.0, 60.0, False),
        (Tempo(), 300.0, 299.0, True),
        (Tempo(), 300.0, 300.0, False),
        (Tempo(admit_max_age=5.0), 0.0, 6.0, False),
        (Tempo(strategy="always"), 3600.0, 0.1, False),
        (Tempo(strategy="notify"), 0.0, 3600.0, True),
    ],
)
def test_which_calls_are_admitted_without_a_walk(
    tempo: Tempo, ttl: float, age: float, *, satisfied: bool
) -> None:
    there = entry(held=held(ttl=ttl), tempo=tempo)
    assert is_satisfied(there, T + age, T + age, "admit") is satisfied
    dirty = replace(there, heard=True)
    assert not is_satisfied(dirty, T + age, T + age, "admit")


@pytest.mark.parametrize("digest", ["d", ""])
@pytest.mark.parametrize("age", [59.0, 61.0, 86_399.0])
def test_a_catalog_that_a_peer_verifies_is_called_from_at_any_age(age: float, digest: str) -> None:
    bare = held()
    hints = replace(bare.snapshot.hints, peer_digest=digest)
    marked = replace(bare, snapshot=replace(bare.snapshot, hints=hints))
    for strategy in ("auto", "poll", "always"):
        there = entry(held=marked, tempo=Tempo(strategy=strategy))
        young = age < 60 and strategy != "always"
        assert is_satisfied(there, T + age, T + age, "admit") is young
    there = entry(held=marked, tempo=Tempo(strategy="notify+verify"))
    assert is_satisfied(there, T + age, T + age, "admit") is (bool(digest) or age < 60)
    assert not is_satisfied(replace(there, heard=True), T + age, T + age, "admit")
    assert not is_satisfied(there, T + age, T + age, "list")


def test_a_walk_begun_after_a_call_arrived_satisfies_it_under_every_strategy() -> None:
    always = entry(held=held(), tempo=Tempo(strategy="always"))
    assert is_satisfied(always, T + 1, T, "admit")
    assert not is_satisfied(always, T + 1, T + 0.1, "admit")


# ---- waiting ----


def walking(start: Entry) -> Entry:
    return replace(start, walk=Walk(TICKET, T), wanted=True)


@pytest.mark.parametrize(("purpose", "patience"), [("list", 1.0), ("admit", 0.5)])
def test_readers_wait_for_a_walk_as_long_as_their_purpose_allows(
    purpose: Purpose, patience: float
) -> None:
    busy = walking(replace(entry(held=held()), heard=True))
    assert wait_until(busy, T + 5, T + 5, purpose) == T + 5 + patience


@pytest.mark.parametrize("purpose", ["list", "admit"])
def test_where_nothing_is_held_they_wait_longer(purpose: Purpose) -> None:
    assert wait_until(walking(entry()), T, T, purpose) == T + 3.0


@pytest.mark.parametrize(
    "change",
    [
        {"link": Link()},
        {"link": Link(tried=True)},
        {"breaker": Breaker(1, T + 99)},
        {"breaker": Breaker(3, T - 1)},
        {"store": Breaker(1, T + 99)},
        {"not_before": T + 9},
        {"lease_until": T + 9},
        {"wanted": False},
        {"withdrawn": True},
    ],
)
def test_readers_of_last_good_do_not_wait_for_what_will_not_come(
    change: dict[str, object],
) -> None:
    stale = replace(entry(held=held(), wanted=True), epoch=6, **change)
    assert wait_until(stale, T + 5, T + 5, "list") <= T + 5


def test_they_wait_for_a_walk_that_is_due_within_their_patience() -> None:
    due = replace(entry(held=held(), wanted=True), epoch=6, not_before=T + 5.5)
    assert wait_until(due, T + 5, T + 5, "list") == T + 6
    assert wait_until(due, T + 5, T + 5, "admit") == T + 5


def test_where_nothing_is_held_a_first_connection_is_waited_for_but_not_a_second() -> None:
    first = replace(entry(), link=Link())
    assert wait_until(first, T, T, "list") == T + 3.0
    again = replace(entry(), link=Link(tried=True))
    assert wait_until(again, T, T, "list") <= T


def test_the_first_answer_of_the_store_is_waited_for_even_without_a_server() -> None:
    unseen = replace(entry(), inc="", link=Link(tried=True), op=Op(Look(), T))
    assert wait_until(unseen, T, T, "list") == T + 3.0


def test_a_listing_waits_for_a_look_at_a_remote_store_and_not_longer() -> None:
    remote = replace(entry(held=held(ttl=60.0), remote=True), op=Op(Look(), T + 1), viewed=T)
    assert wait_until(remote, T + 1, T + 1, "list") == T + 1.05
    looked = replace(remote, op=None, viewed=T + 1)
    assert wait_until(looked, T + 1.01, T + 1, "list") <= T + 1.01
    down = replace(remote, op=None, store=Breaker(1, T + 9))
    assert wait_until(down, T + 1, T + 1, "list") <= T + 1


# ---- others ----


def test_a_tool_of_the_listing_that_is_held_back_stays_callable() -> None:
    both = replace(
        entry(held=held()), alternation=Alternation(other=snapshot("a:other", "z:other"))
    )
    found = callable_item(both, T, "a")
    assert found is not None
    assert found.fingerprint == "a", "the published one goes first"
    other = callable_item(both, T, "z")
    assert other is not None
    assert other.fingerprint == "z:other"
    assert callable_item(both, T, "y") is None


def test_the_store_is_told_what_is_held_only_of_its_own_incarnation() -> None:
    assert caller_of(entry(held=held())).gen == 7
    assert caller_of(entry()).gen == 0
    moved = replace(entry(held=held()), inc="other")
    assert (caller_of(moved).inc, caller_of(moved).hi, caller_of(moved).gen) == ("other", 7, 0)


def test_a_changed_copy_is_what_replace_makes_and_leaves_the_original_alone() -> None:
    one = entry(held=held())
    copy = but(one, heard=True, hi=9, held=None)
    assert copy == replace(one, heard=True, hi=9, held=None)
    assert one == entry(held=held())
    with pytest.raises(KeyError):
        but(one, unknown=1)


def test_an_entry_is_a_value_that_can_be_hashed_and_compared() -> None:
    one, two = entry(held=held()), entry(held=held())
    assert one == two
    assert len({one, two, replace(one, heard=True)}) == 2
