"""Events: what can happen to one catalog in one replica.

Each carries the moment and, where chance matters, a number drawn by the caller: the heart reads no
clock and draws no lots.
"""

from dataclasses import dataclass
from enum import Enum

from toolcrib.core.freshness.record import Answer, Ticket, View
from toolcrib.core.instant import Instant
from toolcrib.core.snapshot import Page


class Reason(Enum):
    """Why a catalog was invalidated."""

    SIGNAL = "signal"
    """The server said `list_changed`, declared or not."""
    STREAM_LOST = "stream_lost"
    RECONNECTED = "reconnected"
    STARTED = "started"
    CALL_CONTRADICTED = "call_contradicted"
    """A call's error contradicts the catalog ("unknown tool", "invalid params")."""
    CONFIG_CHANGED = "config_changed"
    VERSION_HINT = "version_hint"
    REQUESTED = "requested"
    """A person, the probe or a test asked for a refresh."""


class FailureKind(Enum):
    """Why a walk failed."""

    TRANSPORT = "transport"
    """Unreachable, closed, 5xx, or an answer that is no answer."""
    TIMEOUT = "timeout"
    REFUSED_CURSOR = "refused_cursor"
    """The server does not take the cursor it gave: the walk restarts from page one, counted as
    dirty."""
    FORBIDDEN = "forbidden"
    """401 or 403 after one credential refresh: the right is gone."""
    RATE_LIMITED = "rate_limited"
    MALFORMED = "malformed"
    """The result is no list result at all."""
    LIMIT = "limit"
    """Too many pages, items or bytes."""


@dataclass(frozen=True, slots=True)
class Failure:
    """How a walk failed."""

    kind: FailureKind
    detail: str
    """One sentence for the operator; no secret."""
    retry_after: float | None = None
    """Seconds the server asked to wait."""


@dataclass(frozen=True, slots=True)
class Needed:
    """Somebody needs the catalog: a listing, a search, details, an admission."""

    now: Instant
    lots: float = 0.0
    """A number in [0, 1), drawn by the caller, for jitter."""
    force: bool = False
    """Walk even though the catalog is fresh: strategy `always`, the probe, a requested refresh."""


@dataclass(frozen=True, slots=True)
class Invalidated:
    """What is held may be out of date."""

    reason: Reason
    now: Instant


@dataclass(frozen=True, slots=True)
class Granted:
    """The store granted a walk."""

    ticket: Ticket
    view: View
    now: Instant
    lots: float = 0.0


@dataclass(frozen=True, slots=True)
class Refused:
    """The store refused a BEGIN; the view and the verdict say why."""

    answer: Answer
    now: Instant
    lots: float = 0.0


@dataclass(frozen=True, slots=True)
class PageArrived:
    """One page of the walk with this ticket."""

    ticket: Ticket
    page: Page
    now: Instant
    lots: float = 0.0


@dataclass(frozen=True, slots=True)
class WalkFailed:
    """The walk with this ticket cannot be finished."""

    ticket: Ticket
    failure: Failure
    now: Instant
    lots: float = 0.0


@dataclass(frozen=True, slots=True)
class StreamOpened:
    """Change signals are acknowledged and flowing from now on."""

    now: Instant


@dataclass(frozen=True, slots=True)
class StreamLost:
    """Signals may have been missed from some moment before now."""

    now: Instant


@dataclass(frozen=True, slots=True)
class StreamRefused:
    """The server offers no change signals: polling takes their place."""

    now: Instant


@dataclass(frozen=True, slots=True)
class Connected:
    """A connection is up, for the first time or again: whatever is held answers an old question."""

    now: Instant


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The connection is down; walks cannot begin until it is up again."""

    now: Instant


@dataclass(frozen=True, slots=True)
class Revoked:
    """The right to see this catalog is gone: we were told."""

    now: Instant


@dataclass(frozen=True, slots=True)
class Regranted:
    """A right newer than the withdrawal was obtained: walks may begin again."""

    now: Instant


@dataclass(frozen=True, slots=True)
class Watched:
    """Somebody subscribed to changes of the catalog, or no longer does."""

    watchers: int
    """How many do now: while anybody does, signals are followed and polls go on without readers."""
    now: Instant


@dataclass(frozen=True, slots=True)
class Viewed:
    """The store answered an operation other than a refused BEGIN: its view is taken in."""

    operation: str
    """LOOK, INVALIDATE, RENEW, RELEASE, PUBLISH or REVOKE."""
    answer: Answer
    now: Instant
    lots: float = 0.0


@dataclass(frozen=True, slots=True)
class StoreFailed:
    """The operation under way had no answer: unknown outcome (REPLICAS rules 3 and 16).

    An answer that comes later all the same is dropped by whoever asked; it never becomes an event.
    """

    operation: str
    now: Instant
    lots: float = 0.0


@dataclass(frozen=True, slots=True)
class Hinted:
    """The bus said `look again`."""

    now: Instant


@dataclass(frozen=True, slots=True)
class Woke:
    """The time asked for by `WakeAt` has come."""

    now: Instant
    lots: float = 0.0


Event = (
    Needed
    | Invalidated
    | Granted
    | Refused
    | PageArrived
    | WalkFailed
    | StreamOpened
    | StreamLost
    | StreamRefused
    | Connected
    | Disconnected
    | Revoked
    | Regranted
    | Watched
    | Viewed
    | StoreFailed
    | Hinted
    | Woke
)
