"""What a server's allow and deny lists leave of its tools.

They apply to what is shown, never to what is stored.
"""

from toolcrib.core.fingerprint import digest
from toolcrib.core.policy import allowed
from toolcrib.core.snapshot import Kind, Snapshot
from toolcrib.settings import ToolFilter

_EVERYTHING = ToolFilter()
_REMEMBERED = 4


class ToolView:
    """Shows snapshots through one filter.

    The same snapshot gives the same object, so that others may cache by it.
    """

    def __init__(self, rules: ToolFilter) -> None:
        self.rules = rules
        self._seen: dict[int, tuple[Snapshot, Snapshot]] = {}

    def of(self, snapshot: Snapshot | None) -> Snapshot | None:
        """The snapshot with denied tools taken out; other kinds pass unchanged."""
        if snapshot is None or snapshot.kind is not Kind.TOOLS or self.rules == _EVERYTHING:
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

    def _filter(self, snapshot: Snapshot) -> Snapshot:
        allow, deny = self.rules.allow, self.rules.deny
        items = tuple(item for item in snapshot.items if allowed(allow, deny, item.key))
        out = tuple(q for q in snapshot.quarantined if allowed(allow, deny, q.key))
        return Snapshot(
            kind=snapshot.kind,
            items=items,
            digest=digest(snapshot.kind, items, out),
            quarantined=out,
            warnings=snapshot.warnings,
            hints=snapshot.hints,
            pages=snapshot.pages,
        )
