"""What a program takes of the machine, as the kernel tells it; a limit that it passes ends it."""

import os
import resource
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolcrib.ports import Failed
from toolcrib.settings import CodeSettings

_TICK: Final = 1 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01
_PAGE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_MIB: Final = 1024 * 1024
_GRACE: Final = 0.5
"""Seconds that a program may seem to sleep although it does not."""
_CPU_MORE: Final = 3
"""Seconds of computing after which the kernel ends a program that nobody has ended."""
_FILE_BYTES: Final = 32 * _MIB
_FILES: Final = 128


def jailed(bubblewrap: int) -> int | None:
    """The program in a jail: the child of its first process, which is a child of bubblewrap."""
    first = _only_child(bubblewrap)
    return None if first is None else _only_child(first)


def _only_child(pid: int) -> int | None:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return None
    return int(children[0]) if children else None


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at a process."""

    cpu: float
    """Seconds that all of its threads have computed."""
    resident: int
    """Bytes."""
    sleeps: bool
    """Whether its first thread waits for something."""


def reading(pid: int) -> Reading | None:
    """A look at a process; None: it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="latin-1")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return Reading(
        cpu=(int(fields[11]) + int(fields[12])) * _TICK,
        resident=int(fields[21]) * _PAGE,
        sleeps=fields[0] == "S",
    )


def bound(pid: int, settings: CodeSettings) -> None:
    """Set limits of the kernel, which hold also where nobody looks."""
    now = reading(pid)
    if now is None:
        return
    cpu = int(now.cpu + settings.interpreter_seconds) + _CPU_MORE
    limits = {
        resource.RLIMIT_CPU: cpu,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: _FILE_BYTES,
        resource.RLIMIT_NOFILE: _FILES,
    }
    for name, most in limits.items():
        with suppress(ProcessLookupError):
            resource.prlimit(pid, name, (most, most))


class Gauge:
    """Watches one program against its limits.

    Args:
        pid: Its process.
        settings: The limits.
    """

    def __init__(self, pid: int, settings: CodeSettings) -> None:
        self.pid = pid
        self._settings = settings
        first = reading(pid)
        self._began = self._turn = self._cpu = 0.0 if first is None else first.cpu
        self._looked: float | None = None
        self._idle = 0.0
        self.peak = 0
        """The most resident memory that was seen, in bytes."""

    def turn(self) -> None:
        """Something came in or went out: what it computes from now on counts by itself."""
        self._turn = self._cpu

    def look(self, now: float, *, waits: bool) -> Failed | None:
        """The limit that the program has passed by now.

        Args:
            now: Seconds.
            waits: Whether a call is to be answered, so that it has a reason not to go on.
        """
        seen = reading(self.pid)
        if seen is None:
            return None
        passed = 0.0 if self._looked is None else now - self._looked
        self._looked = now
        if seen.sleeps and not waits and seen.cpu - self._cpu < _TICK:
            self._idle += passed
        self._cpu = seen.cpu
        self.peak = max(self.peak, seen.resident)
        return self._over(seen)

    def _over(self, seen: Reading) -> Failed | None:
        settings = self._settings
        if seen.resident > settings.resident_bytes:
            return out_of_memory(f"code.resident_bytes: {settings.resident_bytes}")
        if seen.cpu - self._began > settings.interpreter_seconds:
            return too_long(f"code.interpreter_seconds: {settings.interpreter_seconds:g}")
        if seen.cpu - self._turn > settings.turn_seconds:
            return too_long(f"code.turn_seconds: {settings.turn_seconds:g}")
        if self._idle > settings.sleep_seconds + _GRACE:
            most = f"code.sleep_seconds: {settings.sleep_seconds:g}"
            return Failed("sleep_seconds", f"TimeoutError: it sleeps longer than it may ({most})")
        return None


def out_of_memory(limit: str) -> Failed:
    """The end of a program that took too much."""
    return Failed("memory", f"RangeError: it takes more memory than it may ({limit})")


def too_long(limit: str) -> Failed:
    """The end of a program that computed for too long."""
    return Failed("interpreter_seconds", f"TimeoutError: it computes longer than it may ({limit})")
