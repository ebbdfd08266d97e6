"""How the parts of this room go together: what all principals share, and what each has alone."""

import json
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import anyio

from toolcrib.calls.call import Requester
from toolcrib.calls.calling import Calls
from toolcrib.calls.ledger.owners import Owners
from toolcrib.catalog.catalogs import Catalogs
from toolcrib.catalog.server_catalogs import ServerCatalogs
from toolcrib.context.tokens import Costs
from toolcrib.core.exposure import Wanted
from toolcrib.core.naming import Style, expose
from toolcrib.core.partition import Principal
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.discovery.exposing.exposing import Exposing
from toolcrib.discovery.exposing.memory import ExposureMemory
from toolcrib.discovery.hits import ToolSearch
from toolcrib.discovery.index.keeping import ToolIndex
from toolcrib.discovery.index.ranking import WordSearch
from toolcrib.discovery.index.shared import SharedSegments
from toolcrib.discovery.instruments import Instruments, Meaning
from toolcrib.discovery.meta.meta_tools import MetaTools
from toolcrib.discovery.meta.seams import Surroundings
from toolcrib.discovery.rankers import rankers
from toolcrib.discovery.search import Searching
from toolcrib.discovery.semantic.hybrid import MeaningRanking
from toolcrib.discovery.semantic.keeping import MeaningIndex
from toolcrib.discovery.semantic.texts import TextVectors
from toolcrib.discovery.servers.enabled import EnabledSets
from toolcrib.discovery.servers.known import KnownServers
from toolcrib.discovery.servers.servers import Servers
from toolcrib.discovery.servers.tools import server_tools
from toolcrib.discovery.showing import Showing
from toolcrib.discovery.subagent.asking import Asking
from toolcrib.discovery.subagent.subagent import Subagent
from toolcrib.ports import (
    Clock,
    EntryStore,
    Keys,
    Observer,
)
from toolcrib.settings import Settings


@dataclass(frozen=True, slots=True)
class Tools:
    """The ports that this room shares with others."""

    entries: EntryStore
    keys: Keys
    clock: Clock
    observer: Observer


@dataclass(frozen=True, slots=True, eq=False)
class Discovery:
    """What one principal is shown, and finds the rest with."""

    search: ToolSearch
    meta: MetaTools
    enabling: Servers
    """It says, too, what servers say of themselves."""
    exposing: Exposing
    """As configured."""
    showing: Showing
    costs: Costs
    work: tuple[Callable[[], Coroutine[Any, Any, None]], ...]
    """What has to run beside it, each until it is cancelled."""

    async def run(self) -> None:
        """All the work, until it is cancelled."""
        async with anyio.create_task_group() as tasks:
            for each in self.work:
                tasks.start_soon(each)


class Discovering:
    """Makes the `Discovery` of principals over one configuration.

    Args:
        settings: As at the start; `configure` takes over which servers and skills there are later.
        instruments: What it is done with.
        tools: Ports of others.
        launch: The keyed digest of how a server is launched now, by its id.
        end: Ends the connection of catalogs that were taken out, unless others live on it.
    """

    def __init__(
        self,
        settings: Settings,
        instruments: Instruments,
        tools: Tools,
        *,
        launch: Callable[[str], str],
        end: Callable[[ServerCatalogs], Awaitable[None]],
    ) -> None:
        self._settings = settings
        self._instruments = instruments
        self._tools = tools
        self._launch = launch
        self._end = end
        self._lexicon = Lexicon(instruments.stem)
        self._shared = SharedSegments()
        self._costs = Costs(instruments.counter)
        self._texts = _texts(instruments.meaning)
        self._asking = self._made_asking()
        self._made: list[tuple[Discovery, ToolIndex]] = []

    def configure(self, settings: Settings) -> None:
        """Takes over which servers and skills there are."""
        for discovery, index in self._made:
            discovery.enabling.configure(settings)
            for server in settings.servers:  # any may be described otherwise now
                index.reread(server.id)

    def discovery(self, principal: Principal, catalogs: Catalogs, calls: Calls) -> Discovery:
        """What a principal finds tools with; once per principal. Its `run` has to run beside it."""
        settings, tools = self._settings, self._tools
        gateway, limits = settings.gateway, settings.limits
        exposed = partial(_exposed, style=gateway.names, limit=limits.name_length)
        servers = Servers(
            settings,
            catalogs=catalogs,
            sets=EnabledSets(
                tools.entries,
                keys=tools.keys,
                clock=tools.clock,
                lifetime=settings.dynamic.enabled_seconds,
                callers=limits.handles,
            ),
            known=KnownServers(
                tools.entries,
                keys=tools.keys,
                clock=tools.clock,
                principal=principal,
                launch=self._launch,
            ),
            clock=tools.clock,
            end=self._end,
        )
        search, index, work = self._search(principal, catalogs, servers)
        meta = MetaTools(
            Surroundings(
                search=search,
                introduced=servers,
                enabling=servers,
                access=catalogs,
                naming=calls.names,
                exposed=exposed,
                on_demand=lambda: servers.on_demand,
                sights=calls.ledger,
                limits=limits,
            ),
            servers=server_tools(servers, exposed=exposed, limits=limits),
        )
        exposing = cache(partial(self._exposing, principal, index.wake))
        showing = Showing(
            catalogs,
            servers,
            meta,
            exposing,
            wanted=gateway.exposure,
            style=gateway.names,
            limit=limits.name_length,
        )
        made = Discovery(
            search=search,
            meta=meta,
            enabling=servers,
            exposing=exposing(gateway.exposure),
            showing=showing,
            costs=self._costs,
            work=(servers.run, *work),
        )
        self._made.append((made, index))
        return made

    def _search(
        self, principal: Principal, catalogs: Catalogs, servers: Servers
    ) -> tuple[ToolSearch, ToolIndex, tuple[Callable[[], Coroutine[Any, Any, None]], ...]]:
        """The search, its index, and what has to run beside it."""
        meaning = self._instruments.meaning
        meanings = None
        if meaning is not None and self._texts is not None:
            meanings = MeaningIndex(self._texts, meaning.index())
        index = ToolIndex(
            catalogs,
            self._lexicon,
            introduced=servers,
            partition=Owners(self._tools.keys, "segments").principal(Requester(principal)),
            shared=self._shared,
            followers=() if meanings is None else (meanings,),
        )
        words = WordSearch(index, self._instruments.patterns)
        by_meaning = None if meanings is None else MeaningRanking(meanings, index)
        search = Searching(
            catalogs,
            self._settings.search,
            rankers(index, words, by_meaning),
            subagent=None if self._asking is None else Subagent(self._asking),
            limits=self._settings.limits,
            style=self._settings.gateway.names,
        )
        return search, index, (index.run,) if meanings is None else (index.run, meanings.run)

    def _exposing(
        self, principal: Principal, hidden: Callable[[], None], wanted: Wanted
    ) -> Exposing:
        settings, tools = self._settings, self._tools
        exposure = settings.exposure
        memory = ExposureMemory(
            tools.entries,
            keys=tools.keys,
            principal=principal,
            scope=json.dumps(
                [exposure.window, exposure.share, exposure.above, exposure.token_factor]
            ),
            servers=[self._launch(it.id) for it in settings.servers if not it.disabled],
            clock=tools.clock,
        )
        return Exposing(
            wanted,
            exposure,
            counter=self._instruments.counter,
            memory=memory,
            observer=tools.observer,
            hidden=hidden,
        )

    def _made_asking(self) -> Asking | None:
        model, settings = self._instruments.model, self._settings.search.subagent
        if model is None or settings is None:
            return None
        return Asking(model, settings, clock=self._tools.clock, observer=self._tools.observer)


def _texts(meaning: Meaning | None) -> TextVectors | None:
    return None if meaning is None else TextVectors(meaning.embedder, meaning.vectors)


def _exposed(server: str, key: str, *, style: Style, limit: int) -> str:
    return expose(server, key, style=style, limit=limit)
