"""Keeps definitions of one server back until a person approved them, and hears when one did."""

from collections.abc import Iterable
from typing import Final

import anyio

from toolcrib.catalog.approvals import Approvals
from toolcrib.core.vetting import NOT_APPROVED, Approved, Unapproved
from toolcrib.errors import StoreUnreachable
from toolcrib.facts import ItemQuarantined
from toolcrib.ports import Clock, Observer

LOOK_AGAIN: Final = 1.0
"""Seconds after which readers look again for approvals, where some are waited for."""


class Vetting:
    """What is approved of one server's tools, as far as this process knows.

    Until the store has been asked nothing counts as approved, and where it cannot be used nothing
    new does: what nobody has seen is never served.
    """

    def __init__(
        self, approvals: Approvals, server: str, *, clock: Clock, observer: Observer
    ) -> None:
        self.approved: Approved = {}
        self._approvals = approvals
        self._server = server
        self._clock = clock
        self._observer = observer
        self._looked: float | None = None
        self._looking = anyio.Lock()
        self._told: set[str] = set()

    def concerns(self, hint: str | None) -> bool:
        """Whether a hint of the bus may speak of these approvals."""
        return hint is None or hint == self._approvals.owner(self._server)

    async def look(self, *, awaited: bool = False, now: bool = False) -> bool:
        """Take in what the store says, where that is due; whether it is anything new.

        Args:
            awaited: Something waits for approval, so it is due again after `LOOK_AGAIN` seconds.
            now: It is due in any case.
        """
        async with self._looking:
            if not (now or self._due(awaited=awaited)):
                return False
            try:
                approved = await self._approvals.read(self._server)
            except StoreUnreachable:
                return False
            self._looked = self._clock.now().mono
            changed = approved != self.approved
            self.approved = approved
            return changed

    def _due(self, *, awaited: bool) -> bool:
        if self._looked is None:
            return True
        return awaited and self._clock.now().mono >= self._looked + LOOK_AGAIN

    def tell(self, waiting: Iterable[Unapproved]) -> None:
        """Report what is kept back, each definition once."""
        if self._looked is None:
            return
        marks = {one.after.fingerprint: one.after.key for one in waiting}
        for mark in marks.keys() - self._told:
            self._observer.note(ItemQuarantined(self._server, "tools", marks[mark], NOT_APPROVED))
        self._told = set(marks)
