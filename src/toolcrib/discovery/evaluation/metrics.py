"""How well one ranking answers one task."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass
from math import log2
from typing import Final

DEPTH: Final = 50
"""Hits of one ranking that are looked at: as many as a search gives at most."""

LABELS: Final = ("nDCG@10", "R@5", "R@10", "MRR")
"""The metrics, in the order of `Scores`."""

DEFINITIONS: Final[Mapping[str, str]] = {
    "nDCG@10": "the sum of 1/log2(rank + 1) over the needed tools among the first ten hits, "
    "divided by what it is when all needed tools (at most ten count) stand at the top.",
    "R@5": "the share of the needed tools that are among the first five hits.",
    "R@10": "the same among the first ten.",
    "MRR": f"1/rank of the first hit that is needed, 0 where none is among {DEPTH}.",
}


@dataclass(frozen=True, slots=True)
class Scores:
    """What one ranking is worth for one task; each from 0 to 1."""

    ndcg_10: float
    recall_5: float
    recall_10: float
    mrr: float

    def values(self) -> tuple[float, ...]:
        """In the order of `LABELS`."""
        return astuple(self)


def score(ranking: Sequence[str], needed: Collection[frozenset[str]]) -> Scores:
    """The scores of a ranking: ids, the best first.

    A needed tool is found at the rank of its best member, once: further members of the same set
    bring nothing and take up a rank. A task that needs nothing cannot be scored: ValueError.
    """
    if not needed:
        raise ValueError("a task needs at least one tool")
    places: dict[str, int] = {}
    for rank, each in enumerate(ranking[:DEPTH], 1):
        places.setdefault(each, rank)
    ranks = sorted(
        min(places[member] for member in members if member in places)
        for members in needed
        if not members.isdisjoint(places)
    )
    ideal = sum(_gain(rank) for rank in range(1, min(len(needed), 10) + 1))
    return Scores(
        ndcg_10=sum(_gain(rank) for rank in ranks if rank <= 10) / ideal,  # noqa: PLR2004
        recall_5=_within(ranks, 5) / len(needed),
        recall_10=_within(ranks, 10) / len(needed),
        mrr=1 / ranks[0] if ranks else 0.0,
    )


def _gain(rank: int) -> float:
    return 1 / log2(rank + 1)


def _within(ranks: Sequence[int], first: int) -> int:
    return sum(rank <= first for rank in ranks)
