"""What callers were shown, in the store: written when it changed, found by other processes.

Three spaces. `ledger.listing` holds each listing once, whoever was shown it; `ledger.caller` says,
per principal and caller, which listings that were; `ledger.single` holds what was shown since, a
row for each tool. So a listing of thousands of tools is written once, and one more row for each
caller who is shown it.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

from toolcrib.calls.ledger import rows
from toolcrib.calls.ledger.owners import Owners
from toolcrib.calls.ledger.shown import Listed, Shown
from toolcrib.calls.ledger.sights import Sights, Tool
from toolcrib.errors import LimitExceeded
from toolcrib.ports import EntryStore

KEPT: Final = 30 * 86_400.0
"""Seconds for which is remembered what a caller saw who shows up no more."""
RENEWED: Final = 86_400.0
"""Seconds after which what is still true is written again."""
_REMEMBERED: Final = 1_000
"""Listings and callers of which is remembered when they were written."""

_LISTING, _CALLER, _SINGLE = "ledger.listing", "ledger.caller", "ledger.single"


@dataclass(frozen=True, slots=True)
class Owner:
    """A caller as the store knows it: keyed digests, no names."""

    principal: str
    caller: str


class LedgerStore:
    """Brings what was shown to callers into the store and back.

    Every method may raise `StoreUnreachable`; what was shown is then as it was, and still unsaved.

    Args:
        store: Shared with other processes.
        owners: Names listings.
        tools: Single tools that are kept per caller.
        callers: Callers that are kept per principal.
    """

    def __init__(self, store: EntryStore, owners: Owners, *, tools: int, callers: int) -> None:
        self._store = store
        self._owners = owners
        self._tools = tools
        self._callers = callers
        self._held: WeakValueDictionary[str, Sights] = WeakValueDictionary()
        self._stored: OrderedDict[str, float] = OrderedDict()
        self._written: OrderedDict[str, float] = OrderedDict()

    def shared(self, sights: Sights) -> Sights:
        """The one object for this content, as long as anybody holds it."""
        return self._held.setdefault(sights.digest, sights)

    async def load(self, owner: Owner, shown: Shown) -> None:
        """Take in everything that was kept of a caller."""
        await self._load_listings(owner, shown)
        for key, row in (await self._store.entries(_SINGLE, owner.caller)).items():
            tool = rows.tool_from(key)
            if tool is not None:
                self._take_in(shown, tool, row)

    async def load_one(self, owner: Owner, shown: Shown, tool: Tool) -> None:
        """Take in what others may have kept about one tool."""
        await self._load_listings(owner, shown)
        row = await self._store.get(_SINGLE, owner.caller, rows.tool_key(tool))
        if row is not None:
            self._take_in(shown, tool, row)

    async def save(self, owner: Owner, shown: Shown, now: float) -> None:
        """Keep what was shown and is not kept yet, or was kept long ago."""
        due = now - self._written.get(owner.caller, 0.0) >= RENEWED
        if shown.listings_unsaved or (due and shown.listings):
            # Another process may have kept a listing of this caller meanwhile.
            await self._load_listings(owner, shown)
            await self._save_listings(owner, shown, now)
        singles = {tool: it for tool, it in shown.singles.items() if tool in shown.unsaved}
        if singles:
            kept = {rows.tool_key(tool): rows.single_row(it) for tool, it in singles.items()}
            await self._store.put(_SINGLE, owner.caller, kept, lifetime=KEPT, most=self._tools)
            shown.saved(singles.items())

    async def _load_listings(self, owner: Owner, shown: Shown) -> None:
        row = await self._store.get(_CALLER, owner.principal, owner.caller)
        if row is None:
            return
        listings = [
            Listed(at, sights)
            for at, digest in rows.caller_from(row)
            if (sights := await self._listing(digest)) is not None
        ]
        shown.merge_listings(listings)

    async def _listing(self, digest: str) -> Sights | None:
        held = self._held.get(digest)
        if held is not None:
            return held
        stored = await self._store.get(_LISTING, self._owners.digest(digest), "")
        found = None if stored is None else Sights.decoded(stored, digest)
        return None if found is None else self.shared(found)

    @staticmethod
    def _take_in(shown: Shown, tool: Tool, row: bytes) -> None:
        single = rows.single_from(row)
        if single is not None:
            shown.merge_single(tool, single)

    async def _save_listings(self, owner: Owner, shown: Shown, now: float) -> None:
        listings = shown.listings
        kept = [listed for listed in listings if await self._keep(listed.sights, now)]
        if owner.caller not in self._written:
            await self._make_room(owner)
        row = {owner.caller: rows.caller_row(kept)}
        await self._store.put(_CALLER, owner.principal, row, lifetime=KEPT, most=self._callers)
        self._remember(self._written, owner.caller, now)
        if shown.listings is listings:
            shown.listings_unsaved = False

    async def _keep(self, sights: Sights, now: float) -> bool:
        """Keep a listing, for longer than any row that speaks of it until it is kept again.

        False for one whose names are too long for a store: it is remembered here and nowhere else.
        """
        if now - self._stored.get(sights.digest, -KEPT) >= KEPT:
            name = self._owners.digest(sights.digest)
            try:
                await self._store.put(
                    _LISTING, name, {"": sights.encoded()}, lifetime=2 * KEPT, most=1
                )
            except LimitExceeded:
                return False
            self._remember(self._stored, sights.digest, now)
        return True

    async def _make_room(self, owner: Owner) -> None:
        """Drop the singles of the callers whose rows this one's will push out."""
        others = await self._store.entries(_CALLER, owner.principal)
        if owner.caller not in others:
            for gone in list(others)[: max(0, len(others) + 1 - self._callers)]:
                await self._store.drop(_SINGLE, gone)

    @staticmethod
    def _remember(times: OrderedDict[str, float], name: str, now: float) -> None:
        times[name] = now
        times.move_to_end(name)
        while len(times) > _REMEMBERED:
            times.popitem(last=False)
