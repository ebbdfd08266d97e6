"""How a score by words and a likeness of meaning become one order.

The fusion is a plain sum of the BM25 score as it is and a multiple of the cosine. Both are absolute
measures of evidence: BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009)
adds up how much each shared term speaks for a tool, so a query whose words no tool has scores low
everywhere, and meaning decides alone; a query of many rare shared words scores high, and words
decide. Normalising either by the scores of the other tools would throw that away (Bruch, Gai and
Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", 2023, find a convex combination
better than reciprocal ranks, for a like reason), and would make a score depend on the size of the
catalog.
"""

from collections.abc import Mapping
from typing import Final

from toolcrib.core.search.segment import Doc

MEANING_WEIGHT: Final = 75.0
"""Points of a score by words that a cosine of 1 is worth; between 60 and 90 the quality of answers
hardly changes."""
NAME_PULL: Final = 0.2
"""How much of the vector of its name is added to the one of a tool."""
GROUP_PULL: Final = 0.2
"""How much of the middle of its server's tools is added to the vector of a tool: a query about
files is near to a server about files before it is near to one of its tools."""
PARTS_SHARE: Final = 0.5
"""How much of a score is that of the best single sentence of a query, where it has several; the
rest is that of the whole."""
LEAST_COSINE: Final = 0.15
"""Below it, likeness alone is noise: a tool that shares no word with the query is not found."""


def fused(words: Mapping[Doc, float], meaning: Mapping[Doc, float]) -> dict[Doc, float]:
    """The scores of all tools that are found by either; none is negative.

    Args:
        words: Scores by words (`MergedIndex.scores`), of all tools that have one.
        meaning: Cosines, of all tools whose vectors are known. One whose vector is not known yet
            is taken to be as near as the nearest of those that share less with the query by words,
            and near enough to be found by meaning alone: lacking a vector puts it behind none of
            them, nor behind tools that are hardly alike.
    """
    seen = words.get
    scores = {
        tool: seen(tool, 0.0) + MEANING_WEIGHT * max(0.0, cosine)
        for tool, cosine in meaning.items()
        if cosine >= LEAST_COSINE or tool in words
    }
    unknown = words.keys() - meaning.keys()
    if unknown:
        nearest = LEAST_COSINE
        for tool in sorted(words, key=lambda tool: (words[tool], tool in unknown)):
            if tool in unknown:
                scores[tool] = words[tool] + MEANING_WEIGHT * nearest
            else:
                nearest = max(nearest, meaning[tool])
    return scores


def near(meaning: Mapping[Doc, float]) -> dict[Doc, float]:
    """The tools that are alike enough to be found by meaning alone."""
    return {tool: cosine for tool, cosine in meaning.items() if cosine >= LEAST_COSINE}
