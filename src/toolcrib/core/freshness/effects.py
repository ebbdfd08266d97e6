"""Effects: what has to be done after a step.

The keeper carries them out, store operations one at a time and in order (REPLICAS rule 3); their
outcomes come back as events.
"""

from dataclasses import dataclass

from toolcrib.core.freshness.events import Failure
from toolcrib.core.freshness.record import Published, Ticket
from toolcrib.core.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Look:
    """Ask the store for its view."""


@dataclass(frozen=True, slots=True)
class Invalidate:
    """Record a signal in the store."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Ask the store for a walk."""

    force: bool = False
    regranted: bool = False


@dataclass(frozen=True, slots=True)
class Renew:
    """Keep the lease of the running walk."""

    ticket: Ticket


@dataclass(frozen=True, slots=True)
class Release:
    """Give the lease back: the walk failed or was given up."""

    ticket: Ticket


@dataclass(frozen=True, slots=True)
class FetchPage:
    """Send one list request; without a cursor for the first page (no cursor key at all)."""

    ticket: Ticket
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Publish:
    """Offer the result of a walk to the store."""

    ticket: Ticket
    candidate: Published
    provisional: bool = False
    """Whether it is known to be dirty: a signal was recorded after its walk began."""


@dataclass(frozen=True, slots=True)
class Revoke:
    """Record the withdrawal in the store, before any other operation."""


@dataclass(frozen=True, slots=True)
class Served:
    """A snapshot became current in this replica: readers and listeners are to be told."""

    snapshot: Snapshot
    before: Snapshot | None
    """The snapshot it replaces; equal digests mean that only freshness was renewed."""
    generation: int
    fresh: bool


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The catalog is no longer shown; readers get nothing."""

    before: Snapshot | None


@dataclass(frozen=True, slots=True)
class KeepLastGood:
    """A refresh failed; what is held goes on being served, with its age."""

    failure: Failure
    retry_at: float
    """Monotonic seconds before which no walk begins."""


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Send `Woke` at this monotonic time; replaces any earlier request."""

    mono: float


@dataclass(frozen=True, slots=True)
class Report:
    """Something an operator should know."""

    code: str
    """Stable, such as `cursor_cycle`, `self_notifying_server`, `replica_disagreement`,
    `scope_tightened`."""
    detail: str


Effect = (
    Look
    | Invalidate
    | Begin
    | Renew
    | Release
    | FetchPage
    | Publish
    | Revoke
    | Served
    | Withdrawn
    | KeepLastGood
    | WakeAt
    | Report
)

StoreEffect = Look | Invalidate | Begin | Renew | Release | Publish | Revoke
