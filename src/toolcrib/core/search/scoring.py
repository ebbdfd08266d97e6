"""What is looked at once it is known which tools share words with a query.

Single words were added up. Here the few best candidates are looked at more closely: whether terms
stand side by side as in the query, how much of a tool's name the query says, and whether its server
has other tools that fit.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final

from toolcrib.core.search.best import highest
from toolcrib.core.search.lexicon import Question, pair
from toolcrib.core.search.segment import Doc
from toolcrib.core.search.weights import COVERED_BY_LIKENESS, NAME_COVER, NEIGHBOURS, PHRASE

LOOKED_AT: Final = 100
"""Candidates that are looked at more closely."""
_BEST: Final = 3
"""Tools of a server that speak for the others."""


def refine(
    scores: dict[Doc, float], question: Question, rarity: Callable[[str], float]
) -> list[Doc]:
    """Adds to the best of the scores what a closer look finds; the answer is whose."""
    told = {
        pair(one, other): PHRASE * (telling + rarity(other))
        for one, other in question.pairs
        if (telling := rarity(one)) and rarity(other)
    }
    asked = frozenset(told)
    worth = {
        **{term: COVERED_BY_LIKENESS for term, _ in question.weights},
        **dict.fromkeys(question.said, 1.0),
    }
    close = _best(scores)
    by_server: defaultdict[str, list[float]] = defaultdict(list)
    for doc in close:
        score = scores[doc]
        if asked and not asked.isdisjoint(doc.pairs):
            for found in sorted(asked & doc.pairs):
                score += told[found]
        score *= 1 + NAME_COVER * _covered(doc, worth, rarity)
        scores[doc] = score
        by_server[doc.server].append(score)
    support = {server: _mean_of_best(found) for server, found in by_server.items()}
    for doc in close:
        scores[doc] += NEIGHBOURS * support[doc.server]
    return close


def _best(scores: Mapping[Doc, float]) -> list[Doc]:
    if len(scores) <= LOOKED_AT:
        return list(scores)
    last = highest(scores.values(), LOOKED_AT)[-1]
    return [doc for doc, score in scores.items() if score >= last]


def _mean_of_best(found: list[float]) -> float:
    """Of one tool that fits alone, its own: having many tools is no merit."""
    best = found if len(found) == 1 else sorted(found, reverse=True)[:_BEST]
    return sum(best) / len(best)


def _covered(doc: Doc, worth: Mapping[str, float], rarity: Callable[[str], float]) -> float:
    """How much of what a tool's name tells the query says, 0 to 1."""
    told = said = 0.0
    share = worth.get
    for term in doc.name_terms:
        telling = rarity(term)
        told += telling
        said += share(term, 0.0) * telling
    return said / told if told else 0.0
