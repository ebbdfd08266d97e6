"""The operations a store carries out on a record, each one decision in one step.

Nobody reads and then writes: a store adapter runs one of these functions inside its own mutual
exclusion (a dict under the event loop, an SQLite transaction, a Redis script) and keeps the record
it returns. Every operation runs `guard` first and ends with the same view, so a replica has one
way to take one in.
"""

from dataclasses import replace

from toolcrib.core.freshness.record import (
    DIRTY_LIMIT,
    LEASE,
    Answer,
    Caller,
    Decision,
    Published,
    Record,
    StoreClock,
    Ticket,
    Verdict,
    View,
)


def guard(record: Record | None, caller: Caller, clock: StoreClock) -> tuple[Record, bool]:
    """Notice a store that lost its memory, and keep the floor above whatever somebody served.

    The clock is used for the floor only, never to order events (REPLICAS section 3, rules 4 and 7).
    """
    hint = False
    if record is None or record.server != clock.server:
        old = record or Record(server="", inc="")
        record = replace(
            old,
            server=clock.server,
            inc=f"{clock.server}:{clock.now * 1e6:.0f}",
            floor=max(old.floor, old.gen, caller.hi, int(clock.now * 1000) * 1024),
            published=None,
            snap_epoch=None,
            walk_epoch=None,
            epoch=old.epoch + 1,
            fence=old.fence + 1,
            lease_until=0.0,
            dirty=0,
            dirty_digest=None,
        )
    if caller.hi > record.floor:
        record = replace(record, floor=caller.hi)
    if record.published is not None and caller.inc != record.inc and caller.hi >= record.gen:
        # The caller saw a higher number in a line that was lost: same content, new number.
        number = max(record.floor, record.gen) + 1
        record = replace(record, gen=number, floor=number)
        hint = True
    return record, hint


def needs_walk(record: Record, now: float) -> bool:
    """Whether the record holds nothing that counts as fresh at store time `now`."""
    if record.published is None or record.snap_epoch != record.epoch:
        return True
    return now >= record.published.expires_at or now < record.published.read_at


def lease_left(record: Record, now: float) -> float:
    """Seconds until another walk may begin; 0 when the lease is free.

    A lease that ends later than any grant could make it was written before the clock was set back.
    """
    left = record.lease_until - now
    return left if 0 < left <= LEASE else 0.0


def view_of(record: Record, caller: Caller, now: float) -> View:
    """The record as one caller has to know it."""
    published = record.published
    held = caller.inc == record.inc and caller.gen == record.gen
    stale = needs_walk(record, now)
    return View(
        inc=record.inc,
        gen=record.gen,
        epoch=record.epoch,
        snap_epoch=record.snap_epoch,
        rev=record.rev,
        withdrawn=record.withdrawn,
        digest=None if published is None else published.snapshot.digest,
        needs_walk=stale,
        lease_left=lease_left(record, now),
        age=None if published is None else now - published.read_at,
        ttl_left=0.0 if published is None or stale else _ttl_left(published, now),
        body=None if held else published,
    )


def _ttl_left(published: Published, now: float) -> float:
    return max(0.0, min(published.expires_at - now, published.snapshot.hints.ttl))


def _answer(
    record: Record, caller: Caller, now: float, verdict: Verdict, ticket: Ticket | None = None
) -> Answer:
    return Answer(verdict, view_of(record, caller, now), ticket)


def look(record: Record | None, caller: Caller, clock: StoreClock) -> Decision:
    """LOOK: nothing but the view."""
    record, hint = guard(record, caller, clock)
    return Decision(record, _answer(record, caller, clock.now, "done"), hint)


def invalidate(record: Record | None, caller: Caller, clock: StoreClock) -> Decision:
    """INVALIDATE: a change was signalled.

    Where no walk began since the last bump, the next one answers this signal too: a storm is one
    bump (rule 15).
    """
    record, hint = guard(record, caller, clock)
    if record.walk_epoch == record.epoch:
        record = replace(record, epoch=record.epoch + 1)
        hint = True
    return Decision(record, _answer(record, caller, clock.now, "done"), hint)


def begin(
    record: Record | None,
    caller: Caller,
    clock: StoreClock,
    *,
    force: bool = False,
    regranted: bool = False,
) -> Decision:
    """BEGIN: ask for the right to walk.

    With `force` also where the record is fresh: the re-check after an equal digest, strategy
    `always`, the probe. `regranted` says that the caller holds a grant newer than the withdrawal.
    """
    record, hint = guard(record, caller, clock)
    refusal: Verdict | None = None
    if record.withdrawn and not regranted:
        refusal = "refused_withdrawn"
    elif lease_left(record, clock.now) > 0:
        refusal = "refused_lease"
    elif not force and not needs_walk(record, clock.now):
        refusal = "refused_fresh"
    if refusal is not None:
        return Decision(record, _answer(record, caller, clock.now, refusal), hint)
    record = replace(
        record, fence=record.fence + 1, walk_epoch=record.epoch, lease_until=clock.now + LEASE
    )
    ticket = Ticket(record.inc, record.fence, record.epoch)
    return Decision(record, _answer(record, caller, clock.now, "done", ticket), hint)


def _is_current(record: Record, ticket: Ticket) -> bool:
    return ticket.inc == record.inc and ticket.fence == record.fence


def renew(record: Record | None, caller: Caller, clock: StoreClock, ticket: Ticket) -> Decision:
    """RENEW: once per page; `lost` ends the walk."""
    record, hint = guard(record, caller, clock)
    if not _is_current(record, ticket):
        return Decision(record, _answer(record, caller, clock.now, "lost"), hint)
    record = replace(record, lease_until=clock.now + LEASE)
    return Decision(record, _answer(record, caller, clock.now, "done"), hint)


def release(record: Record | None, caller: Caller, clock: StoreClock, ticket: Ticket) -> Decision:
    """RELEASE: the walk failed; others may begin."""
    record, hint = guard(record, caller, clock)
    if not _is_current(record, ticket):
        return Decision(record, _answer(record, caller, clock.now, "lost"), hint)
    record = replace(record, lease_until=0.0)
    return Decision(record, _answer(record, caller, clock.now, "done"), hint=True)


def publish(
    record: Record | None, caller: Caller, clock: StoreClock, ticket: Ticket, candidate: Published
) -> Decision:
    """PUBLISH: replace the snapshot by the result of a walk, if it is still the newest walk.

    Compares incarnation, fence and epoch, in this order (rule 9). A walk begun before the last
    invalidation is dirty: published as stale only from `DIRTY_LIMIT` on, if it has one page or
    equals the dirty walk before it; or at once where nothing is held and nothing was withdrawn,
    the one provisional exception.
    """
    record, hint = guard(record, caller, clock)
    if not _is_current(record, ticket):
        return Decision(record, _answer(record, caller, clock.now, "refused_fence"), hint)
    record = replace(record, lease_until=0.0)
    digest = candidate.snapshot.digest
    if ticket.epoch != record.epoch:
        before = record.dirty_digest
        record = replace(record, dirty=record.dirty + 1, dirty_digest=digest)
        mixed = candidate.snapshot.pages > 1 and digest != before
        if (record.published is not None or record.withdrawn) and (
            record.dirty < DIRTY_LIMIT or mixed
        ):
            return Decision(record, _answer(record, caller, clock.now, "refused_dirty"), hint=True)
    if record.published is None or record.published.snapshot.digest != digest:
        number = max(record.gen, record.floor) + 1
        record = replace(record, gen=number, floor=number)
    record = replace(
        record,
        published=candidate,
        snap_epoch=ticket.epoch,
        withdrawn=False,
        dirty=0,
        dirty_digest=None,
    )
    return Decision(record, _answer(record, caller, clock.now, "done"), hint=True)


def revoke(record: Record | None, caller: Caller, clock: StoreClock) -> Decision:
    """REVOKE: the right to see this catalog is gone.

    Moves epoch *and* fence, so that no walk begun before it can publish after it (rule 19).
    """
    record, _ = guard(record, caller, clock)
    record = replace(
        record,
        rev=record.rev + 1,
        epoch=record.epoch + 1,
        fence=record.fence + 1,
        lease_until=0.0,
        published=None,
        snap_epoch=None,
        withdrawn=True,
        dirty=0,
        dirty_digest=None,
    )
    return Decision(record, _answer(record, caller, clock.now, "done"), hint=True)
