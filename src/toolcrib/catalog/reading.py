"""What a reader of a catalog gets: the snapshot, how true it is, and why if there is none."""

from dataclasses import dataclass

from toolcrib.core.snapshot import Kind, Scope, Snapshot


@dataclass(frozen=True, slots=True)
class Reading:
    """One catalog of one server, as it could be answered within the reader's wait."""

    server: str
    """The configured server id."""
    kind: Kind
    snapshot: Snapshot | None
    """The newest published snapshot; None when nothing usable is held."""
    generation: int = 0
    fresh: bool = False
    """Whether it counts as fresh right now."""
    age: float | None = None
    """Seconds since its earliest page was received."""
    ttl_left: float = 0.0
    """Seconds its own hints still allow; 0 unless fresh."""
    scope: Scope = Scope.PRIVATE
    """The strictest scope we may claim for it downstream."""
    current: bool = False
    """Whether a listing would be answered from it at once: nothing invalidated it, and its hints
    still hold or its walk was complete within `min_interval`."""
    invalidated: bool = False
    """Whether something says that it may be out of date."""
    withdrawn: bool = False
    """Whether there is none because the right to see it is gone."""
    signals: int = 0
    """How many changes the server had announced by then, on this connection and earlier ones."""
    trouble: str = ""
    """Why it is missing or stale, for a person; empty when fresh."""
