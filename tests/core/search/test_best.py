"""The k-th best of many numbers is the one that putting all in order would find."""

from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.search.best import kth_best


@given(st.lists(st.one_of(st.floats(0, 1), st.floats(0, 1e9)), min_size=1, max_size=40), st.data())
def test_it_is_the_one_at_that_place_in_order(values: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(values)))
    assert kth_best(values, k) == sorted(values, reverse=True)[k - 1]


def test_equal_numbers_count_each() -> None:
    assert [kth_best([2.0, 3.0, 3.0, 0.1], k) for k in (1, 2, 3, 4)] == [3.0, 3.0, 2.0, 0.1]
