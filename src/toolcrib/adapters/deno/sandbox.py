"""Programs in TypeScript, run by Deno in a jail: a `ports.Sandbox`."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from toolcrib.adapters.deno.command import command, find_deno
from toolcrib.adapters.jail.bubblewrap import REMEDY, Jail, NoJail, find_jail
from toolcrib.adapters.programs.places import Places
from toolcrib.adapters.system_clock import SystemClock
from toolcrib.errors import SandboxUnavailable, SnapshotRefused
from toolcrib.ports import Abilities, Clock, Program, Running
from toolcrib.settings import CodeSettings

if TYPE_CHECKING:  # they need what only Linux has
    from toolcrib.adapters.deno.running import DenoRunning
    from toolcrib.adapters.deno.worker import Worker

_START_SECONDS: Final = 20.0


class DenoSandbox:
    """Runs each program in a process of its own, in a jail; where there is none, it refuses.

    One process more than there are programs waits, so that a program finds one that has started.

    Types are stripped, not checked: `deno check` takes seconds and hundreds of megabytes for each
    program, and reads whatever files a program refers to. What is imported is checked all the same:
    a module or function that is not there is told before anything runs.

    Args:
        settings: The limits.
        find: Finds the jail.
        clock: Tells how long a program sleeps.
    """

    def __init__(
        self,
        settings: CodeSettings,
        *,
        find: Callable[[], Jail | NoJail] = find_jail,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings
        self._find = find
        self._clock = clock or SystemClock()
        self._places = Places(settings)
        self._starting = anyio.Lock()
        self._command: list[str] | None = None
        self._abilities: Abilities | None = None
        self._spare: Worker | None = None
        self._open: dict[Worker, DenoRunning | None] = {}
        self._closed = False

    async def abilities(self) -> Abilities:
        """What Deno can do here, found out by starting it."""
        async with self._starting:
            return await self._known()

    @asynccontextmanager
    async def open(
        self, program: Program, *, snapshot: bytes | None = None
    ) -> AsyncGenerator[Running]:
        """A process for this program alone."""
        if snapshot is not None:
            raise SnapshotRefused("programs in TypeScript cannot go on from a snapshot")
        with self._places.one():
            async with self._starting:
                await self._known()
                worker = await self._taken()
            from toolcrib.adapters.deno.running import DenoRunning  # noqa: PLC0415 - as above

            running = DenoRunning(worker, program, self._settings)
            self._open[worker] = running
            try:
                yield running
            finally:
                await self._end(worker)

    async def aclose(self) -> None:
        """End all processes, and every program that still runs: it is told to have crashed."""
        self._closed = True
        for running in self._open.values():
            if running is not None:
                running.stop()
        with anyio.CancelScope(shield=True):
            async with self._starting:
                spare, self._spare = self._spare, None
            for worker in [*self._open, *([] if spare is None else [spare])]:
                worker.stop()
                await worker.ended.wait()

    async def _known(self) -> Abilities:
        """What can be done here; only under `_starting`."""
        if self._closed:
            raise SandboxUnavailable("the runtime of programs in TypeScript is closed")
        if self._abilities is None:
            jail, self._command = await to_thread.run_sync(self._found)
            self._spare = await self._ready(self._started())
            self._abilities = Abilities(
                language="typescript",
                version=f"deno {self._spare.version}",
                snapshots=False,
                type_check=False,
                jail=jail,
            )
        return self._abilities

    def _found(self) -> tuple[str, list[str]]:
        deno = find_deno()
        jail = self._find()
        if isinstance(jail, NoJail):
            raise SandboxUnavailable(
                "programs in TypeScript run only in a jail, and there is none here",
                remedy=REMEDY,
                operator_note=jail.reason,
            )
        return jail.name, command(jail, deno, self._settings)

    async def _taken(self) -> "Worker":
        """A process that has started, and another one that starts meanwhile."""
        worker, self._spare = self._spare, None
        if worker is None or worker.problem:
            worker = self._started()
        worker = await self._ready(worker)
        self._spare = self._started()
        return worker

    def _started(self) -> "Worker":
        from toolcrib.adapters.deno.worker import Worker  # noqa: PLC0415 - as above

        if self._command is None:
            raise SandboxUnavailable("the runtime of programs in TypeScript has no command")
        return Worker(self._command, self._settings, lambda: self._clock.now().mono)

    async def _ready(self, worker: "Worker") -> "Worker":
        """The process, once it has started."""
        in_time = False
        try:
            with anyio.move_on_after(_START_SECONDS):
                await worker.ready.wait()
                in_time = not worker.problem
        finally:
            if not in_time:
                await self._end(worker)
        if not in_time:
            why = worker.problem or f"it did not start within {_START_SECONDS:g} s"
            raise SandboxUnavailable(
                f"programs in TypeScript cannot run here: Deno does not start in its jail: {why}",
                remedy="see what `bwrap --unshare-all --ro-bind / / true` says",
                operator_note=worker.note or None,
            )
        return worker

    async def _end(self, worker: "Worker") -> None:
        worker.stop()
        with anyio.CancelScope(shield=True):
            await worker.ended.wait()
        self._open.pop(worker, None)
