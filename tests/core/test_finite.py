"""Numbers that JSON has not are found where they stand."""

from math import inf, nan

import pytest

from toolcrib.core.finite import is_too_long, place_not_finite


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (nan, ""),
        ([1, inf], "[1]"),
        ({"a": {"b": [0, {"c": -inf}]}}, "a.b[1].c"),
        ({"first": nan, "second": inf}, "first"),
        ({"a": [1.5, None, True, "NaN", 10**400]}, None),
        ("Infinity", None),
    ],
)
def test_the_first_number_that_is_not_finite_is_named(value: object, place: str | None) -> None:
    assert place_not_finite(value) == place


def test_deep_nesting_is_looked_through() -> None:
    value: object = nan
    for _ in range(5_000):
        value = [value]
    assert place_not_finite(value) == "[0]" * 5_000


@pytest.mark.parametrize("sign", [1, -1])
def test_an_integer_is_too_long_exactly_where_python_writes_it_no_more(sign: int) -> None:
    for integer in (0, 2**14_000, 10**4_299, 10**4_300 - 1):
        assert not is_too_long(sign * integer)
        assert int(str(sign * integer)) == sign * integer
    for integer in (10**4_300, 10**4_300 + 1, 10**9_000):
        assert is_too_long(sign * integer)
        with pytest.raises(ValueError, match="digits"):
            str(sign * integer)
