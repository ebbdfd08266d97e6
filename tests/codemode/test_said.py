"""What a program returned is said as JSON as far as it can be, whatever it holds."""

import json
from collections import deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.calls.results.encoding import encode
from toolcrib.codemode.plain import NotPlain, plain
from toolcrib.codemode.said import said
from toolcrib.ports import Unawaited


@dataclass
class Odd:
    x: int = 1


PLAIN: list[tuple[Any, Any]] = [
    ({"b", "a", "c"}, ["a", "b", "c"]),
    (frozenset({7}), [7]),
    ([{1}, ({"x"},)], [[1], [["x"]]]),
    (date(2026, 7, 28), "2026-07-28"),
    (datetime.fromisoformat("2026-07-28 09:30"), "2026-07-28T09:30:00"),
    (datetime(2026, 7, 28, 9, 30, tzinfo=UTC), "2026-07-28T09:30:00Z"),
    (time(9, 30), "09:30:00"),
    (timedelta(days=1, seconds=5), "P1DT5S"),
    (Decimal("1.50"), "1.50"),
    (ValueError("no quota"), "ValueError: no quota"),
    (KeyError("k"), "KeyError: 'k'"),
    (b"text", "text"),
    (int, "<class 'int'>"),
    ({1: "a", None: "b", 2.5: "d"}, {"1": "a", "null": "b", "2.5": "d"}),
    ({("a", 1): 2, (): 3}, {"a, 1": 2, "": 3}),
    ({date(2026, 7, 28): 1}, {"2026-07-28": 1}),
    ({False: 1, frozenset({2}): 3}, {"false": 1, "frozenset({2})": 3}),
]


@pytest.mark.parametrize(("value", "told"), PLAIN, ids=range(len(PLAIN)))
def test_what_json_has_in_another_form_is_said_in_that_form(value: Any, told: Any) -> None:
    found = said({"a": [value]})
    assert found.value == {"a": [told]}
    assert found.remarks == ()


def test_keys_that_read_alike_stay_two_keys() -> None:
    value = {1: "int", "1": "str", "1 (str)": "long"}
    told = said(value).value
    assert sorted(told.values()) == sorted(value.values())
    assert len(told) == len(value) == 3


def test_however_many_keys_read_alike_none_gets_longer_than_its_number() -> None:
    alike: Any = [(*[1] * (at // 40), (1,) * (at % 40)) for at in range(1, 1_600)]
    value = {key: at for at, key in enumerate(alike)} | {"1, 1 (tuple 2)": -1, "1, 1": -2}
    told = said(value).value
    assert sorted(told.values()) == sorted(value.values())
    assert max(map(len, told)) < 300
    assert {"1, 1", "1, 1 (tuple)", "1, 1 (tuple 2)"} <= told.keys()


SHARED = (("x" * 1_000,) * 1_000,) * 20
"""Small where it is; 20 million characters once it is written out."""


@pytest.mark.parametrize("key", [SHARED, frozenset({SHARED}), (1, (frozenset({SHARED}),))])
def test_what_is_shared_in_a_key_is_not_written_out(key: Any) -> None:
    told = said({key: 1}).value
    assert list(told.values()) == [1]
    assert max(map(len, told)) < 100


def test_what_is_shared_in_an_error_is_not_written_out() -> None:
    assert said(ValueError(SHARED)).value == "ValueError: a ValueError"
    assert said(ValueError("x" * 5_000)).value.startswith("ValueError: xxxx")


@pytest.mark.parametrize(
    ("levels", "told"), [(4_000, "a frozenset"), (20_000, "a frozenset that is too large")]
)
def test_a_key_of_too_many_levels_has_a_name(levels: int, told: str) -> None:
    key: Any = 1
    for _ in range(levels):
        key = frozenset({key})
    assert said({key: 1}).value == {told: 1}


ODD: list[tuple[Any, Any, str]] = [
    (float("nan"), None, "b.c[1] is nan, which JSON has not; null stands there"),
    (Decimal("NaN"), "NaN", ""),
    (Odd(), None, "b.c[1] is a Odd, which JSON has not; null stands there"),
    (..., None, "b.c[1] is a ellipsis, which JSON has not; null stands there"),
    (1j, None, "b.c[1] is a complex, which JSON has not; null stands there"),
    (deque([1]), None, "b.c[1] is a deque, which JSON has not; null stands there"),
    (b"\xff", "/w==", "b.c[1] is told in base64: it is bytes that are no text"),
    (16**4_000, "0x1" + "0" * 4_000, "b.c[1] is told in hexadecimal: readers of JSON take no"),
]


@pytest.mark.parametrize(("value", "told", "remark"), ODD, ids=[type(it[0]).__name__ for it in ODD])
def test_what_json_has_not_is_named_with_its_place_and_the_rest_is_kept(
    value: Any, told: Any, remark: str
) -> None:
    found = said({"a": 1, "b": {"c": ["kept", value, {"d": True}]}})
    assert found.value == {"a": 1, "b": {"c": ["kept", told, {"d": True}]}}
    assert [it[: len(remark)] for it in found.remarks] == [remark] * bool(remark)
    alone = said(value)
    assert alone.value == told
    assert all(it.startswith("the value is ") for it in alone.remarks)


def test_what_nobody_waited_for_is_told_apart_at_any_depth() -> None:
    found = said({"a": [{"b": Unawaited(3)}], "c": Unawaited(function="main"), "d": 1})
    assert found.value == {"a": [{"b": None}], "c": None, "d": 1}
    assert found.unawaited == (("a[0].b", Unawaited(3)), ("c", Unawaited(function="main")))
    assert found.remarks == ()
    assert said(Unawaited(1)).unawaited == (("the value", Unawaited(1)),)
    with pytest.raises(NotPlain, match="a is a call that it did not wait for: write `await`"):
        plain({"a": Unawaited(1)}, 1_000)


def test_however_many_places_are_odd_only_some_are_named() -> None:
    found = said([float("inf")] * 5_000)
    assert found.value == [None] * 5_000
    assert len(found.remarks) == 11
    assert found.remarks[-1] == "4,990 more places are no JSON"
    assert len(said([Unawaited(1)] * 500).unawaited) == 10


def test_what_is_too_much_is_cut_and_the_place_is_named() -> None:
    found = said([{"n": n, "t": "x" * 100} for n in range(1_000)], 10_000)
    assert 50 < len(found.value) < 100
    assert all(row["t"] == "x" * 100 for row in found.value[:-1])
    (remark,) = found.remarks
    assert remark.startswith("the value is more than a program can hand out at a time")
    assert f"[{len(found.value) - 1}]" in remark
    text = said("x" * 1_000, 100)
    assert text.value == "x" * 100
    assert text.remarks[0].endswith("its end is left out")
    keys = said({"k" * 50 + str(n): n for n in range(100)}, 1_000)
    assert 10 < len(keys.value) < 30


def test_what_is_too_deep_is_named_and_the_rest_is_kept() -> None:
    value: Any = 1
    for _ in range(100):
        value = [value]
    found = said({"kept": 1, "deep": value})
    assert found.value["kept"] == 1
    assert "is nested deeper than 64 levels; null stands there" in found.remarks[0]


def test_integers_that_nobody_writes_down_are_no_reason_to_lose_the_rest() -> None:
    huge = 10**5_000
    told = said({huge: 1, frozenset({huge}): 2, "e": ValueError(huge), ((huge,),): 3}).value
    assert list(told.values()) == [1, 2, "ValueError: a ValueError", 3]
    assert hex(huge) in told
    assert "a frozenset" in told


def test_sets_that_pass_do_not_take_the_place_of_others() -> None:
    value = [{n, n + 1} for n in range(0, 400, 2)]
    assert [sorted(it) for it in said(value).value] == [[n, n + 1] for n in range(0, 400, 2)]


KEYS = st.one_of(
    st.text(max_size=3),
    st.integers(),
    st.booleans(),
    st.none(),
    st.floats(),
    st.dates(),
    st.decimals(allow_nan=False),
    st.tuples(st.integers(0, 3), st.text(max_size=2)),
    st.frozensets(st.integers(0, 3), max_size=2),
)
LEAVES = st.one_of(
    KEYS,
    st.binary(max_size=4),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
    st.complex_numbers(),
    st.decimals(),
    st.sampled_from([int, ..., ValueError("x"), object(), len]),
    st.sets(st.one_of(st.text(max_size=2), st.integers(), st.dates()), max_size=3),
    st.builds(Unawaited, st.integers(0, 9)),
)
ANY = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=15,
)


@given(ANY, st.sampled_from([20, 60, 200, 16 * 1024 * 1024]))
def test_whatever_is_returned_becomes_json_within_bounds(value: Any, most: int) -> None:
    found = said(value, most)
    written = encode(found.value)
    json.loads(written)
    assert len(found.remarks) <= 12
    if most < 1_000:
        assert len(written) <= most * 8 + 100


@given(
    st.recursive(
        st.text(max_size=3) | st.integers() | st.booleans() | st.none(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        ),
    )
)
def test_what_is_json_is_said_as_it_is_and_as_arguments_are(value: Any) -> None:
    found = said(value)
    assert json.dumps(found.value) == json.dumps(value) == json.dumps(plain(value, 10_000_000))
    assert (found.remarks, found.unawaited) == ((), ())


@given(ANY)
def test_a_value_of_which_nothing_is_left_out_is_the_same_within_any_bounds(value: Any) -> None:
    narrow, wide = said(value, 500), said(value)
    assert not wide.cut
    assert narrow.cut or narrow == wide
