"""What is shown at the start: where `auto` changes over, and which tools stay visible."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.exposure import Pinned, Shown, Threshold, Wanted, decide, pin

SIX = Threshold(200_000, 0.03)
"""Up at 6,000 tokens, down below 4,000."""

SHOWN: Sequence[Shown | None] = (None, "full", "search", "code")
TOKENS = st.integers(0, 20_000)


def told(tokens: int, previous: Shown | None = None, *, complete: bool = True) -> Shown:
    return decide("auto", SIX, tokens, previous=previous, complete=complete)


# ---- deciding ----


@pytest.mark.parametrize("wanted", ["full", "search", "code"])
@given(tokens=TOKENS, previous=st.sampled_from(SHOWN), complete=st.booleans())
def test_what_is_configured_is_shown_whatever_it_costs(
    wanted: Wanted, tokens: int, previous: Shown | None, *, complete: bool
) -> None:
    assert decide(wanted, SIX, tokens, previous=previous, complete=complete) == wanted


@pytest.mark.duty("D1")
@pytest.mark.parametrize(
    ("tokens", "before", "shown"),
    [
        (0, None, "full"),
        (5_999, None, "full"),
        (6_000, None, "search"),
        (5_999, "full", "full"),
        (6_000, "full", "search"),
        (6_000, "search", "search"),
        (5_999, "search", "search"),
        (4_000, "search", "search"),
        (3_999, "search", "full"),
        (4_000, "full", "full"),
        (3_999, "code", "full"),
    ],
)
def test_less_is_shown_from_the_share_on_and_all_again_below_two_thirds_of_it(
    tokens: int, before: Shown | None, shown: Shown
) -> None:
    assert told(tokens, before) == shown


def test_the_exposure_above_the_share_is_configured() -> None:
    code = Threshold(200_000, 0.03, "code")
    assert decide("auto", code, 6_000) == "code"
    assert decide("auto", code, 5_000, previous="search") == "code"
    assert decide("auto", SIX, 5_000, previous="code") == "search"


@pytest.mark.parametrize(
    ("window", "share", "up", "down"),
    [
        (200_000, 0.03, 6_000, 4_000),
        (200_000, 0.01, 2_000, 1_334),
        (1_000_000, 0.05, 50_000, 33_334),
        (128_000, 0.03, 3_840, 2_560),
        (10, 0.01, 1, 1),
        (0, 0.03, 1, 1),
    ],
)
def test_the_share_is_one_of_the_window(window: int, share: float, up: int, down: int) -> None:
    threshold = Threshold(window, share)
    assert (threshold.up, threshold.down) == (up, down)
    assert 3 * (threshold.down - 1) < 2 * threshold.up <= 3 * threshold.down


@given(start=st.sampled_from(SHOWN), changes=st.lists(st.integers(4_000, 5_999), min_size=1))
def test_between_the_two_nothing_ever_changes(start: Shown | None, changes: list[int]) -> None:
    first = shown = told(5_000, start)
    for tokens in changes:
        shown = told(tokens, shown)
        assert shown == first


@given(first=st.sampled_from(SHOWN), tokens=TOKENS, complete=st.booleans())
def test_a_decision_stands_when_it_is_made_again(
    first: Shown | None, tokens: int, *, complete: bool
) -> None:
    shown = told(tokens, first, complete=complete)
    assert told(tokens, shown, complete=complete) == shown


@given(tokens=st.integers(0, 5_999))
def test_while_a_catalog_is_missing_less_stays_less_and_all_stays_all(tokens: int) -> None:
    assert told(tokens, "search", complete=False) == "search"
    assert told(tokens, "full", complete=False) == "full"
    assert told(tokens, None, complete=False) == "full"


def test_enough_tokens_are_enough_although_a_catalog_is_missing() -> None:
    assert told(6_000, "full", complete=False) == "search"


@given(tokens=TOKENS, complete=st.booleans())
def test_what_was_shown_before_has_a_say_exactly_where_that_is_said(
    tokens: int, *, complete: bool
) -> None:
    differs = told(tokens, "full", complete=complete) != told(tokens, "search", complete=complete)
    assert SIX.open_between(tokens, complete=complete) == differs


# ---- pinning ----

NAMES = ["git__log", "git__push", "jira__create", "jira__find", "web__find"]


def pinned(*patterns: str, budget: int = 1_000, price: int = 10) -> Pinned:
    return pin(patterns, NAMES, lambda _name: price, budget)


def test_names_and_patterns_choose_and_the_order_is_the_listings() -> None:
    assert pinned("web__find", "git__log").names == ("git__log", "web__find")
    assert pinned("jira__*").names == ("jira__create", "jira__find")
    assert pinned("*__find", "git__p?sh").names == ("git__push", "jira__find", "web__find")
    assert pinned("[gw]*__[!l]*").names == ("git__push", "web__find")
    assert pinned("GIT__LOG").names == ()
    assert pinned().names == ()


def test_a_name_is_taken_once_however_many_patterns_choose_it() -> None:
    chosen = pinned("git__log", "git__*", "*")
    assert chosen.names == tuple(NAMES)
    assert chosen.tokens == 50


def test_a_name_with_the_signs_of_a_pattern_is_a_name_as_well() -> None:
    assert pin(["what?", "a[b]"], ["a[b]", "what?"], lambda _: 1, 9).names == ("a[b]", "what?")


def test_what_does_not_fit_is_passed_over_and_told() -> None:
    prices = {"git__log": 60, "git__push": 50, "jira__create": 30, "jira__find": 20, "web__find": 1}
    chosen = pin(["*"], NAMES, prices.__getitem__, 100)
    assert chosen.names == ("git__log", "jira__create", "web__find")
    assert chosen.tokens == 91
    assert chosen.beyond == ("git__push", "jira__find")


def test_the_budget_may_be_spent_to_the_last_token_and_be_nothing() -> None:
    assert pinned("*", budget=50).beyond == ()
    assert pinned("*", budget=49).beyond == ("web__find",)
    assert pinned("*", budget=0).names == ()


def test_patterns_that_choose_nothing_are_told() -> None:
    assert pinned("git__*", "svn__*", "gone").unmatched == ("svn__*", "gone")
    assert pinned("*", budget=0).unmatched == ()


def test_only_what_is_chosen_is_counted() -> None:
    counted: list[str] = []

    def price(name: str) -> int:
        counted.append(name)
        return 1

    pin(["git__*"], NAMES, price, 100)
    assert counted == ["git__log", "git__push"]


@given(st.data())
def test_the_order_of_the_patterns_means_nothing(data: st.DataObject) -> None:
    patterns = data.draw(st.lists(st.sampled_from([*NAMES, "*__find", "git*"]), unique=True))
    budget = data.draw(st.integers(0, 60))
    dice = random.Random(data.draw(st.integers(0, 99)))  # noqa: S311 - an order, not a secret
    shuffled = dice.sample(patterns, len(patterns))
    one, other = pinned(*patterns, budget=budget), pinned(*shuffled, budget=budget)
    assert (one.names, one.tokens, one.beyond) == (other.names, other.tokens, other.beyond)
