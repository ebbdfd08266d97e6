"""Taking in a view: the one way in which a replica learns what the store decided."""

from dataclasses import replace

from toolcrib.core.freshness.effects import Effect, Revoke, Served, Withdrawn
from toolcrib.core.freshness.entry import Entry, Held, Op, answerable_until, but, is_clean
from toolcrib.core.freshness.record import View
from toolcrib.core.freshness.tempo import NEVER
from toolcrib.core.freshness.walk import Walk

INCARNATION_WAIT = 0.1
"""Shortest wait before a walk in a new incarnation, so that all who INVALIDATE first share it; up
to as much again by lot (REPLICAS rule 12)."""

SAME_READ = 0.001
"""Seconds by which the age in a view must be smaller to mean that the listing was read again."""


def absorb(
    entry: Entry, op: Op, view: View, now: float, *, lots: float = 0.0, taken: bool = False
) -> tuple[Entry, tuple[Effect, ...]]:
    """Take in the view that answers `op`, which is no longer in flight; views come in order.

    `lots` is for the wait in a new incarnation. `taken` says that the operation published the
    result of a walk of ours: then its own pages tell more exactly than the view when they were
    read.
    """
    mine = op.walk if taken else None
    entry = but(entry, viewed=op.sent, lease_until=now + view.lease_left)
    if entry.revoked:
        # The view may have been made before the withdrawal: nothing of it is believed (rule 19).
        return entry, ()
    regranted = entry.regranted and not _is_overtaken(entry, op, view)
    if view.inc != entry.inc:
        entry = _moved(entry, view, now, lots)
    before = entry
    entry = but(entry, epoch=view.epoch, withdrawn=view.withdrawn)
    effects: tuple[Effect, ...] = ()
    if view.digest is not None:
        entry = _taken(entry, op, view, now, mine)
        effects = _told(before, entry, now, renewed=mine is not None)
    elif entry.held is not None and (view.withdrawn or view.rev > entry.rev):
        effects = (Withdrawn(entry.held.snapshot),)
        entry = but(entry, held=None)
    return but(entry, rev=view.rev, regranted=regranted), effects


def _is_overtaken(entry: Entry, op: Op, view: View) -> bool:
    """Whether somebody else recorded a withdrawal since: a right obtained before is worth nothing.

    Our own withdrawal in `op` is older than any right that we obtained while it was recorded.
    """
    return bool(entry.inc) and view.rev > entry.rev and not isinstance(op.effect, Revoke)


def _moved(entry: Entry, view: View, now: float, lots: float) -> Entry:
    """Go on in a new memory of the store; what is held may have been withdrawn in the lost one."""
    if not entry.inc:
        return but(entry, inc=view.inc)
    held = entry.held
    if held is not None:
        budget = now + entry.tempo.cold_wait if entry.tempo.after_loss == "serve" else NEVER
        held = replace(held, inc="", hidden_until=max(held.hidden_until, budget))
    return but(
        entry,
        inc=view.inc,
        held=held,
        cold=NEVER,
        heard=True,
        min_epoch=NEVER,
        not_before=max(entry.not_before, now + INCARNATION_WAIT * (1 + lots)),
    )


def _taken(entry: Entry, op: Op, view: View, now: float, mine: Walk | None) -> Entry:
    """The entry with the snapshot of the view, if it may be adopted."""
    if view.snap_epoch is None or view.snap_epoch < entry.min_epoch or view.gen < entry.hi:
        return entry
    held = entry.held
    known = held is not None and held.inc == view.inc and held.generation == view.gen
    # The store decided at some time between `sent` and `now`: the earlier one never overstates.
    read = op.sent - max(view.age or 0.0, 0.0)
    expires, begun, walked = op.sent + view.ttl_left, read, read
    if mine is not None and mine.candidate is not None:
        snapshot = mine.candidate.snapshot
        read, begun, walked = mine.read, mine.started, now
        expires = min(expires, mine.expires)
    elif view.body is not None:
        snapshot = view.body.snapshot
    elif held is not None and known:
        snapshot = held.snapshot
        if held.epoch == view.snap_epoch and read < held.read + SAME_READ:
            read, begun = held.read, held.begun
    else:
        return but(entry, look=True)
    if held is not None and known:
        walked = max(walked, held.walked)
    taken = Held(snapshot, view.gen, view.inc, view.snap_epoch, read, expires, begun, walked)
    return but(entry, held=taken, hi=view.gen, cold=NEVER)


def _told(before: Entry, entry: Entry, now: float, *, renewed: bool) -> tuple[Effect, ...]:
    """What readers and listeners are told: new content, a new number, or that it is good again."""
    old, held = before.held, entry.held
    if held is None or held is old:
        return ()
    same = old is not None and old.generation == held.generation and old.inc == held.inc
    if same and not renewed and (now < answerable_until(before) or now >= answerable_until(entry)):
        return ()
    fresh = is_clean(entry) and now < held.expires
    return (Served(held.snapshot, None if old is None else old.snapshot, held.generation, fresh),)
