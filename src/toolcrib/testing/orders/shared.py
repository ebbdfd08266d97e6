"""The store of a state: its record, its standby, and what the model knows of both."""

from dataclasses import dataclass, replace
from typing import assert_never

from toolcrib.core.freshness import operations
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
from toolcrib.core.freshness.record import Caller, Decision, Record, StoreClock, Verdict
from toolcrib.testing.orders.moment import ERA, NOW, record_later
from toolcrib.testing.orders.pages import grant_of, reads_of
from toolcrib.testing.orders.replica import Order, Reply


@dataclass(frozen=True, slots=True)
class Shared:
    """One store; hashable, nothing changes."""

    record: Record | None = None
    losses: int = 0
    """How often its memory was lost: its name, and the hour its clock shows."""
    standby: Record | None = None
    recorded: int = 0
    """Newest state of the server of which a signal was recorded, in whatever memory."""
    revokes: int = 0
    """Withdrawals recorded, in whatever memory."""
    fenced: int = 0
    """The fence just after the last withdrawal of this memory."""
    top: int = 0
    """The highest number given to a content, in whatever memory."""
    useless: bool = False
    """Whether the clock does not go on after a loss."""
    broken: str = ""
    """The promise that this state breaks by itself."""

    @property
    def clock(self) -> StoreClock:
        """What it knows of itself."""
        return StoreClock(f"memory-{self.losses}", self.wall)

    @property
    def wall(self) -> float:
        """Seconds on its clock."""
        return NOW if self.useless else NOW + self.losses * ERA

    def later(self, seconds: float) -> "Shared":
        """The store as it is `seconds` later."""
        record, standby = self.record, self.standby
        return replace(
            self,
            record=None if record is None else record_later(record, seconds, self.wall),
            standby=None if standby is None else record_later(standby, seconds, self.wall),
        )

    def lost(self, back_to: Record | None) -> "Shared":
        """Another memory, which is empty or begins with `back_to`."""
        return replace(self, record=back_to, standby=back_to, losses=self.losses + 1, fenced=0)


def decide(
    record: Record | None, effect: StoreEffect, caller: Caller, clock: StoreClock
) -> Decision:
    """What the store decides: the operation that the effect names."""
    match effect:
        case Look():
            return operations.look(record, caller, clock)
        case Invalidate():
            return operations.invalidate(record, caller, clock)
        case Begin(force, regranted):
            return operations.begin(record, caller, clock, force=force, regranted=regranted)
        case Renew(ticket):
            return operations.renew(record, caller, clock, ticket)
        case Release(ticket):
            return operations.release(record, caller, clock, ticket)
        case Publish(ticket, candidate):
            return operations.publish(record, caller, clock, ticket, candidate)
        case Revoke():
            return operations.revoke(record, caller, clock)
        case _:
            assert_never(effect)


def run(shared: Shared, order: Order) -> tuple[Shared, Reply]:
    """Carry out one operation, and compare the decision with what the model knows."""
    before, effect, caller, told = shared.record, order.effect, order.caller, order.told
    decision = decide(before, effect, caller, shared.clock)
    after, done = decision.record, decision.answer.verdict == "done"
    recorded, revokes, fenced = shared.recorded, shared.revokes, shared.fenced
    if isinstance(effect, Invalidate):
        recorded = max(recorded, told)
    elif isinstance(effect, Revoke):
        revokes, fenced = revokes + 1, after.fence
    broken = ""
    if isinstance(effect, Publish) and done:
        broken = _published_badly(shared, effect, told)
    elif isinstance(effect, Publish):
        broken = _refused_badly(before, decision.answer.verdict)
    if not broken and isinstance(effect, Begin) and decision.answer.ticket is not None:
        broken = _granted_badly(before, effect)
    ahead = replace(
        shared,
        record=after,
        recorded=recorded,
        revokes=revokes,
        fenced=fenced,
        top=max(shared.top, after.gen),
        broken=broken or _wrong(shared, after, caller, recorded),
    )
    published = after.published
    reply = Reply(
        decision.answer,
        recorded,
        revokes,
        () if published is None else reads_of(published.snapshot),
        0 if published is None else grant_of(published.snapshot),
    )
    return ahead, reply


def _granted_badly(before: Record | None, effect: Begin) -> str:
    if before is not None and before.withdrawn and not effect.regranted:
        return "promise 5: a walk was granted to somebody whose right is gone"
    return ""


def _published_badly(shared: Shared, effect: Publish, told: int) -> str:
    """What the model has against a walk that was published."""
    before, ticket = shared.record, effect.ticket
    if before is None or ticket.fence <= shared.fenced:
        return "promise 5: a walk from before the withdrawal was published after it"
    reads, old = reads_of(effect.candidate.snapshot), before.published
    if old is not None and min(reads) < max(reads_of(old.snapshot)):
        return "promise 2: a newer listing was replaced by an older one"
    provisional = old is None and not before.withdrawn
    twice = effect.candidate.snapshot.digest == before.dirty_digest
    known = max(shared.recorded, told) >= max(reads)
    if len(set(reads)) > 1 and known and not provisional and not twice:
        return "promise 1: a mixed listing was published although its signal was recorded"
    return ""


def _refused_badly(before: Record | None, verdict: Verdict) -> str:
    if before is None or before.published is not None or before.withdrawn:
        return ""
    dirty = verdict == "refused_dirty"
    return "where nothing is held, the first whole walk is kept back" if dirty else ""


def _wrong(shared: Shared, after: Record, caller: Caller, recorded: int) -> str:
    """What is wrong with the record now."""
    before, published = shared.record, after.published
    if published is None:
        return ""
    if after.snap_epoch == after.epoch and min(reads_of(published.snapshot)) < recorded:
        return "promise 1: what counts as fresh lacks a change whose signal is recorded"
    if before is None or before.published is None or before.inc != after.inc:
        new = shared.useless or after.gen > shared.top
        return "" if new else "promise 2: a number was given twice"
    if before.published.snapshot.digest != published.snapshot.digest:
        return "" if after.gen > before.gen else "promise 2: one number, two contents"
    lost_line = caller.inc != after.inc and caller.hi >= before.gen
    if after.gen != before.gen and not lost_line:
        return "promise 2: the same content got another number"
    return ""
