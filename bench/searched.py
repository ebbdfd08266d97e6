"""A data set's catalog with the real index, the real searches and the real meta-tools over it."""

import atexit
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from made import CLOCK
from toolcrib.adapters.sqlite.store import open_store
from toolcrib.adapters.store.memory_entries import MemoryEntries
from toolcrib.calls.ledger.ledger import Ledger
from toolcrib.calls.names import Names
from toolcrib.compose import open_parts
from toolcrib.config.keys import InstallationKey
from toolcrib.core.naming import expose
from toolcrib.crib import Deaf
from toolcrib.discovery.evaluation.catalogs import SetCatalogs
from toolcrib.discovery.evaluation.searching import Introducing, searching
from toolcrib.discovery.evaluation.tasks import DataSet
from toolcrib.discovery.instruments import Instruments
from toolcrib.discovery.meta.meta_tools import MetaTools
from toolcrib.discovery.meta.seams import Surroundings
from toolcrib.discovery.searchers import Searcher
from toolcrib.gateway.discovering import undiscovered
from toolcrib.settings import Limits, SearchMethod, SearchSettings, Settings

LIMITS = Limits()
KEYS = InstallationKey(b"k" * 32)


@dataclass(frozen=True, slots=True)
class Searched:
    """One catalog, and everything that finds its tools."""

    catalogs: SetCatalogs
    ready: Searcher
    meta: MetaTools


@cache
def instruments(vectors: Path | None = None) -> Instruments:
    """Those of production. Vectors stay for the whole run: only what is new is embedded.

    With a file for `vectors`, they stay for later runs, too.
    """
    with open_parts(Settings(), observer=Deaf(), keys=KEYS) as parts:
        found = parts.instruments
    assert found.meaning is not None, "install toolcrib[semantic]"
    if vectors is None:
        return found
    store = open_store(str(vectors), CLOCK, Deaf())
    atexit.register(store.close)
    return replace(found, meaning=replace(found.meaning, vectors=store.vectors))


@asynccontextmanager
async def searched(
    known: DataSet,
    *,
    usual: SearchMethod = "auto",
    meaning: bool = True,
    vectors: Path | None = None,
) -> AsyncGenerator[Searched]:
    """All tools of the set are in the index, and have their vectors, before it begins.

    `usual` is what the meta-tools search by; without `meaning` there are no vectors; `vectors` is a
    file that keeps them.
    """
    catalogs = SetCatalogs(known)
    tools = instruments(vectors)
    if not meaning:
        tools = replace(tools, meaning=None)
    async with searching(catalogs, tools, SearchSettings(usual)) as ready:
        yield Searched(catalogs, ready, meta_tools(catalogs, ready))


def meta_tools(catalogs: SetCatalogs, ready: Searcher) -> MetaTools:
    """The meta-tools over that search."""
    ledger = Ledger(MemoryEntries(CLOCK), keys=KEYS, clock=CLOCK, limits=LIMITS)
    length = LIMITS.name_length
    around = Surroundings(
        search=ready.search,
        introduced=Introducing(catalogs),
        enabling=undiscovered(catalogs).enabling,
        access=catalogs,
        naming=Names(catalogs, ledger, style="qualified", limit=length),
        exposed=lambda server, key: expose(server, key, style="qualified", limit=length),
        on_demand=lambda: (),
        sights=ledger,
        limits=LIMITS,
    )
    return MetaTools(around)
