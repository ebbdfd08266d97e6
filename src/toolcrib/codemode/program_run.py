"""One program from its start to its end, or to where a person has to answer."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from toolcrib.calls.call import Requester, Retry
from toolcrib.codemode.broker import Around, Broker
from toolcrib.codemode.journal import Journal
from toolcrib.codemode.printout import Printout
from toolcrib.codemode.progress import START, Progress
from toolcrib.codemode.replay import StepsApart
from toolcrib.codemode.session import Session
from toolcrib.codemode.turns import Turn
from toolcrib.codemode.wall_clock import WallClock
from toolcrib.errors import SandboxUnavailable, SnapshotRefused, TooBusy, ToolcribError
from toolcrib.ports import (
    Abilities,
    Answer,
    Called,
    Event,
    Failed,
    FailedWhy,
    Finished,
    Place,
    Printed,
    Program,
    Sandbox,
    Waits,
)
from toolcrib.ports import Progress as Steps

Why = (
    FailedWhy
    | Literal["wall_seconds", "question_seconds", "not_deterministic", "outdated", "not_kept"]
)
"""`outdated`: it waited in another version of its runtime. `not_kept`: it could not be kept while
it waited for a person."""


@dataclass(frozen=True, slots=True)
class Done:
    """It returned."""

    value: Any
    """Unchecked."""
    progress: Progress
    untaken: frozenset[int] = frozenset()
    """Calls whose failure nobody took, as the runtime says."""


@dataclass(frozen=True, slots=True)
class Broken:
    """It ended otherwise."""

    why: Why
    message: str
    trace: tuple[Place, ...]
    executed: bool
    progress: Progress


@dataclass(frozen=True, slots=True)
class Aside:
    """A person has to answer first: `progress.asked`."""

    progress: Progress


Ending = Done | Broken | Aside

_STEPS_APART: Final = (
    "the program was run again after a person had answered, and did not take the same steps"
)
_CANNOT_WAIT: Final = "a person has to be asked, and the program cannot wait"
_NEXT_STEP: Final = 2.0
"""Seconds in which a program that waits for calls alone comes to what it did before, if ever: what
it does without the runtime knowing (hashing, packing) takes less."""
_SETTLED: Final = 0.5
"""Seconds that a question is out, and the program waits, before it leaves its worker to others: a
person answers no sooner, and calls that come back meanwhile cost no snapshot each."""
_NO_SNAPSHOTS: Final = "its runtime cannot put programs aside"


class ProgramRun:
    """Runs a program in its sandbox and has its calls made.

    Args:
        around: What it calls with.
        sandbox: Where it runs.
        abilities: Of the sandbox.
        requester: Whose program it is.
        run: Marks it.
        before: How far it came before it waited for a person; with `retries`, what was said.
        progress: Hears of each call.
    """

    def __init__(
        self,
        around: Around,
        sandbox: Sandbox,
        abilities: Abilities,
        requester: Requester,
        *,
        run: str,
        before: Progress = START,
        retries: Mapping[int, Retry] | None = None,
        progress: Steps | None = None,
    ) -> None:
        settings = around.settings
        self._settings = settings
        self._sandbox = sandbox
        self._snapshots = abilities.snapshots
        self._journal = Journal(list(before.rows))
        self._clock = WallClock(settings.wall_seconds, before.seconds)
        self._snapshot = before.snapshot
        self._waits = anyio.Event()
        """Set while nothing of the program goes on, as it says itself."""
        self._asks = requester.ask is not None
        """Whether a person can be asked while it runs."""
        self._cut: Broken | None = None
        """Why it was broken off."""
        again = before if before.snapshot is not None else START
        self._printout = Printout(settings.print_bytes, again.printed, again.printed_bytes)
        self._broker = Broker(
            replace(around, replayed=not abilities.snapshots),
            requester,
            run=run,
            journal=self._journal,
            clock=self._clock,
            before=before,
            retries=retries,
            progress=progress,
        )

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return self._progress()

    async def end(self, program: Program, turn: Turn) -> Ending:
        """Run it; cancelled, it is killed with the calls that are under way.

        Raises:
            SandboxUnavailable, TooBusy, SnapshotRefused: As `Sandbox.open` does.
        """
        ending: Ending | None = None
        refused: ToolcribError | None = None
        session = Session(self._sandbox, program, turn)
        with self._clock.running():
            async with anyio.create_task_group() as tasks:
                try:
                    async with session.opened(self._snapshot):
                        self._begin(session, tasks)
                        ending = await self._followed(session, tasks)
                        tasks.cancel_scope.cancel()
                except (SandboxUnavailable, TooBusy, SnapshotRefused) as error:
                    refused = error  # not in a group
        if refused is not None:
            raise refused
        if ending is None and self._clock.ran_out:
            most = self._settings.wall_seconds
            message = f"TimeoutError: it took longer than code.wall_seconds allows ({most:g} s)"
            return self._broken("wall_seconds", message)
        return ending or self._cut or self._cut_for_a_person()

    def _begin(self, session: Session, tasks: TaskGroup) -> None:
        """What goes on beside the program."""
        if self._snapshot is not None:
            self._broker.go_on(session.answer, tasks)
        if not self._snapshots:
            session.stay(_NO_SNAPSHOTS)
            tasks.start_soon(self._watch, tasks.cancel_scope)
        if self._asks:
            tasks.start_soon(self._watch_question, session, tasks.cancel_scope)

    def _cut_for_a_person(self) -> Ending:
        """The end of a program that was cut off because it waits for a person."""
        if lost := self._broker.retelling.lost:
            return self._broken("not_kept", f"{_CANNOT_WAIT}: {lost}")
        return Aside(self._progress())

    async def _followed(self, session: Session, tasks: TaskGroup) -> Ending:
        """What comes of its events."""
        astray = False
        while True:
            await anyio.lowlevel.checkpoint()  # a flood of events is no reason to be deaf
            try:
                event = await self._next(session, _NEXT_STEP if astray else math.inf)
            except StepsApart as apart:
                return self._broken("not_deterministic", f"{_STEPS_APART}: {apart}")
            astray = isinstance(event, Waits) and self._broker.replay.in_vain(event.ids)
            match event:
                case Called():
                    self._goes_on()
                    self._broker.serve(event, partial(self._answer, session), tasks)
                case Printed(text, dropped):
                    self._printout.miss(dropped)
                    self._printout.add(text)
                case Waits(ids):
                    self._waits.set()
                    if (ending := await self._waited(session, ids)) is not None:
                        return ending
                case Finished() | Failed():
                    return self._told_end(event)

    async def _waited(self, session: Session, ids: Collection[int]) -> Ending | None:
        """See a program through its wait for these calls, in its worker or away from it.

        None: it goes on. Its ending where it has to wait for a person who is asked later.
        """
        if not (self._snapshots and ids):
            return None
        try:
            away = await self._gives_way(session, ids) and await session.leave()
            if await self._is_stuck(ids):
                return Aside(self._progress(await session.snapshot()))
        except SnapshotRefused as refused:
            return self._broken("not_kept", f"{_CANNOT_WAIT}: {refused.message}")
        return await self._come_back(session) if away else None

    async def _come_back(self, session: Session) -> Broken | None:
        """Go on in a worker; None: it does."""
        try:
            with self._clock.paused():
                await session.come_back()
        except (SandboxUnavailable, SnapshotRefused, TooBusy) as lost:
            what = "a person was asked, and the program left its worker and cannot go on"
            return self._broken("not_kept", f"{what}: {lost.message}")
        return None

    async def _gives_way(self, session: Session, ids: Collection[int]) -> bool:
        """Whether it has promised its worker to others, before one of these calls came back."""
        while self._asks and self._waits_for(ids) and not self._broker.stuck:
            async with anyio.create_task_group() as watching:
                watching.start_soon(self._watch_turn, session, watching.cancel_scope)
                await self._is_stuck(ids)
                watching.cancel_scope.cancel()
            if self._waits_for(ids) and not self._broker.stuck and session.turn.gives_way():
                return True
        return False

    async def _watch_turn(self, session: Session, scope: anyio.CancelScope) -> None:
        """Cancel once a person is being asked and others wait for the worker."""
        while not session.stays.is_set():
            await self._clock.standing()
            await session.turn.wanted()
            if self._clock.stands:
                await anyio.sleep(_SETTLED)
                if self._clock.stands:
                    scope.cancel()
                    return

    async def _watch_question(self, session: Session, scope: anyio.CancelScope) -> None:
        """Break off a program that cannot leave its worker, and has a person asked for too long."""
        await session.stays.wait()
        most = self._clock.stood + self._settings.question_seconds
        while True:
            await self._clock.standing()
            await session.turn.wanted(by_others=True)
            left = most - self._clock.stood
            if left > 0:
                await anyio.sleep(left)
            elif self._clock.stands and session.turn.gives_way(by_others=True):
                self._cut = self._asked_too_long(session.why_it_stays)
                scope.cancel()
                return

    def _asked_too_long(self, why: str) -> Broken:
        most = self._settings.question_seconds
        return self._broken(
            "question_seconds",
            f"TimeoutError: a person was asked for longer than code.question_seconds allows "
            f"({most:g} s) while others waited for a worker, and it could not leave its own "
            f"meanwhile: {why}",
        )

    async def _next(self, session: Session, seconds: float) -> Event:
        """The following event of a program that does what it did before.

        Raises:
            StepsApart: It does something else.
        """
        replay = self._broker.replay
        with anyio.move_on_after(seconds):
            event = await session.next()
            if isinstance(event, Finished) and not replay.over:
                raise replay.apart()
            return event
        raise replay.apart()

    def _told_end(self, last: Finished | Failed) -> Ending:
        if isinstance(last, Failed):
            return self._broken(last.why, last.message, last.trace, executed=last.executed)
        self._journal.cancel_open()
        return Done(last.value, self._progress(), last.untaken)

    async def _is_stuck(self, ids: Collection[int]) -> bool:
        """Whether a program that waits for these calls waits for a person; else one is answered."""
        while self._waits_for(ids):
            if self._broker.stuck:
                return True
            await self._broker.moved()
        return False

    def _waits_for(self, ids: Collection[int]) -> bool:
        """Whether none of these calls is answered."""
        return {row.call for row in self._journal.rows if row.open}.issuperset(ids)

    async def _watch(self, scope: anyio.CancelScope) -> None:
        """End a program that cannot be put aside once it waits for a person.

        It may be about to make further calls, whose questions are asked together with those that
        are out; one that sets timers does not say when it waits.
        """
        while True:
            while not self._broker.stuck:
                await self._broker.moved()
            with anyio.move_on_after(_NEXT_STEP):
                await self._waits.wait()
            if self._broker.stuck:
                scope.cancel()
                return

    def _answer(self, session: Session, id_: int, answer: Answer) -> None:
        self._goes_on()
        session.answer(id_, answer)

    def _goes_on(self) -> None:
        if self._waits.is_set():
            self._waits = anyio.Event()

    def _broken(
        self, why: Why, message: str, trace: tuple[Place, ...] = (), *, executed: bool = True
    ) -> Broken:
        self._journal.cancel_open()
        return Broken(why, message, trace, executed=executed, progress=self._progress())

    def _progress(self, snapshot: bytes | None = None) -> Progress:
        return Progress(
            rows=tuple(self._journal.rows),
            printed=self._printout.text,
            printed_bytes=self._printout.size,
            seconds=self._clock.used,
            received=frozenset(self._broker.received),
            said=self._broker.consent.said,
            snapshot=snapshot,
            asked=dict(self._broker.asked),
        )
