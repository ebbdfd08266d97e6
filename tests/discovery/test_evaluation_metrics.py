"""What one ranking is worth: needed tools count once, at their first member's rank."""

from math import log2

import pytest

from toolcrib.discovery.evaluation.metrics import DEFINITIONS, DEPTH, LABELS, Scores, score

NONE = Scores(0.0, 0.0, 0.0, 0.0)


def needed(*groups: str) -> tuple[frozenset[str], ...]:
    """`"a b"` is one needed tool that `a` or `b` serves."""
    return tuple(frozenset(group.split()) for group in groups)


def test_a_ranking_with_everything_on_top_is_worth_one() -> None:
    assert score(["a", "b", "x"], needed("a", "b")) == Scores(1.0, 1.0, 1.0, 1.0)


def test_the_order_of_needed_tools_among_themselves_does_not_matter() -> None:
    assert score(["b", "a"], needed("a", "b")) == score(["a", "b"], needed("a", "b"))


@pytest.mark.parametrize("ranking", [[], ["x"], ["x"] * 60])
def test_a_ranking_without_a_needed_tool_is_worth_nothing(ranking: list[str]) -> None:
    assert score(ranking, needed("a")) == NONE


def test_one_tool_at_the_third_place_has_the_worth_of_that_place() -> None:
    found = score(["x", "y", "a"], needed("a"))
    assert found.values() == pytest.approx((1 / log2(4), 1.0, 1.0, 1 / 3))


def test_what_lacks_is_in_the_ideal() -> None:
    found = score(["a"], needed("a", "b", "c", "d"))
    ideal = sum(1 / log2(rank + 1) for rank in range(1, 5))
    assert found.values() == pytest.approx((1 / ideal, 0.25, 0.25, 1.0))


@pytest.mark.parametrize(
    ("place", "expected"), [(5, (1.0, 1.0)), (6, (0.0, 1.0)), (10, (0.0, 1.0)), (11, (0.0, 0.0))]
)
def test_recall_ends_where_its_name_says(place: int, expected: tuple[float, float]) -> None:
    found = score([*(f"x{each}" for each in range(place - 1)), "a"], needed("a"))
    assert (found.recall_5, found.recall_10) == expected
    assert (found.ndcg_10 > 0) == (place <= 10)
    assert found.mrr == 1 / place


def test_any_member_of_a_group_serves() -> None:
    assert score(["b"], needed("a b c")) == Scores(1.0, 1.0, 1.0, 1.0)


def test_further_members_of_a_group_bring_nothing_and_take_up_a_rank() -> None:
    found = score(["a1", "a2", "b"], needed("a1 a2", "b"))
    ideal = 1 + 1 / log2(3)
    assert found.recall_5 == 1.0
    assert found.ndcg_10 == pytest.approx((1 + 1 / log2(4)) / ideal)
    assert found.ndcg_10 < score(["a1", "b"], needed("a1 a2", "b")).ndcg_10


def test_the_rank_of_a_group_is_that_of_its_best_member() -> None:
    assert score(["x", "a2", "a1"], needed("a1 a2")).mrr == 0.5


def test_a_tool_that_is_ranked_twice_stands_at_its_first_rank() -> None:
    assert score(["a", "x", "a"], needed("a")) == Scores(1.0, 1.0, 1.0, 1.0)


def test_more_needed_tools_than_ten_can_still_be_worth_one() -> None:
    ids = [f"a{each}" for each in range(12)]
    found = score(ids, needed(*ids))
    assert found.ndcg_10 == pytest.approx(1.0)
    assert found.recall_10 == pytest.approx(10 / 12)


def test_nothing_beyond_the_depth_is_looked_at() -> None:
    filler = [f"x{each}" for each in range(DEPTH)]
    assert score([*filler, "a"], needed("a")) == NONE
    assert score([*filler[1:], "a"], needed("a")).mrr == 1 / DEPTH


def test_a_task_that_needs_nothing_cannot_be_scored() -> None:
    with pytest.raises(ValueError, match="at least one"):
        score(["a"], ())


def test_every_metric_has_a_label_and_a_definition() -> None:
    assert tuple(DEFINITIONS) == LABELS
    assert len(NONE.values()) == len(LABELS)
