"""A search over a catalog that no server has: the one of a data set."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from toolcrib.compose import open_parts
from toolcrib.config.keys import InstallationKey
from toolcrib.crib import Deaf
from toolcrib.discovery.evaluation.catalogs import SetCatalogs
from toolcrib.discovery.evaluation.searching import searching
from toolcrib.discovery.evaluation.tasks import DataSet
from toolcrib.discovery.hits import ToolSearch
from toolcrib.settings import Settings

_NOTHING_SEALED = InstallationKey(bytes(32))
"""Parts want a key; nothing is kept, so it protects nothing."""


@asynccontextmanager
async def open_search(known: DataSet) -> AsyncGenerator[ToolSearch]:
    """What is installed searches it, as it would search the tools of servers; nothing is kept."""
    settings = Settings()
    with open_parts(settings, observer=Deaf(), keys=_NOTHING_SEALED) as parts:
        async with searching(SetCatalogs(known), parts.instruments, settings.search) as ready:
            yield ready.search
