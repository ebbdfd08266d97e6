"""Programs in Python, run by Monty: a `ports.Sandbox`.

Not by `AsyncMonty`: its pool makes the interpreter abort now and then when it ends soon after.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib.adapters.background import background
from toolcrib.adapters.jail.bubblewrap import Jail, NoJail, find_jail
from toolcrib.adapters.programs.places import Places
from toolcrib.adapters.programs.threads import Threads
from toolcrib.errors import SandboxUnavailable
from toolcrib.ports import Abilities, Program, Running
from toolcrib.settings import CodeSettings

if TYPE_CHECKING:  # it imports Monty, which costs what no other command should pay
    from toolcrib.adapters.monty.running import MontyRunning
    from toolcrib.adapters.monty.workers import Workers

_SPARE_THREADS: Final = 3
"""Beside one for each program: to start and end workers, to find out what they can do, and to read
ahead, for which programs wait."""


class MontySandbox:
    """Runs programs in worker processes, each program in a session of its own.

    A worker is jailed where bubblewrap works. Where it does not, it runs all the same, and
    `abilities` says so: Monty itself has no files, network, processes or environment.

    Args:
        settings: The limits.
        find: Finds the jail.
    """

    def __init__(
        self, settings: CodeSettings, *, find: Callable[[], Jail | NoJail] = find_jail
    ) -> None:
        self._settings = settings
        self._find = find
        self._threads = Threads(settings.programs + _SPARE_THREADS)
        self._places = Places(settings)
        self._starting = anyio.Lock()
        self._workers: Workers | None = None
        self._abilities: Abilities | None = None
        self._closed = False
        self._open: set[MontyRunning] = set()

    async def abilities(self) -> Abilities:
        """What Monty can do here, found out once."""
        workers = await self._started()
        async with self._starting:
            if self._abilities is None:
                self._abilities = await self._threads.run(lambda: _abilities(workers))
            return self._abilities

    @asynccontextmanager
    async def open(
        self, program: Program, *, snapshot: bytes | None = None
    ) -> AsyncGenerator[Running]:
        """A session for this program alone; its worker is lent with the first event."""
        with self._places.one():
            workers = await self._started()
            from toolcrib.adapters.monty.running import (  # noqa: PLC0415 - as above
                MontyRunning as Opened,
            )

            running = Opened(workers, self._threads, program, self._settings)
            self._open.add(running)
            try:
                if snapshot is not None:
                    await running.restore(snapshot)
                async with background() as tasks:
                    tasks.start_soon(running.drive)
                    try:
                        yield running
                    finally:
                        running.stop()  # what the thread does now must end for it to be left
            finally:
                await running.close()
                self._open.discard(running)
                self._end_threads()

    async def aclose(self) -> None:
        """End all workers, and every program that still runs: it is told to have crashed."""
        self._closed = True
        for running in self._open:
            running.stop()
        with anyio.CancelScope(shield=True):
            async with self._starting:
                workers, self._workers = self._workers, None
                if workers is not None:
                    await self._threads.run(workers.close)
        self._end_threads()

    def _end_threads(self) -> None:
        """Let the threads go, once nobody can need one any more."""
        if self._closed and not self._open:
            self._threads.end()

    async def _started(self) -> "Workers":
        """The workers; the first program starts them."""
        async with self._starting:
            if self._closed:
                raise SandboxUnavailable("the runtime of programs in Python is closed")
            if self._workers is None:
                self._workers = await self._threads.run(self._start)
            return self._workers

    def _start(self) -> "Workers":
        try:
            from toolcrib.adapters.monty.workers import Workers  # noqa: PLC0415 - as above
        except ImportError as error:
            raise SandboxUnavailable(
                "programs in Python cannot run here",
                remedy="install the package pydantic-monty, version 1.4",
                operator_note=str(error),
            ) from error
        return Workers(self._settings, self._find(), self._threads.submit)


def _abilities(workers: "Workers") -> Abilities:
    from toolcrib.adapters.monty.probes import LIMITS  # noqa: PLC0415
    from toolcrib.adapters.monty.survey import surveyed  # noqa: PLC0415
    from toolcrib.adapters.monty.workers import VERSION  # noqa: PLC0415

    lacking = surveyed(VERSION, lambda: workers.to_try(LIMITS))
    return Abilities(
        language="python",
        version=f"monty {VERSION}",
        snapshots=True,
        type_check=True,
        jail=workers.jail,
        lacks=lacking.names,
        missing_modules=lacking.modules,
    )
