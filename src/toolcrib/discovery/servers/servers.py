"""Which servers are there for the callers of one principal, where some are on demand.

What is connected is what any caller of the principal has enabled that this process knows of. What
is found and called is what the caller itself has enabled. What is listed is neither: only servers
that are not on demand (MCP 2026-07-28, tools: a listing does not depend on earlier requests).
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final

import anyio

from toolcrib.calls.call import Requester
from toolcrib.catalog.access import PublishedChange
from toolcrib.catalog.catalogs import Catalogs
from toolcrib.catalog.server_catalogs import ServerCatalogs
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.seams import not_enabled
from toolcrib.discovery.servers.belonging import Belonging
from toolcrib.discovery.servers.connections import BUSY, Connections
from toolcrib.discovery.servers.enabled import EnabledSets
from toolcrib.discovery.servers.given_back import GivenBack
from toolcrib.discovery.servers.known import Known, KnownServers
from toolcrib.discovery.servers.offers import Offer
from toolcrib.errors import NotAllowed
from toolcrib.ports import Clock
from toolcrib.settings import Settings, Skill

_log = logging.getLogger(__name__)

_FOREVER: Final = float("inf")
_UNSURE: Final = (
    "The memory of enabled servers cannot be asked now: one that was enabled may be missing."
)
_FAILED: Final = 60.0
"""Seconds after which is tried again what failed for a reason that nobody foresaw."""
_SOONEST: Final = 0.1
"""Seconds that pass at least between two looks at idle connections: times are not exact."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a server stands after somebody enabled it."""

    server: str
    on_demand: bool
    tools: tuple[str, ...] | None
    """The names that its tools have there; None: they are not known yet."""
    trouble: str = ""
    """Why it is not connected; empty when it is, or when that takes longer than was waited."""
    connected: bool = False


class Servers:
    """Implements `Enabling` and `Introduced`; `run` has to run beside it.

    Args:
        settings: As at the start; `configure` takes over later ones.
        catalogs: Those of the principal, without servers on demand.
        sets: What its callers enabled.
        known: What is remembered of servers.
        clock: Of the process.
        end: Ends the connection of catalogs that were taken out, unless others live on it.
        exposed: (server, original name) -> exposed name.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        catalogs: Catalogs,
        sets: EnabledSets,
        known: KnownServers,
        clock: Clock,
        end: Callable[[ServerCatalogs], Awaitable[None]],
        exposed: Callable[[str, str], str],
    ) -> None:
        self._catalogs = catalogs
        self._sets = sets
        self._known = known
        self._belonging = Belonging(known, exposed)
        self._connections = Connections(catalogs, end, clock)
        self._clock = clock
        self._given_back = GivenBack()
        self._learned: set[str] = set()
        """Servers whose tools were published since they were last remembered."""
        self._failures: dict[str, str] = {}
        """Why a server could not be reached when it was last closed."""
        self._woken = anyio.Event()
        self.configure(settings)

    def configure(self, settings: Settings) -> None:
        """Takes over which servers and skills there are; what is connected is `crib.apply`'s."""
        self._idle = settings.dynamic.idle_seconds
        there = {server.id: server for server in settings.servers if not server.disabled}
        self._listed = tuple(sorted(each.id for each in there.values() if not each.on_demand))
        self._on_demand = {each.id: each for each in there.values() if each.on_demand}
        self._described = {each.id: each.description for each in there.values()}
        self._skills = {skill.name: skill for skill in settings.skills}
        self._wake()

    # ---- Enabling ----

    @property
    def dynamic(self) -> bool:
        """Whether any server is configured on demand."""
        return bool(self._on_demand)

    def listed(self) -> Collection[str]:
        """The servers that are not on demand."""
        return self._listed

    @property
    def unsure(self) -> str:
        """Why a server may be missing that this caller enabled elsewhere; mostly empty."""
        return _UNSURE if self._on_demand and self._sets.unsure else ""

    async def to_enable(self, requester: Requester, name: str) -> Collection[str]:
        """The servers on demand that an exposed name is of and that this caller has not enabled.

        Either the name says so itself, or one of them had such a tool when it was last connected.
        """
        if not self._on_demand:
            return ()
        await self._known.look()
        mine = await self._enabled(requester)
        return [it for it in self._on_demand if it not in mine and self._belonging.has(it, name)]

    async def searchable(self, requester: Requester) -> Collection[str]:
        """The listed servers, and those that this caller has enabled.

        What another process enabled for it is opened here; its tools are waited for once.
        """
        if not self._on_demand:
            return self._listed
        mine = await self._enabled(requester)
        opened = [server for server in mine if self._open(server)]
        if opened:
            await self._connections.read(opened, connected=False)
        return (*self._listed, *mine)

    async def need(self, requester: Requester, server: str) -> None:
        """Have an enabled server connected, as far as it can be reached in `cold_wait`.

        Raises:
            NotAllowed: It is on demand, and this caller has not enabled it.
        """
        if server not in self._on_demand:
            return
        if not await self._sets.use(requester, server):
            raise NotAllowed(not_enabled(server), server=server)
        if self._open(server):
            await self._connections.read((server,), connected=True)
            return
        self._connections.use(server)
        if not self._connections.is_up(server):
            await self._connections.reach(server)

    # ---- what callers decide ----

    async def enable(self, requester: Requester, servers: Iterable[str]) -> tuple[Standing, ...]:
        """Enable servers for a caller, and connect to them now, waiting at most `cold_wait`.

        Servers that are there anyway are only connected, at once where an attempt was put off.
        KeyError for an id that is not configured.

        Raises:
            NotAllowed: Nothing tells this caller from others.
        """
        chosen = tuple(dict.fromkeys(servers))
        wanted = [server for server in chosen if server in self._on_demand]
        if wanted:
            await self._sets.add(requester, wanted)
        for server in wanted:
            self._given_back.drop(server)
            self._open(server)
        # A server that is being launched anew just now is left out.
        there = [server for server in chosen if self._connections.is_open(server)]
        for server in there:
            self._connections.hurry(server)
        await self._connections.read(there, connected=True)
        return tuple(self._standing(server) for server in chosen)

    async def disable(self, requester: Requester, server: str) -> bool:
        """Take back that a caller enabled a server; whether it had.

        Its tools are gone for the caller at once. A connection that nobody else needs stays for
        `idle_seconds`, or until the conversation ends: then it is as it was for who enables it
        again.
        """
        had = await self._sets.drop(requester, server)
        if had:
            until = self._clock.now().mono + self._idle
            self._given_back.add(server, requester.handle, until)
        self._wake()
        return had

    def forget(self, requester: Requester) -> None:
        """The connection ended behind a handle that is not durable."""
        self._sets.forget(requester)
        if not requester.durable:
            self._given_back.forget(requester.handle)
        self._wake()

    # ---- what there is ----

    @property
    def on_demand(self) -> Collection[str]:
        """The ids of all servers on demand."""
        return self._on_demand.keys()

    @property
    def skills(self) -> Collection[str]:
        """The names of all skills."""
        return self._skills.keys()

    def skill(self, name: str) -> Skill | None:
        """The skill of that name."""
        return self._skills.get(name)

    @property
    def configured(self) -> Collection[str]:
        """The ids of all servers, on demand or not."""
        return self._described.keys()

    async def offers(self, requester: Requester) -> list[Offer]:
        """Everything that a caller can enable, or has enabled."""
        await self._known.look()
        mine = await self._enabled(requester)
        skills = [
            Offer(
                skill.name, skill.description, servers=skill.servers, enabled=self._has(skill, mine)
            )
            for skill in self._skills.values()
        ]
        return [
            *skills,
            *(self._offer(server, enabled=server in mine) for server in self._on_demand),
        ]

    def about(self, server: str) -> str:
        """What a server is for, as configured, or as it says of itself; empty for nothing."""
        if text := self._described.get(server, ""):
            return text
        if self._connections.is_open(server):
            facts = self._catalogs.status(server).facts
            if facts is not None and facts.instructions:
                return facts.instructions
        known = self._known.get(server)
        return "" if known is None else known.instructions

    def _has(self, skill: Skill, mine: Collection[str]) -> bool:
        wanted = [server for server in skill.servers if server in self._on_demand]
        return bool(wanted) and all(server in mine for server in wanted)

    def _offer(self, server: str, *, enabled: bool) -> Offer:
        tools, trouble = None, self._failures.get(server, "")
        if enabled and self._connections.is_open(server):
            standing = self._standing(server)
            tools, trouble = standing.tools, standing.trouble
        known = self._known.get(server)
        names = tools if tools is not None else () if known is None else known.names
        count = len(tools) if tools is not None else None if known is None else known.tools
        return Offer(server, self.about(server), count, names, enabled=enabled, trouble=trouble)

    def _standing(self, server: str) -> Standing:
        if not self._connections.is_open(server):
            return Standing(server, server in self._on_demand, None)
        held = self._catalogs.peek(server, Kind.TOOLS)
        tools = None if held.snapshot is None else tuple(item.key for item in held.snapshot.items)
        connected = self._connections.is_up(server)
        trouble = "" if connected and tools is not None else self._connections.trouble(server)
        return Standing(
            server,
            server in self._on_demand,
            tools,
            trouble or (held.trouble if tools is None else ""),
            connected,
        )

    async def _enabled(self, requester: Requester) -> tuple[str, ...]:
        mine = await self._sets.of(requester)
        return tuple(sorted(mine & self._on_demand.keys()))

    # ---- what is connected ----

    def _open(self, server: str) -> bool:
        """Has the catalogs of a server on demand there; whether they were not."""
        if self._connections.is_open(server):
            return False
        self._connections.open(self._on_demand[server])
        self._wake()
        return True

    def _wake(self) -> None:
        woken, self._woken = self._woken, anyio.Event()
        woken.set()

    async def run(self) -> None:
        """Ends what nobody has enabled any more or needed lately, and remembers what was learned.

        Runs until it is cancelled.
        """
        leave = self._catalogs.on_published(self._published)
        try:
            while True:
                woken = self._woken
                again = await self._tidy()
                if not await self._remember():
                    again = min(again, _FAILED)
                with anyio.move_on_after(max(_SOONEST, again)):
                    await woken.wait()
        finally:
            leave()

    async def _tidy(self) -> float:
        """When to look again, in seconds.

        Also where nothing is open: a server that was ordinary before may be, and no caller says so.
        """
        again = self._idle if self._on_demand else _FOREVER
        for server in sorted(self._on_demand.keys() & set(self._catalogs.server_ids())):
            try:
                again = min(again, await self._tidied(server))
            except Exception:  # noqa: BLE001 - a bug must cost neither the others nor us
                _log.exception("tidying the server %s broke", server)
                again = min(again, _FAILED)
        return again

    async def _tidied(self, server: str) -> float:
        """When to look at a server again, in seconds."""
        if server in self._sets.everybody():
            self._given_back.drop(server)
            return self._connections.rest(server, self._idle)
        left = self._given_back.left(server, self._clock.now().mono)
        if left and self._connections.is_up(server):
            return left
        return _FOREVER if await self._close(server) else BUSY

    async def _close(self, server: str) -> bool:
        self._failures[server] = self._connections.trouble(server)
        self._given_back.drop(server)
        return await self._connections.close(server)

    def _published(self, change: PublishedChange) -> None:
        if change.kind is Kind.TOOLS and change.server in self._on_demand:
            self._learned.add(change.server)
            self._wake()

    async def _remember(self) -> bool:
        """Whether all that was learned is remembered; what is not is tried again."""
        learned, self._learned = self._learned, set()
        for server in sorted(learned):
            try:
                await self._remembered(server)
            except Exception:  # noqa: BLE001 - as above
                _log.exception("remembering the server %s broke", server)
                self._learned.add(server)
        return not self._learned

    async def _remembered(self, server: str) -> None:
        if not self._connections.is_open(server):
            return  # it was closed, and is as it was
        standing, facts = self._standing(server), self._catalogs.status(server).facts
        said = "" if facts is None else facts.instructions
        known = None if standing.tools is None else Known.of(said, standing.tools)
        await self._known.learn(server, known)
