"""What must hold in each state of one replica, whatever happened before."""

from collections.abc import Iterable
from dataclasses import replace

from toolcrib.core.freshness.effects import Begin, Effect, FetchPage, Served, Withdrawn
from toolcrib.core.freshness.entry import OPERATIONS, Entry
from toolcrib.core.freshness.events import (
    Event,
    Failure,
    FailureKind,
    Granted,
    PageArrived,
    Refused,
    StoreFailed,
    Viewed,
    WalkFailed,
    Watched,
)
from toolcrib.core.freshness.need import standing
from toolcrib.core.freshness.record import Ticket
from toolcrib.core.freshness.replica import step
from toolcrib.core.instant import Instant
from toolcrib.testing.orders.moment import NOW
from toolcrib.testing.orders.pages import is_whole, marked
from toolcrib.testing.orders.replica import Replica

AT = Instant(NOW, NOW)
STORE_EFFECTS = tuple(OPERATIONS)
_ANSWERS = (Granted, Refused, Viewed, StoreFailed)
_LATE = marked(99, 99, None, 0, 1, AT)
_FORBIDDEN = Failure(FailureKind.FORBIDDEN, "403, to a request of a walk that was given up")


def broken_by(before: Replica, event: Event, effects: tuple[Effect, ...], after: Replica) -> str:
    """The promise that is broken by this step, or in the state after it; empty if none is."""
    return (
        _one_operation(before.entry, event, effects)
        or _one_walk(effects, after)
        or _only_forward(before, effects, after)
        or _nothing_lost(before.entry, effects, after.entry)
        or _true(after)
    )


def _one_operation(before: Entry, event: Event, effects: tuple[Effect, ...]) -> str:
    sent = sum(1 for effect in effects if isinstance(effect, STORE_EFFECTS))
    if sent > 1 or (sent and before.op is not None and not isinstance(event, _ANSWERS)):
        return "one operation at a time: another was sent while one is in flight"
    return ""


def _one_walk(effects: tuple[Effect, ...], after: Replica) -> str:
    asked = sum(1 for effect in effects if isinstance(effect, FetchPage))
    walk = after.entry.walk
    running = walk is not None and walk.candidate is None
    if asked > 1 or running != (after.fetch is not None):
        return "one walk at a time: it has exactly one list request under way"
    if walk is not None and any(isinstance(effect, Begin) for effect in effects):
        return "one walk at a time: another was asked for"
    return ""


def _only_forward(before: Replica, effects: Iterable[Effect], after: Replica) -> str:
    old, new = before.shown, after.shown
    if after.entry.hi < before.entry.hi:
        return "promise 2: the highest number was forgotten"
    for effect in effects:
        if not isinstance(effect, Served):
            continue
        if new is None or new.generation != effect.generation:
            return "promise 1: something was served that the store did not say"
        if old is not None and _goes_back(effect, old.generation, old.digest):
            return "promise 2: a generation went back, or has two contents"
        if old is not None and new.reads != old.reads and min(new.reads) < max(old.reads):
            return "promise 2: a newer listing was replaced by an older one"
    return ""


def _nothing_lost(before: Entry, effects: tuple[Effect, ...], after: Entry) -> str:
    withdrawn = any(isinstance(effect, Withdrawn) for effect in effects)
    if before.held is not None and after.held is None and not withdrawn:
        return "promise 4: last good was dropped, and nothing was withdrawn"
    return ""


def _goes_back(served: Served, generation: int, digest: str) -> bool:
    if served.generation != generation:
        return served.generation < generation
    return served.snapshot.digest != digest


def _true(after: Replica) -> str:
    stands, shown = standing(after.entry, NOW), after.shown
    if stands.snapshot is None:
        return ""
    if not is_whole(stands.snapshot):
        return "promise 1: half a listing is shown"
    if shown is None or stands.snapshot.digest != shown.digest:
        return "promise 1: something is shown that was never served"
    if shown.grant < after.revokes:
        return "promise 5: what was withdrawn is shown"
    if stands.fresh and min(shown.reads) < after.heard:
        return "promise 1: fresh, but it lacks a change that this replica knows of"
    return ""


def looked_at(replica: Replica) -> Replica:
    """A state that is met for the first time, with what is wrong with it by itself.

    No answer to a list request of a walk that was given up may change anything. Compared with an
    event that says nothing, because any event may find that something is due.
    """
    entry = replica.entry
    nothing = step(entry, Watched(entry.watchers, AT))
    for ticket in _given_up(entry):
        for event in (PageArrived(ticket, _LATE, AT), WalkFailed(ticket, _FORBIDDEN, AT)):
            if step(entry, event) != nothing:
                return replace(replica, broken="a late answer to a list request is not dropped")
    return replica


def _given_up(entry: Entry) -> tuple[Ticket, ...]:
    walk = entry.walk
    ticket = Ticket(entry.inc, 1, entry.epoch) if walk is None else walk.ticket
    older = Ticket(ticket.inc, ticket.fence - 1, ticket.epoch)
    elsewhere = Ticket("memory-lost", ticket.fence, ticket.epoch)
    return (older, elsewhere) if walk is not None else (ticket,)
