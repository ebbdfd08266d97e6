"""The search that principals have, over the catalog of a data set."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from toolcrib.discovery.evaluation.catalogs import SetCatalogs
from toolcrib.discovery.instruments import Instruments
from toolcrib.discovery.searchers import Searcher, Searchers
from toolcrib.settings import Limits, SearchSettings


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
) -> AsyncGenerator[Searcher]:
    """A search over these catalogs, kept up to date for as long as it is open.

    All tools are in its indexes at the start. There is no small model to choose: `subagent` falls
    back as it does where none is configured.
    """
    searcher = Searchers(instruments, settings, limits=Limits()).over(
        catalogs, Introducing(catalogs)
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(searcher.run)
        await searcher.caught_up()
        yield searcher
        tasks.cancel_scope.cancel()
