"""The catalogs of all principals, over one configuration and one pool of connections."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import partial
from itertools import chain
from typing import Final

import anyio

from toolcrib.catalog.approvals import Approvals
from toolcrib.catalog.catalogs import Catalogs
from toolcrib.catalog.keeper import Keeper, Surroundings
from toolcrib.catalog.published import PublishedHook
from toolcrib.catalog.server_catalogs import ServerCatalogs
from toolcrib.catalog.vetting import Vetting
from toolcrib.core.freshness.record import Caller
from toolcrib.core.partition import Partition, Principal, catalog_key
from toolcrib.core.snapshot import Item, Kind, Snapshot
from toolcrib.ports import ClientProfile, InvalidationBus, Keys
from toolcrib.settings import ServerSettings
from toolcrib.upstreams.pool import Pool
from toolcrib.upstreams.supervisor import Supervisor

LEAVING: Final = 1.0
"""Seconds in which catalogs that were being listed are given back to the store at the end."""


class Holdings:
    """Opens and closes the catalogs of principals; those of one are never another's.

    Args:
        servers: What is configured; servers on demand are opened by whoever needs them.
        around: What every keeper works with.
        pool: Where connections come from.
        keys: Of this installation.
        bus: Says when other replicas or processes changed something.
        approvals: What a person has seen of definitions.
        profile: What is declared to servers.
    """

    def __init__(
        self,
        servers: Iterable[ServerSettings],
        around: Surroundings,
        pool: Pool,
        *,
        keys: Keys,
        bus: InvalidationBus,
        approvals: Approvals,
        profile: ClientProfile,
    ) -> None:
        self._servers = tuple(servers)
        self._vetted = _vetted(self._servers)
        self._around = around
        self._pool = pool
        self._keys = keys
        self._approvals = approvals
        self._profile = profile
        self._principals: dict[Principal, Catalogs] = {}
        self._keepers: defaultdict[str, list[Keeper]] = defaultdict(list)
        self._bus = bus
        self._leave_bus = bus.subscribe(self._hinted)

    def catalogs(self, principal: Principal) -> Catalogs:
        """All catalogs of one verified caller."""
        found = self._principals.get(principal)
        if found is None:
            around = self._around
            found = self._principals[principal] = Catalogs(
                lambda server, hook: self._open_server(server, hook, principal),
                clock=around.clock,
                observer=around.observer,
                limits=around.limits,
            )
            for server in self._servers:
                if not server.disabled and not server.on_demand:
                    found.add(server)
        return found

    async def last_good(
        self, server: ServerSettings, kind: Kind, principal: Principal
    ) -> Snapshot | None:
        """What the store keeps of a catalog, however old; None when it keeps nothing."""
        answer = await self._around.store.look(self._pid(server, kind, principal), Caller())
        return None if answer.view.body is None else answer.view.body.snapshot

    async def approve(self, server: str, items: Iterable[Item]) -> None:
        """Count these definitions of a server's tools as seen by a person, for everybody.

        KeyError for an unknown id.

        Raises:
            StoreUnreachable: None of them is.
        """
        if all(it.id != server for it in self._servers):
            raise KeyError(server)
        await self._approvals.approve(server, items)
        for catalogs in self._principals.values():
            if server in catalogs.server_ids():
                await catalogs.server(server).vet(now=True)
        await self._bus.publish(self._approvals.owner(server))

    # ---- another configuration ----

    async def change(
        self,
        servers: Iterable[ServerSettings],
        *,
        removed: Collection[str],
        relaunched: Collection[ServerSettings],
        retuned: Collection[ServerSettings],
        added: Collection[ServerSettings],
    ) -> None:
        """Takes over other servers; a server that is launched anew comes back when it has ended.

        Of servers on demand only those are touched that are open, and only those are opened.
        """
        self._servers = tuple(servers)
        self._vetted = _vetted(self._servers)
        # A principal that comes while connections end is served from the new settings already.
        known = tuple(self._principals.values())
        again: list[tuple[Catalogs, ServerSettings]] = []
        retired: set[Supervisor] = set()
        for catalogs in known:
            there = set(catalogs.server_ids())
            again += [(catalogs, it) for it in relaunched if it.id in there or not it.on_demand]
            gone = there.intersection((*removed, *(it.id for it in relaunched)))
            retired |= {catalogs.remove(server).supervisor for server in sorted(gone)}
        for catalogs in known:
            there = set(catalogs.server_ids())
            for server in (*retuned, *added):
                if server.id in there:
                    catalogs.retune(server)
                elif not server.on_demand:
                    catalogs.add(server)
        await self._pool.close(*retired)
        await self._forget_closed()
        for catalogs, server in again:
            if server.id not in catalogs.server_ids():
                catalogs.add(server)

    async def end(self, gone: ServerCatalogs) -> None:
        """Ends the connection of catalogs that were taken out, unless others live on it."""
        there = (
            catalogs.server(server)
            for catalogs in self._principals.values()
            for server in catalogs.server_ids()
        )
        if all(other.supervisor is not gone.supervisor for other in there):
            await self._pool.close(gone.supervisor)
        await self._forget_closed()

    async def leave(self) -> None:
        """Gives back to the store what was being listed; nothing may be asked afterwards."""
        self._leave_bus()
        await _leave(chain(*self._keepers.values()))

    async def _forget_closed(self) -> None:
        await _leave(it for it in chain(*self._keepers.values()) if it.closed)
        for pid, keepers in tuple(self._keepers.items()):
            alive = [keeper for keeper in keepers if not keeper.closed]
            if alive:
                self._keepers[pid] = alive
            else:
                del self._keepers[pid]

    # ---- opening ----

    def _open_server(
        self, server: ServerSettings, hook: PublishedHook, principal: Principal
    ) -> ServerCatalogs:
        around = self._around
        supervisor = self._pool.supervisor(server, principal, self._profile)

        def make_keeper(kind: Kind, catalogs: ServerCatalogs) -> Keeper:
            pid = self._pid(server, kind, principal)
            keeper = Keeper(
                around,
                server,
                kind,
                pid,
                fetch=lambda cursor: catalogs.fetch(kind, cursor),
                tell=catalogs.published,
                want=supervisor.want,
            )
            self._keepers[pid].append(keeper)
            keeper.start(supervisor.begun)
            return keeper

        return ServerCatalogs(
            server,
            supervisor,
            make_keeper,
            hook=hook,
            clock=around.clock,
            limits=around.limits,
            observer=around.observer,
            vetting=Vetting(
                self._approvals, server.id, clock=around.clock, observer=around.observer
            ),
        )

    def _pid(self, server: ServerSettings, kind: Kind, principal: Principal) -> str:
        partition = Partition(principal, self._profile.capability_class)
        launch = self._keys.launch_digest(server.launch)
        return catalog_key(self._keys.secret(), launch, kind, partition)

    def _hinted(self, pid: str | None) -> None:
        """Another replica or process says that a record may have changed; None: any of them."""
        for catalogs in self._principals.values():
            for server in map(catalogs.server, self._vetted.intersection(catalogs.server_ids())):
                if server.hinted(pid):
                    self._around.tasks.start_soon(partial(server.vet, now=True))
        hinted = self._keepers.values() if pid is None else [self._keepers.get(pid, [])]
        for keepers in hinted:
            for keeper in keepers:
                keeper.hinted()


def _vetted(servers: Iterable[ServerSettings]) -> frozenset[str]:
    """Those whose definitions a person sees first: every change of any catalog asks for these."""
    return frozenset(server.id for server in servers if server.on_change == "ask")


async def _leave(keepers: Iterable[Keeper]) -> None:
    """Ends these keepers, within bounds and in spite of a cancellation."""
    with anyio.CancelScope(shield=True), anyio.move_on_after(LEAVING):
        for keeper in keepers:
            await keeper.leave()
