"""Ranking by meaning, and by words and meaning together."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import anyio.to_thread

from toolcrib.core.search.diversity import ranked
from toolcrib.core.search.fitting import fitting
from toolcrib.core.search.fusion import fused, near
from toolcrib.core.search.meant import asked
from toolcrib.core.search.segment import Doc
from toolcrib.core.search.sentences import sentences_of
from toolcrib.discovery.semantic.keeping import AT_ONCE, MeaningIndex, reason_of

_Tools = Sequence[tuple[tuple[str, str], float]]


class WordScores(Protocol):
    """Scores tools by the words they share with a text (`discovery.index.ToolIndex`)."""

    def scores(self, text: str, servers: Collection[str] | None) -> Mapping[Doc, float]:
        """The score of every tool that shares a word with it; only of `servers`, if given."""
        ...


@dataclass(frozen=True, slots=True)
class Ranked:
    """The answer of one ranking."""

    tools: tuple[tuple[tuple[str, str], float], ...]
    """((server id, original name), score), the best first; equal ones by server id and name."""
    notes: tuple[str, ...] = ()
    """What the searcher should know, in sentences."""
    by_meaning: bool = True
    """Whether meaning had a say; False: it failed, and words alone decided."""


class MeaningRanking:
    """Ranks the tools of one index of meanings.

    Args:
        meaning: Knows the vectors.
        words: Scores the same tools by words.
    """

    def __init__(self, meaning: MeaningIndex, words: WordScores) -> None:
        self._meaning = meaning
        self._words = words

    async def hybrid(self, query: str, servers: Collection[str] | None, most: int) -> Ranked:
        """The best tools by words and meaning together.

        Tools without a vector yet are ranked by their words; so are all where meaning fails.
        """
        try:
            likeness = await self._alike(query, servers)
        except Exception as error:  # noqa: BLE001 - whatever a model does, words are still there
            found = fitting(ranked(self._words.scores(query, servers), most))
            note = f"Searched by words, because searching by meaning failed: {reason_of(error)}."
            return Ranked(tuple(found), (note,), by_meaning=False)
        # Asked after the wait, so that both speak of the same tools.
        words = self._words.scores(query, servers)
        found = await _of_many(len(likeness), lambda: ranked(fused(words, likeness), most))
        return Ranked(tuple(fitting(found)), self._notes())

    async def semantic(self, query: str, servers: Collection[str] | None, most: int) -> Ranked:
        """The best tools by meaning alone, among those that have a vector."""
        likeness = await self._alike(query, servers)
        found = await _of_many(len(likeness), lambda: ranked(near(likeness), most))
        return Ranked(tuple(found), self._notes())

    async def _alike(self, query: str, servers: Collection[str] | None) -> dict[Doc, float]:
        text = asked(query)
        return await self._meaning.alike(text, sentences_of(text), servers)

    def _notes(self) -> tuple[str, ...]:
        notes: list[str] = []
        missing = self._meaning.missing
        if missing:
            notes.append(f"{missing} tools are found by their words only, until they are embedded.")
        if self._meaning.trouble:
            notes.append(self._meaning.trouble)
        return tuple(notes)


async def _of_many(count: int, rank: Callable[[], _Tools]) -> _Tools:
    """What ranks so many tools, in a thread where they are many."""
    return rank() if count <= AT_ONCE else await anyio.to_thread.run_sync(rank)
