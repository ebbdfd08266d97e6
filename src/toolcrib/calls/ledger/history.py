"""Earlier definitions of tools, so that a refusal can say how a tool differs from what was seen.

catalogs.on_published(history.published)
history.item(server, key, contract)     # the definition with that contract, or None
history.successor(server, key)          # what a removed tool seems to be called now, or None
"""

from collections import OrderedDict
from typing import Final

from toolcrib.catalog.access import PublishedChange
from toolcrib.core.canonical import canonical
from toolcrib.core.diff import CatalogDiff, diff
from toolcrib.core.snapshot import Item, Kind

_PER_TOOL: Final = 4
"""Earlier contracts of one tool."""
_ITEMS: Final = 2_000
"""Earlier definitions in all."""
_BYTES: Final = 16 * 1024 * 1024
"""Bytes of earlier definitions in all, as JSON."""
_CHAIN: Final = 10
"""Renamings in a row that are followed."""

_Tool = tuple[str, str]


class History:
    """The earlier definitions of the tools of one principal, in memory.

    Only definitions with another contract are kept: where that stayed, a call may go out, and there
    is no difference to tell. What exceeds the bounds is dropped, the oldest first.
    """

    def __init__(self, *, most: int = _ITEMS, most_bytes: int = _BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._kept: OrderedDict[tuple[str, str, str], tuple[Item, int]] = OrderedDict()
        """By server, key and contract, the oldest first."""
        self._contracts: dict[_Tool, list[str]] = {}
        """Of what is kept, the oldest first."""
        self._size = 0
        self._successors: OrderedDict[_Tool, str] = OrderedDict()

    def published(self, change: PublishedChange) -> None:
        """Takes what a change replaced or removed; a listener for `on_published`.

        A catalog that was withdrawn takes its history along: who may not see tools any more is not
        told of them either.
        """
        if change.kind is not Kind.TOOLS:
            return
        if change.after is None:
            self._forget(change.server)
            return
        found = diff(change.before, change.after)
        replaced = tuple(it.before for it in found.changed if it.contract_changed)
        for item in (*found.removed, *replaced)[-self._most :]:
            self._keep(change.server, item)
        self._follow(change.server, found)

    def item(self, server: str, key: str, contract: str | None = None) -> Item | None:
        """The earlier definition with this contract, or the newest earlier one where none is given.

        None where there is no such definition (any more).
        """
        contracts = self._contracts.get((server, key), ())
        if contract is None:
            contract = contracts[-1] if contracts else ""
        kept = self._kept.get((server, key, contract))
        return None if kept is None else kept[0]

    def successor(self, server: str, key: str) -> str | None:
        """The name that a removed tool seems to have now (a guess); None: no guess."""
        name: str | None = None
        for _ in range(_CHAIN):
            following = self._successors.get((server, name or key))
            if following is None:
                break
            name = following
        return name

    def _keep(self, server: str, item: Item) -> None:
        place = server, item.key, item.contract
        self._drop(place)
        size = len(canonical(item.definition))
        self._kept[place] = item, size
        self._size += size
        contracts = self._contracts.setdefault((server, item.key), [])
        contracts.append(item.contract)
        if len(contracts) > _PER_TOOL:
            self._drop((server, item.key, contracts[0]))
        while len(self._kept) > self._most or self._size > self._most_bytes:
            self._drop(next(iter(self._kept)))

    def _drop(self, place: tuple[str, str, str]) -> None:
        kept = self._kept.pop(place, None)
        if kept is None:
            return
        self._size -= kept[1]
        server, key, contract = place
        contracts = self._contracts[server, key]
        contracts.remove(contract)
        if not contracts:
            del self._contracts[server, key]

    def _follow(self, server: str, found: CatalogDiff) -> None:
        """Who is called what now; a name that is back, or leads nowhere, has no successor."""
        renamed = {it.before.key: it.after.key for it in found.renamed}
        gone = {item.key for item in found.removed} - renamed.keys()
        for item in found.added:
            self._successors.pop((server, item.key), None)
        while gone:
            lost = [
                tool
                for tool, after in self._successors.items()
                if tool[0] == server and after in gone
            ]
            for tool in lost:
                del self._successors[tool]
            # Who was once called otherwise, and then like this, is gone as well.
            gone = {key for _, key in lost}
        for before, after in renamed.items():
            self._successors[server, before] = after
        while len(self._successors) > self._most:
            self._successors.popitem(last=False)

    def _forget(self, server: str) -> None:
        for place in [place for place in self._kept if place[0] == server]:
            self._drop(place)
        for tool in [tool for tool in self._successors if tool[0] == server]:
            del self._successors[tool]
