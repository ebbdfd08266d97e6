"""What hardly fits beside the best is no hit."""

from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.search.fitting import SHARE, fitting

scores = st.lists(st.floats(min_value=0, max_value=1e6), max_size=20).map(
    lambda values: list(enumerate(sorted(values, reverse=True)))
)


@given(scores)
def test_what_is_left_is_the_beginning_of_the_ranking_and_of_two_tools_both(
    found: list[tuple[int, float]],
) -> None:
    left = fitting(found)
    assert left == found[: len(left)]
    assert len(left) >= min(2, len(found))
    assert all(score < found[1][1] * SHARE for _, score in found[len(left) :])


def test_a_small_part_of_what_the_second_best_has_is_left_out() -> None:
    found = [("best", 900.0), ("next", 100.0), ("some", 15.0), ("less", 14.9), ("none", 0.0)]
    assert [tool for tool, _ in fitting(found)] == ["best", "next", "some"]


def test_without_any_score_nothing_is_left_out() -> None:
    found = [("a", 0.0), ("b", 0.0), ("c", 0.0)]
    assert fitting(found) == found
