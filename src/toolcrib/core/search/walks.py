"""Which terms of a question are looked for among tools, and what each is worth there."""

from typing import Final, Protocol

from toolcrib.core.search.lexicon import Question
from toolcrib.core.search.segment import Posting
from toolcrib.core.search.sums import Walk
from toolcrib.core.search.weights import SATURATION

_SCALE: Final = SATURATION + 1
"""As usual with BM25: a term that occurs once where it counts 1 scores about its rarity."""


class Seen(Protocol):
    """An index, or what is seen of it."""

    def posting(self, word: str) -> Posting:
        """Where a term occurs."""
        ...

    def rarity(self, word: str) -> float:
        """How much a term tells; 0 where no tool has it."""
        ...


def walks_of(question: Question, seen: Seen, most: int) -> list[Walk]:
    """The terms that tell most first.

    Args:
        question: Its parts are not looked at.
        seen: Where its terms are looked for.
        most: Tools that the terms may have together; what tells less is left out, the first apart.
    """
    told = [
        (weight * _SCALE * rarity, word)
        for word, weight in question.weights
        if (rarity := seen.rarity(word))
    ]
    walks: list[Walk] = []
    touched = 0
    for factor, word in sorted(told, key=lambda it: (-it[0], it[1])):
        posting = seen.posting(word)
        touched += len(posting.docs)
        if touched > most and walks:
            break
        walks.append((factor, posting))
    return walks
