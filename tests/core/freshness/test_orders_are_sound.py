"""What `testing.orders` leaves out of a state changes no future: its reductions under test."""

from dataclasses import dataclass, field, replace
from random import Random

import pytest

from toolcrib.core.freshness.effects import Begin, Effect, FetchPage, Served
from toolcrib.core.freshness.entry import OPERATIONS, Entry, caller_of
from toolcrib.core.freshness.events import (
    Connected,
    Disconnected,
    Event,
    Failure,
    FailureKind,
    Granted,
    Hinted,
    Invalidated,
    Needed,
    PageArrived,
    Reason,
    Refused,
    StoreFailed,
    StreamLost,
    StreamOpened,
    Viewed,
    WalkFailed,
    Woke,
)
from toolcrib.core.freshness.record import Record, StoreClock
from toolcrib.core.freshness.replica import step
from toolcrib.core.freshness.tempo import Tempo
from toolcrib.core.instant import Instant
from toolcrib.core.snapshot import Kind
from toolcrib.testing.explorer import explore
from toolcrib.testing.orders import moves
from toolcrib.testing.orders.bounds import BY_TTL, HURRIED, UNHURRIED, Bounds, Fault
from toolcrib.testing.orders.kept import NOBODY, packed, unpacked
from toolcrib.testing.orders.moment import NOW, later, record_later, without_past
from toolcrib.testing.orders.pages import marked
from toolcrib.testing.orders.shared import decide, run
from toolcrib.testing.orders.world import World

DOWN = Failure(FailureKind.TRANSPORT, "down")
SECONDS = (0.03125, 0.25, 2.0, 20.0, 33.0)


@dataclass
class Course:
    """One replica and its store in time as it is, or with the past forgotten after each event."""

    tempo: Tempo
    forgets: bool
    now: float = NOW
    record: Record | None = None
    fetch: FetchPage | None = None
    effects: list[type[Effect]] = field(default_factory=list[type[Effect]])

    def __post_init__(self) -> None:
        self.entry = Entry(Kind.TOOLS, self.tempo, viewed=0.0, watchers=1)
        self.tell(Connected(self.at))
        self.answer()

    @property
    def at(self) -> Instant:
        return Instant(self.now, self.now)

    def tell(self, event: Event) -> None:
        self.entry, effects = step(self.entry, event)
        if self.forgets:
            self.entry = without_past(self.entry)
        for effect in effects:
            self.effects.append(type(effect))
            if isinstance(effect, FetchPage):
                self.fetch = effect
        if self.entry.walk is None or self.entry.walk.candidate is not None:
            self.fetch = None

    def answer(self) -> None:
        """The operation in flight runs, and its answer arrives."""
        op = self.entry.op
        assert op is not None
        clock = StoreClock("memory", self.now)
        decision = decide(self.record, op.effect, caller_of(self.entry), clock)
        self.record, answer = decision.record, decision.answer
        if not isinstance(op.effect, Begin):
            self.tell(Viewed(OPERATIONS[type(op.effect)], answer, self.at))
        elif answer.ticket is None:
            self.tell(Refused(answer, self.at))
        else:
            self.tell(Granted(answer.ticket, answer.view, self.at))

    def page(self, version: int) -> None:
        assert self.fetch is not None
        fetch, self.fetch = self.fetch, None
        self.tell(
            PageArrived(
                fetch.ticket, marked(version, version, fetch.cursor, 0, 1, self.at), self.at
            )
        )

    def wait(self, seconds: float) -> None:
        """Time passes: the clock moves on, or everything else moves back."""
        if not self.forgets:
            self.now += seconds
            return
        self.entry = later(self.entry, seconds)
        if self.record is not None:
            self.record = record_later(self.record, seconds, self.now)

    @property
    def seen(self) -> tuple[Entry, list[type[Effect]]]:
        """What is left of it without the past, and all it ever asked for."""
        return later(self.entry, self.now - NOW), self.effects


def happenings(course: Course) -> list[str]:
    """What may happen next, the usual more often."""
    entry = course.entry
    able = ["signal", "hint", "wait"]
    if entry.op is not None:
        able += ["answer"] * 12 + ["no answer"]
    if course.fetch is not None:
        able += ["page"] * 12 + ["no page"]
    if entry.wake <= course.now:
        able += ["wake"] * 6
    if course.now >= entry.good_until:
        able.append("need")
    able += ["disconnect", "stream lost"] if entry.link.listening else ["connect"] * 6
    return able


def tell_of(course: Course, what: str) -> Event:
    """The event for what needs nothing but a moment."""
    now, op, fetch = course.at, course.entry.op, course.fetch
    if what == "no answer" and op is not None:
        return StoreFailed(OPERATIONS[type(op.effect)], now)
    if what == "no page" and fetch is not None:
        return WalkFailed(fetch.ticket, DOWN, now)
    return {
        "signal": Invalidated(Reason.SIGNAL, now),
        "hint": Hinted(now),
        "need": Needed(now),
        "wake": Woke(now),
        "connect": Connected(now),
        "disconnect": Disconnected(now),
        "stream lost": StreamLost(now),
    }[what]


def happens(course: Course, what: str, version: int, seconds: float) -> None:
    """Let one thing happen."""
    if what == "wait":
        course.wait(seconds)
    elif what == "answer":
        course.answer()
    elif what == "page":
        course.page(version)
    else:
        course.tell(tell_of(course, what))
        if what == "connect":
            course.tell(StreamOpened(course.at))


@pytest.mark.parametrize("tempo", [UNHURRIED, BY_TTL, HURRIED], ids=["unhurried", "ttl", "hurried"])
def test_forgetting_what_is_over_changes_nothing_that_follows(tempo: Tempo) -> None:
    published = 0
    for seed in range(60):
        drawn, version = Random(seed), 0  # noqa: S311 - a course, no secret
        real, forgetful = Course(tempo, forgets=False), Course(tempo, forgets=True)
        for _ in range(80):
            what, seconds = drawn.choice(happenings(real)), drawn.choice(SECONDS)
            version = min(2, version + (drawn.random() < 0.05))
            for course in (real, forgetful):
                happens(course, what, version, seconds)
            assert real.seen == forgetful.seen, what
        published += real.effects.count(Served)
    assert published > 60, "the courses lead somewhere"


def some_states(bounds: Bounds) -> tuple[World, list[int]]:
    """A world, and some hundred of its states."""
    world = World(bounds)
    states = list(explore(world, most=4000).origins)
    return world, Random(1).sample(states, 300)  # noqa: S311 - a sample, no secret


MIXED = Bounds(
    "mixed",
    {Fault.CHANGE: 1, Fault.EXPIRY: 1, Fault.LOST_ANSWER: 1, Fault.SPLIT: 1, Fault.REVOCATION: 1},
)


def test_a_state_and_its_mirror_image_have_the_same_future() -> None:
    world, states = some_states(MIXED)
    for state in states:
        around, store, old, a, b = unpacked(state)
        straight = {packed(after) for _, after in world.turns((around, store, old, a, b))}
        mirrored = {packed(after) for _, after in world.turns((around, store, old, b, a))}
        assert straight == mirrored == set(world.after(state))


def test_the_heart_and_the_operations_are_functions() -> None:
    first, states = some_states(MIXED)
    again, _ = some_states(MIXED)
    assert [first.after(state) for state in states] == [again.after(state) for state in states]


def test_a_hint_that_is_left_out_would_have_changed_nothing() -> None:
    world, states = some_states(MIXED)
    left_out = 0
    for state in states:
        _, store, _, a, _ = unpacked(state)
        replica = world.replicas[a]
        told = any(what == "A is told to look again" for what, _ in world.turns(unpacked(state)))
        if told or replica.order is not None or replica.astray:
            continue
        hinted = moves.hinted(replica)
        if hinted.order is None:
            continue
        ahead, reply = run(world.stores[store], hinted.order)
        after = moves.answered(replace(hinted, reply=reply))
        assert (ahead, after) == (world.stores[store], replica)
        left_out += 1
    assert left_out > 10


def test_packing_forgets_nothing_but_the_order_of_the_replicas() -> None:
    for parts in [(3, 1, 0, 5, 9), (0, 2, 7, 4, 4), (70_000, 90_000, 0, 1, NOBODY)]:
        assert unpacked(packed(parts)) == parts
    assert packed((1, 2, 3, 9, 5)) == packed((1, 2, 3, 5, 9))
