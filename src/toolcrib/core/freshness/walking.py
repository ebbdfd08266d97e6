"""The pages of our own walk: how it goes on, and whether its result is offered to the store."""

from dataclasses import replace
from typing import assert_never

from toolcrib.core.freshness.breaker import CLOSED, backoff, tripped
from toolcrib.core.freshness.effects import Effect, FetchPage, KeepLastGood, Report
from toolcrib.core.freshness.entry import Entry, but
from toolcrib.core.freshness.events import Failure, FailureKind, PageArrived, WalkFailed
from toolcrib.core.freshness.hearing import Outcome, unhidden, withdrawn
from toolcrib.core.freshness.settling import Loss, begun, observed, unconfirmed, walked
from toolcrib.core.freshness.walk import (
    CURSOR_CYCLE,
    Again,
    Broken,
    More,
    Walk,
    Whole,
    fold,
    restarted,
)
from toolcrib.core.snapshot import Scope, Snapshot

SCOPE_TIGHTENED = "scope_tightened"
REPLICA_DISAGREEMENT = "replica_disagreement"


def page_arrived(entry: Entry, event: PageArrived) -> Outcome:
    """Take in a page; one of a walk that is no longer ours is dropped."""
    walk, now = entry.walk, event.now.mono
    if walk is None or walk.ticket != event.ticket or walk.candidate is not None:
        return entry, ()
    folded = fold(walk, event.page, entry.kind, entry.tempo, event.now)
    match folded:
        case More():
            return but(entry, walk=folded.walk), (FetchPage(walk.ticket, folded.cursor),)
        case Again():
            return _again(entry, folded.walk, now)
        case Broken():
            return _failed(entry, walk, folded.failure, now, event.lots)
        case Whole():
            return _whole(entry, folded, now, event.lots)
    assert_never(folded)


def walk_failed(entry: Entry, event: WalkFailed) -> Outcome:
    """The walk cannot go on; the failure of one that is no longer ours is dropped."""
    walk, now, failure = entry.walk, event.now.mono, event.failure
    if walk is None or walk.ticket != event.ticket or walk.candidate is not None:
        return entry, ()
    if failure.kind is FailureKind.FORBIDDEN:
        return withdrawn(but(entry, failure=failure))
    if failure.kind is FailureKind.REFUSED_CURSOR and walk.pages:
        after = restarted(walk)
        if isinstance(after, Again):
            return _again(but(entry, dirty=entry.dirty + 1), after.walk, now)
        failure = after.failure
    return _failed(entry, walk, failure, now, event.lots)


def _again(entry: Entry, walk: Walk, now: float) -> Outcome:
    entry = but(entry, walk=walk, echo=begun(entry.echo, now, entry.tempo))
    return entry, (FetchPage(walk.ticket, None),)


def _failed(entry: Entry, walk: Walk, failure: Failure, now: float, lots: float) -> Outcome:
    tempo, breaker = entry.tempo, entry.breaker
    wait = backoff(breaker.failures + 1, lots, base=tempo.backoff_base, cap=tempo.backoff_max)
    breaker = tripped(breaker, now, wait, failure.retry_after)
    entry = but(
        entry,
        walk=None,
        release=walk.ticket,
        breaker=breaker,
        failure=failure,
        wanted=True,
        recheck_at=min(entry.recheck_at, breaker.until) if walk.owed else entry.recheck_at,
        loss=replace(entry.loss, digest=""),
    )
    return unhidden(entry, now), (KeepLastGood(failure, breaker.until),)


def _whole(entry: Entry, whole: Whole, now: float, lots: float) -> Outcome:
    """The last page was reached. Offer the result, unless it has to be looked at twice."""
    walk, snapshot = whole.walk, whole.candidate.snapshot
    if entry.shared and snapshot.hints.scope is Scope.PRIVATE:
        entry, effects = withdrawn(entry)
        detail = "a listing that was shared is for one principal only, says the server"
        return entry, (*effects, Report(SCOPE_TIGHTENED, detail))
    effects = _oddities(entry, snapshot)
    unchanged = snapshot.digest == entry.echo.digest
    entry = but(
        entry,
        breaker=CLOSED,
        failure=None,
        ended=now,
        echo=walked(entry.echo, snapshot.digest),
        quiet=entry.quiet + 1 if walk.polled and unchanged else 0,
        jitter=lots,
        cycled=CURSOR_CYCLE in snapshot.warnings,
    )
    before = None if entry.held is None else entry.held.snapshot
    waiting = unconfirmed(entry.loss, before, snapshot, now, entry.tempo)
    if waiting is not None:
        return _looked_at_twice(entry, walk, waiting), effects
    entry = but(entry, walk=walk, loss=replace(entry.loss, digest=""))
    entry, more = _compared(entry, walk, snapshot, now)
    return entry, (*effects, *more)


def _oddities(entry: Entry, snapshot: Snapshot) -> tuple[Effect, ...]:
    if CURSOR_CYCLE not in snapshot.warnings or entry.cycled:
        return ()
    detail = "the listing ended because a cursor came twice; nothing new was on that page"
    return (Report(CURSOR_CYCLE, detail),)


def _looked_at_twice(entry: Entry, walk: Walk, waiting: Loss) -> Entry:
    """Keep last good, give the lease back, and walk once more before the loss is believed."""
    again = waiting.since + entry.tempo.confirm
    return but(
        entry,
        walk=None,
        release=walk.ticket,
        loss=waiting,
        recheck_at=min(entry.recheck_at, again),
        not_before=max(entry.not_before, again),
    )


def _compared(entry: Entry, walk: Walk, snapshot: Snapshot, now: float) -> Outcome:
    """Hold a listing back that takes turns with the held one: replicas of the server disagree."""
    if entry.heard or walk.ticket.epoch != entry.epoch:
        return entry, ()
    seen = observed(entry.alternation, snapshot.digest, now, signalled=entry.echo.signalled)
    if not seen.disagrees:
        return but(entry, alternation=replace(seen, other=None)), ()
    held = entry.held
    if held is None or held.snapshot.digest == snapshot.digest:
        return but(entry, alternation=seen), ()
    entry = but(
        entry,
        walk=None,
        release=walk.ticket,
        alternation=replace(seen, other=snapshot),
        wanted=False,
        recheck_at=min(entry.recheck_at, seen.quiet_at),
        not_before=max(entry.not_before, now + entry.tempo.min_interval),
    )
    if seen.other is not None:
        return entry, ()
    detail = "two listings take turns without a signal; the first is kept until one of them stays"
    return entry, (Report(REPLICA_DISAGREEMENT, detail),)
