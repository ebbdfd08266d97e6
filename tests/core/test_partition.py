"""Partitions and their keys: every dimension separates, no two tuples meet, no secret shows."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.core.partition import (
    ANONYMOUS,
    LOCAL,
    Partition,
    Principal,
    catalog_key,
    may_share,
)
from toolcrib.core.snapshot import Kind, Scope

relaxed = settings(deadline=None, max_examples=400)

SECRET = b"s" * 32
BASE = Partition(Principal("https://idp", "anna", "app", "aud", ("read",), "blue"), ("a",))


def key(partition: Partition = BASE, *, launch: str = "launch", kind: Kind = Kind.TOOLS) -> str:
    return catalog_key(SECRET, launch, kind, partition)


PRINCIPALS = [
    {"issuer": "https://other"},
    {"subject": "bert"},
    {"client": "app2"},
    {"audience": "aud2"},
    {"scopes": ("read", "write")},
    {"scopes": ()},
    {"tenant": "red"},
]
DIMENSIONS: list[dict[str, Any]] = [
    {"principal": None},
    {"principal": LOCAL},
    {"principal": ANONYMOUS},
    {"capabilities": ()},
    {"capabilities": ("a", "b")},
    {"protocol": "2025-11-25"},
    {"cohort": "canary"},
    {"locale": "de"},
    {"token": "0" * 32},
]


def test_every_dimension_separates() -> None:
    assert BASE.principal is not None
    keys = [key(replace(BASE, principal=replace(BASE.principal, **one))) for one in PRINCIPALS]
    keys += [key(replace(BASE, **one)) for one in DIMENSIONS]
    keys += [key(launch="other"), *(key(kind=kind) for kind in Kind)]
    keys += [catalog_key(b"t" * 32, "launch", Kind.TOOLS, BASE)]
    assert len(set(keys)) == len(keys)
    assert key() == key(kind=Kind.TOOLS)


def test_two_tenants_behind_one_url_have_different_keys() -> None:
    a, b = (Partition(Principal("https://idp", subject, tenant="t")) for subject in "ab")
    assert key(a) != key(b)


STRICT = replace(BASE, token="0" * 32)


def test_two_tokens_of_one_person_have_different_keys_in_the_strict_mode() -> None:
    one, other = (replace(BASE, token=digest) for digest in ("a" * 32, "b" * 32))
    assert len({key(), key(one), key(other)}) == 3


WORDS = st.text(st.sampled_from('ab,|:/\x00"[]\\é'), max_size=4)
SETS = st.frozensets(WORDS, max_size=3).map(lambda words: tuple(sorted(words)))
PRINCIPAL = st.builds(Principal, WORDS.filter(bool), WORDS.filter(bool), WORDS, WORDS, SETS, WORDS)
PARTITIONS = st.builds(Partition, PRINCIPAL, SETS, WORDS, WORDS, WORDS, WORDS) | st.builds(
    Partition, st.none(), SETS, WORDS, st.just(""), WORDS, st.just("")
)


@relaxed
@given(PARTITIONS, WORDS, PARTITIONS, WORDS)
def test_no_two_different_tuples_share_a_key(
    one: Partition, launch: str, other: Partition, other_launch: str
) -> None:
    same = (one, launch) == (other, other_launch)
    assert (key(one, launch=launch) == key(other, launch=other_launch)) == same


def test_parts_cannot_be_moved_across_their_borders() -> None:
    pairs = [("a", "b,c"), ("a,b", "c"), ("ab", "c"), ('a","b', "c"), ("a", "bc")]
    keys = {key(Partition(Principal(issuer, subject))) for issuer, subject in pairs}
    assert len(keys) == len(pairs)
    scopes = [("a b",), ("a", "b"), ("a,b",), ("a\x00b",)]
    assert len({key(Partition(Principal("i", "s", scopes=one))) for one in scopes}) == len(scopes)


@relaxed
@given(PARTITIONS, st.sampled_from(Kind))
def test_a_key_tells_nothing(partition: Partition, kind: Kind) -> None:
    found = catalog_key(SECRET, "launch", kind, partition)
    assert len(found) == 32
    assert set(found) <= set("0123456789abcdef")


def test_a_shared_partition_has_no_personal_dimension() -> None:
    assert Partition(None).shared
    assert not BASE.shared
    with pytest.raises(ValueError, match="shared"):
        Partition(None, cohort="canary")
    with pytest.raises(ValueError, match="shared"):
        replace(STRICT, principal=None)


def test_sets_are_held_to_one_spelling() -> None:
    with pytest.raises(ValueError, match="sorted"):
        Principal("i", "s", scopes=("b", "a"))
    with pytest.raises(ValueError, match="sorted"):
        Principal("i", "s", scopes=("a", "a"))
    with pytest.raises(ValueError, match="sorted"):
        Partition(None, capabilities=("b", "a"))


@pytest.mark.parametrize(("issuer", "subject"), [("", "s"), ("i", ""), ("", "")])
def test_a_principal_needs_both_names(issuer: str, subject: str) -> None:
    with pytest.raises(ValueError, match="issuer and a subject"):
        Principal(issuer, subject)


@pytest.mark.parametrize("credentialed", [True, False])
@pytest.mark.parametrize("trust_public", [True, False])
def test_a_private_listing_is_never_shared(*, credentialed: bool, trust_public: bool) -> None:
    shared = may_share(Scope.PRIVATE, credentialed=credentialed, trust_public=trust_public)
    assert not shared
    believed = may_share(Scope.PUBLIC, credentialed=credentialed, trust_public=trust_public)
    assert believed == (trust_public or not credentialed)
