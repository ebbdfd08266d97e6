"""The gateway: one MCP server in front of all others, over stdio and HTTP, in both eras."""

from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio.abc import TaskGroup, TaskStatus

from toolcrib.calls.call import Requester
from toolcrib.calls.calling import Calls
from toolcrib.catalog.access import CatalogAccess
from toolcrib.core.naming import SHORTEST_LIMIT
from toolcrib.core.partition import ANONYMOUS, LOCAL, Principal
from toolcrib.errors import ConfigError, ToolcribBug
from toolcrib.gateway.desk import Desk
from toolcrib.gateway.discovering import GatewayDiscovery, undiscovered
from toolcrib.gateway.listing import Naming
from toolcrib.ports import Clock, Observer
from toolcrib.settings import GatewaySettings, Limits
from toolcrib.wire.audience import Audience
from toolcrib.wire.ending import until_cancelled
from toolcrib.wire.jsonwire import Result
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.service import HostRequest, Identity
from toolcrib.wire.stdio import serve_stdio
from toolcrib.wire.streams import Incoming, Outgoing, serve_streams

if TYPE_CHECKING:
    from starlette.applications import Starlette

CAPABILITIES: Final[Mapping[str, Any]] = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "completions": {},
}
"""What we declare, whatever servers are there right now: a capability must not come and go with one
of them."""

NAMELESS: Final = Identity("toolcrib", "0")

FAREWELL: Final = 0.1
"""Seconds in which the end of subscriptions is written to a host on standard streams."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Particulars:
    """What else a gateway is told about its surroundings; every member has a default."""

    identity: Identity = NAMELESS
    instructions: Callable[[], str] | None = None
    """What hosts are to tell their models, at the moment that one asks; None: what the identity
    says."""
    eager: Callable[[], Collection[str]] = tuple
    """The servers that readiness waits for, by id."""
    metrics: Callable[[], bytes] | None = None
    """What `/metrics` shows, in the Prometheus text format; None: there is no such page."""


class Gateway:
    """Answers hosts from the catalogs of their principals.

    Args:
        access_for: The catalogs of a principal; the same ones, however often it is asked.
        calls_for: What its calls go through, likewise.
        settings: How the crib shows itself.
        limits: Bounds of arguments, results, names and lines.
        observer: Takes facts.
        clock: Time and chance.
        particulars: See there.
        discovery_for: What a principal is shown and how it finds the rest; the same, however often
            it is asked. None: everything is shown, there are no meta-tools, and no server is on
            demand.

    Raises: ConfigError: for an allowed host or origin that cannot be read, or too short a limit of
    names.
    """

    def __init__(
        self,
        access_for: Callable[[Principal], CatalogAccess],
        calls_for: Callable[[Principal], Calls],
        settings: GatewaySettings,
        limits: Limits,
        observer: Observer,
        clock: Clock,
        particulars: Particulars = Particulars(),
        *,
        discovery_for: Callable[[Principal], GatewayDiscovery] | None = None,
    ) -> None:
        if limits.name_length < SHORTEST_LIMIT:
            raise ConfigError(
                f"name_length is {limits.name_length}", remedy=f"use {SHORTEST_LIMIT} or more"
            )
        self._access_for = access_for
        self._calls_for = calls_for
        self._settings = settings
        self._limits = limits
        self._observer = observer
        self._clock = clock
        self._particulars = particulars
        self._discovery_for = discovery_for
        self._desks: dict[Principal, Desk] = {}
        self._tasks: TaskGroup | None = None
        self._kernel = Kernel(self, limits.state_seconds)

    # ---- serving ----

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Announce changes to hosts while the context lasts; serving enters it where nobody did."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self.end_streams()
                for desk in self._desks.values():
                    desk.leave()
                self._desks.clear()
                self._tasks = None
                tasks.cancel_scope.cancel()

    async def serve_stdio(self) -> None:
        """Serve the host that started this process, until it closes standard input.

        When cancelled, hosts are told first that their subscriptions end.
        """

        async def serve() -> None:
            await serve_stdio(self._kernel, LOCAL, self._limits.line_bytes)

        async def wind_down(ended: anyio.Event) -> None:
            if any(len(desk.audience) for desk in self._desks.values()):
                self.end_streams()
                with anyio.move_on_after(FAREWELL):
                    await ended.wait()

        async with self._ensured():
            await until_cancelled(serve, wind_down)

    async def serve_streams(
        self, incoming: Incoming, outgoing: Outgoing, principal: Principal = LOCAL
    ) -> None:
        """Serve one host over a pair of message streams, until it closes its side."""
        async with self._ensured():
            await serve_streams(self._kernel, incoming, outgoing, principal)

    async def serve_http(self, *, task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED) -> None:
        """Serve HTTP on the configured address until cancelled; `task_status` is told the port.

        No catalog is asked for before the address is bound.

        Raises:
            ConfigError: There is no address, or it cannot be bound.
        """
        if self._settings.http is None:
            raise ConfigError(
                "no HTTP address is configured", remedy="give one with --http HOST:PORT"
            )

        from toolcrib.wire.http.serving import serve_app

        host, port = self._settings.http
        await serve_app(self.asgi_app, host, port, on_end=self.end_streams, task_status=task_status)

    def asgi_app(self) -> "Starlette":
        """The application: `/mcp`, `/healthz`, `/readyz` and, where there is one, `/metrics`.

        Whoever runs it calls `end_streams` before waiting for open answers; `serve_http` does.

        Raises:
            ConfigError: for an allowed host or origin that cannot be read.
        """
        from toolcrib.gateway.http_app import http_app

        return http_app(
            self._kernel,
            self._access_for(ANONYMOUS),
            self._settings,
            self._limits,
            eager=self._particulars.eager,
            metrics=self._particulars.metrics,
            running=self._ensured,
        )

    def end_streams(self) -> None:
        """End every stream of announcements gracefully: hosts are told that it ends."""
        for desk in self._desks.values():
            desk.audience.close()

    # ---- wire.Service ----

    @property
    def identity(self) -> Identity:
        """Who we say we are."""
        identity, told = self._particulars.identity, self._particulars.instructions
        return identity if told is None else replace(identity, instructions=told())

    def capabilities(self) -> Mapping[str, Any]:
        """What we declare to every host."""
        relays_logs = "logging" in self._settings.relay
        return {**CAPABILITIES, "logging": {}} if relays_logs else CAPABILITIES

    def audience(self, principal: Principal) -> Audience:
        """Whom changes of that principal's listings are announced to."""
        return self._desk(principal).audience

    async def subscribe(self, principal: Principal, uri: str) -> None:
        """Have a resource watched that somebody in that principal's audience follows."""
        await self._desk(principal).subscribe(uri)

    def left(self, principal: Principal, handle: str) -> None:
        """Forget what the host of a connection or session that is over was shown."""
        if (desk := self._desks.get(principal)) is not None:
            desk.left(Requester(principal, handle, durable=False))

    async def answer(self, request: HostRequest) -> Result:
        """Answer one request from the catalogs of its principal."""
        return await self._desk(request.principal).answer(request)

    def _desk(self, principal: Principal) -> Desk:
        desk = self._desks.get(principal)
        if desk is None:
            if self._tasks is None:
                raise ToolcribBug("the gateway was asked something while it was not running")
            access = self._access_for(principal)
            discovery_for = self._discovery_for
            desk = self._desks[principal] = Desk(
                access,
                Naming(self._settings.names, self._limits.name_length),
                self._limits,
                clock=self._clock,
                observer=self._observer,
                calls=self._calls_for(principal),
                discovery=discovery_for(principal) if discovery_for else undiscovered(access),
                settings=self._settings,
            )
            self._tasks.start_soon(desk.announce)
        return desk

    @asynccontextmanager
    async def _ensured(self) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            if self._tasks is None:
                await stack.enter_async_context(self.running())
            yield
