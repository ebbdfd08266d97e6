"""All the catalogs of one principal, over every configured server."""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from typing import Any, Final

import anyio

from toolcrib.catalog.access import ServerStatus
from toolcrib.catalog.published import Listener, PublishedHook
from toolcrib.catalog.reading import Reading
from toolcrib.catalog.resource_news import NewsListener
from toolcrib.catalog.server_catalogs import ServerCatalogs
from toolcrib.core.snapshot import Kind, Snapshot
from toolcrib.errors import CatalogTooOld, ToolcribError
from toolcrib.facts import CallForwarded
from toolcrib.ports import Clock, Observer, Progress, RequestContext
from toolcrib.settings import Limits, ServerSettings
from toolcrib.upstreams.turns import Turn, Turns

STANDING: Final = "subscriptions/listen"
"""A request that goes on for as long as somebody follows something: it is no call, and takes no
turn."""

Opener = Callable[[ServerSettings, PublishedHook], ServerCatalogs]


class Catalogs:
    """Implements `CatalogAccess`; servers are read side by side: a slow one costs only itself."""

    def __init__(
        self, open_server: Opener, *, clock: Clock, observer: Observer, limits: Limits
    ) -> None:
        self._open = open_server
        self._clock = clock
        self._observer = observer
        self._limits = limits
        self._servers: dict[str, ServerCatalogs] = {}
        self._ids: tuple[str, ...] = ()
        self._watches: dict[object, tuple[Kind, list[Callable[[], None]]]] = {}
        self._hook = PublishedHook()

    # ---- which servers there are ----

    def add(self, server: ServerSettings) -> None:
        """Opens a server's catalogs; ValueError when the id is taken."""
        if server.id in self._servers:
            raise ValueError(f"server {server.id!r} is open already")
        opened = self._servers[server.id] = self._open(server, self._hook)
        self._ids = tuple(sorted(self._servers))
        for kind, watches in self._watches.values():
            watches.append(opened.watch(kind))

    def remove(self, server: str) -> ServerCatalogs:
        """Closes a server's catalogs; its connection is the caller's to close."""
        gone = self._servers.pop(server)
        self._ids = tuple(sorted(self._servers))
        gone.close()
        return gone

    def retune(self, server: ServerSettings) -> None:
        """Takes over settings that need no new connection, such as filters and waits."""
        self._servers[server.id].retune(server)

    def server(self, server: str) -> ServerCatalogs:
        """The catalogs of one server; KeyError for an unknown id."""
        return self._servers[server]

    async def reach(self, servers: Iterable[str] | None = None) -> None:
        """Waits until each of these servers (None: all) is connected, or could not be."""

        async def one(server: ServerCatalogs) -> None:
            with suppress(ToolcribError):
                await server.supervisor.ready()

        async with anyio.create_task_group() as tasks:
            for server in self._ids if servers is None else servers:
                tasks.start_soon(one, self._servers[server])

    # ---- CatalogAccess ----

    def server_ids(self) -> tuple[str, ...]:
        """All enabled servers, sorted by code point."""
        return self._ids

    def status(self, server: str) -> ServerStatus:
        """What is known of a server; KeyError for an unknown id."""
        return self._servers[server].status()

    async def read(self, kind: Kind) -> tuple[Reading, ...]:
        """Every server's catalog of that kind, sorted by server id."""
        now = self._clock.now().mono
        readings: dict[str, Reading] = {}
        waiting: list[ServerCatalogs] = []
        for server in self._ids:
            catalogs = self._servers[server]
            if catalogs.is_fresh(kind, now):
                readings[server] = catalogs.peek(kind)
            else:
                waiting.append(catalogs)
        readings |= await _read(waiting, kind)
        return tuple(readings[server] for server in sorted(readings))

    async def lacking(self, kind: Kind, servers: Collection[str] | None = None) -> tuple[str, ...]:
        """Those of these servers of which nothing is held, once what is stale was renewed."""
        now = self._clock.now().mono
        asked = self._ids if servers is None else [it for it in self._ids if it in servers]
        known = map(self._servers.__getitem__, asked)
        stale = [catalogs for catalogs in known if not catalogs.is_fresh(kind, now)]
        readings = await _read(stale, kind) if stale else {}
        return tuple(sorted(it for it, held in readings.items() if held.snapshot is None))

    async def read_one(self, server: str, kind: Kind) -> Reading:
        """One server's catalog as a call needs it; KeyError for an unknown id."""
        reading = await self._servers[server].admit(kind)
        if reading.snapshot is None and reading.age is not None:
            raise CatalogTooOld(
                f"calls to it are refused: {reading.trouble}",
                server=server,
                remedy="see why the server cannot be reached, or raise max_stale",
            )
        return reading

    async def renewed(self, server: str, kind: Kind) -> Reading:
        """One server's catalog as a listing would show it; KeyError for an unknown id."""
        return await self._servers[server].read(kind)

    def peek(self, server: str, kind: Kind) -> Reading:
        """What is held right now, without any waiting or walking."""
        return self._servers[server].peek(kind)

    async def request(
        self,
        server: str,
        method: str,
        params: Mapping[str, Any],
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
        context: RequestContext | None = None,
    ) -> dict[str, Any]:
        """Forwards one request; KeyError for an unknown server."""
        catalogs = self._servers[server]
        supervisor = catalogs.supervisor
        began = self._clock.now().mono
        outcome = "cancelled"
        try:
            async with _turn(supervisor.turns, method) as turn:
                upstream = await supervisor.ready()
                result = await upstream.request(
                    method,
                    params,
                    timeout=timeout or catalogs.server.call_seconds or self._limits.call_seconds,
                    progress=progress,
                    context=turn.pausing(context) if turn is not None else context,
                )
            catalogs.answered(method, params, result)
            outcome = "tool_error" if result.get("isError") is True else "ok"
        except ToolcribError as error:
            outcome = error.code
            raise
        finally:
            supervisor.use()
            seconds = self._clock.now().mono - began
            name = params.get("name")
            self._observer.note(
                CallForwarded(
                    server, method, name if isinstance(name, str) else "", outcome, seconds
                )
            )
        return result

    def invalidate(self, server: str, kind: Kind, *, why: str) -> None:
        """Marks a catalog stale because a call contradicted it; unknown servers are ignored."""
        del why
        if server in self._servers:
            self._servers[server].contradicted(kind)

    def watch(self, kind: Kind) -> Callable[[], None]:
        """Counts a subscriber of every server's catalog, also of servers that come later."""
        token = object()
        watches = [self._servers[server].watch(kind) for server in self._ids]
        self._watches[token] = (kind, watches)

        def unwatch() -> None:
            _, ended = self._watches.pop(token, (kind, []))
            for end in ended:
                end()

        return unwatch

    def held_back(self, kind: Kind) -> Mapping[str, Snapshot]:
        """By server: the other listing of replicas that disagree."""
        found = {server: self._servers[server].held_back(kind) for server in self._ids}
        return {server: held for server, held in found.items() if held is not None}

    def on_published(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener` after each change of content."""
        return self._hook.subscribe(listener)

    def on_resources(self, listener: NewsListener) -> Callable[[], None]:
        """Calls `listener` for each word of a server about single resources."""
        return self._hook.resources.subscribe(listener)


async def _read(servers: Iterable[ServerCatalogs], kind: Kind) -> dict[str, Reading]:
    """The catalogs of these servers, side by side, each within its own waits."""
    readings: dict[str, Reading] = {}
    waiting = tuple(servers)

    async def wait(catalogs: ServerCatalogs) -> None:
        readings[catalogs.server.id] = await catalogs.read(kind)

    if len(waiting) == 1:
        await wait(waiting[0])
    elif waiting:
        async with anyio.create_task_group() as tasks:
            for catalogs in waiting:
                tasks.start_soon(wait, catalogs)
    return readings


def _turn(turns: Turns, method: str) -> AbstractAsyncContextManager[Turn | None]:
    return nullcontext() if method == STANDING else turns.take()
