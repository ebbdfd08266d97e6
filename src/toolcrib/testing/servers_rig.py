"""Servers on demand in front of scripted ones, as one process of a crib has them."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from toolcrib.adapters.stemming import EnglishStemmer
from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.calls.call import Requester
from toolcrib.catalog.catalogs import Catalogs
from toolcrib.catalog.server_catalogs import ServerCatalogs
from toolcrib.config.keys import InstallationKey
from toolcrib.core.naming import expose
from toolcrib.core.partition import LOCAL, Principal
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.crib import Crib
from toolcrib.discovery.servers.enabled import EnabledSets
from toolcrib.discovery.servers.known import KnownServers
from toolcrib.discovery.servers.offers import OfferSearch
from toolcrib.discovery.servers.servers import Servers
from toolcrib.discovery.servers.tools import server_tools
from toolcrib.ports import EntryStore
from toolcrib.settings import DynamicSettings, ServerSettings, Settings, Skill
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_crib import ScriptedWorld, scripted_crib, server_settings

KEYS = InstallationKey(b"k" * 32)


class ServersRig:
    """The servers of one principal in a running crib, and the tools over them."""

    def __init__(
        self,
        crib: Crib,
        world: ScriptedWorld,
        settings: Settings,
        principal: Principal,
        entries: EntryStore,
    ) -> None:
        self.crib = crib
        self.world = world
        self.settings = settings
        self.entries = entries
        self.catalogs: Catalogs = crib.catalogs(principal)
        self.ended: list[str] = []
        """Servers whose catalogs were taken out."""
        self.sets = EnabledSets(
            entries,
            keys=KEYS,
            clock=world.clock,
            lifetime=settings.dynamic.enabled_seconds,
            callers=settings.limits.handles,
        )
        self.servers = Servers(
            settings,
            catalogs=self.catalogs,
            sets=self.sets,
            known=KnownServers(
                entries,
                keys=KEYS,
                clock=world.clock,
                principal=principal,
                launch=lambda server: f"launch of {server}",
            ),
            clock=world.clock,
            end=self._end,
            exposed=expose,
        )
        self.tools = server_tools(
            self.servers,
            OfferSearch(Lexicon(EnglishStemmer())),
            exposed=expose,
            limits=settings.limits,
        )
        """The meta-tools over them."""
        self._by_name = {tool.definition["name"]: tool for tool in self.tools}
        self.requester = Requester(principal)

    async def ask(self, tool: str, requester: Requester | None = None, /, **arguments: Any) -> str:
        """The text that a meta-tool answers."""
        result = await self._by_name[tool].call(arguments, requester or self.requester)
        text: str = result["content"][0]["text"]
        return text

    def start(self) -> None:
        """Runs what has to run beside the servers."""
        self.crib._tasks.start_soon(self.servers.run)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - as a crib does

    def sharing(self, principal: Principal) -> "ServersRig":
        """The servers of another principal in the same process."""
        rig = ServersRig(self.crib, self.world, self.settings, principal, self.entries)
        rig.start()
        return rig

    async def _end(self, gone: ServerCatalogs) -> None:
        self.ended.append(gone.server.id)
        await self.crib._holdings.end(gone)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - as a crib does


@asynccontextmanager
async def servers_rig(
    on_demand: Mapping[str, ScriptedUpstream],
    ordinary: Mapping[str, ScriptedUpstream] | None = None,
    *,
    configured: Mapping[str, Mapping[str, Any]] | None = None,
    skills: tuple[Skill, ...] = (),
    dynamic: DynamicSettings | None = None,
    store: MemoryStore | None = None,
    entries: EntryStore | None = None,
    principal: Principal = LOCAL,
) -> AsyncGenerator[ServersRig]:
    """One process, with these servers on demand and these ordinary ones.

    Args:
        on_demand: Scripts by server id.
        ordinary: Scripts of servers that are always there.
        configured: Fields of the settings of single servers.
        skills: The configured skills.
        dynamic: Times of servers on demand.
        store: The memory that several processes share.
        entries: In place of the store's own entries.
        principal: Whose servers they are.
    """
    given = configured or {}
    always = ordinary or {}
    plain = {name: server_settings(name, **given.get(name, {})) for name in always}
    async with scripted_crib(always, settings=plain, store=store) as (crib, world):
        for name, script in on_demand.items():
            world.servers.add(name, script)
        everything: tuple[ServerSettings, ...] = (
            *plain.values(),
            *(server_settings(it, on_demand=True, **given.get(it, {})) for it in on_demand),
        )
        settings = Settings(servers=everything, skills=skills, dynamic=dynamic or DynamicSettings())
        rig = ServersRig(crib, world, settings, principal, entries or world.store.entries)
        rig.start()
        yield rig
