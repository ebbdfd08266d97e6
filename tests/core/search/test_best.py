"""The best of many numbers are those that putting all in order would find."""

from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.search.best import highest

numbers = st.one_of(st.floats(0, 1), st.floats(0, 1e9), st.just(0.0))


@given(st.lists(numbers, min_size=1, max_size=40), st.data())
def test_they_are_those_in_front_in_order(values: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(values)))
    assert highest(values, k) == sorted(values, reverse=True)[:k]


@given(
    st.lists(numbers, min_size=1, max_size=9),
    st.integers(128, 1_000),
    st.integers(0, 9),
    st.data(),
)
def test_they_are_the_same_where_only_a_sample_is_looked_at_first(
    pattern: list[float], count: int, grows: int, data: st.DataObject
) -> None:
    values = [pattern[n % len(pattern)] + grows * n for n in range(count)]
    if data.draw(st.booleans()):
        values.reverse()
    k = data.draw(st.integers(1, count))
    assert highest(values, k) == sorted(values, reverse=True)[:k]


def test_a_sample_of_nothing_but_the_best_still_finds_all_of_them() -> None:
    values = [1.0 if n % 3 else 2.0 for n in range(64 * 3)]
    assert highest(values, 70) == [2.0] * 64 + [1.0] * 6


def test_equal_numbers_count_each() -> None:
    assert highest([2.0, 3.0, 3.0, 0.1], 4) == [3.0, 3.0, 2.0, 0.1]
