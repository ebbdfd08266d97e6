"""A search with the indexes it goes over: what all searches of a process share, and one of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import anyio

from toolcrib.catalog.access import CatalogAccess
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.discovery.hits import Introduced, ToolSearch
from toolcrib.discovery.index.keeping import ToolIndex
from toolcrib.discovery.index.ranking import WordSearch
from toolcrib.discovery.index.shared import SharedSegments
from toolcrib.discovery.instruments import Instruments
from toolcrib.discovery.rankers import rankers
from toolcrib.discovery.search import Searching
from toolcrib.discovery.semantic.hybrid import MeaningRanking
from toolcrib.discovery.semantic.keeping import MeaningIndex
from toolcrib.discovery.semantic.texts import TextVectors
from toolcrib.discovery.subagent.asking import Asking
from toolcrib.discovery.subagent.subagent import Subagent
from toolcrib.settings import Limits, NameStyle, SearchSettings


@dataclass(frozen=True, slots=True, eq=False)
class Searcher:
    """One search; `run` keeps its indexes up to date beside it."""

    search: ToolSearch
    index: ToolIndex
    meanings: MeaningIndex | None

    def tend(self) -> None:
        """Says that `run` is about to run; without it the first search could do all the work."""
        self.index.tend()

    async def run(self) -> None:
        """Works until it is cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.index.run)
            if self.meanings is not None:
                tasks.start_soon(self.meanings.run)

    async def caught_up(self) -> None:
        """Waits, while `run` runs, until everything published is found in every way there is."""
        await self.index.settled()
        if self.meanings is not None:
            await self.meanings.caught_up()


class Searchers:
    """Makes the searches of one process.

    Args:
        instruments: What is searched with.
        settings: Which method `auto` means.
        limits: Bounds of queries and answers.
        style: How names are exposed.
        asking: Asks the small model that chooses; None: there is none.
    """

    def __init__(
        self,
        instruments: Instruments,
        settings: SearchSettings,
        *,
        limits: Limits,
        style: NameStyle = "qualified",
        asking: Asking | None = None,
    ) -> None:
        self._patterns = instruments.patterns
        self._settings = settings
        self._limits = limits
        self._style: NameStyle = style
        self._asking = asking
        self.lexicon: Final = Lexicon(instruments.stem)
        """Of all of them."""
        self._segments = SharedSegments()
        self._new_meanings = _meanings(instruments)

    def over(
        self, access: CatalogAccess, introduced: Introduced, *, partition: str = ""
    ) -> Searcher:
        """A search over the catalogs of one principal.

        Args:
            access: The catalogs.
            introduced: What their servers say of themselves.
            partition: Names who may share what is built of them.
        """
        meanings = self._new_meanings()
        index = ToolIndex(
            access,
            self.lexicon,
            introduced=introduced,
            partition=partition,
            shared=self._segments,
            followers=() if meanings is None else (meanings,),
            wait=self._settings.index_wait_seconds,
        )
        by_meaning = None if meanings is None else MeaningRanking(meanings, index)
        search = Searching(
            access,
            self._settings,
            rankers(index, WordSearch(index, self._patterns), by_meaning),
            subagent=None if self._asking is None else Subagent(self._asking),
            limits=self._limits,
            style=self._style,
        )
        return Searcher(search, index, meanings)


def _meanings(instruments: Instruments) -> Callable[[], MeaningIndex | None]:
    """Makes indexes of meanings that share their vectors; None where there is no embedder."""
    meaning = instruments.meaning
    if meaning is None:
        return lambda: None
    texts = TextVectors(meaning.embedder, meaning.vectors)
    return lambda: MeaningIndex(texts, meaning.index())
