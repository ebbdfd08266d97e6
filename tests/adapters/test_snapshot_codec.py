"""Snapshots survive the way to bytes and back, and damaged bytes are told."""

import math
import random
import string
import zlib
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolcrib.adapters.store.snapshot_codec import SnapshotCodecError, decode, encode
from toolcrib.core.snapshot import Hints, Item, Kind, Quarantined, Scope, Snapshot
from toolcrib.testing.store_rig import item_of, listing, snapshot_of

texts = st.text(st.characters(), max_size=20)
"""Any code points, lone surrogates and line separators included."""
numbers = st.one_of(
    st.integers(),
    st.integers(min_value=2**53, max_value=2**400),
    st.floats(allow_nan=False),
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=20,
)
definitions = st.dictionaries(texts, json_values, max_size=5)
items = st.builds(
    Item,
    key=texts,
    definition=definitions,
    fingerprint=texts,
    contract=texts,
    notes=st.lists(texts, max_size=2).map(tuple),
)
snapshots = st.builds(
    Snapshot,
    kind=st.sampled_from(Kind),
    items=st.lists(items, max_size=5, unique_by=lambda item: item.key).map(tuple),
    digest=texts,
    quarantined=st.lists(st.builds(Quarantined, texts, texts, texts, texts), max_size=3).map(tuple),
    warnings=st.lists(texts, max_size=3).map(tuple),
    hints=st.builds(
        Hints,
        ttl=st.one_of(st.just(0.0), st.floats(0, 86_400)),
        scope=st.sampled_from(Scope),
        oddities=st.lists(texts, max_size=2).map(tuple),
        peer_digest=texts,
    ),
    pages=st.integers(1, 1000),
)


def shown(snapshot: Snapshot) -> str:
    """All of it, with key order and with 1 apart from 1.0 and True."""
    return repr(
        [(i.key, i.definition, i.fingerprint, i.contract, i.notes) for i in snapshot.items]
        + [snapshot.quarantined, snapshot.warnings, snapshot.hints, snapshot.kind, snapshot.pages]
    )


@given(snapshot=snapshots)
@example(snapshot=Snapshot(Kind.TOOLS, (), ""))
@example(snapshot=snapshot_of(item_of({"name": "\ud83d\ude00 apart, \U0001f600 together"})))
@example(snapshot=snapshot_of(item_of({"name": "n", "z": {}, "a": [-0.0, 1e400, 10**4000, True]})))
@example(snapshot=snapshot_of(item_of({"name": "lines\n\r\x0b\x0c\x1c\x85\u2028\u2029"})))
def test_any_snapshot_comes_back_exactly(snapshot: Snapshot) -> None:
    back = decode(encode(snapshot))
    assert back == snapshot
    assert shown(back) == shown(snapshot)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 1000])
def test_catalogs_of_every_size_keep_their_items_in_order(count: int) -> None:
    snapshot = snapshot_of(*(item_of({"name": f"tool_{number:04}"}) for number in range(count)))
    back = decode(encode(snapshot))
    assert [item.key for item in back.items] == [item.key for item in snapshot.items]
    assert back.get(f"tool_{count - 1:04}") == snapshot.items[-1]


def test_a_definition_nested_deeper_than_any_schema_may_be_comes_back() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = {"properties": {"p": [deep]}}
    snapshot = snapshot_of(item_of({"name": "deep", "inputSchema": deep}))
    assert decode(encode(snapshot)) == snapshot


def test_a_definition_that_is_a_view_of_a_mapping_is_stored_as_what_it_shows() -> None:
    item = Item("t", MappingProxyType({"name": "t", "x": MappingProxyType({"y": 1})}), "f", "c")
    back = decode(encode(Snapshot(Kind.TOOLS, (item,), "d")))
    assert back.items[0].definition == {"name": "t", "x": {"y": 1}}


def test_what_was_not_a_number_stays_so() -> None:
    """No JSON, but some parsers let it through."""
    item = Item("t", {"name": "t", "default": math.nan}, "f", "c")
    back = decode(encode(Snapshot(Kind.TOOLS, (item,), "d")))
    assert math.isnan(back.items[0].definition["default"])


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [10**5000, nested(100_000), {1, 2}, {("not", "text"): 1}],
    ids=["more digits than Python writes", "endlessly deep", "a set", "a key that is no text"],
)
def test_what_cannot_be_written_is_refused_and_never_half_written(value: object) -> None:
    snapshot = Snapshot(Kind.TOOLS, (Item("t", {"name": "t", "x": value}, "f", "c"),), "d")
    with pytest.raises(SnapshotCodecError, match="cannot be encoded"):
        encode(snapshot)


def test_packing_is_used_where_it_pays_and_only_there() -> None:
    small = encode(listing("v0"))
    repetitive = encode(snapshot_of(item_of({"name": "t", "description": "again " * 10_000})))
    noise = "".join(random.Random(1).choices(string.printable, k=10_000))  # noqa: S311
    dense = encode(snapshot_of(item_of({"name": "t", "description": noise})))
    assert (small[:1], repetitive[:1], dense[:1]) == (b"j", b"z", b"j")
    assert len(repetitive) < 6_000
    assert b'"name"' in small


@given(noise=st.binary(max_size=200))
@example(noise=b"")
@example(noise=b"j")
@example(noise=b"z")
@example(noise=b"j{}")
@example(noise=b'j{"format":1}')
@example(noise=b"j[]\n[[]]")
@example(noise=b"j\xff")
@example(noise=b"z" + zlib.compress(b"{}"))
@example(noise=b"j" + b"[" * 100_000)
def test_bytes_that_are_no_snapshot_are_told(noise: bytes) -> None:
    with pytest.raises(SnapshotCodecError, match="cannot be decoded"):
        decode(noise)


def test_a_format_of_the_future_is_told() -> None:
    body = encode(listing("v0")).replace(b'"format":1', b'"format":2')
    with pytest.raises(SnapshotCodecError, match="unknown format 2"):
        decode(body)


def test_a_row_from_before_peers_had_digests_is_still_read() -> None:
    snapshot = listing("v0")
    body = encode(snapshot)
    older = body.replace(b'"peer_digest":"",', b"")
    assert older != body
    assert decode(older) == snapshot


def test_a_body_that_was_cut_off_between_two_lines_is_told() -> None:
    body = encode(snapshot_of(*(item_of({"name": f"tool_{number}"}) for number in range(3))))
    with pytest.raises(SnapshotCodecError, match="0 of 3 items"):
        decode(body[: body.index(b"\n")])


@given(cut=st.integers(0, 2000))
def test_a_body_that_was_cut_off_is_told(cut: int) -> None:
    body = encode(snapshot_of(*(item_of({"name": f"tool_{number}"}) for number in range(20))))
    if cut < len(body):
        with pytest.raises(SnapshotCodecError):
            decode(body[:cut])
