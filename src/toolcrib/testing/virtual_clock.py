"""A clock for tests: the event loop's own time, and lots that repeat.

Under trio's autojump that time is virtual.
"""

import random

import anyio
import anyio.from_thread

from toolcrib.core.instant import Instant

EPOCH = 1_800_000_000.0


class LoopClock:
    """Reads `anyio.current_time`, so that virtual time moves it; its lots come from a seed."""

    def __init__(self, seed: int = 0, *, wall_offset: float = EPOCH) -> None:
        self._random = random.Random(seed)  # noqa: S311 - jitter in a test, not a secret
        self.wall_offset = wall_offset
        """Added to the loop's time to get wall time; change it to make the wall clock jump."""

    def now(self) -> Instant:
        """This moment of the event loop."""
        mono = _loop_time()
        return Instant(mono, mono + self.wall_offset)

    def lots(self) -> float:
        """The next number of the seeded sequence."""
        return self._random.random()


def _loop_time() -> float:
    """The time of the loop, also in a worker thread of it."""
    try:
        return anyio.current_time()
    except anyio.NoEventLoopError:
        return anyio.from_thread.run_sync(anyio.current_time)
