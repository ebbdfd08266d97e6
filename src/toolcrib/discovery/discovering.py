"""How the parts of this room go together: what all principals share, and what each has alone."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import anyio
from anyio.abc import TaskGroup

from toolcrib.calls.call import Requester
from toolcrib.calls.calling import Calls
from toolcrib.calls.ledger.owners import Owners
from toolcrib.catalog.catalogs import Catalogs
from toolcrib.catalog.server_catalogs import ServerCatalogs
from toolcrib.context.tokens import Costs
from toolcrib.core.exposure import Wanted
from toolcrib.core.naming import expose
from toolcrib.core.partition import Principal
from toolcrib.discovery.exposing.exposing import Exposing
from toolcrib.discovery.exposing.memory import ExposureMemory
from toolcrib.discovery.hits import ToolSearch
from toolcrib.discovery.instruments import Instruments
from toolcrib.discovery.meta.meta_tools import MetaTools
from toolcrib.discovery.meta.seams import ProgramTool, Surroundings
from toolcrib.discovery.seams import Enabling
from toolcrib.discovery.searchers import Searcher, Searchers
from toolcrib.discovery.servers.enabled import EnabledSets
from toolcrib.discovery.servers.known import KnownServers
from toolcrib.discovery.servers.offers import OfferSearch
from toolcrib.discovery.servers.servers import Servers
from toolcrib.discovery.servers.tools import server_tools
from toolcrib.discovery.showing import Showing
from toolcrib.discovery.subagent.asking import Asking
from toolcrib.ports import Clock, EntryStore, Keys, Observer
from toolcrib.settings import Settings

Making = Callable[[Catalogs, Calls, Enabling], Sequence[ProgramTool]]
"""Makes the tools that run programs over catalogs, calls, and the servers that a caller has."""


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

    searcher: Searcher
    meta: MetaTools
    enabling: Servers
    """It says, too, what servers say of themselves."""
    exposing: Exposing
    """As configured."""
    showing: Showing
    costs: Costs
    coding: bool
    """Whether hosts may be shown what runs programs, as configured."""

    @property
    def search(self) -> ToolSearch:
        """Finds tools."""
        return self.searcher.search

    def start(self, tasks: TaskGroup) -> None:
        """Has `run` run in a task group. What is asked in the same step finds it running."""
        self.searcher.tend()
        tasks.start_soon(self.run)

    async def run(self) -> None:
        """What has to run beside it, until it is cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.enabling.run)
            tasks.start_soon(self.searcher.run)


def shows_programs(settings: Settings) -> bool:
    """Whether hosts may be shown what runs programs, as configured."""
    exposure = settings.gateway.exposure
    return exposure == "code" or (exposure == "auto" and settings.exposure.above == "code")


class Discovering:
    """Makes the `Discovery` of principals over one configuration.

    Args:
        settings: As at the start; `configure` takes over which servers and skills there are later.
        instruments: What it is done with.
        tools: Ports of others.
        launch: The keyed digest of how a server is launched now, by its id.
        programs: Makes the tools that run programs, for one principal.
        end: Ends the connection of catalogs that were taken out, unless others live on it.
    """

    def __init__(
        self,
        settings: Settings,
        instruments: Instruments,
        tools: Tools,
        *,
        launch: Callable[[str], str],
        programs: Making,
        end: Callable[[ServerCatalogs], Awaitable[None]],
    ) -> None:
        self._settings = settings
        self._instruments = instruments
        self._tools = tools
        self._launch = launch
        self._programs = programs
        self._end = end
        self._costs = Costs(instruments.counter)
        self._searchers = Searchers(
            instruments,
            settings.search,
            limits=settings.limits,
            style=settings.gateway.names,
            asking=self._asking(),
        )
        self._offers = OfferSearch(self._searchers.lexicon)
        self._made: list[Discovery] = []

    def configure(self, settings: Settings) -> None:
        """Takes over which servers and skills there are, for later principals too."""
        self._settings = self._settings.with_servers_of(settings)
        for discovery in self._made:
            discovery.enabling.configure(self._settings)
            for server in settings.servers:  # any may be described otherwise now
                discovery.searcher.index.reread(server.id)

    def discovery(self, principal: Principal, catalogs: Catalogs, calls: Calls) -> Discovery:
        """What a principal finds tools with; once per principal. It has to be started."""
        settings, tools = self._settings, self._tools
        gateway, limits = settings.gateway, settings.limits
        exposed = partial(expose, style=gateway.names, limit=limits.name_length)
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
            exposed=exposed,
        )
        searcher = self._searchers.over(
            catalogs,
            servers,
            partition=Owners(tools.keys, "segments").principal(Requester(principal)),
        )
        programs = self._programs(catalogs, calls, servers)
        coding = shows_programs(settings)
        meta = MetaTools(
            Surroundings(
                search=searcher.search,
                introduced=servers,
                enabling=servers,
                access=catalogs,
                naming=calls.names,
                exposed=exposed,
                on_demand=lambda: servers.on_demand,
                sights=calls.ledger,
                limits=limits,
                speaking=programs[0].speaking if coding and programs else None,
            ),
            servers=server_tools(servers, self._offers, exposed=exposed, limits=limits),
            programs=programs,
        )
        exposing = cache(partial(self._exposing, principal, searcher.index.wake))
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
            searcher=searcher,
            meta=meta,
            enabling=servers,
            exposing=exposing(gateway.exposure),
            showing=showing,
            costs=self._costs,
            coding=coding,
        )
        self._made.append(made)
        return made

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
            costs=self._costs,
            memory=memory,
            observer=tools.observer,
            hidden=hidden,
        )

    def _asking(self) -> Asking | None:
        model, settings = self._instruments.model, self._settings.search.subagent
        if model is None or settings is None:
            return None
        return Asking(model, settings, clock=self._tools.clock, observer=self._tools.observer)
