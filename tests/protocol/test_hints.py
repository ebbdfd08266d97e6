"""Caching hints: a wrong one never costs the listing, and each oddity is told."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.snapshot import Scope
from toolcrib.protocol.hints import DEFAULT_CLAMP, parse_hints

PRIVATE = {"cacheScope": "private"}


@pytest.mark.parametrize(
    ("ttl_ms", "seconds", "odd"),
    [
        (0, 0.0, None),
        (60_000, 60.0, None),
        (60_000.0, 60.0, None),
        (1, 0.001, None),
        (86_400_000, 86_400.0, None),
        (-5, 0.0, "negative"),
        (-0.5, 0.0, "negative"),
        (-(10**400), 0.0, "negative"),
        (86_400_001, DEFAULT_CLAMP, "clamped"),
        (999_999_999_999, DEFAULT_CLAMP, "clamped"),
        (10**15, DEFAULT_CLAMP, "clamped"),
        (10**400, DEFAULT_CLAMP, "clamped"),
        (float("inf"), DEFAULT_CLAMP, "clamped"),
        (float("-inf"), 0.0, "negative"),
        (float("nan"), 0.0, "whole"),
        (1.5, 0.0, "whole"),
        ("60", 0.0, "a string"),
        ("", 0.0, "a string"),
        (None, 0.0, "null"),
        (True, 0.0, "a boolean"),
        ([60], 0.0, "an array"),
        ({"ms": 60}, 0.0, "an object"),
    ],
    ids=repr,
)
def test_a_ttl_counts_as_documented(ttl_ms: Any, seconds: float, odd: str | None) -> None:
    hints = parse_hints({"ttlMs": ttl_ms, **PRIVATE}, era="modern")
    assert hints.ttl == seconds
    assert hints.scope is Scope.PRIVATE
    assert len(hints.oddities) == (odd is not None)
    assert odd is None or odd in hints.oddities[0]


@pytest.mark.parametrize(
    ("scope", "found", "odd"),
    [
        ("public", Scope.PUBLIC, False),
        ("private", Scope.PRIVATE, False),
        ("tenant", Scope.PRIVATE, True),
        ("Public", Scope.PRIVATE, True),
        ("", Scope.PRIVATE, True),
        (None, Scope.PRIVATE, True),
        (True, Scope.PRIVATE, True),
        (["public"], Scope.PRIVATE, True),
        ({"public": 1}, Scope.PRIVATE, True),
    ],
    ids=repr,
)
def test_only_public_is_public(scope: Any, found: Scope, *, odd: bool) -> None:
    hints = parse_hints({"ttlMs": 0, "cacheScope": scope}, era="modern")
    assert hints.scope is found
    assert bool(hints.oddities) == odd


def test_absent_hints_are_odd_in_the_modern_era_alone() -> None:
    modern = parse_hints({}, era="modern")
    assert modern.oddities == ("ttlMs is missing", "cacheScope is missing")
    handshake = parse_hints({}, era="handshake")
    assert handshake.oddities == ()
    assert (modern.ttl, modern.scope) == (handshake.ttl, handshake.scope) == (0.0, Scope.PRIVATE)


def test_hints_that_are_there_are_read_in_both_eras() -> None:
    hints = parse_hints({"ttlMs": 5000, "cacheScope": "x"}, era="handshake")
    assert hints.ttl == 5.0
    assert len(hints.oddities) == 1
    assert parse_hints({"ttlMs": -1}, era="handshake").oddities == ("ttlMs is negative",)


def test_the_clamp_is_handed_in() -> None:
    assert parse_hints({"ttlMs": 90_000, **PRIVATE}, era="modern", clamp=60.0).ttl == 60.0
    assert parse_hints({"ttlMs": 1, **PRIVATE}, era="modern", clamp=0.0).ttl == 0.0


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


@given(
    st.dictionaries(st.sampled_from(["ttlMs", "cacheScope", "tools"]), ANY),
    st.sampled_from(["modern", "handshake"]),
)
def test_hints_of_any_shape_stay_within_bounds(result: dict[str, Any], era: Any) -> None:
    hints = parse_hints(result, era=era, clamp=100.0)
    assert 0.0 <= hints.ttl <= 100.0
    assert hints.scope is Scope.PRIVATE or result["cacheScope"] == "public"
