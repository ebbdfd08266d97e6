"""One program from its start to its end, or to where a person has to answer."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from toolcrib.calls.call import Requester, Retry
from toolcrib.codemode.broker import Around, Broker, StepsApart
from toolcrib.codemode.journal import Journal
from toolcrib.codemode.printout import Printout
from toolcrib.codemode.progress import START, Progress
from toolcrib.codemode.wall_clock import WallClock
from toolcrib.ports import (
    Abilities,
    Called,
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

_STEPS_APART: Final = "the program did not take the same steps as before it waited"


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
        again = before if before.snapshot is not None else START
        self._printout = Printout(settings.print_bytes, again.printed, again.printed_bytes)
        self._broker = Broker(
            around,
            requester,
            run=run,
            journal=self._journal,
            clock=self._clock,
            before=before,
            retries=retries,
            progress=progress,
            replayed=not abilities.snapshots,
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
        while True:
            await anyio.lowlevel.checkpoint()  # a flood of events is no reason to be deaf
            match await running.next():
                case Called() as called:
                    try:
                        self._broker.serve(called, running.answer, tasks)
                    except StepsApart as apart:
                        return self._broken("not_deterministic", f"{_STEPS_APART}: {apart}")
                case Printed(text, dropped):
                    self._printout.miss(dropped)
                    self._printout.add(text)
                case Waits(ids):
                    if await self._is_stuck(ids):
                        return Aside(self._progress(await running.snapshot()))
                case (Finished() | Failed()) as last:
                    return self._told_end(last)

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
        """End a program that cannot be put aside once it waits for a person."""
        while not self._broker.stuck:
            await self._broker.moved()
        scope.cancel()

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
