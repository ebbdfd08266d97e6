"""What one replica remembers of one catalog, and the plain questions about it."""

from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any

from toolcrib.core.freshness.breaker import CLOSED, Breaker
from toolcrib.core.freshness.effects import (
    Begin,
    Invalidate,
    Look,
    Publish,
    Release,
    Renew,
    Revoke,
    StoreEffect,
)
from toolcrib.core.freshness.events import Failure
from toolcrib.core.freshness.record import Caller, Ticket
from toolcrib.core.freshness.settling import Alternation, Echo, Loss
from toolcrib.core.freshness.tempo import NEVER, Strategy, Tempo
from toolcrib.core.freshness.walk import Walk
from toolcrib.core.snapshot import Kind, Snapshot

ASKED_GRAIN = 60.0
"""Seconds after which a reader that could be answered at once is noted all the same, as somebody
who asks."""

OPERATIONS: dict[type[StoreEffect], str] = {
    Look: "LOOK",
    Invalidate: "INVALIDATE",
    Begin: "BEGIN",
    Renew: "RENEW",
    Release: "RELEASE",
    Publish: "PUBLISH",
    Revoke: "REVOKE",
}
"""The name under which the answer to each store effect comes back."""


@dataclass(frozen=True, slots=True)
class Held:
    """The snapshot this replica has, and its place in time; times are monotonic seconds."""

    snapshot: Snapshot
    generation: int
    inc: str
    """The incarnation it was taken in from; empty once that one is gone, so that no number is
    compared."""
    epoch: int
    """Epoch at which its walk began."""
    read: float
    """Receipt of the earliest page."""
    expires: float
    """Until when its hints let it count as fresh."""
    begun: float
    """When its walk began, or the earliest later moment that is known of another replica's."""
    walked: float
    """When the walk that last confirmed it was complete, as far as known."""
    hidden_until: float = -NEVER
    """Not shown before: the store lost its memory, and this may have been withdrawn meanwhile."""


@dataclass(frozen=True, slots=True)
class Op:
    """The one store operation in flight."""

    effect: StoreEffect
    sent: float
    walk: Walk | None = None
    """For a PUBLISH: the walk whose result it offers."""


@dataclass(frozen=True, slots=True)
class Link:
    """The connection to the server, and the stream of its signals."""

    up: bool = False
    tried: bool = False
    """Whether a connection was up, or failed, before."""
    listening: bool = False
    """Whether change signals are acknowledged and flowing."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One catalog in one replica; times are monotonic seconds, and nothing changes in place."""

    kind: Kind
    tempo: Tempo = field(default=Tempo())
    shared: bool = False
    """Whether several principals are served from it."""
    remote: bool = False
    """Whether others write to its record behind a round trip, so that a listing looks first."""

    held: Held | None = None
    inc: str = ""
    epoch: int = 0
    hi: int = 0
    """The highest generation ever served here; never forgotten."""
    rev: int = 0
    min_epoch: float = 0.0
    """Walks begun before it are not adopted; infinite until an INVALIDATE was answered."""
    withdrawn: bool = False
    regranted: bool = False
    """Whether a right newer than the withdrawal was obtained here."""

    heard: bool = True
    """A signal not recorded in the store yet; a start is one (REPLICAS rule 17)."""
    revoked: bool = False
    """A revocation not recorded in the store yet."""
    look: bool = False
    release: Ticket | None = None
    op: Op | None = None
    viewed: float = -NEVER
    """When the newest answered store operation was sent."""
    store: Breaker = CLOSED
    walk: Walk | None = None

    link: Link = Link()
    breaker: Breaker = CLOSED
    failure: Failure | None = None
    """Why the last walk failed; None after one that was whole."""
    asked: float = -NEVER
    """When somebody last needed the catalog."""
    cold: float = NEVER
    """Since when there could have been a first listing: the connection was begun or came up, or
    somebody needed one; NEVER where one is held."""
    watchers: int = 0
    """How many subscribe to its changes."""
    wanted: bool = False
    """Somebody waits for, or was promised, something fresher than what is held."""
    forced_at: float = NEVER
    """A walk begun at this time or later is owed to somebody, fresh or not."""
    recheck_at: float = NEVER
    """A walk begun at this time or later is owed to a rule that looks twice."""
    debounced: float = 0.0
    """End of the burst of signals under way; 0 when no walk waits for one."""
    recorded: float = -NEVER
    """When the last INVALIDATE was sent."""
    not_before: float = 0.0
    """No walk begins before: storms, second looks, a new incarnation."""
    lease_until: float = 0.0
    """Until when another replica's lease lasts."""
    ended: float = -NEVER
    """When a walk last came to its last page."""
    dirty: int = 0
    """Dirty walks in a row here."""
    echo: Echo = field(default=Echo())
    loss: Loss = field(default=Loss())
    alternation: Alternation = field(default=Alternation())
    quiet: int = 0
    """Polls in a row that found nothing new."""
    jitter: float = 0.0
    """The lot drawn for the next poll, in [0, 1)."""
    cycled: bool = False
    """Whether the last whole walk ended at a cursor that came twice; reported once in a row."""
    good_until: float = -NEVER
    """Derived at each step: until when a reader can be answered without a step."""
    wake: float = NEVER
    """The time last asked for with `WakeAt`."""


_FIELDS = tuple(each.name for each in fields(Entry))
_values = attrgetter(*_FIELDS)
_slots: tuple[Any, ...] = tuple(vars(Entry)[name] for name in _FIELDS)
_slot = dict(zip(_FIELDS, _slots, strict=True))


def but(entry: Entry, **changes: Any) -> Entry:
    """Copy the entry with some fields changed: `dataclasses.replace` in a third of its time."""
    copy = object.__new__(Entry)
    for slot, value in zip(_slots, _values(entry), strict=True):
        slot.__set__(copy, value)
    for name, value in changes.items():
        _slot[name].__set__(copy, value)
    return copy


def caller_of(entry: Entry) -> Caller:
    """What each store operation is told of this replica."""
    held = entry.held
    same_line = held is not None and held.inc == entry.inc
    return Caller(entry.inc, entry.hi, held.generation if held is not None and same_line else 0)


def visible(entry: Entry, now: float) -> Held | None:
    """What may be shown at `now`, fresh or not: last good, unless it is hidden after a loss."""
    held = entry.held
    return None if held is None or now < held.hidden_until else held


def is_clean(entry: Entry) -> bool:
    """Whether what is held was not invalidated, as far as this replica and its store know."""
    held = entry.held
    return (
        held is not None
        and held.epoch == entry.epoch
        and held.inc == entry.inc
        and not entry.heard
        and not (entry.op is not None and isinstance(entry.op.effect, Invalidate))
        and entry.store.failures == 0
    )


def answerable_until(entry: Entry) -> float:
    """Until when readers need no walk (DESIGN section 5, when to walk)."""
    held, tempo = entry.held, entry.tempo
    if held is None or not is_clean(entry):
        return -NEVER
    good = max(held.expires, held.walked + tempo.min_interval)
    if tempo.strategy == "notify" and entry.link.listening:
        good = NEVER
    return min(good, held.read + tempo.max_stale_list)


def may_walk(entry: Entry) -> bool:
    """Whether there is a server to ask, and a right to ask it."""
    return entry.link.up and (not entry.withdrawn or entry.regranted)


def is_interesting(entry: Entry, now: float) -> bool:
    """Whether somebody subscribes, or asked lately: otherwise nothing is walked unasked."""
    return entry.watchers > 0 or now - entry.asked <= entry.tempo.wanted_for


_POLLING: dict[Strategy, tuple[bool, bool]] = {
    "auto": (False, True),
    "notify": (False, False),
    "poll": (True, True),
    "notify+verify": (False, True),
    "always": (False, False),
}
"""Whether a strategy polls, with and without a stream of signals."""


def poll_due(entry: Entry) -> float:
    """When the next poll is due, if somebody still cares then."""
    listening, deaf = _POLLING[entry.tempo.strategy]
    held, tempo = entry.held, entry.tempo
    if held is None or not (listening if entry.link.listening else deaf):
        return NEVER
    base = max(held.snapshot.hints.ttl, tempo.poll_base)
    interval = min(max(base, tempo.poll_max), base * 2.0 ** min(entry.quiet, 16))
    return max(held.walked, entry.ended) + interval * (1 + entry.jitter / 5)
