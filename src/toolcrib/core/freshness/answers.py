"""The answers of the store: a grant, a refusal, a view, or none."""

from dataclasses import replace

from toolcrib.core.freshness.absorb import absorb
from toolcrib.core.freshness.breaker import CLOSED, backoff, tripped
from toolcrib.core.freshness.effects import (
    Begin,
    FetchPage,
    Invalidate,
    Publish,
    Release,
    Renew,
    Revoke,
)
from toolcrib.core.freshness.entry import (
    OPERATIONS,
    Entry,
    Op,
    answerable_until,
    but,
    is_clean,
    may_walk,
)
from toolcrib.core.freshness.events import Granted, Refused, StoreFailed, Viewed
from toolcrib.core.freshness.hearing import Outcome, awaited
from toolcrib.core.freshness.record import DIRTY_LIMIT, Answer, View
from toolcrib.core.freshness.settling import begun
from toolcrib.core.freshness.tempo import NEVER
from toolcrib.core.freshness.walk import DUPLICATE_NAME, Walk
from toolcrib.core.instant import Instant


def granted(entry: Entry, event: Granted) -> Outcome:
    """The store granted a walk: page one, without a cursor."""
    op, now = entry.op, event.now.mono
    if op is None or not isinstance(op.effect, Begin):
        return entry, ()
    entry, effects = _absorbed(entry, op, event.view, event.now, event.lots)
    if entry.revoked or not may_walk(entry):
        return but(entry, release=event.ticket), effects
    entry = but(
        entry,
        walk=Walk(
            event.ticket,
            now,
            owed=op.effect.force,
            polled=not op.effect.force and not entry.wanted,
            expected=_doubled(entry),
        ),
        forced_at=NEVER,
        recheck_at=NEVER if now >= entry.recheck_at else entry.recheck_at,
        debounced=0.0,
        echo=begun(entry.echo, now, entry.tempo),
    )
    return entry, (*effects, FetchPage(event.ticket, None))


def _doubled(entry: Entry) -> frozenset[str]:
    """Names that the held listing is known to carry twice."""
    held = entry.held
    out = () if held is None else held.snapshot.quarantined
    return frozenset(entry.key for entry in out if entry.reason == DUPLICATE_NAME)


def refused(entry: Entry, event: Refused) -> Outcome:
    """The store refused a walk: it is fresh, another replica walks, or the right is gone."""
    op, answer = entry.op, event.answer
    if op is None or not isinstance(op.effect, Begin):
        return entry, ()
    entry, effects = _absorbed(entry, op, answer.view, event.now, event.lots)
    if answer.verdict == "refused_fresh":
        entry = but(entry, wanted=entry.heard, ended=event.now.mono)
    return entry, effects


def viewed(entry: Entry, event: Viewed) -> Outcome:
    """Any other operation was answered; an answer that nobody waits for is dropped."""
    op, answer = entry.op, event.answer
    if op is None or OPERATIONS[type(op.effect)] != event.operation:
        return entry, ()
    effect = op.effect
    if isinstance(effect, Publish):
        return _published(entry, op, event)
    if isinstance(effect, Invalidate) and entry.min_epoch == NEVER:
        # Only walks begun after this signal, in this incarnation, are adopted (rule 12).
        known = answer.view.inc == entry.inc
        entry = but(entry, min_epoch=answer.view.epoch if known else NEVER)
    if isinstance(effect, Renew) and answer.verdict == "lost":
        entry = _lost(entry, effect)
    return _absorbed(entry, op, answer.view, event.now, event.lots)


def _lost(entry: Entry, effect: Renew) -> Entry:
    """Somebody else walks: our walk is over, its pages are dropped as they come."""
    if entry.walk is None or entry.walk.ticket != effect.ticket:
        return entry
    return but(entry, walk=None, wanted=True)


def _published(entry: Entry, op: Op, event: Viewed) -> Outcome:
    answer, now = event.answer, event.now.mono
    taken = answer.verdict == "done"
    entry, effects = _absorbed(entry, op, answer.view, event.now, event.lots, taken=taken)
    if answer.verdict == "refused_dirty" or (taken and not _is_clean_view(answer)):
        entry = _dirtied(entry, now, event.lots)
    return entry, effects


def _is_clean_view(answer: Answer) -> bool:
    return answer.view.snap_epoch == answer.view.epoch


def _dirtied(entry: Entry, now: float, lots: float) -> Entry:
    """Our walk answered an old question: walk again, at once at first, then ever more slowly."""
    tempo, dirty = entry.tempo, entry.dirty + 1
    not_before = entry.not_before
    if dirty >= DIRTY_LIMIT:
        wait = backoff(
            dirty - DIRTY_LIMIT + 1, lots, base=tempo.backoff_base, cap=tempo.backoff_max
        )
        not_before = max(not_before, now + wait)
    return but(entry, dirty=dirty, wanted=True, not_before=not_before)


def _absorbed(
    before: Entry,
    op: Op,
    view: View,
    now: Instant,
    lots: float,
    *,
    taken: bool = False,
) -> Outcome:
    """Take in the view, and see which wishes it fulfils."""
    entry = but(before, op=None, store=CLOSED)
    entry, effects = absorb(entry, op, view, now.mono, lots=lots, taken=taken)
    if entry.held is None:
        return entry, effects
    if is_clean(entry):
        entry = _fulfilled(before, entry, now.mono, mine=taken)
    elif (entry.inc, entry.epoch) != (before.inc, before.epoch) and not _is_own_signal(op):
        # Another replica heard a signal, and may have nobody who waits for the walk: we may.
        entry = awaited(entry, now.mono)
    return entry, effects


def _is_own_signal(op: Op) -> bool:
    return isinstance(op.effect, Invalidate)


def _fulfilled(before: Entry, entry: Entry, now: float, *, mine: bool) -> Entry:
    """Strike off wishes that a clean snapshot fulfils; look twice at a signal without effect."""
    held = entry.held
    if held is None:
        return entry
    echo, recheck_at = entry.echo, entry.recheck_at
    if held.begun >= recheck_at:
        recheck_at = NEVER
    if echo.signalled:
        same = before.held is not None and before.held.snapshot.digest == held.snapshot.digest
        if same and not echo.settled:
            # Servers signal before they commit the change.
            recheck_at = min(recheck_at, now + entry.tempo.recheck)
        echo = replace(echo, signalled=False)
    good = mine or now < answerable_until(entry)
    return but(
        entry,
        echo=echo,
        recheck_at=recheck_at,
        forced_at=NEVER if held.begun >= entry.forced_at else entry.forced_at,
        wanted=entry.wanted and not good,
        dirty=0,
        regranted=False,
    )


def store_failed(entry: Entry, event: StoreFailed) -> Outcome:
    """No answer came: queue again what was to be recorded, and leave the store alone a while."""
    op, tempo = entry.op, entry.tempo
    if op is None or OPERATIONS[type(op.effect)] != event.operation:
        return entry, ()
    wait = backoff(
        entry.store.failures + 1, event.lots, base=tempo.backoff_base, cap=tempo.backoff_max
    )
    entry = but(entry, op=None, look=True, store=tripped(entry.store, event.now.mono, wait))
    match op.effect:
        case Revoke():
            entry = but(entry, revoked=True)
        case Invalidate():
            entry = but(entry, heard=True)
        case Release(ticket):
            entry = but(entry, release=ticket)
        case Publish(ticket):
            # Offering it again might count one walk twice in a row: then equal would mean nothing.
            entry = but(entry, release=ticket, wanted=True)
        case _:
            pass
    return entry, ()
