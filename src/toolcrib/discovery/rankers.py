"""The rankers that are there, by the method that they serve."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from toolcrib.discovery.index.keeping import ToolIndex
from toolcrib.discovery.index.ranking import WordSearch
from toolcrib.discovery.methods import Ranker, Ranking
from toolcrib.discovery.semantic.hybrid import MeaningRanking
from toolcrib.settings import SearchMethod

__all__ = ["rankers"]


def rankers(
    index: ToolIndex, words: WordSearch, meaning: MeaningRanking | None = None
) -> dict[SearchMethod, Ranker]:
    """What `Searching` takes: one ranker for each way to search one principal's tools.

    Args:
        index: Their words.
        words: Searches that index.
        meaning: Searches it by meaning, too, where there is an embedder.
    """
    found: dict[SearchMethod, Ranker] = {"lexical": words.lexical, "regex": words.regex}
    if meaning is not None:
        found |= {
            "semantic": _ready(index, meaning.semantic),
            "hybrid": _ready(index, meaning.hybrid),
        }
    return found


@dataclass(frozen=True, slots=True)
class _Noted:
    """A ranking, and what of the tools is not in it."""

    ranking: Ranking
    missing: tuple[str, ...]

    @property
    def tools(self) -> Sequence[tuple[tuple[str, str], float]]:
        return self.ranking.tools

    @property
    def notes(self) -> Sequence[str]:
        return (*self.ranking.notes, *self.missing)

    @property
    def by_meaning(self) -> bool:
        return self.ranking.by_meaning


def _ready(index: ToolIndex, by_meaning: Ranker) -> Ranker:
    """The ranker over an index as a search takes it."""

    async def rank(text: str, servers: Collection[str] | None, most: int) -> Ranking:
        await index.ready(servers)
        return _Noted(await by_meaning(text, servers, most), index.missing(servers))

    return rank
