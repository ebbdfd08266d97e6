"""One worker: a jailed process that takes one program, and the thread that serves it.

The thread starts the process, and a jail ends with the thread that started it: so it stays. It
looks at what the process takes even while the event loop is busy.
"""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

import anyio

from toolcrib.adapters.deno.frames import ROOM, Malformed, version_of
from toolcrib.adapters.deno.gauge import Gauge, bound, jailed
from toolcrib.adapters.deno.pipes import Pipes
from toolcrib.adapters.line_splitter import LongLine
from toolcrib.adapters.programs.threads import soon_here
from toolcrib.settings import CodeSettings

_LOOK: Final = 0.01
"""Seconds between two looks at a process that runs a program."""
_LONGEST: Final = 300
"""Characters of what a process said that go into a note."""


class Driver(Protocol):
    """What a worker serves: one program. Its methods are called in the thread of the worker."""

    def heard(self, line: bytes | LongLine, gauge: Gauge) -> bool:
        """Take a line from the process; True: it was the last one."""
        ...

    def looked(self, gauge: Gauge, now: float) -> bool:
        """Judge what the process takes; True: it ends."""
        ...

    def lost(self, code: int, said: str) -> None:
        """The process ended, with what it wrote to standard error."""
        ...

    def outgoing(self, gauge: Gauge) -> bytes:
        """What is to be written to the process by now."""
        ...


class Worker:
    """A process that is started now, runs one program later, and is then ended.

    Made and waited for in the event loop. Nothing of it is left when `ended` is set.

    Args:
        command: What to start.
        settings: The limits of its program.
        now: Seconds, of a clock that runs evenly; asked in a thread.
    """

    def __init__(
        self, command: list[str], settings: CodeSettings, now: Callable[[], float]
    ) -> None:
        self._command = command
        self._settings = settings
        self._now = now
        self._soon = soon_here()
        self.ready = anyio.Event()
        """It can take a program, or has ended: see `problem`."""
        self.ended = anyio.Event()
        """Its process and its thread are gone."""
        self.version = ""
        """Of Deno."""
        self.problem = ""
        """Why it takes no program, as anybody may read it."""
        self.note = ""
        """What the system or the process said of that: for the operator, as it names paths."""
        self._driver: Driver | None = None
        self._stopped = False
        self._closed = False
        self._heard, self._poke = os.pipe()
        os.set_blocking(self._poke, False)
        self._guard = threading.Lock()
        """Held where the pipe that wakes the thread is written or closed."""
        threading.Thread(target=self._serve, name="toolcrib-deno", daemon=True).start()

    def begin(self, driver: Driver) -> None:
        """Let it run a program; once it is ready."""
        self._driver = driver
        self.poke()

    def poke(self) -> None:
        """Have the thread look what there is to do; from any thread."""
        with self._guard, suppress(BlockingIOError):  # where the pipe is full, it will look anyway
            if not self._closed:
                os.write(self._poke, b".")

    def stop(self) -> None:
        """Kill it, from any thread; `ended` follows."""
        self._stopped = True
        self.poke()

    def _serve(self) -> None:
        try:
            self._live()
        finally:
            with self._guard:
                self._closed = True
                os.close(self._heard)
                os.close(self._poke)
            self._soon(self.ready.set)
            self._soon(self.ended.set)

    def _live(self) -> None:
        try:
            pipes = Pipes(self._command, self._settings.answer_bytes + ROOM, self._heard)
        except OSError as error:
            self.problem, self.note = "it could not be started", str(error)
            return
        try:
            self._attend(pipes)
        finally:
            pipes.close()
            if self._driver is not None:
                self._driver.lost(0, "")  # heard only where no end was told

    def _attend(self, pipes: Pipes) -> None:
        gauge = self._first(pipes)
        if gauge is None:
            return
        self._soon(self.ready.set)
        driver = self._wanted(pipes)
        if driver is None:
            return
        while not self._stopped:
            pipes.send(driver.outgoing(gauge))
            for line in pipes.lines(_LOOK):
                if driver.heard(line, gauge):
                    return
            if pipes.ended:
                driver.lost(pipes.end(), pipes.said)
                return
            if driver.looked(gauge, self._now()):
                return

    def _wanted(self, pipes: Pipes) -> Driver | None:
        """Wait for a program; None: it is wanted no more, or has ended."""
        while self._driver is None and not self._stopped:
            for _ in pipes.lines(None):
                self.problem = "it spoke before it had a program"
            if pipes.ended:
                self.problem = "it ended before it had a program"
            if self.problem:
                return None
        return self._driver

    def _first(self, pipes: Pipes) -> Gauge | None:
        """Wait until the runner is up."""
        while not self._stopped:
            for line in pipes.lines(None):
                try:
                    self.version = version_of(line)
                except Malformed:
                    self.problem = "it does not speak as its runner does"
                    return None
                pid = jailed(pipes.pid)
                if pid is None:
                    self.problem = "its memory cannot be watched: /proc does not tell children"
                    return None
                bound(pid, self._settings)
                return Gauge(pid, self._settings)
            if pipes.ended:
                self.problem = f"it ended with code {pipes.end()}"
                self.note = pipes.said.strip()[-_LONGEST:]
                return None
        return None
