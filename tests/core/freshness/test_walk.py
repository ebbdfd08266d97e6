"""Folding pages into a candidate: cursors, names that come twice, hints, limits."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.freshness.events import FailureKind
from toolcrib.core.freshness.record import Ticket
from toolcrib.core.freshness.tempo import Tempo
from toolcrib.core.freshness.walk import (
    CURSOR_CYCLE,
    DUPLICATE_NAME,
    Again,
    Broken,
    More,
    Walk,
    Whole,
    fold,
    restarted,
    strictest,
)
from toolcrib.core.instant import Instant
from toolcrib.core.snapshot import Hints, Kind, Page, Quarantined, Scope, Snapshot
from toolcrib.testing.simulator import item

TICKET = Ticket("inc", 1, 0)
NOW = Instant(100.0, 5000.0)
TEMPO = Tempo()
Script = Sequence[tuple[Sequence[str], str | None]]


def page(
    texts: Sequence[str],
    cursor: str | None = None,
    *,
    hints: Hints | None = None,
    at: Instant = NOW,
    size: int = 10,
    malformed: tuple[Quarantined, ...] = (),
) -> Page:
    items = tuple(item(text) for text in texts)
    return Page(items, malformed, cursor, hints or Hints(), at, size)


def walked(
    *scripts: Script, tempo: Tempo = TEMPO, walk: Walk | None = None
) -> tuple[Whole | Broken, list[str | None]]:
    """Walk through the scripts, one for each time it starts from page one; and the cursors sent."""
    walk = walk or Walk(TICKET, NOW.mono)
    sent: list[str | None] = []
    for script in scripts:
        cursor: str | None = None
        for texts, following in script:
            sent.append(cursor)
            folded = fold(walk, page(texts, following), Kind.TOOLS, tempo, NOW)
            if isinstance(folded, Whole | Broken):
                return folded, sent
            walk = folded.walk
            if isinstance(folded, Again):
                break
            cursor = folded.cursor
            assert cursor == following
    raise AssertionError("the script ended before the walk")


def snapshot(outcome: Whole | Broken) -> Snapshot:
    assert isinstance(outcome, Whole), outcome
    assert outcome.walk.candidate is outcome.candidate
    return outcome.candidate.snapshot


def keys(outcome: Whole | Broken) -> list[str]:
    return [each.key for each in snapshot(outcome).items]


# ---- cursors ----


@pytest.mark.duty(1)
def test_every_page_is_followed_and_the_first_request_has_no_cursor() -> None:
    outcome, sent = walked([(["a1", "a2"], "eyJvIjoyfQ=="), (["b1"], None)])
    assert keys(outcome) == ["a1", "a2", "b1"]
    assert sent == [None, "eyJvIjoyfQ=="]
    assert snapshot(outcome).pages == 2
    assert snapshot(outcome).warnings == ()


@pytest.mark.duty(1)
@pytest.mark.parametrize("cursor", ["", " ", "0", "null", "\x00", "x" * 10_000])
def test_any_cursor_but_none_is_followed(cursor: str) -> None:
    outcome, sent = walked([(["p1"], cursor), (["p2"], None)])
    assert keys(outcome) == ["p1", "p2"]
    assert sent == [None, cursor]


@pytest.mark.duty(1)
@pytest.mark.parametrize("cursor", ["c1", ""])
@pytest.mark.parametrize("last", [["x"], []])
def test_a_cursor_that_comes_twice_without_new_names_ends_a_usable_walk(
    cursor: str, last: list[str]
) -> None:
    outcome, sent = walked([(["x"], cursor), (last, cursor)])
    assert keys(outcome) == ["x"]
    assert len(sent) == 2
    assert snapshot(outcome).warnings == (CURSOR_CYCLE,)
    assert snapshot(outcome).pages == 1, "that page is not appended"


def test_a_longer_cycle_is_noticed_too() -> None:
    outcome, sent = walked([(["a"], "1"), (["b"], "2"), (["c"], "3"), (["a", "b"], "2")])
    assert keys(outcome) == ["a", "b", "c"]
    assert sent == [None, "1", "2", "3"]


@pytest.mark.duty(1)
@pytest.mark.parametrize("cursor", ["c1", ""])
def test_a_cursor_that_comes_twice_with_new_names_fails_the_walk(cursor: str) -> None:
    outcome, _ = walked([(["x"], cursor), (["x", "y"], cursor)])
    assert isinstance(outcome, Broken)
    assert outcome.failure.kind is FailureKind.MALFORMED
    assert "twice" in outcome.failure.detail


def test_a_changed_definition_on_a_cyclic_page_is_no_new_name_and_is_not_taken() -> None:
    outcome, _ = walked([(["x:old"], "c"), (["x:new"], "c")])
    assert [each.fingerprint for each in snapshot(outcome).items] == ["x:old"]


def test_a_refused_cursor_restarts_once_and_then_breaks() -> None:
    walk = replace(Walk(TICKET, 0.0), pages=(page(["a"], "1"),), items=1, size=10)
    again = restarted(walk)
    assert isinstance(again, Again)
    assert again.walk.pages == ()
    assert (again.walk.items, again.walk.size) == (0, 0)
    assert again.walk.ticket == TICKET
    assert isinstance(restarted(again.walk), Broken)


@given(st.lists(st.lists(st.text(max_size=3), max_size=4), min_size=1, max_size=6))
def test_pages_with_distinct_names_are_all_in_the_result_sorted_by_code_point(
    pages: list[list[str]],
) -> None:
    count = itertools.count()
    texts = [[f"{text.replace(':', '')}.{next(count)}" for text in each] for each in pages]
    script = [
        (each, None if number + 1 == len(texts) else str(number))
        for number, each in enumerate(texts)
    ]
    outcome, _ = walked(script)
    assert keys(outcome) == sorted(text for each in texts for text in each)
    assert snapshot(outcome).pages == len(texts)


# ---- names that come twice ----


def test_a_name_on_two_pages_repeats_the_walk_once() -> None:
    torn: Script = [(["a", "b"], "1"), (["b", "c"], None)]
    outcome, sent = walked(torn, [(["a", "b"], "1"), (["c"], None)])
    assert keys(outcome) == ["a", "b", "c"]
    assert sent == [None, "1", None, "1"]
    assert snapshot(outcome).quarantined == ()


def test_equal_definitions_that_still_come_twice_collapse_without_warning() -> None:
    torn: Script = [(["a", "b"], "1"), (["b", "c"], None)]
    outcome, _ = walked(torn, torn)
    assert keys(outcome) == ["a", "b", "c"]
    assert snapshot(outcome).quarantined == ()
    assert snapshot(outcome).warnings == ()


def test_equal_definitions_on_one_page_collapse_at_once() -> None:
    outcome, sent = walked([(["get", "get", "put"], None)])
    assert keys(outcome) == ["get", "put"]
    assert sent == [None]


def test_of_different_definitions_the_first_wins_and_the_others_are_quarantined() -> None:
    doubled: Script = [(["get:a", "get:b", "get:c"], None)]
    outcome, sent = walked(doubled, doubled)
    assert [each.fingerprint for each in snapshot(outcome).items] == ["get:a"]
    assert [(each.key, each.reason) for each in snapshot(outcome).quarantined] == [
        ("get", DUPLICATE_NAME),
        ("get", DUPLICATE_NAME),
    ]
    details = " ".join(each.detail for each in snapshot(outcome).quarantined)
    assert all(text in details for text in ("get:a", "get:b", "get:c"))
    assert sent == [None, None]


def test_a_name_that_was_known_to_come_twice_does_not_repeat_the_walk_again() -> None:
    walk = Walk(TICKET, NOW.mono, expected=frozenset({"get"}))
    outcome, sent = walked([(["get:a", "get:b"], None)], walk=walk)
    assert keys(outcome) == ["get"]
    assert sent == [None]
    other, sent = walked(
        [(["get:a", "get:b", "x:1", "x:2"], None)], [(["get:a", "x:1"], None)], walk=walk
    )
    assert keys(other) == ["get", "x"]
    assert len(sent) == 2


def test_which_of_two_is_served_is_part_of_the_digest() -> None:
    one, _ = walked([(["get:a", "get:b"], None)], [(["get:a", "get:b"], None)])
    two, _ = walked([(["get:b", "get:a"], None)], [(["get:b", "get:a"], None)])
    assert snapshot(one).digest != snapshot(two).digest


# ---- hints ----


def test_freshness_ends_with_the_first_page_that_expires() -> None:
    walk = Walk(TICKET, NOW.mono)
    for after, ttl, cursor in ((0.0, 3600.0, "1"), (2.0, 1.0, "2"), (4.0, 60.0, None)):
        folded = fold(
            walk,
            page([f"t{after}"], cursor, hints=Hints(ttl), at=NOW.plus(after)),
            Kind.TOOLS,
            TEMPO,
            NOW.plus(after),
        )
        assert isinstance(folded, More | Whole)
        walk = folded.walk
    assert walk.expires == NOW.mono + 3.0
    assert walk.read == NOW.mono
    assert walk.candidate is not None
    assert walk.candidate.expires_at == NOW.wall + 3.0
    assert walk.candidate.read_at == NOW.wall
    assert walk.candidate.snapshot.hints.ttl == 1.0


def test_the_strictest_scope_and_all_oddities_are_kept() -> None:
    public, private = Hints(9.0, Scope.PUBLIC), Hints(5.0, Scope.PRIVATE, ("odd", "odder"))
    assert strictest([public, public]) == public
    assert strictest([public, private, replace(private, oddities=("odd",))]) == Hints(
        5.0, Scope.PRIVATE, ("odd", "odder")
    )


@pytest.mark.parametrize(
    ("pages", "kept"),
    [(["d"], "d"), (["d", "d"], "d"), (["d", "e"], ""), (["d", ""], ""), (["", ""], "")],
)
def test_the_digest_of_a_peer_is_kept_where_all_its_pages_say_the_same(
    pages: list[str], kept: str
) -> None:
    assert strictest(Hints(peer_digest=digest) for digest in pages).peer_digest == kept


def test_quarantined_definitions_of_all_pages_are_collected() -> None:
    bad = Quarantined("bad", "no_input_schema", "why", "f1")
    worse = Quarantined("#3", "no_name", "why", "f2")
    first = fold(Walk(TICKET, NOW.mono), page(["a"], "1", malformed=(bad,)), Kind.TOOLS, TEMPO, NOW)
    assert isinstance(first, More)
    whole = fold(first.walk, page(["b"], malformed=(worse,)), Kind.TOOLS, TEMPO, NOW)
    assert isinstance(whole, Whole)
    assert whole.candidate.snapshot.quarantined == (worse, bad)
    assert whole.walk.items == 4


# ---- limits ----


@pytest.mark.duty(1)
@pytest.mark.parametrize(
    ("tempo", "setting"),
    [
        (Tempo(walk_pages=2), "walk_pages"),
        (Tempo(walk_items=4), "walk_items"),
        (Tempo(walk_bytes=25), "walk_bytes"),
    ],
)
def test_a_listing_beyond_a_limit_fails_and_the_error_names_the_setting(
    tempo: Tempo, setting: str
) -> None:
    script: Script = [(["a", "b"], "1"), (["c", "d"], "2"), (["e"], None)]
    outcome, _ = walked(script, tempo=tempo)
    assert isinstance(outcome, Broken)
    assert outcome.failure.kind is FailureKind.LIMIT
    assert setting in outcome.failure.detail


def test_a_listing_exactly_at_its_limits_passes() -> None:
    script: Script = [(["a", "b"], "1"), (["c", "d"], "2"), (["e"], None)]
    tempo = Tempo(walk_pages=3, walk_items=5, walk_bytes=30)
    outcome, _ = walked(script, tempo=tempo)
    assert keys(outcome) == ["a", "b", "c", "d", "e"]


def test_the_page_after_the_last_allowed_one_is_not_even_fetched() -> None:
    script: Script = [(["a"], "1"), (["b"], "2"), (["c"], "3")]
    outcome, sent = walked(script, tempo=Tempo(walk_pages=2))
    assert isinstance(outcome, Broken)
    assert sent == [None, "1"]


def test_a_listing_that_goes_in_circles_shows_no_more_than_the_start_of_its_cursor() -> None:
    script: Script = [(["a"], "x" * 60_000), (["b"], "x" * 60_000), (["c"], "x" * 60_000)]
    outcome, _ = walked(script)
    assert isinstance(outcome, Broken)
    assert "goes in circles" in outcome.failure.detail
    assert len(outcome.failure.detail) < 200


def test_a_walk_that_takes_too_long_fails() -> None:
    late = NOW.plus(61.0)
    outcome = fold(Walk(TICKET, NOW.mono), page(["a"], at=late), Kind.TOOLS, TEMPO, late)
    assert isinstance(outcome, Broken)
    assert "walk_seconds" in outcome.failure.detail
