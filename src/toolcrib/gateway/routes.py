"""From what a host names to the server that has it: tools, prompts, resources, references."""

from typing import Final

from toolcrib.calls.admission import unavailable
from toolcrib.calls.call import Requester
from toolcrib.calls.ledger.ledger import Ledger
from toolcrib.calls.names import Names
from toolcrib.calls.results.kept import is_kept_uri
from toolcrib.catalog.absence import away
from toolcrib.catalog.access import CatalogAccess
from toolcrib.catalog.reading import Reading
from toolcrib.core.naming import Original, Present, near
from toolcrib.core.quoting import clipped, enumerated, quoted
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.seams import Enabling, Inner
from toolcrib.discovery.unavailable import not_enabled, not_reached
from toolcrib.errors import BadArguments, ToolGone
from toolcrib.gateway.links import Links
from toolcrib.gateway.listings import Listings
from toolcrib.gateway.placing import Look, caught_at, listed_at, templated_at
from toolcrib.gateway.target import Target
from toolcrib.gateway.uris import unqualified
from toolcrib.wire.faults import RpcFault, invalid_params

SUGGEST_UP_TO: Final = 2_000
"""Names that an unknown one is compared with; above it nothing is suggested."""


class Routes:
    """Finds the target of a request in what is published, was published, or was shown."""

    def __init__(
        self,
        access: CatalogAccess,
        listings: Listings,
        links: Links,
        ledger: Ledger,
        enabling: Enabling,
        names: Names,
    ) -> None:
        self._access = access
        self._listings = listings
        self._links = links
        self._ledger = ledger
        self._enabling = enabling
        self._names = names

    async def tool(self, name: str, requester: Requester) -> Target:
        """Which tool an exposed name means, or meant: whether it may be called is not said.

        A name that is not there is looked for once more after a refresh, then among the names that
        were there, then among those that this caller was shown. Raises `RpcFault` -32602 for a name
        that nobody ever had, and `NotAllowed` for one whose server has to be enabled.
        """
        found = await self._tool(name, requester)
        if isinstance(found, Target):
            return found
        raise _unknown(Kind.TOOLS, name, found, await self._away(requester))

    async def inner_tool(self, inner: Inner, requester: Requester) -> Target:
        """The same for a name that a model gave `call_tool`.

        Raises `BadArguments` for a name that nobody ever had, and `NotAllowed` as there.
        """
        found = await self._tool(inner.name, requester)
        if isinstance(found, Target):
            return found
        missing = not_reached(await self._away(requester))
        raise BadArguments(
            f"there is no tool {quoted(inner.name)}{missing}{_hint(found)}",
            details={"near": list(found)},
        )

    async def reach(self, target: Target, requester: Requester) -> None:
        """Have the server of a target there, where it is connected on demand only.

        Raises `NotAllowed` where this caller has not enabled it.
        """
        await self._enabling.need(requester, target.server)

    async def prompt(self, name: str) -> Target:
        """The prompt of that exposed name, as it is published now.

        Raises `ToolGone` for one that was there once, `RefreshFailed` or `CatalogTooOld` when its
        server's catalog cannot be relied on, and `RpcFault` -32602 for a name that nobody ever had.
        """
        found = await self._published(Kind.PROMPTS, name)
        if not isinstance(found, Target):
            servers = sorted(self._enabling.listed())
            raise _unknown(Kind.PROMPTS, name, found, away(self._access, servers, Kind.PROMPTS))
        if found.server not in self._access.server_ids():
            raise _gone(Kind.PROMPTS, name, found.server)
        reading = await self._relied_on(found.server, Kind.PROMPTS)
        if reading.snapshot is None or reading.snapshot.get(found.key) is None:
            raise _gone(Kind.PROMPTS, name, found.server)
        return found

    async def resource(self, uri: str) -> Target:
        """The server that a resource is read from.

        In this order: a listed resource, a URI of ours that names its server, an expansion of the
        most specific template, a link that a server gave before, and a template for anything.
        Raises `RpcFault` -32602 for any other URI: it is not shown to a server that may have
        nothing to do with it. A kept result is no server's.
        """
        if is_kept_uri(uri):
            raise unknown_resource(uri)
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

    async def _tool(self, name: str, requester: Requester) -> Target | tuple[str, ...]:
        """What a name means to this caller; else names that look like it.

        Whatever other callers enabled has no say in it.
        """
        if not self._enabling.dynamic:
            found = await self._published(Kind.TOOLS, name)
            sight = None if isinstance(found, Target) else await self._ledger.sight(requester, name)
            return found if sight is None else Target(sight.server, sight.key)
        # Another process may have enabled its server for this caller: that opens it here.
        there = await self._enabling.searchable(requester)
        present = Present.of(self._enabling.listed(), there)
        if (own := self._own(name, present)) is not None:
            return own
        found = await self._published(Kind.TOOLS, name)
        if (own := self._own(name, present)) is not None:
            return own
        # What had the name once has it no more where several have it now.
        contested = self._names.contested(name, present)
        if isinstance(found, Target) and found.server in present and not contested:
            return found
        sight = await self._ledger.sight(requester, name)
        if sight is not None:
            return Target(sight.server, sight.key)
        servers = await self._enabling.to_enable(requester, name)
        if servers:
            raise not_enabled(name, servers)
        return self._names.near(name, present)

    async def _away(self, requester: Requester) -> str:
        """The servers of this caller that were not reached, and may have what it asks for."""
        return away(self._access, sorted(await self._enabling.searchable(requester)))

    def _own(self, name: str, present: Present) -> Target | None:
        """The tool that has a name now, of those servers that are there for the caller."""
        found = self._names.published(name, present)
        if found is None:
            return None
        server, key = found
        snapshot = self._access.peek(server, Kind.TOOLS).snapshot
        return Target(server, key, None if snapshot is None else snapshot.get(key))

    async def _published(self, kind: Kind, name: str) -> Target | tuple[str, ...]:
        """What has, or had, an exposed name; else names that look like it."""
        for look in (self._listings.held, self._listings.refreshed):
            listing = await look(kind)
            if (original := listing.entries.get(name)) is not None:
                return _target(original)
        if (original := self._held_back(kind, name)) is not None:
            return _target(original)
        if (gone := self._listings.gone(kind, name)) is not None:
            return gone
        return near(name, listing.entries) if len(listing.entries) <= SUGGEST_UP_TO else ()

    def _held_back(self, kind: Kind, name: str) -> Original | None:
        """A tool that only the other one of two disagreeing replicas lists stays callable."""
        held = self._access.held_back(kind)
        if not held:
            return None
        return self._listings.named({s: snapshot.items for s, snapshot in held.items()}, name)

    async def _relied_on(self, server: str, kind: Kind) -> Reading:
        """A server's catalog, if it is young enough to ask from."""
        reading = await self._access.read_one(server, kind)
        if reading.snapshot is None:
            raise unavailable(reading, self._access)
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


def _unknown(kind: Kind, name: str, similar: tuple[str, ...], missing: str) -> RpcFault:
    what = f"Unknown {kind.label[:-1]}: {clipped(name)}"
    return invalid_params(f"{what}{not_reached(missing)}{_hint(similar)}")


def _gone(kind: Kind, name: str, server: str) -> ToolGone:
    what = f"the {kind.label[:-1]} {quoted(name)} is not offered by {quoted(server)} any more"
    return ToolGone(what, server=server)


def _target(original: Original) -> Target:
    return Target(original.server, original.item.key, original.item)


def _hint(similar: tuple[str, ...]) -> str:
    return f"; similar names: {enumerated(quoted(name) for name in similar)}" if similar else ""
