"""From an exposed name to the tool it stands for, for callers that are no hosts."""

from collections.abc import Mapping
from typing import Final

import anyio.to_thread

from toolcrib.calls.call import Requester
from toolcrib.calls.ledger.ledger import Ledger
from toolcrib.calls.ledger.sights import Sight
from toolcrib.catalog.absence import away
from toolcrib.catalog.access import CatalogAccess, PublishedChange
from toolcrib.core.naming import NameTable, Original, Present, Style, near
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.core.snapshot import Kind, Snapshot
from toolcrib.errors import ToolGone

SUGGEST_UP_TO: Final = 2_000
"""Names that an unknown one is compared with; above it nothing is suggested."""

_LARGE: Final = 2_000
"""Tools of one server whose names are worked out on the event loop; more go to a thread."""


class Names:
    """The exposed names of one principal's tools.

    Where a catalog's content is another one, its part of the table is made anew.
    """

    def __init__(self, access: CatalogAccess, ledger: Ledger, *, style: Style, limit: int) -> None:
        self._access = access
        self._ledger = ledger
        self._style: Style = style
        self._limit = limit
        self._made_of: tuple[tuple[str, str], ...] = ()
        self._parts: dict[str, tuple[str, NameTable]] = {}
        """The tables of single servers, with the digests of what they were made of."""
        self._grown: set[str] = set()
        """Large servers that published something else."""
        access.on_published(self._heard)
        self._table = NameTable.build({}, style=style, limit=limit)

    async def find(
        self, name: str, requester: Requester, present: Present | None = None
    ) -> tuple[str, str]:
        """The server, and the tool's own name on it.

        Args:
            name: As exposed.
            requester: Who asks.
            present: The servers that are there for it; None: all are.

        Raises:
            ToolGone: No server has it, and this caller was never shown it.
        """
        await self._prepare()
        found = self.published(name, present)
        if found is None:
            await self._access.read(Kind.TOOLS)
            found = self.published(name, present)
        if found is not None:
            return found
        shown: Sight | None = await self._ledger.sight(requester, name)
        if shown is not None:
            return shown.server, shown.key
        raise self._unknown(name, present)

    def published(self, name: str, present: Present | None = None) -> tuple[str, str] | None:
        """What an exposed name stands for now; None where nothing that is there has it."""
        if present is not None and self._style == "plain":
            server = present.holder(self._having(name))
            return None if server is None else (server, name)
        found = self._current().resolve(name)
        if found is None or (present is not None and found.server not in present):
            return None
        return found.server, found.item.key

    def contested(self, name: str, present: Present) -> bool:
        """Whether tools that are there take an exposed name from each other."""
        if self._style != "plain" or self.published(name, present) is not None:
            return False
        return any(server in present for server in self._having(name))

    def _having(self, key: str) -> list[str]:
        """The servers that have a tool of that own name now."""
        return [server for server, held in self._held() if held.get(key) is not None]

    def near(self, name: str, present: Present | None = None) -> tuple[str, ...]:
        """Exposed names that look like one, of what is there; none where that is very much."""
        table = self._current()
        if present is not None and self._style == "plain":
            # What collides in the whole table may be plain to this caller.
            held = {server: it.items for server, it in self._held() if server in present}
            table = NameTable.build(held, style=self._style, first=present.listed)
        names = [it for it, of in table.entries.items() if present is None or of.server in present]
        return near(name, names) if len(names) <= SUGGEST_UP_TO else ()

    def _current(self) -> NameTable:
        held = self._held()
        made_of = tuple((server, snapshot.digest) for server, snapshot in held)
        if made_of != self._made_of:
            self._parts = {server: self._part(server, snapshot) for server, snapshot in held}
            self._table = self._whole(dict(held))
            self._made_of = made_of
        return self._table

    def _part(self, server: str, snapshot: Snapshot) -> tuple[str, NameTable]:
        """The table of one server; the one that is there, if nothing changed."""
        known = self._parts.get(server)
        if known is not None and known[0] == snapshot.digest:
            return known
        items = {server: snapshot.items}
        return snapshot.digest, NameTable.build(items, style=self._style, limit=self._limit)

    def _whole(self, held: Mapping[str, Snapshot]) -> NameTable:
        """The table of all servers: that of each, where no two of them have a name in common."""
        tables = [self._parts[server][1] for server in sorted(held)]
        entries: dict[str, Original] = {}
        for table in tables:
            entries |= table.entries
        if len(entries) == sum(map(len, held.values())):
            return NameTable(entries, {})
        catalogs = {server: snapshot.items for server, snapshot in held.items()}
        return NameTable.build(catalogs, style=self._style, limit=self._limit)

    def _heard(self, change: PublishedChange) -> None:
        if change.kind is Kind.TOOLS and change.after is not None and len(change.after) > _LARGE:
            self._grown.add(change.server)

    async def _prepare(self) -> None:
        """Makes the tables of large servers that changed, off the event loop."""
        grown, self._grown = self._grown, set[str]()
        for server in sorted(grown.intersection(self._access.server_ids())):
            snapshot = self._access.peek(server, Kind.TOOLS).snapshot
            if snapshot is not None:
                self._parts[server] = await anyio.to_thread.run_sync(self._part, server, snapshot)

    def _held(self) -> list[tuple[str, Snapshot]]:
        """What is held of each server, with its id."""
        held = [self._access.peek(server, Kind.TOOLS) for server in self._access.server_ids()]
        return [(it.server, it.snapshot) for it in held if it.snapshot is not None]

    def _unknown(self, name: str, present: Present | None) -> ToolGone:
        similar = self.near(name, present)
        there = [it for it in self._access.server_ids() if present is None or it in present]
        unreached = away(self._access, there)
        missing = f"; not reached: {unreached}" if unreached else ""
        hint = f"similar names: {enumerated(map(quoted, similar))}" if similar else None
        return ToolGone(
            f"there is no tool {quoted(name)}{missing}",
            remedy=hint or "list the tools",
            details={"near": list(similar)},
        )
