"""A data set's catalog with the real index, the real searches and the real meta-tools over it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache

from made import CLOCK
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
def instruments() -> Instruments:
    """Those of production. Vectors stay for the whole run: only what is new is embedded."""
    with open_parts(Settings(), observer=Deaf(), keys=KEYS) as parts:
        assert parts.instruments.meaning is not None, "install toolcrib[semantic]"
        return parts.instruments


@asynccontextmanager
async def searched(
    known: DataSet, *, usual: SearchMethod = "auto", meaning: bool = True
) -> AsyncGenerator[Searched]:
    """All tools of the set are in the index, and have their vectors, before it begins.

    `usual` is what the meta-tools search by; without `meaning` there are no vectors.
    """
    catalogs = SetCatalogs(known)
    tools = instruments() if meaning else replace(instruments(), meaning=None)
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
