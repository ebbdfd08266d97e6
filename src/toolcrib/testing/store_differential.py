"""A store against the pure operations: the same script gives the same answers, to the last field.

Needs `hypothesis`, for the scripts.
"""

from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from hypothesis import strategies as st

from toolcrib.core.freshness import operations
from toolcrib.core.freshness.record import (
    Answer,
    Caller,
    Decision,
    Published,
    Record,
    StoreClock,
    Ticket,
)
from toolcrib.core.snapshot import Snapshot
from toolcrib.testing.store_rig import StoreRig, expect, listing

Name = Literal["look", "invalidate", "begin", "renew", "release", "publish", "revoke"]
_NAMES: tuple[Name, ...] = (
    "look",
    "invalidate",
    "begin",
    "renew",
    "release",
    "publish",
    "revoke",
)
_CONTENTS = (listing("v0"), listing("v1"), listing("v0", "v1"), listing("v1", "v1", ttl=0.0))
_PIDS = ("a" * 32, "b" * 32)


@dataclass(frozen=True, slots=True)
class Step:
    """One operation, or the passing of time before it; what it refers to is picked by number."""

    name: Name
    replica: int = 0
    catalog: int = 0
    advance: float = 0.0
    """Seconds the clock moves before the operation; negative when it jumps back."""
    ticket: int = 0
    """Which of the tickets granted until now, counted from the newest."""
    content: int = 0
    claim: int = 0
    """Generations the caller says it served beyond those it did."""
    amnesia: bool = False
    """Whether the caller says that it saw nothing yet."""
    force: bool = False
    regranted: bool = False
    lose: bool = False
    """Whether the store loses its memory before the operation, where the rig can make it."""


STEPS = st.builds(
    Step,
    name=st.sampled_from(_NAMES),
    replica=st.integers(0, 1),
    catalog=st.integers(0, 1),
    advance=st.sampled_from((0.0, 0.0, 0.0, 1.0, 19.0, 21.0, 61.0, -100.0)),
    ticket=st.integers(0, 3),
    content=st.integers(0, len(_CONTENTS) - 1),
    claim=st.sampled_from((0, 0, 0, 1, 5, 2**50)),
    amnesia=st.integers(0, 9).map(lambda number: number == 0),
    force=st.booleans(),
    regranted=st.booleans(),
    lose=st.integers(0, 19).map(lambda number: number == 0),
)
"""Any one step."""

SCRIPTS = st.lists(STEPS, min_size=1, max_size=40)
"""Whole scripts; hypothesis shortens the ones that fail."""


@dataclass(slots=True)
class _Model:
    """The store as a dictionary, and what the replicas know."""

    records: dict[str, Record] = field(default_factory=dict[str, Record])
    callers: dict[tuple[int, int], Caller] = field(default_factory=dict[tuple[int, int], Caller])
    tickets: list[Ticket] = field(default_factory=lambda: [Ticket("none", 1, 0)])

    def caller(self, step: Step) -> Caller:
        known = self.callers.get((step.replica, step.catalog), Caller())
        claimed = replace(known, hi=known.hi + step.claim)
        return replace(claimed, inc="", gen=0) if step.amnesia else claimed

    def learn(self, step: Step, answer: Answer) -> None:
        if answer.ticket is not None:
            self.tickets.append(answer.ticket)
        view, key = answer.view, (step.replica, step.catalog)
        known = self.callers.get(key, Caller())
        if view.has_snapshot:
            self.callers[key] = Caller(view.inc, max(known.hi, view.gen), view.gen)
        else:
            self.callers[key] = Caller(view.inc, known.hi, 0)

    def ticket(self, step: Step) -> Ticket:
        return self.tickets[max(-len(self.tickets), -1 - step.ticket)]


async def compare(rig: StoreRig, script: list[Step], *, may_lose: bool = False) -> None:
    """Run the script on the store of the rig and on the pure operations, and compare each answer.

    Args:
        rig: The store, empty.
        script: What to do.
        may_lose: Whether steps with `lose` really lose the memory; else they are steps like any
            other.

    Raises:
        AssertionError: An answer differs; the message says at which step.
    """
    model = _Model()
    for number, step in enumerate(script):
        if step.lose and may_lose:
            await rig.fail_over(None)
            model.records.clear()
        if step.advance >= 0:
            rig.clock.advance(step.advance)
        else:
            rig.clock.jump(step.advance)
        pid, caller = _PIDS[step.catalog], model.caller(step)
        now = rig.clock.now().wall
        candidate = _candidate(_CONTENTS[step.content], now)
        decision = _decide(step, model, caller, StoreClock(rig.server, now), candidate)
        model.records[pid] = decision.record
        answer = await _ask(rig, step, model.ticket(step), caller, candidate)
        expect(answer, decision.answer, f"answer of step {number}, {step}")
        model.learn(step, answer)


def _candidate(content: Snapshot, now: float) -> Published:
    return Published(content, now - 1.0, now - 1.0 + content.hints.ttl)


def _decide(
    step: Step, model: _Model, caller: Caller, clock: StoreClock, candidate: Published
) -> Decision:
    record, ticket = model.records.get(_PIDS[step.catalog]), model.ticket(step)
    match step.name:
        case "look":
            return operations.look(record, caller, clock)
        case "invalidate":
            return operations.invalidate(record, caller, clock)
        case "begin":
            return operations.begin(
                record, caller, clock, force=step.force, regranted=step.regranted
            )
        case "renew":
            return operations.renew(record, caller, clock, ticket)
        case "release":
            return operations.release(record, caller, clock, ticket)
        case "publish":
            return operations.publish(record, caller, clock, ticket, candidate)
        case "revoke":
            return operations.revoke(record, caller, clock)
        case _:
            assert_never(step.name)


async def _ask(
    rig: StoreRig, step: Step, ticket: Ticket, caller: Caller, candidate: Published
) -> Answer:
    store, pid = rig.store(step.replica), _PIDS[step.catalog]
    match step.name:
        case "look":
            return await store.look(pid, caller)
        case "invalidate":
            return await store.invalidate(pid, caller)
        case "begin":
            return await store.begin(pid, caller, force=step.force, regranted=step.regranted)
        case "renew":
            return await store.renew(pid, caller, ticket)
        case "release":
            return await store.release(pid, caller, ticket)
        case "publish":
            return await store.publish(pid, caller, ticket, candidate)
        case "revoke":
            return await store.revoke(pid, caller)
        case _:
            assert_never(step.name)
