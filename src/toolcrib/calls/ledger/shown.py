"""What one caller was shown, in memory: the newest listings, and single tools since."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from toolcrib.calls.ledger.sights import Sight, Sights, Tool

LISTINGS: Final = 3
"""Listings that are remembered of a caller: tools that the newest shows no more are known from the
ones before."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One listing that was shown."""

    at: float
    """Seconds since the epoch, when it was last shown."""
    sights: Sights


@dataclass(frozen=True, slots=True)
class Single:
    """One tool that was shown alone."""

    at: float
    """Seconds since the epoch, when it was last shown."""
    contract: str


class Shown:
    """What one caller was shown; of what was shown of a tool twice the later counts.

    Args:
        most: Single tools that are remembered.
    """

    def __init__(self, most: int) -> None:
        self.listings: tuple[Listed, ...] = ()
        """The newest first."""
        self.singles: dict[Tool, Single] = {}
        """The least recently shown first."""
        self.listings_unsaved = False
        """Whether the store may not know which listings these are."""
        self.unsaved: set[Tool] = set()
        """Singles that the store does not hold yet."""
        self._most = most
        self._latest = 0.0

    def contract(self, tool: Tool) -> str | None:
        """With which contract a tool was shown last; None: it was not."""
        known = self._known(tool)
        return None if known is None else known.contract

    def sight(self, name: str) -> Sight | None:
        """What the newest listing that had this exposed name showed under it."""
        found = (listed.sights.get(name) for listed in self.listings)
        return next((sight for sight in found if sight is not None), None)

    def list(self, sights: Sights, now: float) -> None:
        """A listing was shown."""
        newest = self.listings[0] if self.listings else None
        again = newest is not None and newest.sights.digest == sights.digest
        # Shown again it counts for more than singles in between, and others have to know that.
        overtakes = newest is not None and any(it.at > newest.at for it in self.singles.values())
        self.merge_listings([Listed(self._stamp(now), sights)])
        self.listings_unsaved |= overtakes or not again

    def see(self, tool: Tool, contract: str, now: float, *, renew: float) -> None:
        """A tool was shown; one that is known since less than `renew` seconds is let be."""
        known = self._known(tool)
        if known is None or known.contract != contract or now - known.at >= renew:
            self.merge_single(tool, Single(self._stamp(now), contract))
            self.unsaved.add(tool)

    def merge_listings(self, more: Iterable[Listed]) -> None:
        """Take in listings, from whoever showed them."""
        newest: dict[str, Listed] = {}
        for listed in sorted((*self.listings, *more), key=lambda it: it.at, reverse=True):
            newest.setdefault(listed.sights.digest, listed)
        self.listings = tuple(newest.values())[:LISTINGS]
        self._latest = max([self._latest, *(listed.at for listed in self.listings)])

    def merge_single(self, tool: Tool, single: Single) -> None:
        """Take in a single tool, unless it was shown later already."""
        held = self.singles.get(tool)
        if held is not None and held.at >= single.at:
            return
        self.singles.pop(tool, None)
        self.singles[tool] = single
        self._latest = max(self._latest, single.at)
        while len(self.singles) > self._most:
            dropped = next(iter(self.singles))
            del self.singles[dropped]
            self.unsaved.discard(dropped)

    def saved(self, singles: Iterable[tuple[Tool, Single]]) -> None:
        """The store holds these now; one that was shown again meanwhile is another object."""
        self.unsaved -= {tool for tool, single in singles if self.singles.get(tool) is single}

    def _known(self, tool: Tool) -> Single | None:
        single = self.singles.get(tool)
        for listed in self.listings:
            contract = listed.sights.contract(tool)
            if contract is not None:
                if single is None or single.at < listed.at:
                    return Single(listed.at, contract)
                break
        return single

    def _stamp(self, now: float) -> float:
        """A time later than all before, also where the clock stands still or was set back."""
        self._latest = max(now, math.nextafter(self._latest, math.inf))
        return self._latest
