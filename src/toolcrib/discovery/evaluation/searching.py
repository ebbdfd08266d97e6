"""The search that principals have, over the catalog of a data set."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import anyio

from toolcrib.core.search.lexicon import Lexicon
from toolcrib.discovery.evaluation.catalogs import SetCatalogs
from toolcrib.discovery.index.keeping import ToolIndex
from toolcrib.discovery.index.ranking import WordSearch
from toolcrib.discovery.instruments import Instruments
from toolcrib.discovery.rankers import rankers
from toolcrib.discovery.search import Searching
from toolcrib.discovery.semantic.hybrid import MeaningRanking
from toolcrib.discovery.semantic.keeping import MeaningIndex
from toolcrib.discovery.semantic.texts import TextVectors
from toolcrib.settings import Limits, SearchSettings

_LOOKED_AFTER: Final = 0.05
"""Seconds between two looks at how many tools have no vector yet: nobody says when none is left."""


@dataclass(frozen=True, slots=True, eq=False)
class SetSearch:
    """A search that is ready: all tools are in its index, and have their vectors."""

    search: Searching
    index: ToolIndex


class Introducing:
    """Servers say of themselves what the data set has."""

    def __init__(self, catalogs: SetCatalogs) -> None:
        self._catalogs = catalogs

    def about(self, server: str) -> str:
        """The description."""
        facts = self._catalogs.status(server).facts
        return "" if facts is None else facts.instructions


@asynccontextmanager
async def searching(
    catalogs: SetCatalogs, instruments: Instruments, settings: SearchSettings
) -> AsyncGenerator[SetSearch]:
    """A search over these catalogs, kept up to date for as long as it is open.

    There is no small model to choose: `subagent` falls back as it does where none is configured.
    """
    meaning = instruments.meaning
    meanings = None
    if meaning is not None:
        meanings = MeaningIndex(TextVectors(meaning.embedder, meaning.vectors), meaning.index())
    index = ToolIndex(
        catalogs,
        Lexicon(instruments.stem),
        introduced=Introducing(catalogs),
        followers=() if meanings is None else (meanings,),
    )
    by_meaning = None if meanings is None else MeaningRanking(meanings, index)
    found = rankers(index, WordSearch(index, instruments.patterns), by_meaning)
    async with anyio.create_task_group() as tasks:
        await index.settled()
        if meanings is not None:
            tasks.start_soon(meanings.run)
            while meanings.missing and not meanings.trouble:  # noqa: ASYNC110 - see there
                await anyio.sleep(_LOOKED_AFTER)
        yield SetSearch(Searching(catalogs, settings, found, limits=Limits()), index)
        tasks.cancel_scope.cancel()
