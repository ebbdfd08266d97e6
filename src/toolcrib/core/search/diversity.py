"""Room in an answer for more than one server, and for one of several copies.

The first tools of each server count as their scores are. From then on each counts a little less
than the one before it, so that a server which has something for every word leaves room for others
that fit nearly as well, and for those only. Copies, tools of one server whose names and
descriptions say the same but for numbers, leave much more room: the second tells a reader nothing.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from typing import Final

from toolcrib.core.search.best import highest
from toolcrib.core.search.segment import Doc

FREE: Final = 5
"""Tools of one server that count in full: half of a usual answer."""
FURTHER: Final = 0.97
"""What each further tool counts of what the one before it did."""
COPY: Final = 0.7
"""What each further copy of a tool counts of what the one before it did."""
LEAST: Final = 0.5
"""What any tool counts at least."""
_DIGIT: Final = re.compile(r"\d")
_SAME: Final = 0.8
"""The share of what either of two copies says that both say."""


def ranked(scores: Mapping[Doc, float], most: int) -> list[tuple[tuple[str, str], float]]:
    """The best tools with their scores, the best first; equal ones by server id and name.

    Tools are (server id, original name). A score that was marked down is given as such, so scores
    never grow along the answer.
    """
    if most < 1 or not scores:
        return []
    # Marked down, the best ones still count so much; what has less cannot be in the answer.
    least = highest(scores.values(), min(most, len(scores)))[-1] * LEAST
    candidates = [
        (-score, (doc.server, doc.item.key), doc) for doc, score in scores.items() if score >= least
    ]
    heapify(candidates)
    servers: defaultdict[str, _Answered] = defaultdict(_Answered)
    marked: list[tuple[tuple[str, str], float]] = []
    best: list[float] = []
    while candidates:
        falling, tool, doc = heappop(candidates)
        if len(best) == most and best[0] > -falling:
            # What is still to come has less, even before it is marked down.
            break
        score = -falling * servers[doc.server].share(doc)
        marked.append((tool, score))
        heappush(best, score)
        if len(best) > most:
            heappop(best)
    return sorted(marked, key=_order)[:most]


class _Answered:
    """The tools of one server that come before another one."""

    def __init__(self) -> None:
        self._tools = 0
        self._first: Doc | None = None
        """The one that came first: what it says matters with the second only."""
        self._copied: list[tuple[frozenset[str], int]] = []
        """What each different tool says, and how often it came."""

    def share(self, doc: Doc) -> float:
        """What the next one's score counts."""
        self._tools += 1
        if self._first is None:
            self._first = doc
            return 1.0
        if not self._copied:
            self._copied.append((_said_by(self._first), 1))
        over = max(0, self._tools - FREE)
        return max(LEAST, FURTHER**over * COPY ** self._copies(doc))

    def _copies(self, doc: Doc) -> int:
        said = _said_by(doc)
        for place, (known, times) in enumerate(self._copied):
            if said and len(said & known) >= _SAME * len(said | known):
                self._copied[place] = known, times + 1
                return times
        self._copied.append((said, 1))
        return 0


def _said_by(doc: Doc) -> frozenset[str]:
    """What a tool says, numbers apart."""
    said = doc.pairs
    if _DIGIT.search("".join(said)):
        return frozenset(it for it in said if not _DIGIT.search(it))
    return said


def _order(found: tuple[tuple[str, str], float]) -> tuple[float, tuple[str, str]]:
    return -found[1], found[0]
