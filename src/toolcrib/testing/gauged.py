"""What programs take of the machine while they run, looked at from outside."""

import os
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_WORKERS: Final = frozenset({"deno", "monty"})
_KIB: Final = 1024


@dataclass(slots=True)
class Taken:
    """The most that was seen, in bytes."""

    peak: int = 0
    """Resident memory of a worker."""
    host: int = 0
    """By how much this process grew."""
    looks: int = 0
    """How often it was looked at a worker."""


@contextmanager
def gauged(pause: float = 0.004) -> Generator[Taken]:
    """Look at this process and its workers until the block ends, from a thread.

    A worker counts with what it has at a look, and with the most that it ever had where that rose
    since the beginning: so nothing is missed between two looks, and nothing counts that was taken
    and given back before.

    Args:
        pause: Seconds between two looks; there is one at the end in any case.
    """
    gauge = _Gauge()
    over = threading.Event()

    def look() -> None:
        while not over.wait(pause):
            gauge.look()

    thread = threading.Thread(target=look, name="toolcrib-gauge", daemon=True)
    thread.start()
    try:
        yield gauge.taken
    finally:
        over.set()
        thread.join()
        gauge.look()


class _Gauge:
    def __init__(self) -> None:
        self.taken = Taken()
        self._before = {pid: most for pid, _, most in _workers()}
        self._host = _resident(os.getpid())[0]

    def look(self) -> None:
        taken = self.taken
        taken.host = max(taken.host, _resident(os.getpid())[0] - self._host)
        for pid, now, most in _workers():
            taken.looks += 1
            rose = most if most > self._before.get(pid, 0) else 0
            taken.peak = max(taken.peak, now, rose)


def _workers() -> Iterator[tuple[int, int, int]]:
    """Workers of this process: what each has, and the most that it ever had."""
    for pid in _below(os.getpid()):
        with suppress(OSError):  # it has ended
            if Path(f"/proc/{pid}/comm").read_text().strip() in _WORKERS:
                yield pid, *_resident(pid)


def _below(pid: int) -> Iterator[int]:
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                for child in map(int, (task / "children").read_text().split()):
                    yield child
                    yield from _below(child)


def _resident(pid: int) -> tuple[int, int]:
    """Bytes that a process has in memory, and the most that it ever had."""
    found = {"VmRSS": 0, "VmHWM": 0}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name in found:
            found[name] = int(rest.split()[0]) * _KIB
    return found["VmRSS"], found["VmHWM"]
