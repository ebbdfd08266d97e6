"""Room in an answer for more than one server.

The first tools of each server count as their scores are. From then on its tools count for less, so
that copies of one tool, or a server that has something for every word, leave room for others that
fit nearly as well, and for those only.
"""

from collections import Counter
from collections.abc import Mapping
from heapq import nlargest
from typing import Final

from toolcrib.core.search.segment import Doc

MARKED_DOWN: Final = 0.7
"""What the score of a further tool of one server counts."""
FREE: Final = 5
"""Tools of one server that count in full: half of a usual answer."""


def ranked(
    scores: Mapping[Doc, float], most: int, *, marked_down: float = MARKED_DOWN
) -> list[tuple[tuple[str, str], float]]:
    """The best tools with their scores, the best first; equal ones by server id and name.

    Tools are (server id, original name). A score that was marked down is given as such, so scores
    never grow along the answer.
    """
    if most < 1 or not scores:
        return []
    # Marked down, the best ones still count so much; what has less cannot be in the answer.
    least = nlargest(most, scores.values())[-1] * marked_down
    candidates = ((doc.tool, score) for doc, score in scores.items() if score >= least)
    from_server: Counter[str] = Counter()
    marked: list[tuple[tuple[str, str], float]] = []
    for tool, score in sorted(candidates, key=_order):
        from_server[tool[0]] += 1
        over = from_server[tool[0]] > FREE
        marked.append((tool, score * marked_down if over else score))
    return sorted(marked, key=_order)[:most]


def _order(found: tuple[tuple[str, str], float]) -> tuple[float, tuple[str, str]]:
    return -found[1], found[0]
