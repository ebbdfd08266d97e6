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
from toolcrib.codemode.wall_clock import WallClock
from toolcrib.errors import SnapshotRefused
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
    Running,
    Sandbox,
    Waits,
)
from toolcrib.ports import Progress as Steps

Why = FailedWhy | Literal["wall_seconds", "not_deterministic", "outdated", "not_kept"]
"""`outdated`: it waited in another version of its runtime. `not_kept`: it could not be kept while
it waited for a person."""


@dataclass(frozen=True, slots=True)
class Done:
    """It returned."""

    value: Any
    """Unchecked."""
    progress: Progress


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
_NEXT_STEP: Final = 2.0
"""Seconds in which a program that waits for calls alone comes to what it did before, if ever: what
it does without the runtime knowing (hashing, packing) takes less."""


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

    async def end(self, program: Program) -> Ending:
        """Run it; cancelled, it is killed with the calls that are under way.

        Raises:
            SandboxUnavailable, TooBusy, SnapshotRefused: As `Sandbox.open` does.
        """
        with self._clock.running():
            async with self._sandbox.open(program, snapshot=self._snapshot) as running:
                return await self._ended(running)
        most = self._settings.wall_seconds
        message = f"TimeoutError: it took longer than code.wall_seconds allows ({most:g} s)"
        return self._broken("wall_seconds", message)

    async def _ended(self, running: Running) -> Ending:
        async with anyio.create_task_group() as tasks:
            if self._snapshot is not None:
                self._broker.go_on(running.answer, tasks)
            if not self._snapshots:
                tasks.start_soon(self._watch, tasks.cancel_scope)
            ending = await self._followed(running, tasks)
            tasks.cancel_scope.cancel()
            return ending
        return Aside(self._progress())  # it was the watch that cancelled

    async def _followed(self, running: Running, tasks: TaskGroup) -> Ending:
        """What comes of its events."""
        astray = False
        while True:
            await anyio.lowlevel.checkpoint()  # a flood of events is no reason to be deaf
            try:
                event = await self._next(running, _NEXT_STEP if astray else math.inf)
            except StepsApart as apart:
                return self._broken("not_deterministic", f"{_STEPS_APART}: {apart}")
            astray = isinstance(event, Waits) and self._broker.replay.in_vain(event.ids)
            match event:
                case Called():
                    self._goes_on()
                    self._broker.serve(event, partial(self._answer, running), tasks)
                case Printed(text, dropped):
                    self._printout.miss(dropped)
                    self._printout.add(text)
                case Waits(ids):
                    self._waits.set()
                    if await self._is_stuck(ids):
                        return await self._put_aside(running)
                case Finished() | Failed():
                    return self._told_end(event)

    async def _put_aside(self, running: Running) -> Ending:
        try:
            return Aside(self._progress(await running.snapshot()))
        except SnapshotRefused as refused:
            what = f"a person has to be asked, and the program cannot wait: {refused.message}"
            return self._broken("not_kept", what)

    async def _next(self, running: Running, seconds: float) -> Event:
        """The following event of a program that does what it did before.

        Raises:
            StepsApart: It does something else.
        """
        replay = self._broker.replay
        with anyio.move_on_after(seconds):
            event = await running.next()
            if isinstance(event, Finished) and not replay.over:
                raise replay.apart()
            return event
        raise replay.apart()

    def _told_end(self, last: Finished | Failed) -> Ending:
        if isinstance(last, Failed):
            return self._broken(last.why, last.message, last.trace, executed=last.executed)
        self._journal.cancel_open()
        return Done(last.value, self._progress())

    async def _is_stuck(self, ids: Collection[int]) -> bool:
        """Whether a program that waits for these calls waits for a person; else one is answered."""
        while self._snapshots and ids and self._unanswered.issuperset(ids):
            if self._broker.stuck:
                return True
            await self._broker.moved()
        return False

    @property
    def _unanswered(self) -> set[int]:
        return {row.call for row in self._journal.rows if row.open}

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

    def _answer(self, running: Running, id_: int, answer: Answer) -> None:
        self._goes_on()
        running.answer(id_, answer)

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
