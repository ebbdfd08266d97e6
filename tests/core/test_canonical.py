"""Canonical JSON: one byte string per value, on both of its paths."""

import json
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.core.canonical import MAX_DEPTH, canonical, is_plain, spelled, spelled_float
from toolcrib.core.jsontypes import is_array, is_object

relaxed = settings(deadline=None, max_examples=300)

TEXTS = st.text(st.characters(), max_size=12)
"""Surrogates included, on their own and in pairs."""

NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=20,
)


@relaxed
@given(VALUES)
def test_both_paths_lead_to_the_same_bytes(value: Any) -> None:
    slow = spelled(value)
    try:
        expected = slow.encode()
    except UnicodeEncodeError:
        return
    assert canonical(value) == expected


@relaxed
@given(PLAIN)
def test_the_encoder_of_the_standard_library_agrees_where_values_are_plain(value: Any) -> None:
    if is_plain(value):
        fast = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        assert fast == spelled(value)


def test_ordinary_definitions_take_the_fast_path() -> None:
    tool = {"name": "t", "inputSchema": {"type": "object", "properties": {"é": {"maximum": 3}}}}
    assert is_plain(tool)
    assert not is_plain({"maximum": 0.5})
    assert not is_plain({"\U0001f600": 1})


@relaxed
@given(VALUES)
def test_what_is_read_back_has_the_same_canonical_form(value: Any) -> None:
    once = canonical(value)
    assert canonical(json.loads(once)) == once


@relaxed
@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_of_members_does_not_matter(value: Any, lots: Any) -> None:
    def shuffled(node: Any) -> Any:
        if is_object(node):
            members = [(key, shuffled(inner)) for key, inner in node.items()]
            lots.shuffle(members)
            return dict(members)
        return [shuffled(inner) for inner in node] if is_array(node) else node

    assert canonical(shuffled(value)) == canonical(value)


def same_json(one: Any, other: Any) -> bool:
    """Equality as JSON has it: numbers by value, booleans apart from numbers."""
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    if is_array(one) and is_array(other):
        return len(one) == len(other) and all(map(same_json, one, other))
    if is_object(one) and is_object(other):
        return one.keys() == other.keys() and all(same_json(one[k], other[k]) for k in one)
    return type(one) is type(other) and one == other


SMALL = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.0, -0.0, 0.5, "", "1", "true"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)


@settings(deadline=None, max_examples=1000)
@given(SMALL, SMALL)
def test_two_values_share_a_form_exactly_where_they_are_equal_json(one: Any, other: Any) -> None:
    assert (canonical(one) == canonical(other)) == same_json(one, other)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, b"true"),
        (1, b"1"),
        (1.0, b"1"),
        (-0.0, b"0"),
        (None, b"null"),
        (2**53 + 1, b"9007199254740993"),
        (10**25, b"10000000000000000000000000"),
        ('\x00\x1f\x7f"\\\b\t\n\f\r/é€', '"\\u0000\\u001f\x7f\\"\\\\\\b\\t\\n\\f\\r/é€"'.encode()),
        ({"b": 1, "a": [1, {"d": 2, "c": 3}]}, b'{"a":[1,{"c":3,"d":2}],"b":1}'),
        ((1, "a"), b'[1,"a"]'),
        ({}, b"{}"),
        ([], b"[]"),
    ],
)
def test_a_value_is_spelled_as_documented(value: Any, expected: bytes) -> None:
    assert canonical(value) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e-7, "1.5e-7"),
        (-1.25, "-1.25"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (0.1 + 0.2, "0.30000000000000004"),
        (333333333.3333332, "333333333.3333332"),
        (100.0, "100"),
    ],
)
def test_a_number_is_printed_as_ecmascript_prints_it(number: float, expected: str) -> None:
    assert spelled_float(number) == expected


@relaxed
@given(st.binary(min_size=8, max_size=8))
def test_every_finite_number_reads_back_and_has_the_form_of_its_size(bits: bytes) -> None:
    (number,) = struct.unpack("<d", bits)
    if number != number or number in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN
        return
    text = spelled_float(number)
    assert float(text) == number
    assert len(Decimal(text).normalize().as_tuple().digits) <= 17
    if number != 0:
        assert ("e" in text) == (not 1e-6 <= abs(number) < 1e21)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_json_number_is_refused_by_name(number: float) -> None:
    for value in (number, {"a": [number]}):
        with pytest.raises(ValueError, match="is no JSON number"):
            canonical(value)


@pytest.mark.parametrize("value", [{1: "a"}, {"a": {None: 1}}, {"a": {1, 2}}, b"a", object()])
def test_what_is_no_json_value_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        canonical(value)


def test_an_integer_too_long_to_print_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="digits"):
        canonical({"a": [10**5000]})


def test_keys_are_sorted_by_utf16_code_units() -> None:
    # U+1F600 is D83D DE00 in code units and sorts before U+FB33, after it by code point.
    value = {"\ufb33": 1, "\U0001f600": 2, "€": 3, "a": 4, "\r": 5}
    assert list(json.loads(canonical(value))) == ["\r", "a", "€", "\U0001f600", "\ufb33"]


def test_unpaired_surrogates_are_escaped_and_pairs_are_one_character() -> None:
    assert canonical("a\ud800b") == b'"a\\ud800b"'
    assert canonical("\\ud800") == b'"\\\\ud800"'
    assert canonical("\ud83d\ude00") == canonical("\U0001f600")
    assert canonical({"\udfff": 1, "a": "\ude00\ud83d"}) == b'{"a":"\\ude00\\ud83d","\\udfff":1}'


@pytest.mark.parametrize("depth", [60, 64, 65, 66, 1000, MAX_DEPTH])
def test_any_depth_a_parser_could_build_has_a_form_without_recursion(depth: int) -> None:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    text = canonical(value)
    assert text.count(b"[") + text.count(b"{") == depth


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop += [loop, loop, {"a": loop}]
    with pytest.raises(ValueError, match="deeper"):
        canonical(loop)
