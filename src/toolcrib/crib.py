"""The facade: every configured server behind one object, for as long as it is open."""

from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from itertools import chain
from typing import Final

import anyio
from anyio.abc import TaskGroup

from toolcrib.catalog.catalogs import Catalogs
from toolcrib.catalog.keeper import Keeper, Surroundings
from toolcrib.catalog.published import PublishedHook
from toolcrib.catalog.server_catalogs import ServerCatalogs
from toolcrib.compose import Parts, open_parts
from toolcrib.config.keys import installation_key
from toolcrib.config.plan import Plan, plan
from toolcrib.core.freshness.record import Caller
from toolcrib.core.partition import LOCAL, Partition, Principal, catalog_key
from toolcrib.core.snapshot import Kind, Snapshot
from toolcrib.facts import Fact
from toolcrib.ports import ClientProfile, Observer
from toolcrib.settings import ServerSettings, Settings
from toolcrib.upstreams.pool import Pool

LEAVING: Final = 1.0
"""Seconds in which catalogs that were being listed are given back to the store at the end."""


class Deaf:
    """An observer for those who want only answers."""

    def note(self, fact: Fact) -> None:
        """Drops the fact."""


class Crib:
    """Keeps the catalogs of every configured server true, and forwards calls to them.

    Open one with `Crib.open`; what it starts (processes, connections, walks) ends with the context.
    """

    def __init__(
        self, settings: Settings, parts: Parts, tasks: TaskGroup, profile: ClientProfile
    ) -> None:
        self.settings = settings
        self._parts = parts
        self._profile = profile
        self._around = Surroundings(
            tasks=tasks,
            clock=parts.clock,
            observer=parts.observer,
            store=parts.store,
            limits=settings.limits,
        )
        self._pool = Pool(
            tasks,
            connector=parts.connector,
            store=parts.store,
            keys=parts.keys,
            clock=parts.clock,
            observer=parts.observer,
            limits=settings.limits,
        )
        self._principals: dict[Principal, Catalogs] = {}
        self._keepers: defaultdict[str, list[Keeper]] = defaultdict(list)
        self._leave_bus = parts.bus.subscribe(self._hinted)

    @staticmethod
    @asynccontextmanager
    async def open(
        settings: Settings, parts: Parts, *, profile: ClientProfile | None = None
    ) -> AsyncGenerator["Crib"]:
        """A crib over these settings; on leaving, every process and connection of it is gone.

        Args:
            settings: Which servers, and how they are kept.
            parts: From `compose.open_parts`, or a test's own.
            profile: What is declared to servers on behalf of whoever is served.
        """
        async with anyio.create_task_group() as tasks:
            crib = Crib(settings, parts, tasks, profile or ClientProfile())
            tasks.start_soon(parts.watch_store)
            try:
                yield crib
            finally:
                crib._leave_bus()
                await crib._leave(*crib._keepers.values())
                tasks.cancel_scope.cancel()

    @staticmethod
    @asynccontextmanager
    async def start(
        settings: Settings, *, observer: Observer | None = None
    ) -> AsyncGenerator["Crib"]:
        """A crib on this system: real transports, the configured store, this installation's key.

        Args:
            settings: From `load_settings`, or built by hand.
            observer: Takes facts; None drops them.
        """
        keys, _ = installation_key()
        with open_parts(settings, observer=observer or Deaf(), keys=keys) as parts:
            async with Crib.open(settings, parts) as crib:
                yield crib

    def catalogs(self, principal: Principal = LOCAL) -> Catalogs:
        """All catalogs of one verified caller."""
        found = self._principals.get(principal)
        if found is None:
            found = self._principals[principal] = Catalogs(
                lambda server, hook: self._open_server(server, hook, principal),
                clock=self._parts.clock,
                observer=self._parts.observer,
                limits=self.settings.limits,
            )
            for server in self.settings.servers:
                if not server.disabled:
                    found.add(server)
        return found

    async def last_good(
        self, server: ServerSettings, kind: Kind, principal: Principal = LOCAL
    ) -> Snapshot | None:
        """What the store keeps of a catalog, however old; None when it keeps nothing."""
        answer = await self._parts.store.look(self._pid(server, kind, principal), Caller())
        return None if answer.view.body is None else answer.view.body.snapshot

    async def apply(self, settings: Settings) -> Plan:
        """Takes over another configuration; connections whose launch is unchanged stay up.

        What needs no new connection holds at once. A server that is launched anew comes back when
        its old process or session is gone.
        What it changes beside the servers (`Plan.elsewhere`) holds from the next start on.
        """
        change = plan(self.settings, settings)
        self.settings = settings
        # A principal that comes while connections end is served from the new settings already.
        known = tuple(self._principals.values())
        retired = {
            catalogs.remove(server).supervisor
            for catalogs in known
            for server in (*change.removed, *(each.id for each in change.relaunched))
        }
        for catalogs in known:
            for server in change.retuned:
                catalogs.retune(server)
            for server in change.added:
                catalogs.add(server)
        await self._pool.close(*retired)
        await self._leave(it for it in chain(*self._keepers.values()) if it.closed)
        self._keepers = defaultdict(
            list,
            {
                pid: alive
                for pid, keepers in self._keepers.items()
                if (alive := [keeper for keeper in keepers if not keeper.closed])
            },
        )
        for catalogs in known:
            for server in change.relaunched:
                catalogs.add(server)
        return change

    def _open_server(
        self, server: ServerSettings, hook: PublishedHook, principal: Principal
    ) -> ServerCatalogs:
        supervisor = self._pool.supervisor(server, principal, self._profile)

        def make_keeper(kind: Kind, catalogs: ServerCatalogs) -> Keeper:
            pid = self._pid(server, kind, principal)
            keeper = Keeper(
                self._around,
                server,
                kind,
                pid,
                fetch=lambda cursor: catalogs.fetch(kind, cursor),
                tell=catalogs.published,
                want=supervisor.want,
            )
            self._keepers[pid].append(keeper)
            keeper.start()
            return keeper

        return ServerCatalogs(
            server,
            supervisor,
            make_keeper,
            hook=hook,
            clock=self._parts.clock,
            limits=self.settings.limits,
        )

    @staticmethod
    async def _leave(*keepers: Iterable[Keeper]) -> None:
        """Ends these keepers, within bounds and in spite of a cancellation."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(LEAVING):
            for keeper in chain(*keepers):
                await keeper.leave()

    def _pid(self, server: ServerSettings, kind: Kind, principal: Principal) -> str:
        keys = self._parts.keys
        partition = Partition(principal, self._profile.capability_class)
        return catalog_key(keys.secret(), keys.launch_digest(server.launch), kind, partition)

    def _hinted(self, pid: str | None) -> None:
        """Another replica or process says that a record may have changed; None: any of them."""
        if pid is not None:
            for keeper in self._keepers.get(pid, ()):
                keeper.hinted()
            return
        for keepers in self._keepers.values():
            for keeper in keepers:
                keeper.hinted()
