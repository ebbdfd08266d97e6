"""Catalogs that a test sets by hand: a `CatalogAccess` without servers, connections or a store."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio.lowlevel

from toolcrib.catalog.access import PublishedChange, ServerStatus
from toolcrib.catalog.listening import Listeners
from toolcrib.catalog.reading import Reading
from toolcrib.catalog.resource_news import NewsListener, ResourceNews
from toolcrib.core.fingerprint import digest
from toolcrib.core.instant import Instant
from toolcrib.core.snapshot import Kind, Scope, Snapshot
from toolcrib.discovery.meta.current import looked_up
from toolcrib.errors import CatalogTooOld, UpstreamUnreachable
from toolcrib.ports import Era, Progress, RequestContext, ServerFacts
from toolcrib.protocol.listing import parse_page

Answer = Callable[["Request"], Awaitable[dict[str, Any]]]

EVERYTHING: Mapping[str, Any] = {"tools": {}, "prompts": {}, "resources": {}, "completions": {}}


@dataclass(frozen=True, slots=True)
class Request:
    """One request that was forwarded to a server."""

    server: str
    method: str
    params: Mapping[str, Any]
    timeout: float | None
    progress: Progress | None
    context: RequestContext | None = None


def snapshot_of(kind: Kind, definitions: Iterable[Mapping[str, Any]]) -> Snapshot:
    """The snapshot of a one-page listing of these definitions."""
    result = {kind.field: [dict(definition) for definition in definitions]}
    page = parse_page(kind, result, era="handshake", received=Instant(0.0, 0.0))
    items = tuple(sorted(page.items, key=lambda item: item.key))
    whole = digest(kind, items, page.quarantined)
    return Snapshot(kind=kind, items=items, digest=whole, quarantined=page.quarantined)


async def echo(request: Request) -> dict[str, Any]:
    """The result of any forwarded request: it says which server was asked for what."""
    text = json.dumps({"server": request.server, **request.params}, sort_keys=True)
    await anyio.lowlevel.checkpoint()
    match request.method:
        case "tools/call":
            return {"content": [{"type": "text", "text": text}]}
        case "resources/read":
            return {"contents": [{"uri": request.params["uri"], "text": text}]}
        case "prompts/get":
            return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
        case _:
            return {"completion": {"values": [text]}}


class FakeAccess:
    """Holds what tests put, counts what is read, and remembers what is forwarded."""

    def __init__(self) -> None:
        self.answer: Answer = echo
        """Answers every forwarded request; replace it to script an answer or to raise."""
        self.on_read: Callable[[Kind], Awaitable[None]] | None = None
        """Runs inside every read, of one server or of all, before anything is looked at."""
        self.capabilities: dict[str, Mapping[str, Any]] = {}
        """What a server declares, by id; `EVERYTHING` for those that are not in it."""
        self.states: dict[str, str] = {}
        """Connection states by server id; `ready` for those that are not in it."""
        self.requests: list[Request] = []
        self.invalidated: list[tuple[str, Kind, str]] = []
        self.reads: Counter[Kind] = Counter()
        """Reads of all servers together, by kind."""
        self.walks: Counter[str] = Counter()
        """Reads of single servers, by id."""
        self.renewals: Counter[str] = Counter()
        """Refreshes for calls that would have been refused, by server id."""
        self.max_stale: dict[str, float] = {}
        """Seconds beyond which calls from a server's catalog are refused; any age by default."""
        self._servers: dict[str, dict[Kind, Reading]] = {}
        self.watched: Counter[Kind] = Counter()
        """How many subscribe to the catalogs of each kind."""
        self._listeners: dict[object, Callable[[PublishedChange], None]] = {}
        self.resources = Listeners[ResourceNews]("news about resources")
        """Tells what a server says of single resources."""
        self.eras: dict[str, Era] = {}
        """The era of a server, by id; `modern` for those that are not in it."""

    # ---- what a test sets ----

    def put(
        self,
        server: str,
        kind: Kind,
        definitions: Iterable[Mapping[str, Any]],
        *,
        ttl: float = 60.0,
        scope: Scope = Scope.PUBLIC,
    ) -> None:
        """Publish a catalog as fresh; listeners hear of it where its content differs."""
        snapshot = snapshot_of(kind, definitions)
        before = self.peek(server, kind) if server in self._servers else Reading(server, kind, None)
        same = before.snapshot is not None and before.snapshot.digest == snapshot.digest
        generation = before.generation if same else before.generation + 1
        self._servers.setdefault(server, {})[kind] = Reading(
            server,
            kind,
            snapshot,
            generation,
            fresh=True,
            age=0.0,
            ttl_left=ttl,
            scope=scope,
            current=True,
        )
        if not same:
            self._tell(PublishedChange(server, kind, before.snapshot, snapshot, generation))

    def age(self, server: str, kind: Kind, seconds: float) -> None:
        """Let a catalog be stale, last heard of `seconds` ago."""
        held = self.peek(server, kind)
        trouble = "the server cannot be reached"
        stale = replace(
            held, fresh=False, age=seconds, ttl_left=0.0, current=False, trouble=trouble
        )
        self._servers[server][kind] = stale

    def fail(self, server: str, kind: Kind, trouble: str) -> None:
        """Let nothing usable be held of a catalog."""
        before = self.peek(server, kind) if server in self._servers else Reading(server, kind, None)
        self._servers.setdefault(server, {})[kind] = Reading(server, kind, None, trouble=trouble)
        if before.snapshot is not None:
            self._tell(PublishedChange(server, kind, before.snapshot, None, before.generation))

    def remove(self, server: str) -> None:
        """Take a server out of the configuration."""
        for kind, held in self._servers.pop(server).items():
            if held.snapshot is not None:
                self._tell(PublishedChange(server, kind, held.snapshot, None, 0))

    def _tell(self, change: PublishedChange) -> None:
        for listener in list(self._listeners.values()):
            listener(change)

    # ---- CatalogAccess ----

    def server_ids(self) -> tuple[str, ...]:
        """All servers that something was put for, sorted."""
        return tuple(sorted(self._servers))

    def status(self, server: str) -> ServerStatus:
        """The state of a server, `ready` unless a test says otherwise."""
        held = self._servers[server]
        declared = self.capabilities.get(server, EVERYTHING)
        era = self.eras.get(server, "modern")
        version = "2026-07-28" if era == "modern" else "2025-11-25"
        facts = ServerFacts(era, version, declared, name=server)
        state = self.states.get(server, "ready")
        trouble = next((r.trouble for r in held.values() if r.trouble), "")
        return ServerStatus(server, state, facts, trouble)

    async def read(self, kind: Kind) -> tuple[Reading, ...]:
        """Every server's catalog of that kind."""
        self.reads[kind] += 1
        if self.on_read is not None:
            await self.on_read(kind)
        await anyio.lowlevel.checkpoint()
        return tuple(self.peek(server, kind) for server in self.server_ids())

    async def lacking(self, kind: Kind, servers: Collection[str] | None = None) -> tuple[str, ...]:
        """Reads all of them, or renews those of the servers that are stale."""
        if servers is None:
            readings = {it.server: it for it in await self.read(kind)}
        else:
            held = [self.peek(it, kind) for it in self.server_ids() if it in servers]
            stale = [it.server for it in held if not it.fresh]
            renewed, _ = await looked_up(stale, lambda server: self.renewed(server, kind))
            readings = {it.server: it for it in held} | renewed
        return tuple(sorted(it for it, held in readings.items() if held.snapshot is None))

    async def read_one(self, server: str, kind: Kind) -> Reading:
        """One server's catalog."""
        self.walks[server] += 1
        if self.on_read is not None:
            await self.on_read(kind)
        await anyio.lowlevel.checkpoint()
        held = self.peek(server, kind)
        limit = self.max_stale.get(server, float("inf"))
        if (held.age or 0.0) > limit:
            raise CatalogTooOld(
                f"the last good listing is {held.age:.0f} s old, more than max_stale ({limit:g} s)",
                server=server,
            )
        return held

    async def renewed(self, server: str, kind: Kind) -> Reading:
        """One server's catalog, after whatever `on_read` does."""
        self.renewals[server] += 1
        if self.on_read is not None:
            await self.on_read(kind)
        await anyio.lowlevel.checkpoint()
        return self.peek(server, kind)

    def peek(self, server: str, kind: Kind) -> Reading:
        """What is held; a kind that nothing was put for is empty and fresh."""
        held = self._servers[server].get(kind)
        if held is not None:
            return held
        empty = snapshot_of(kind, ())
        forever = 86_400.0
        return Reading(
            server,
            kind,
            empty,
            1,
            fresh=True,
            age=0.0,
            ttl_left=forever,
            scope=Scope.PUBLIC,
            current=True,
        )

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
        """Remember the request and let `answer` answer it."""
        if server not in self._servers:
            raise UpstreamUnreachable(f"{server} is not configured", server=server)
        request = Request(server, method, params, timeout, progress, context)
        self.requests.append(request)
        return await self.answer(request)

    def invalidate(self, server: str, kind: Kind, *, why: str) -> None:
        """Remember that a catalog was contradicted."""
        self.invalidated.append((server, kind, why))

    def watch(self, kind: Kind) -> Callable[[], None]:
        """Count a subscriber in `watched`, until the answer is called."""
        self.watched[kind] += 1
        return lambda: self.watched.subtract([kind])

    def held_back(self, kind: Kind) -> Mapping[str, Snapshot]:
        """Nothing: replicas never disagree here."""
        del kind
        return {}

    def on_published(self, listener: Callable[[PublishedChange], None]) -> Callable[[], None]:
        """Call `listener` at each change of content."""
        key = object()
        self._listeners[key] = listener

        def unsubscribe() -> None:
            self._listeners.pop(key, None)

        return unsubscribe

    def on_resources(self, listener: NewsListener) -> Callable[[], None]:
        """Call `listener` for what a test tells with `resources`."""
        return self.resources.subscribe(listener)
