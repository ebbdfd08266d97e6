"""The shared record of one catalog: what a store keeps, and what it tells a replica of it.

Three numbers, three questions. `epoch` counts invalidations that mattered: was the walk begun
after the last one? `fence` counts grants: is this walk still the newest? `gen` numbers published
contents: which is newer? A lease says who may *begin* next; never who may publish. All times here
are the store's own.
"""

from dataclasses import dataclass
from typing import Literal

from toolcrib.core.snapshot import Snapshot

LEASE = 20.0
"""Seconds one grant keeps others from beginning; renewed with every page."""

DIRTY_LIMIT = 3
"""From this dirty walk in a row on, a walk may be published as stale (DESIGN section 5, dirty
walks)."""


@dataclass(frozen=True, slots=True)
class StoreClock:
    """What the store knows of itself at the moment of one operation."""

    server: str
    """Identity of the store's memory; a different one means that it may have lost something."""
    now: float
    """Seconds since the epoch, on the store's clock."""


@dataclass(frozen=True, slots=True)
class Caller:
    """What every operation is told of the replica that asks."""

    inc: str = ""
    """The incarnation the replica last saw; empty when it has seen none."""
    hi: int = 0
    """The highest generation it ever served for this catalog."""
    gen: int = 0
    """The generation it holds of that incarnation: the view carries the body only if another is
    current."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """The right to publish the result of one walk, as long as nobody began a newer one."""

    inc: str
    fence: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Published:
    """A snapshot with its place in time."""

    snapshot: Snapshot
    read_at: float
    """Store time in seconds at which the earliest page was received."""
    expires_at: float
    """Store time in seconds until which its hints let it count as fresh."""


@dataclass(frozen=True, slots=True)
class Record:
    """Everything a store keeps about one catalog."""

    server: str
    inc: str
    gen: int = 0
    floor: int = 0
    published: Published | None = None
    snap_epoch: int | None = None
    """Epoch at which the walk of the published snapshot began."""
    epoch: int = 0
    walk_epoch: int | None = None
    """Epoch at which the newest walk began."""
    fence: int = 0
    lease_until: float = 0.0
    rev: int = 0
    """Withdrawals recorded."""
    withdrawn: bool = False
    dirty: int = 0
    dirty_digest: str | None = None


@dataclass(frozen=True, slots=True)
class View:
    """What every operation answers."""

    inc: str
    gen: int
    epoch: int
    snap_epoch: int | None
    rev: int
    withdrawn: bool
    digest: str | None
    needs_walk: bool
    lease_left: float
    """Seconds until another replica may begin a walk; 0 when the lease is free."""
    age: float | None
    """Seconds since the earliest page of the snapshot was received; None without one. Negative
    when it was received in the store's future: then the clock moved, and it counts as stale."""
    ttl_left: float
    """Seconds the snapshot's hints still allow, never more than its whole ttl; 0 when stale."""
    body: Published | None
    """The snapshot, where the caller does not hold it already."""

    @property
    def has_snapshot(self) -> bool:
        """Whether the record holds a snapshot, whether or not this view carries it."""
        return self.digest is not None


Verdict = Literal[
    "done",
    "refused_fresh",
    "refused_lease",
    "refused_withdrawn",
    "refused_fence",
    "refused_dirty",
    "lost",
]


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of one operation: a verdict, the ticket if one was granted, and the view."""

    verdict: Verdict
    view: View
    ticket: Ticket | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What a store carries out: keep `record`, tell others to look if `hint`, give `answer`."""

    record: Record
    answer: Answer
    hint: bool = False
