"""What is shown of a server's tools: what its lists allow, and a person has approved.

Both apply to what is shown, never to what is stored.
"""

from toolcrib.core.fingerprint import digest
from toolcrib.core.policy import allowed
from toolcrib.core.snapshot import Kind, Snapshot
from toolcrib.core.vetting import Approved, Unapproved, served, unapproved
from toolcrib.settings import ToolFilter

_EVERYTHING = ToolFilter()
_REMEMBERED = 4


class ToolView:
    """Shows snapshots through one filter.

    The same snapshot gives the same object, so that others may cache by it.

    Args:
        rules: The lists.
        approved: What a person has seen; None: definitions need not be seen.
    """

    def __init__(self, rules: ToolFilter, approved: Approved | None = None) -> None:
        self.rules = rules
        self.approved = approved
        self._seen: dict[int, tuple[Snapshot, Snapshot]] = {}

    def of(self, snapshot: Snapshot | None) -> Snapshot | None:
        """The snapshot with denied and unseen tools taken out; other kinds pass unchanged."""
        shows_all = self.rules == _EVERYTHING and self.approved is None
        if snapshot is None or snapshot.kind is not Kind.TOOLS or shows_all:
            return snapshot
        found = self._seen.get(id(snapshot))
        if found is not None:
            return found[1]
        shown = self._filter(snapshot)
        if len(self._seen) >= _REMEMBERED:
            self._seen.pop(next(iter(self._seen)))
        # The original is kept beside it, so its id cannot be taken by another snapshot meanwhile.
        self._seen[id(snapshot)] = (snapshot, shown)
        return shown

    def waiting(self, snapshot: Snapshot | None) -> tuple[Unapproved, ...]:
        """The allowed definitions of a catalog that a person has to see first."""
        if self.approved is None or snapshot is None or snapshot.kind is not Kind.TOOLS:
            return ()
        allow, deny = self.rules.allow, self.rules.deny
        items = (item for item in snapshot.items if allowed(allow, deny, item.key))
        return unapproved(items, self.approved)

    def _filter(self, snapshot: Snapshot) -> Snapshot:
        allow, deny = self.rules.allow, self.rules.deny
        items = tuple(item for item in snapshot.items if allowed(allow, deny, item.key))
        out = tuple(q for q in snapshot.quarantined if allowed(allow, deny, q.key))
        waiting = self.waiting(snapshot)
        items, out = served(items, waiting), (*out, *(one.as_quarantined() for one in waiting))
        return Snapshot(
            kind=snapshot.kind,
            items=items,
            digest=digest(snapshot.kind, items, out),
            quarantined=out,
            warnings=snapshot.warnings,
            hints=snapshot.hints,
            pages=snapshot.pages,
        )
