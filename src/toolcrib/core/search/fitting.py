"""Which of the best tools fit at all, beside those that fit best.

In a small catalog ten hits are most of what there is, down to tools that share one common word with
the query, and a model pays for each line. What is left out has a small part of what the *second*
best tool has: a query that says the whole name of one tool must not hide all others.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

SHARE: Final = 0.15
"""Of the second best score; on development queries nobody was missed below it, but at 0.2."""

_Tool = TypeVar("_Tool")


def fitting(found: Sequence[tuple[_Tool, float]]) -> Sequence[tuple[_Tool, float]]:
    """The tools of a ranking, the best first, without the last ones that hardly fit."""
    if len(found) < 2:  # noqa: PLR2004 - nothing to compare with
        return found
    least = found[1][1] * SHARE
    return [(tool, score) for tool, score in found if score >= least]
