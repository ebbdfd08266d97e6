"""What this replica asks of the store next, and when it has to be woken.

One store operation at a time. When none is in flight, the next is the first of: the withdrawal, a
signal, the result of a walk, a lease given back, a new walk, a lease kept, a look (REPLICAS
section 4).
"""

from dataclasses import replace

from toolcrib.core.freshness.effects import (
    Begin,
    Effect,
    Invalidate,
    Look,
    Publish,
    Release,
    Renew,
    Revoke,
    StoreEffect,
    WakeAt,
)
from toolcrib.core.freshness.entry import (
    ASKED_GRAIN,
    Entry,
    Op,
    answerable_until,
    but,
    is_interesting,
    may_walk,
    poll_due,
)
from toolcrib.core.freshness.settling import earliest
from toolcrib.core.freshness.tempo import NEVER


def is_owed(entry: Entry, now: float) -> bool:
    """Whether a walk must begin although the catalog may count as fresh."""
    return now >= entry.forced_at or now >= entry.recheck_at


def walk_at(entry: Entry, now: float) -> float:
    """When the next walk of this replica begins, as things stand; NEVER if none is due.

    Meaningful while no walk is running. The debounce, second looks, storms, another's lease, the
    breaker and the slow pace of a settled server each hold it back.
    """
    if not may_walk(entry):
        return NEVER
    due = min(entry.forced_at, entry.recheck_at)
    if is_interesting(entry, now):
        if entry.wanted:
            due = min(due, max(now, answerable_until(entry)))
        due = min(due, poll_due(entry))
    if due == NEVER:
        return NEVER
    pace = 0.0 if now >= entry.forced_at else earliest(entry.echo, entry.tempo)
    held_back = (entry.debounced, entry.not_before, entry.lease_until, entry.breaker.until, pace)
    return max(due, *held_back)


def _next(entry: Entry, now: float) -> StoreEffect | None:
    if entry.op is not None or entry.store.is_open(now):
        return None
    if entry.revoked:
        return Revoke()
    later = _after_signals(entry, now)
    if entry.heard and (later is not None or now >= entry.recorded + entry.tempo.debounce):
        # Before anything else is said to the store, a signal is (rule 13); a storm alone is
        # recorded once per debounce.
        return Invalidate()
    return later


def _after_signals(entry: Entry, now: float) -> StoreEffect | None:
    walk = entry.walk
    if walk is not None and walk.candidate is not None:
        return Publish(walk.ticket, walk.candidate, provisional=walk.ticket.epoch != entry.epoch)
    if entry.release is not None:
        return Release(entry.release)
    if walk is None and walk_at(entry, now) <= now:
        return Begin(force=is_owed(entry, now), regranted=entry.regranted)
    if walk is not None and walk.renew:
        return Renew(walk.ticket)
    return Look() if entry.look or now >= _look_due(entry, now) else None


def _look_due(entry: Entry, now: float) -> float:
    """When a remote store is looked at although nothing happened (rule 22)."""
    if not entry.remote or not is_interesting(entry, now):
        return NEVER
    return entry.viewed + entry.tempo.look_every * (1 + entry.jitter / 5)


def _sent(entry: Entry, effect: StoreEffect, now: float) -> Entry:
    """The entry with `effect` in flight, and out of the queue. Every answer is a look, too."""
    walk, op = entry.walk, Op(effect, now)
    match effect:
        case Revoke():
            entry = but(entry, revoked=False)
        case Invalidate():
            entry = but(entry, heard=False, recorded=now)
        case Publish():
            op = Op(effect, now, walk)
            entry = but(entry, walk=None)
        case Release():
            entry = but(entry, release=None)
        case Renew() if walk is not None:
            entry = but(entry, walk=replace(walk, renew=False))
        case _:
            pass
    return but(entry, op=op, look=False)


def _wake_at(entry: Entry, now: float) -> float:
    """When something will be due that no event announces."""
    if entry.op is not None:
        return NEVER
    if entry.store.is_open(now):
        return entry.store.until
    recorded = entry.recorded + entry.tempo.debounce if entry.heard else NEVER
    begins = walk_at(entry, now) if entry.walk is None else NEVER
    return min(recorded, begins, _look_due(entry, now))


def advance(
    entry: Entry, now: float, effects: tuple[Effect, ...]
) -> tuple[Entry, tuple[Effect, ...]]:
    """The end of every step: the next store operation, and the next time to be woken."""
    operation = _next(entry, now)
    if operation is not None:
        entry = _sent(entry, operation, now)
        effects = (*effects, operation)
    good = min(answerable_until(entry), entry.asked + ASKED_GRAIN)
    wake = _wake_at(entry, now)
    if wake not in (entry.wake, NEVER):
        effects = (*effects, WakeAt(wake))
        entry = but(entry, good_until=good, wake=wake)
    elif good != entry.good_until:
        entry = but(entry, good_until=good)
    return entry, effects
