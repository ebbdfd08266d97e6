"""The facade: every configured server behind one object, for as long as it is open."""

from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from itertools import chain
from typing import Any, Final
from uuid import uuid4

import anyio
from anyio.abc import TaskGroup

from toolcrib.calls.call import Requester, Seen, ToolCall
from toolcrib.calls.calling import Calling, Calls, Tools
from toolcrib.calls.results.clipping import clip
from toolcrib.calls.results.compact import compact
from toolcrib.calls.results.results import INPUT_REQUIRED
from toolcrib.catalog.approvals import Approvals
from toolcrib.catalog.catalogs import Catalogs
from toolcrib.catalog.keeper import Keeper, Surroundings
from toolcrib.catalog.published import PublishedHook
from toolcrib.catalog.server_catalogs import ServerCatalogs
from toolcrib.catalog.vetting import Vetting
from toolcrib.compose import Parts, open_parts
from toolcrib.config.keys import installation_key
from toolcrib.config.plan import Plan, plan
from toolcrib.core.freshness.record import Caller
from toolcrib.core.naming import expose
from toolcrib.core.partition import LOCAL, Partition, Principal, catalog_key
from toolcrib.core.snapshot import Item, Kind, Snapshot
from toolcrib.facts import Fact
from toolcrib.ports import ClientProfile, Observer, Progress
from toolcrib.settings import Relayed, ServerSettings, Settings
from toolcrib.upstreams.pool import Pool
from toolcrib.version import __version__

LEAVING: Final = 1.0
"""Seconds in which catalogs that were being listed are given back to the store at the end."""


_DECLARED: Final[Mapping[str, Any]] = {
    "elicitation": {"form": {}, "url": {}},
    "roots": {},
    "sampling": {},
}


def profile_of(relay: Iterable[Relayed]) -> ClientProfile:
    """What is declared to servers: everything that they may ask hosts for through us.

    It is the same for the gateway, the command line and the library, so that all of them share what
    is kept. Whether the caller of one request can answer is decided with the request.
    """
    allowed = {name: _DECLARED[name] for name in sorted(set(relay)) if name in _DECLARED}
    return ClientProfile(allowed, version=__version__)


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
        self._calling = Calling(
            settings,
            Tools(
                checker=parts.checker,
                entries=parts.entries,
                sealer=parts.sealer,
                keys=parts.keys,
                clock=parts.clock,
                observer=parts.observer,
            ),
            run=uuid4().hex,
            launch=self._launch,
        )
        self._calls: dict[Principal, Calls] = {}
        self._approvals = Approvals(parts.entries, keys=parts.keys, most=settings.limits.walk_items)
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
            profile: What is declared to servers on behalf of whoever is served; None: what the
                settings let servers ask for.
        """
        async with anyio.create_task_group() as tasks:
            crib = Crib(settings, parts, tasks, profile or profile_of(settings.gateway.relay))
            tasks.start_soon(parts.watch_store)
            try:
                async with crib._calling.running():
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

    def calls(self, principal: Principal = LOCAL) -> Calls:
        """What the calls of one verified caller go through."""
        found = self._calls.get(principal)
        if found is None:
            found = self._calls[principal] = self._calling.calls(self.catalogs(principal))
        return found

    async def call(
        self,
        tool: str | tuple[str, str],
        arguments: Mapping[str, Any] | None = None,
        *,
        requester: Requester = Requester(),  # noqa: B008 - frozen
        seen: str = "",
        progress: Progress | None = None,
        timeout: float | None = None,
        for_model: bool = False,
    ) -> dict[str, Any]:
        """The result of one call, through admission, policy and approval.

        Args:
            tool: Its exposed name, or its server and its own name there.
            arguments: None: the server is sent none.
            requester: Who calls, and how it can be asked: `ask` answers the questions of servers
                that its `capabilities` allow, and those of the policy.
            seen: The contract under which the caller saw the tool; empty: what is remembered.
            progress: Hears how the call goes on.
            timeout: Seconds; None: `call_seconds`.
            for_model: Whether it goes to a model as it is: then what it says twice, as structured
                content and as text, is there once, and what exceeds `clip_bytes` is cut, with a
                note that says where the whole is: see `read_result`.

        Returns:
            The server's `CallToolResult`, raw. `_meta` holds `dev.toolcrib/changes`, sentences,
            where the tools of the server changed meanwhile.

        Raises:
            ToolcribError: Why it was not made, or brought nothing; see `errors`.
        """
        calls = self.calls(requester.principal)
        if isinstance(tool, str):
            name = tool
            server, key = await calls.names.find(tool, requester)
        else:
            server, key = tool
            gateway, limit = self.settings.gateway, self.settings.limits.name_length
            name = expose(server, key, style=gateway.names, limit=limit)
        result = await calls.pipeline.call(
            ToolCall(
                name=name,
                server=server,
                key=key,
                arguments=arguments or {},
                requester=requester,
                seen=Seen(seen),
                progress=progress,
                timeout=timeout,
                bare=arguments is None,
            )
        )
        if not for_model or result.get("resultType") == INPUT_REQUIRED:
            return result
        keep = partial(calls.kept.keep, requester)
        return await clip(compact(result), self.settings.limits.clip_bytes, keep)

    async def read_result(
        self,
        uri: str,
        *,
        requester: Requester = Requester(),  # noqa: B008 - frozen
    ) -> dict[str, Any] | None:
        """A part of a result that was cut for a model: at most `clip_bytes` of it.

        Args:
            uri: `toolcrib://result/…`, from the note in the result, or from the one behind the part
                that was read before.
            requester: Whoever made the call; nobody else finds it.

        Returns:
            `{"contents": [part, note?]}`, as `resources/read` has it; None: nothing is kept under
            it, or not any more (`kept_seconds`, `kept_results`).

        Raises:
            StoreUnreachable: The store cannot be used now.
        """
        return await self.calls(requester.principal).kept.read(requester, uri)

    async def last_good(
        self, server: ServerSettings, kind: Kind, principal: Principal = LOCAL
    ) -> Snapshot | None:
        """What the store keeps of a catalog, however old; None when it keeps nothing."""
        answer = await self._parts.store.look(self._pid(server, kind, principal), Caller())
        return None if answer.view.body is None else answer.view.body.snapshot

    async def approve_definitions(self, server: str, items: Iterable[Item]) -> None:
        """Count these definitions of a server's tools as seen by a person, for everybody.

        Every process on the store shows them from then on; KeyError for an unknown id.

        Raises:
            StoreUnreachable: None of them is.
        """
        await self._approvals.approve(server, items)
        for catalogs in self._principals.values():
            await catalogs.server(server).vet(now=True)
        await self._parts.bus.publish(self._approvals.owner(server))

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
            observer=self._parts.observer,
            vetting=Vetting(
                self._approvals,
                server.id,
                clock=self._parts.clock,
                observer=self._parts.observer,
            ),
        )

    @staticmethod
    async def _leave(*keepers: Iterable[Keeper]) -> None:
        """Ends these keepers, within bounds and in spite of a cancellation."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(LEAVING):
            for keeper in chain(*keepers):
                await keeper.leave()

    def _launch(self, server: str) -> str:
        """The keyed digest of how a server is launched now; empty for an unknown one."""
        launches = (each.launch for each in self.settings.servers if each.id == server)
        launch = next(launches, None)
        return "" if launch is None else self._parts.keys.launch_digest(launch)

    def _pid(self, server: ServerSettings, kind: Kind, principal: Principal) -> str:
        keys = self._parts.keys
        partition = Partition(principal, self._profile.capability_class)
        return catalog_key(keys.secret(), keys.launch_digest(server.launch), kind, partition)

    def _hinted(self, pid: str | None) -> None:
        """Another replica or process says that a record may have changed; None: any of them."""
        for catalogs in self._principals.values():
            for server in map(catalogs.server, catalogs.server_ids()):
                if server.hinted(pid):
                    self._around.tasks.start_soon(partial(server.vet, now=True))
        if pid is not None:
            for keeper in self._keepers.get(pid, ()):
                keeper.hinted()
            return
        for keepers in self._keepers.values():
            for keeper in keepers:
                keeper.hinted()
