"""What `testing.orders` leaves out of a state changes no future: its reductions, put to the test."""

from dataclasses import dataclass, field, replace
from random import Random

import pytest

from toolcrib.core.freshness.effects import Begin, Effect, FetchPage, StoreEffect
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
from toolcrib.testing.orders.bounds import BY_TTL, HURRIED, UNHURRIED, Bounds, Fault
from toolcrib.testing.orders.kept import NOBODY, packed, unpacked
from toolcrib.testing.orders.moment import NOW, later, record_later, without_past
from toolcrib.testing.orders.pages import marked
from toolcrib.testing.orders.shared import decide
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
        self.tell(PageArrived(fetch.ticket, marked(version, version, fetch.cursor, 0, 1, self.at), self.at))

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


def events_of(course: Course, version: int) -> list[str]:
    """What may happen next; the same for both courses."""
    entry = course.entry
    able = ["signal", "hint", "wait", "wait"]
    if entry.op is not None:
        able += ["answer", "answer", "answer", "no answer"]
    if course.fetch is not None:
        able += ["page", "page", "page", "no page"]
    if entry.wake <= course.now:
        able += ["wake", "wake"]
    if not course.now < entry.good_until:
        able.append("need")
    able += ["disconnect", "stream lost"] if entry.link.listening else ["connect"]
    return able


def happens(course: Course, what: str, version: int, seconds: float) -> None:
    """Let one thing happen."""
    op, fetch, now = course.entry.op, course.fetch, course.at
    match what:
        case "signal":
            course.tell(Invalidated(Reason.SIGNAL, now))
        case "hint":
            course.tell(Hinted(now))
        case "need":
            course.tell(Needed(now))
        case "wake":
            course.tell(Woke(now))
        case "wait":
            course.wait(seconds)
        case "answer":
            course.answer()
        case "no answer" if op is not None:
            course.tell(StoreFailed(OPERATIONS[type(op.effect)], now))
        case "page":
            course.page(version)
        case "no page" if fetch is not None:
            course.tell(WalkFailed(fetch.ticket, DOWN, now))
        case "disconnect":
            course.tell(Disconnected(now))
        case "stream lost":
            course.tell(StreamLost(now))
        case _:
            course.tell(Connected(now))
            course.tell(StreamOpened(now))


@pytest.mark.parametrize("tempo", [UNHURRIED, BY_TTL, HURRIED], ids=["unhurried", "ttl", "hurried"])
@pytest.mark.parametrize("seed", range(60))
def test_forgetting_what_is_over_changes_nothing_that_follows(tempo: Tempo, seed: int) -> None:
    drawn, version = Random(seed), 0
    real, forgetful = Course(tempo, forgets=False), Course(tempo, forgets=True)
    for _ in range(80):
        what, seconds = drawn.choice(events_of(real, version)), drawn.choice(SECONDS)
        if version < 2 and drawn.random() < 0.05:
            version += 1
        for course in (real, forgetful):
            happens(course, what, version, seconds)
        assert real.seen == forgetful.seen, what
