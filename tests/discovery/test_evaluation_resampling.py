"""Means, their confidence, and what counts as a difference."""

import random
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.discovery.evaluation.resampling import Bootstrap, Difference

values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def noise(count: int, seed: int, lift: float = 0.0) -> list[float]:
    drawn = random.Random(seed)  # noqa: S311 - a test's own numbers
    return [min(1.0, drawn.random() / 2 + lift) for _ in range(count)]


def test_the_mean_is_the_mean() -> None:
    assert Bootstrap({"a": [0.0, 0.5, 1.0]}, resamples=50).estimate("a").mean == pytest.approx(0.5)


@given(column=values)
@settings(max_examples=40)
def test_an_interval_holds_its_mean_or_nothing_varies(column: list[float]) -> None:
    found = Bootstrap({"a": column}, resamples=400).estimate("a")
    assert found.mean == pytest.approx(statistics.fmean(column), abs=1e-6)
    assert min(column) - 1e-6 <= found.low <= found.high <= max(column) + 1e-6


def test_one_task_is_no_reason_to_fail() -> None:
    found = Bootstrap({"a": [0.25], "b": [0.75]}, resamples=20)
    assert (found.estimate("a").low, found.estimate("a").high) == (0.25, 0.25)
    assert found.difference("b", "a").mean == 0.5


@pytest.mark.parametrize(("tasks", "verdict"), [(1, "even"), (5, "even"), (6, "above")])
def test_few_tasks_are_not_enough_for_a_difference(tasks: int, verdict: str) -> None:
    columns = {"low": [0.0] * tasks, "high": [1.0] * tasks}
    assert Bootstrap(columns, resamples=2_000).difference("high", "low").verdict == verdict


def test_an_interval_is_about_as_wide_as_theory_says() -> None:
    column = noise(400, 1)
    found = Bootstrap({"a": column}, resamples=2_000).estimate("a")
    error = statistics.stdev(column) / 400**0.5
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.1)


def test_the_same_seed_gives_the_same_figures() -> None:
    columns = {"a": noise(30, 1), "b": noise(30, 2)}
    first, again = (Bootstrap(columns, resamples=200) for _ in range(2))
    assert first.difference("a", "b") == again.difference("a", "b")
    other = Bootstrap(columns, resamples=200, seed=7)
    assert other.estimate("a") != first.estimate("a")


def test_equal_rankings_do_not_differ() -> None:
    column = noise(50, 3)
    found = Bootstrap({"a": column, "b": list(column)}, resamples=200).difference("a", "b")
    assert found == Difference(0.0, 0.0, 0.0, 1.0)
    assert found.verdict == "even"


def test_differences_that_cancel_each_other_are_no_difference() -> None:
    found = Bootstrap({"a": [0.1, 0.3] * 20, "b": [0.3, 0.1] * 20}, resamples=500)
    assert found.difference("a", "b").mean == 0.0
    assert found.difference("a", "b").verdict == "even"


def test_a_clear_difference_counts_in_both_directions() -> None:
    low = noise(100, 4)
    found = Bootstrap({"low": low, "high": [each + 0.2 for each in low]}, resamples=500)
    up, down = found.difference("high", "low"), found.difference("low", "high")
    assert (up.verdict, down.verdict) == ("above", "below")
    assert up.p == down.p == pytest.approx(2 / 501)
    assert up.mean == pytest.approx(0.2)
    assert (up.low, up.high) == (pytest.approx(0.2), pytest.approx(0.2))
    assert down.high < 0


def test_a_small_difference_over_few_tasks_does_not_count() -> None:
    found = Bootstrap({"a": noise(20, 5, 0.02), "b": noise(20, 6)}, resamples=500)
    assert found.difference("a", "b").verdict == "even"


def test_pairs_make_a_difference_sure_that_the_means_alone_leave_open() -> None:
    low = noise(60, 8)
    found = Bootstrap({"low": low, "high": [each + 0.03 for each in low]}, resamples=500)
    assert found.estimate("low").high > found.estimate("high").low, "the intervals overlap"
    assert found.difference("high", "low").verdict == "above"


def test_significance_and_interval_agree() -> None:
    for seed in range(20):
        columns = {"a": noise(40, seed, 0.08), "b": noise(40, seed + 100)}
        found = Bootstrap(columns, resamples=400).difference("a", "b")
        if found.p < 0.04:
            assert found.low > 0 or found.high < 0
        if found.p > 0.06:
            assert found.low <= 0 <= found.high


@pytest.mark.parametrize("columns", [{}, {"a": []}, {"a": [1.0], "b": [1.0, 0.0]}])
def test_columns_that_are_not_over_the_same_tasks_are_refused(
    columns: dict[str, list[float]],
) -> None:
    with pytest.raises(ValueError, match="the same tasks"):
        Bootstrap(columns, resamples=10)
