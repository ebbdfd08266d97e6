"""The facade: every configured server behind one object, for as long as it is open."""

from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final, get_args
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
from toolcrib.catalog.holdings import Holdings
from toolcrib.catalog.keeper import Surroundings
from toolcrib.codemode import coding
from toolcrib.codemode.coding import Coding
from toolcrib.codemode.programs import Programs, Source
from toolcrib.codemode.ran import Ran
from toolcrib.codemode.run_code import RunCode
from toolcrib.compose import Parts, open_parts
from toolcrib.config.keys import installation_key
from toolcrib.config.plan import Plan, plan
from toolcrib.context.toolset import Toolset
from toolcrib.core.naming import Present, expose
from toolcrib.core.partition import LOCAL, Principal
from toolcrib.core.snapshot import Item, Kind, Snapshot
from toolcrib.discovery import discovering
from toolcrib.discovery.conversing import Conversing
from toolcrib.discovery.discovering import Discovering, Discovery
from toolcrib.discovery.seams import Enabling
from toolcrib.discovery.unavailable import not_enabled
from toolcrib.errors import ConfigError, ToolGone
from toolcrib.facts import Fact
from toolcrib.ports import ClientProfile, Observer, Progress
from toolcrib.settings import Exposure, Language, Relayed, ServerSettings, Settings
from toolcrib.upstreams.pool import Pool
from toolcrib.version import __version__

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


@contextmanager
def _noting(left: list[BaseException]) -> Generator[None]:
    """Add the error that leaves the block."""
    try:
        yield
    except BaseException as error:
        left.append(error)
        raise


class Crib:
    """Keeps the catalogs of every configured server true, and forwards calls to them.

    Open one with `Crib.open`; what it starts (processes, connections, walks) ends with the context.
    """

    def __init__(
        self, settings: Settings, parts: Parts, tasks: TaskGroup, profile: ClientProfile
    ) -> None:
        self.settings = settings
        self._parts = parts
        self._tasks = tasks
        self._holdings = Holdings(
            settings.servers,
            Surroundings(
                tasks=tasks,
                clock=parts.clock,
                observer=parts.observer,
                store=parts.store,
                limits=settings.limits,
            ),
            Pool(
                tasks,
                connector=parts.connector,
                store=parts.store,
                keys=parts.keys,
                clock=parts.clock,
                observer=parts.observer,
                limits=settings.limits,
            ),
            keys=parts.keys,
            bus=parts.bus,
            approvals=Approvals(parts.entries, keys=parts.keys, most=settings.limits.walk_items),
            profile=profile,
        )
        run = uuid4().hex
        self._coding = Coding(
            settings,
            coding.Tools(
                sandboxes=parts.sandboxes,
                entries=parts.entries,
                sealer=parts.sealer,
                keys=parts.keys,
                clock=parts.clock,
                observer=parts.observer,
            ),
            run=run,
        )
        self._coded: dict[Catalogs, Programs] = {}
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
            run=run,
            launch=self._launch,
        )
        self._calls: dict[Principal, Calls] = {}
        self._discovering = Discovering(
            settings,
            parts.instruments,
            discovering.Tools(
                entries=parts.entries,
                keys=parts.keys,
                clock=parts.clock,
                observer=parts.observer,
            ),
            launch=self._launch,
            programs=self._programs,
            end=self._holdings.end,
        )
        self._discoveries: dict[Principal, Discovery] = {}

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

        An error that leaves the block leaves it as it is, in no group, if nothing else failed.
        """
        declared = profile or profile_of(settings.gateway.relay)
        left: list[BaseException] = []
        try:
            async with aclosing(parts.sandboxes), anyio.create_task_group() as tasks:
                crib = Crib(settings, parts, tasks, declared)
                tasks.start_soon(parts.watch_store)
                try:
                    async with crib._calling.running():
                        with _noting(left):
                            yield crib
                finally:
                    await crib._holdings.leave()
                    tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            _, others = group.split(lambda error: any(error is it for it in left))
            if others is None:
                raise left[0] from left[0].__cause__
            raise

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
        return self._holdings.catalogs(principal)

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
            server, key = await self._meant(calls, tool, requester)
        else:
            server, key = tool
            gateway, limit = self.settings.gateway, self.settings.limits.name_length
            name = expose(server, key, style=gateway.names, limit=limit)
        if any(it.on_demand and it.id == server for it in self.settings.servers):
            await self.discovery(requester.principal).enabling.need(requester, server)
        result = await calls.pipeline.call(
            ToolCall(
                name=name,
                server=server,
                key=key,
                arguments=arguments or {},
                requester=requester,
                seen=Seen(seen),
                meta=requester.trace,
                progress=progress,
                timeout=timeout,
                bare=arguments is None,
            )
        )
        if not for_model or result.get("resultType") == INPUT_REQUIRED:
            return result
        keep = partial(calls.kept.keep, requester)
        return await clip(compact(result), self.settings.limits.clip_bytes, keep)

    async def _meant(self, calls: Calls, name: str, requester: Requester) -> tuple[str, str]:
        """The server and the own name of a tool, of those that are there for a caller."""
        if not any(it.on_demand for it in self.settings.servers):
            return await calls.names.find(name, requester)
        enabling = self.discovery(requester.principal).enabling
        present = Present.of(enabling.listed(), await enabling.searchable(requester))
        try:
            return await calls.names.find(name, requester, present)
        except ToolGone:
            servers = await enabling.to_enable(requester, name)
            if servers:
                raise not_enabled(name, servers) from None
            raise

    async def run(
        self,
        program: str,
        *,
        language: Language | None = None,
        requester: Requester = Requester(),  # noqa: B008 - frozen
    ) -> Ran:
        """What a program brought that calls tools, each call as `call` makes it.

        Args:
            program: Its source: `from SERVER import TOOL`, `await TOOL(name=value)`; what it
                returns, or its last expression, is its value.
            language: None: the first of `code.languages`.
            requester: Who runs it, and how it can be asked meanwhile: `takes_rounds` is not used.

        Raises:
            ScriptFailed: It was not run for what its check found, or ended in an error; `details`
                has `why`, `executed`, `line` and `calls`.
            SandboxUnavailable: Programs in this language cannot run here.
            TooBusy: No worker became free for it in time, or too many of its caller's wait.
        """
        source = Source(language or self.settings.code.languages[0], program)
        self.discovery(requester.principal)
        return await self._coded[self.catalogs(requester.principal)].finish(source, requester)

    async def prepare(self) -> None:
        """Start what runs programs where models may be shown `run_code`, as configured.

        Otherwise the first program waits for it, about half a second.
        """
        if discovering.shows_programs(self.settings):
            await self._coding.prepare()

    async def toolset(
        self,
        *,
        exposure: Exposure | None = None,
        requester: Requester = Requester(),  # noqa: B008 - frozen
        pin_used: int = 0,
    ) -> Toolset:
        """The tools of one conversation, in the form of any provider.

        Args:
            exposure: What is shown at the start; None: what is configured.
            requester: Who converses; its calls are this caller's. Without a handle it gets one, so
                that what one conversation was shown is not what another one saw.
            pin_used: A deferred tool that was called so many times is shown from the next refresh
                on, as far as `pinned_tokens` reach; 0: none is.

        Raises:
            ConfigError: There is no such exposure.
        """
        wanted = self.settings.gateway.exposure if exposure is None else exposure
        if wanted not in get_args(Exposure):
            remedy = f"write one of {', '.join(get_args(Exposure))}"
            raise ConfigError(f"exposure is {wanted!r}", remedy=remedy)
        discovery = self.discovery(requester.principal)
        who = requester
        if not who.handle:
            who = replace(requester, handle=uuid4().hex, durable=False)

        async def call(name: str, arguments: Mapping[str, Any] | None, seen: str) -> dict[str, Any]:
            return await self.call(name, arguments, requester=who, seen=seen, for_model=True)

        conversing = Conversing(discovery, who, call)
        return await Toolset.begin(
            conversing,
            conversing,
            discovery.costs,
            exposure=wanted,
            pin_used=pin_used,
            pinned_tokens=self.settings.exposure.pinned_tokens,
        )

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

    def discovery(self, principal: Principal = LOCAL) -> Discovery:
        """What one verified caller is shown of all tools, and finds the rest with."""
        found = self._discoveries.get(principal)
        if found is None:
            found = self._discoveries[principal] = self._discovering.discovery(
                principal, self.catalogs(principal), self.calls(principal)
            )
            found.start(self._tasks)
        return found

    def _programs(
        self, catalogs: Catalogs, calls: Calls, enabling: Enabling
    ) -> tuple[RunCode, ...]:
        made = self._coded[catalogs] = self._coding.programs(catalogs, calls, enabling)
        return (self._coding.tool(made),)

    async def last_good(
        self, server: ServerSettings, kind: Kind, principal: Principal = LOCAL
    ) -> Snapshot | None:
        """What the store keeps of a catalog, however old; None when it keeps nothing."""
        return await self._holdings.last_good(server, kind, principal)

    async def approve_definitions(self, server: str, items: Iterable[Item]) -> None:
        """Count these definitions of a server's tools as seen by a person, for everybody.

        Every process on the store shows them from then on; KeyError for an unknown id.

        Raises:
            StoreUnreachable: None of them is.
        """
        await self._holdings.approve(server, items)

    async def apply(self, settings: Settings) -> Plan:
        """Takes over another configuration; connections whose launch is unchanged stay up.

        What needs no new connection holds at once. A server that is launched anew comes back when
        its old process or session is gone.
        What it changes beside the servers (`Plan.elsewhere`) holds from the next start on, and is
        named until then.
        """
        change = plan(self.settings, settings)
        self.settings = self.settings.with_servers_of(settings)
        self._discovering.configure(settings)
        await self._holdings.change(
            settings.servers,
            removed=change.removed,
            relaunched=change.relaunched,
            retuned=change.retuned,
            added=change.added,
        )
        return change

    def _launch(self, server: str) -> str:
        """The keyed digest of how a server is launched now; empty for an unknown one."""
        launches = (each.launch for each in self.settings.servers if each.id == server)
        launch = next(launches, None)
        return "" if launch is None else self._parts.keys.launch_digest(launch)
