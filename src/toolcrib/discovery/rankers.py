"""The rankers that are there, by the method that they serve."""

from collections.abc import Collection

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
            "semantic": _settled(index, meaning.semantic),
            "hybrid": _settled(index, meaning.hybrid),
        }
    return found


def _settled(index: ToolIndex, by_meaning: Ranker) -> Ranker:
    """The ranker over an index in which everything is that was published before."""

    async def rank(text: str, servers: Collection[str] | None, most: int) -> Ranking:
        await index.settled()
        return await by_meaning(text, servers, most)

    return rank
