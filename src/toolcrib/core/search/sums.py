"""What terms are worth, added up for each tool that has one of them.

The terms that tell most come first. Those that tell little are in most tools, and near the end of a
question they can lift no tool that had nothing before them among the best. From there on only tools
are looked at that still can get there (after Turtle and Flood, "Query Evaluation: Strategies and
Optimizations", 1995). A sum that is given is the same to the last bit as without this.
"""

from collections.abc import Collection, Sequence
from itertools import compress
from typing import Final

from toolcrib.core.search.best import highest
from toolcrib.core.search.segment import Doc, Posting

Walk = tuple[float, Posting]
"""What an impact of 1 is worth, and where the term occurs."""

_LATE: Final = 0.08
"""The best are looked for once, when no more than this share of all worth is still to come."""
_MANY: Final = 300
"""Places that are still to be visited then, at least: fewer are visited sooner than that."""
_FEW_LEFT: Final = 0.7
"""Tools without a sum are passed over when what is to come is worth no more than this share of what
a tool needs, so that few of the others are left."""
_SURE: Final = 1 - 1e-9
"""Makes up for rounding."""


def added_up(walks: Sequence[Walk]) -> dict[Doc, float]:
    """The sums of all tools.

    Args:
        walks: By worth, the highest first.
    """
    sums: dict[Doc, float] = {}
    for walk in walks:
        _add(sums, walk)
    return sums


def best_added_up(
    walks: Sequence[Walk], first: int, *, half_of: int, wanted: Collection[Doc] = ()
) -> dict[Doc, float]:
    """The sums of all tools that matter; of others they may be missing, never wrong.

    Args:
        walks: By worth, the highest first.
        first: Tools of which none has a higher sum than this many matter, ties with them, too...
        half_of: ...and those with at least half the sum of the tool at this place.
        wanted: Tools that matter anyway.
    """
    whole = rest = sum(factor for factor, _ in walks)
    places = sum(len(posting.docs) for _, posting in walks)
    sums: dict[Doc, float] = {}
    needed = 0.0
    for at, (factor, posting) in enumerate(walks):
        is_late = rest <= whole * _LATE and places >= _MANY
        if not needed and is_late and len(sums) >= max(first, half_of):
            best = highest(sums.values(), max(first, half_of))
            needed = min(best[first - 1], best[half_of - 1] / 2) * _SURE
        # No impact is above 1.
        if needed and rest <= needed * _FEW_LEFT:
            return _finished(sums, walks[at:], needed - rest, wanted)
        _add(sums, (factor, posting))
        rest -= factor
        places -= len(posting.docs)
    return sums


def _finished(
    sums: dict[Doc, float], walks: Sequence[Walk], least: float, wanted: Collection[Doc]
) -> dict[Doc, float]:
    """The sums of tools that have so much already, and of those that are wanted anyway."""
    left = {doc: so_far for doc, so_far in sums.items() if so_far >= least}
    left.update((doc, sums.get(doc, 0.0)) for doc in wanted)
    is_left = left.__contains__
    for factor, posting in walks:
        docs = posting.docs
        there = compress(zip(docs, posting.impacts, strict=True), map(is_left, docs))
        for doc, impact in there:
            left[doc] += factor * impact
    return left


def _add(sums: dict[Doc, float], walk: Walk) -> None:
    factor, posting = walk
    so_far = sums.get
    for doc, impact in zip(posting.docs, posting.impacts, strict=True):
        sums[doc] = so_far(doc, 0.0) + factor * impact
