"""The catalog of a data set in the form in which searches know catalogs: servers with snapshots."""

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import groupby
from operator import attrgetter
from typing import Any, NoReturn

from toolcrib.catalog.access import PublishedChange, ServerStatus
from toolcrib.catalog.published import Listener, PublishedHook
from toolcrib.catalog.reading import Reading
from toolcrib.catalog.resource_news import NewsListener
from toolcrib.core.fingerprint import contract, digest, fingerprint
from toolcrib.core.snapshot import Item, Kind, Snapshot
from toolcrib.discovery.evaluation.tasks import DataSet, KnownTool
from toolcrib.errors import UpstreamUnreachable
from toolcrib.ports import Progress, RequestContext, ServerFacts


class SetCatalogs:
    """Implements `CatalogAccess` for the tools of a data set: always fresh, and nobody behind it.

    Definitions are taken as they are: a data set is about finding tools, and none of its
    definitions is kept out for what calls would need.
    """

    def __init__(self, known: DataSet) -> None:
        self._hook = PublishedHook()
        self._readings: dict[str, Reading] = {}
        self._statuses: dict[str, ServerStatus] = {}
        self._ids: tuple[str, ...] = ()
        by_server = attrgetter("server")
        for server, tools in groupby(sorted(known.tools, key=by_server), by_server):
            self.replace(server, tuple(tools))

    def replace(self, server: str, tools: Iterable[KnownTool]) -> None:
        """Publishes these tools in the place of all that the server had."""
        listed = tuple(tools)
        items = tuple(sorted(map(_item, listed), key=lambda item: item.key))
        after = Snapshot(Kind.TOOLS, items, digest(Kind.TOOLS, items))
        if server in self._readings:
            before, generation = self._readings[server].snapshot, self._readings[server].generation
        else:
            before, generation = None, 0
            self._ids = tuple(sorted((*self._ids, server)))
        self._readings[server] = _reading(server, after, generation + 1)
        self._statuses[server] = ServerStatus(server, "ready", _facts(listed), "")
        self._hook.publish(PublishedChange(server, Kind.TOOLS, before, after, generation + 1))

    # ---- CatalogAccess ----

    def server_ids(self) -> tuple[str, ...]:
        """All servers, sorted by code point."""
        return self._ids

    def status(self, server: str) -> ServerStatus:
        """A connected server."""
        return self._statuses[server]

    async def read(self, kind: Kind) -> tuple[Reading, ...]:
        """Every server's catalog."""
        return tuple(self.peek(server, kind) for server in self._ids)

    async def lacking(self, kind: Kind, servers: Collection[str] | None = None) -> tuple[str, ...]:
        """None: everything is always held."""
        return ()

    async def read_one(self, server: str, kind: Kind) -> Reading:
        """One server's catalog."""
        return self.peek(server, kind)

    async def renewed(self, server: str, kind: Kind) -> Reading:
        """One server's catalog, which is current."""
        return self.peek(server, kind)

    def peek(self, server: str, kind: Kind) -> Reading:
        """One server's catalog; it has tools only."""
        held = self._readings[server]
        return held if kind is Kind.TOOLS else _reading(server, _nothing_of(kind), held.generation)

    async def request(
        self,
        server: str,
        method: str,
        params: Mapping[str, Any],
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
        context: RequestContext | None = None,
    ) -> NoReturn:
        """Nobody answers."""
        raise UpstreamUnreachable("the catalog of a data set has no server", server=server)

    def invalidate(self, server: str, kind: Kind, *, why: str) -> None:
        """Changes nothing: there is nobody to ask again."""

    def watch(self, kind: Kind) -> Callable[[], None]:
        """Changes nothing."""
        return lambda: None

    def held_back(self, kind: Kind) -> Mapping[str, Snapshot]:
        """Nothing is."""
        return {}

    def on_published(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener` after each `replace`."""
        return self._hook.subscribe(listener)

    def on_resources(self, listener: NewsListener) -> Callable[[], None]:
        """There will be no news."""
        return self._hook.resources.subscribe(listener)


def _item(tool: KnownTool) -> Item:
    definition = tool.definition
    return Item(tool.name, definition, fingerprint(definition), contract(definition))


def _facts(tools: Iterable[KnownTool]) -> ServerFacts:
    first = next(iter(tools), None)
    name, said = ("", "") if first is None else (first.server_title, first.server_description)
    return ServerFacts("modern", "2026-07-28", {"tools": {}}, name, "", said)


def _reading(server: str, held: Snapshot, generation: int) -> Reading:
    return Reading(server, held.kind, held, generation, fresh=True, age=0.0, current=True)


def _nothing_of(kind: Kind) -> Snapshot:
    return Snapshot(kind, (), digest(kind, ()))
