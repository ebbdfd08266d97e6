"""Searching by words and by patterns."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import anyio.to_thread

from toolcrib.core.search.diversity import ranked
from toolcrib.core.search.fitting import fitting
from toolcrib.core.search.regex import matching
from toolcrib.discovery.index.keeping import ToolIndex
from toolcrib.errors import BadArguments
from toolcrib.ports import PatternEngine

_AT_ONCE: Final = 500
"""Tools that a pattern is tried on on the event loop; more go to a thread."""


@dataclass(frozen=True, slots=True)
class WordRanking:
    """Tools found by what is written in them."""

    tools: tuple[tuple[tuple[str, str], float], ...]
    """((server id, original name), score), the best first; equal ones by server id and name."""
    notes: tuple[str, ...] = ()
    by_meaning: bool = False
    """Never: words alone decide here."""


class WordSearch:
    """Ranks the tools of one index by words or by a pattern.

    Args:
        index: Of the principal.
        patterns: Compiles patterns.
    """

    def __init__(self, index: ToolIndex, patterns: PatternEngine) -> None:
        self._index = index
        self._patterns = patterns

    async def lexical(self, text: str, servers: Collection[str] | None, most: int) -> WordRanking:
        """The best tools for a text, with room for more than one server."""
        merged = await self._index.ready(servers)
        scores = merged.scores(self._index.lexicon.question(text), servers, most)
        return WordRanking(tuple(fitting(ranked(scores, most))), self._index.missing(servers))

    async def regex(self, text: str, servers: Collection[str] | None, most: int) -> WordRanking:
        """The tools whose name, title or description contains a pattern.

        Raises:
            BadArguments: The pattern is refused.
        """
        try:
            occurs = self._patterns(text)
        except ValueError as error:
            raise BadArguments(f"the pattern is refused: {error}") from error
        docs = tuple((await self._index.ready(servers)).docs(servers))
        missing = self._index.missing(servers)
        if len(docs) <= _AT_ONCE:
            return WordRanking(tuple(matching(docs, occurs, most)), missing)
        found = await anyio.to_thread.run_sync(matching, docs, occurs, most)
        return WordRanking(tuple(found), missing)
