"""The heart: what one replica does about one catalog.

Two rules. Everything that decides when a server is asked, what is published and what is shown
lives in this folder, and nowhere else; and this folder knows no clock, no lot, no socket and no
store: time and chance arrive in the event, work leaves as an effect. `step(entry, event)` is the
whole of it.

The machines. All live in one `Entry`, and each step moves any number of them:

- the *line* (`inc`, `epoch`, `hi`, `rev`, `min_epoch`): what the store said last; moved by
  `absorb` only;
- the *queue* (`revoked`, `heard`, `release`, `look`) and the one operation in flight (`op`): idle
  -> in flight -> answered, or unknown and queued again;
- the *walk*: none -> granted -> pages -> whole -> offered. It ends at any time as failed, lost,
  dropped or withdrawn; exactly one list request of it is unanswered, and a page with another
  ticket is dropped;
- the *link* to the server: not tried -> up <-> down; while it is up, listening to signals or
  not;
- the *wishes* (`wanted`, `forced_at`, `recheck_at`) and what holds them back (`debounced`,
  `not_before`, `lease_until`, the breaker, the pace of a settled server): a walk begins when a
  wish is due and nothing holds it back;
- the *second looks* of `settling`: echoes of signals, losses, alternation.

What is held is *clean* if its walk began at the last known epoch, no signal is queued or being
recorded, and the store answers. Fresh is clean, and within its hints. Good enough for a reader is
clean, and fresh or walked within `min_interval`.

Who wins a conflict. The withdrawal beats everything: it drops the snapshot and the walk at once
and is recorded before anything else is said to the store. A signal beats every other operation:
nothing is offered, begun or looked at while one is queued. The store beats the replica: `step`
asks, the store decides about epochs, fences and numbers. Older views, pages and failures lose
against newer tickets. Among wishes, the latest time wins that anything holds back. A reader never
cancels a walk.

Files, in the order to read them: `entry` (the state and plain questions), `hearing` (readers,
signals, connection, rights), `walking` (pages), `answers` and `absorb` (the store), `agenda` (what
is done next), `settling`, `walk`, `breaker`, `tempo`, and `need` (what readers get).
"""

from dataclasses import replace
from typing import assert_never

from toolcrib.core.freshness import answers, hearing, walking
from toolcrib.core.freshness.absorb import absorb
from toolcrib.core.freshness.agenda import advance
from toolcrib.core.freshness.effects import Effect
from toolcrib.core.freshness.entry import Entry, but, caller_of
from toolcrib.core.freshness.events import (
    Connected,
    Disconnected,
    Event,
    Granted,
    Hinted,
    Invalidated,
    Needed,
    PageArrived,
    Refused,
    Regranted,
    Revoked,
    StoreFailed,
    StreamLost,
    StreamOpened,
    StreamRefused,
    Viewed,
    WalkFailed,
    Watched,
    Woke,
)
from toolcrib.core.freshness.hearing import Outcome
from toolcrib.core.freshness.tempo import NEVER

__all__ = ["Entry", "absorb", "caller_of", "step"]

_StoreEvent = Granted | Refused | Viewed | StoreFailed | Hinted
_LinkEvent = StreamOpened | StreamLost | StreamRefused | Connected | Disconnected
_RightEvent = Revoked | Regranted


def step(entry: Entry, event: Event) -> tuple[Entry, tuple[Effect, ...]]:
    """The entry after `event`, and what has to be done about it, in order.

    At most one of the effects is a store effect, and only while none is in flight; its answer
    comes back as `Granted`, `Refused`, `Viewed` or `StoreFailed`. Of the others, `FetchPage` is
    answered by `PageArrived` or `WalkFailed`, and `WakeAt` by `Woke`.
    """
    now = event.now.mono
    if (
        isinstance(event, Needed)
        and not event.force
        and not entry.remote
        and now < entry.good_until
    ):
        return entry, ()
    changed, effects = _after(entry, event)
    return advance(changed, now, effects)


def _after(entry: Entry, event: Event) -> Outcome:
    match event:
        case Needed():
            return hearing.needed(entry, event), ()
        case Invalidated():
            return hearing.invalidated(entry, event)
        case PageArrived():
            return walking.page_arrived(entry, event)
        case WalkFailed():
            return walking.walk_failed(entry, event)
        case Woke():
            return but(entry, wake=NEVER), ()
        case Watched():
            return but(entry, watchers=event.watchers), ()
        case Granted() | Refused() | Viewed() | StoreFailed() | Hinted():
            return _after_store(entry, event)
        case _:
            return _after_link(entry, event)


def _after_store(entry: Entry, event: _StoreEvent) -> Outcome:
    match event:
        case Granted():
            return answers.granted(entry, event)
        case Refused():
            return answers.refused(entry, event)
        case Viewed():
            return answers.viewed(entry, event)
        case StoreFailed():
            return answers.store_failed(entry, event)
        case Hinted():
            # Somebody reached the store: it need not be left alone any longer.
            return but(entry, look=True, store=replace(entry.store, until=0.0)), ()
    assert_never(event)


def _after_link(entry: Entry, event: _LinkEvent | _RightEvent) -> Outcome:
    now = event.now.mono
    match event:
        case StreamOpened():
            return hearing.stream_answered(entry, now, listening=True), ()
        case StreamRefused():
            return hearing.stream_answered(entry, now, listening=False), ()
        case StreamLost():
            return hearing.stream_lost(entry, now), ()
        case Connected():
            return hearing.connected(entry, now), ()
        case Disconnected():
            return hearing.disconnected(entry, now), ()
        case Revoked():
            return hearing.withdrawn(entry)
        case Regranted():
            return hearing.regranted(entry, now), ()
    assert_never(event)
