"""From what a host names to the server that has it: tools, prompts, resources, references."""

from collections.abc import Callable
from typing import Final

from toolcrib.catalog.access import CatalogAccess
from toolcrib.catalog.reading import Reading
from toolcrib.core.naming import Original, near
from toolcrib.core.quoting import clipped, enumerated, quoted
from toolcrib.core.snapshot import Kind
from toolcrib.errors import CatalogTooOld, RefreshFailed, ToolGone
from toolcrib.gateway.links import Links
from toolcrib.gateway.listings import Listings
from toolcrib.gateway.placing import Look, caught_at, listed_at, templated_at
from toolcrib.gateway.target import Target
from toolcrib.gateway.uris import unqualified
from toolcrib.wire.faults import RpcFault, invalid_params

SUGGEST_UP_TO: Final = 2_000
"""Names that an unknown one is compared with; above it nothing is suggested."""


class Routes:
    """Finds the target of a request in what is published, and admits nothing else."""

    def __init__(
        self,
        access: CatalogAccess,
        listings: Listings,
        links: Links,
        max_stale: Callable[[str], float],
    ) -> None:
        self._access = access
        self._listings = listings
        self._links = links
        self._max_stale = max_stale

    async def named(self, kind: Kind, name: str) -> Original:
        """The tool or prompt of that exposed name, as it is published now.

        A name that is not there is looked for once more after a refresh. Raises `ToolGone` for one
        that was there once, `RefreshFailed` or `CatalogTooOld` when its server's catalog cannot be
        relied on, and `RpcFault` -32602 for a name that nobody ever had.
        """
        original = await self._find(kind, name)
        reading = await self._relied_on(original.server, kind)
        snapshot = reading.snapshot
        item = None if snapshot is None else snapshot.get(original.item.key)
        if item is None and (other := self._access.held_back(kind).get(original.server)):
            item = other.get(original.item.key)
        if item is None:
            raise _gone(kind, name, original.server, ())
        return Original(original.server, item)

    async def resource(self, uri: str) -> Target:
        """The server that a resource is read from.

        In this order: a listed resource, a URI of ours that names its server, an expansion of the
        most specific template, a link that a server gave before, and a template for anything.
        Raises `RpcFault` -32602 for any other URI: it is not shown to a server that may have
        nothing to do with it.
        """
        target = await self._place(uri, self._listings.held)
        target = target or await self._place(uri, self._listings.refreshed)
        target = target or self._linked(uri)
        target = target or await caught_at(uri, self._listings.held)
        if target is None:
            raise unknown_resource(uri)
        await self._relied_on(target.server, Kind.RESOURCES)
        return target

    async def reference(self, uri: str) -> Target:
        """The server that completes a template, or a resource. Raises `RpcFault` -32602."""
        for look in (self._listings.held, self._listings.refreshed):
            for kind in (Kind.TEMPLATES, Kind.RESOURCES):
                original = (await look(kind)).entries.get(uri)
                if original is not None:
                    return Target(original.server, original.item.key)
        target = self._spelled_out(uri)
        if target is None:
            raise unknown_resource(uri)
        return target

    async def _find(self, kind: Kind, name: str) -> Original:
        listing = await self._listings.held(kind)
        if (original := listing.entries.get(name)) is not None:
            return original
        listing = await self._listings.refreshed(kind)
        if (original := listing.entries.get(name)) is not None:
            return original
        if (original := self._held_back(kind, name)) is not None:
            return original
        similar = near(name, listing.entries) if len(listing.entries) <= SUGGEST_UP_TO else ()
        server = self._listings.gone(kind, name)
        if server is None:
            raise _unknown(kind, name, similar)
        if server in self._access.server_ids():
            await self._relied_on(server, kind)
        raise _gone(kind, name, server, similar)

    def _held_back(self, kind: Kind, name: str) -> Original | None:
        """A tool that only the other one of two disagreeing replicas lists stays callable."""
        held = self._access.held_back(kind)
        if not held:
            return None
        return self._listings.named({s: snapshot.items for s, snapshot in held.items()}, name)

    async def _relied_on(self, server: str, kind: Kind) -> Reading:
        """A server's catalog, if it is young enough to call from."""
        reading = self._access.peek(server, kind)
        limit = self._max_stale(server)
        if reading.snapshot is None or (reading.age or 0.0) > limit:
            reading = await self._access.read_one(server, kind)
        if reading.snapshot is None:
            why = f": {reading.trouble}" if reading.trouble else ""
            raise RefreshFailed(
                f"the catalog of {quoted(server)} is not available{why}", server=server
            )
        if (reading.age or 0.0) > limit:
            raise CatalogTooOld(
                f"the catalog of {quoted(server)} could not be refreshed for {reading.age:.0f} "
                f"seconds; calls from one older than {limit:.0f} seconds are refused",
                server=server,
                remedy="see why the server cannot be reached, or raise max_stale",
            )
        return reading

    async def _place(self, uri: str, look: Look) -> Target | None:
        """The place of a URI in listings, or in what it says itself."""
        target = await listed_at(uri, look)
        return target or self._spelled_out(uri) or await templated_at(uri, look)

    def _spelled_out(self, uri: str) -> Target | None:
        parts = unqualified(uri)
        if parts is None or parts[0] not in self._access.server_ids():
            return None
        return Target(*parts)

    def _linked(self, uri: str) -> Target | None:
        server = self._links.server_of(uri)
        if server is None or server not in self._access.server_ids():
            return None
        return Target(server, uri)


def unknown_resource(uri: str) -> RpcFault:
    """-32602 for a URI that no server has (MCP 2026-07-28, resources: error handling)."""
    return invalid_params("Resource not found", {"uri": uri})


def _unknown(kind: Kind, name: str, similar: tuple[str, ...]) -> RpcFault:
    return invalid_params(f"Unknown {kind.label[:-1]}: {clipped(name)}{_hint(similar)}")


def _gone(kind: Kind, name: str, server: str, similar: tuple[str, ...]) -> ToolGone:
    what = f"the {kind.label[:-1]} {quoted(name)} is not offered by {quoted(server)} any more"
    return ToolGone(f"{what}{_hint(similar)}", server=server)


def _hint(similar: tuple[str, ...]) -> str:
    return f"; similar names: {enumerated(quoted(name) for name in similar)}" if similar else ""
