"""From an exposed name to the tool it stands for, for callers that are no hosts."""

from typing import Final

from toolcrib.calls.call import Requester
from toolcrib.calls.ledger.ledger import Ledger
from toolcrib.calls.ledger.sights import Sight
from toolcrib.catalog.access import CatalogAccess
from toolcrib.core.naming import NameTable, Style, near
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.core.snapshot import Kind
from toolcrib.errors import ToolGone

SUGGEST_UP_TO: Final = 2_000
"""Names that an unknown one is compared with; above it nothing is suggested."""


class Names:
    """The exposed names of one principal's tools.

    The table is made anew when a catalog's content is another one.
    """

    def __init__(self, access: CatalogAccess, ledger: Ledger, *, style: Style, limit: int) -> None:
        self._access = access
        self._ledger = ledger
        self._style: Style = style
        self._limit = limit
        self._made_of: tuple[tuple[str, str], ...] = ()
        self._table = NameTable.build({}, style=style, limit=limit)

    async def find(self, name: str, requester: Requester) -> tuple[str, str]:
        """The server, and the tool's own name on it.

        Raises:
            ToolGone: No server has it, and this caller was never shown it.
        """
        found = self._current().resolve(name)
        if found is None:
            await self._access.read(Kind.TOOLS)
            found = self._current().resolve(name)
        if found is not None:
            return found.server, found.item.key
        shown: Sight | None = await self._ledger.sight(requester, name)
        if shown is not None:
            return shown.server, shown.key
        raise self._unknown(name)

    def _current(self) -> NameTable:
        held = [self._access.peek(server, Kind.TOOLS) for server in self._access.server_ids()]
        made_of = tuple((it.server, it.snapshot.digest) for it in held if it.snapshot is not None)
        if made_of != self._made_of:
            catalogs = {it.server: it.snapshot.items for it in held if it.snapshot is not None}
            self._table = NameTable.build(catalogs, style=self._style, limit=self._limit)
            self._made_of = made_of
        return self._table

    def _unknown(self, name: str) -> ToolGone:
        entries = self._table.entries
        similar = near(name, entries) if len(entries) <= SUGGEST_UP_TO else ()
        readings = [self._access.peek(server, Kind.TOOLS) for server in self._access.server_ids()]
        away = [quoted(reading.server) for reading in readings if reading.snapshot is None]
        missing = f"; not reached: {enumerated(away)}" if away else ""
        hint = f"similar names: {enumerated(map(quoted, similar))}" if similar else None
        return ToolGone(
            f"there is no tool {quoted(name)}{missing}",
            remedy=hint or "list the tools",
            details={"near": list(similar)},
        )
