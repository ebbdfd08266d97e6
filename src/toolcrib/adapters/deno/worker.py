"""One worker: a jailed process that takes one program, and the thread that serves it.

The thread starts the process, and a jail ends with the thread that started it: so it stays. It looks
at what the process takes even while the event loop is busy.
"""

import os
import selectors
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

import anyio

from toolcrib.adapters.deno.frames import ROOM, Malformed, ready
from toolcrib.adapters.deno.gauge import Gauge, bound, jailed
from toolcrib.adapters.line_splitter import LineSplitter, LongLine
from toolcrib.adapters.monty.threads import soon_here
from toolcrib.settings import CodeSettings

_LOOK: Final = 0.01
"""Seconds between two looks at a process that runs a program."""
_CHUNK: Final = 1024 * 1024
_SAID: Final = 4096
"""Bytes of standard error that are kept, the last ones."""
_WAIT: Final = 5.0
"""Seconds for a killed process to be gone."""


class Driver(Protocol):
    """What a worker serves: one program. Its methods are called in the thread of the worker."""

    def heard(self, line: bytes | LongLine) -> bool:
        """Take a line from the process; True: it was the last one."""
        ...

    def looked(self, gauge: Gauge, now: float) -> bool:
        """Judge what the process takes; True: it ends."""
        ...

    def lost(self, code: int, said: str) -> None:
        """The process ended by itself, with what it wrote to standard error."""
        ...

    def outgoing(self) -> bytes:
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
        """Why it takes no program."""
        self._driver: Driver | None = None
        self._gauge: Gauge | None = None
        self._pid: int | None = None
        self._lines = LineSplitter(settings.answer_bytes + ROOM)
        self._said = b""
        self._unsent = bytearray()
        self._stopped = False
        self._over = False
        self._heard, self._poke = os.pipe()
        os.set_blocking(self._poke, False)  # noqa: FBT003 - the standard library's own order
        self._guard = threading.Lock()
        """Held where the pipe that wakes the thread is written or closed."""
        threading.Thread(target=self._serve, name="toolcrib-deno", daemon=True).start()

    def begin(self, driver: Driver) -> None:
        """Let it run a program."""
        self._driver = driver
        self.poke()

    def poke(self) -> None:
        """Have the thread look what is to be written; from any thread."""
        with self._guard, suppress(BlockingIOError):  # full: it will look anyway
            if not self._over:
                os.write(self._poke, b".")

    def stop(self) -> None:
        """Kill it, from any thread; `ended` follows."""
        self._stopped = True
        self.poke()

    def _serve(self) -> None:
        try:
            process = self._started()
        except OSError as error:
            self.problem = str(error)
        else:
            with process, selectors.DefaultSelector() as selector:
                try:
                    self._attend(process, selector)
                finally:
                    self._kill(process)
        with self._guard:
            self._over = True
            os.close(self._heard)
            os.close(self._poke)
        self._soon(self.ready.set)
        self._soon(self.ended.set)

    def _started(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603 - bubblewrap and Deno, found by us
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={},
            start_new_session=True,
        )
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None  # noqa: S101 - it was asked for above
            os.set_blocking(pipe.fileno(), False)  # noqa: FBT003 - as above
        return process

    def _attend(
        self, process: subprocess.Popen[bytes], selector: selectors.BaseSelector
    ) -> None:
        """Serve it until it or its program ends, or it is stopped."""
        stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
        assert stdin is not None  # noqa: S101 - it was asked for
        for pipe in (self._heard, stdout, stderr):
            selector.register(pipe, selectors.EVENT_READ)  # type: ignore[arg-type]
        writing = False
        while not self._stopped:
            for key, _ in selector.select(None if self._gauge is None else _LOOK):
                if key.fileobj is stdout:
                    if self._read(process):
                        return
                elif key.fileobj is stderr:
                    self._listen(selector, process)
                elif key.fileobj is stdin:
                    self._write(stdin.fileno())
                else:
                    os.read(self._heard, _SAID)
            if self._driver is not None and self.ready.is_set():
                if self._judged(self._driver):
                    return
                self._unsent += self._driver.outgoing()
                self._write(stdin.fileno())
            if bool(self._unsent) != writing:
                writing = not writing
                if writing:
                    selector.register(stdin, selectors.EVENT_WRITE)
                else:
                    selector.unregister(stdin)
