"""The time that the check of one program may take: then its worker is killed."""

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

_KILL: Final = getattr(
    signal, "SIGKILL", signal.SIGTERM
)  # the latter kills where there is no other


@dataclass(slots=True)
class Clock:
    """Runs while a worker checks."""

    rang: bool = False
    """Whether it was killed."""
    _over: bool = False
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def ring(self, pid: int) -> None:
        """Kill the worker, unless the check is over: it may be somebody else's by now."""
        with self._guard:
            if not self._over:
                self.rang = True
                with suppress(ProcessLookupError):
                    os.kill(pid, _KILL)

    def end(self) -> None:
        """Let the worker live."""
        with self._guard:
            self._over = True


@contextmanager
def clocked(pid: int | None, seconds: float) -> Generator[Clock]:
    """Kill a worker that is not done after so many seconds."""
    clock = Clock()
    timer = None if pid is None else threading.Timer(seconds, clock.ring, (pid,))
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        yield clock
    finally:
        clock.end()
        if timer is not None:
            timer.cancel()
