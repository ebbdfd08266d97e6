"""A bound on how fast something is relayed: what is too much is dropped, never delayed."""

from typing import Final

import anyio


class Pace:
    """Lets so many through in each second."""

    def __init__(self, per_second: int) -> None:
        self._per_second: Final = per_second
        self._window = float("-inf")
        self._in_window = 0

    def allows(self) -> bool:
        """Whether one more may pass now; counts it."""
        now = anyio.current_time()
        if now - self._window >= 1.0:
            self._window, self._in_window = now, 0
        self._in_window += 1
        return self._in_window <= self._per_second
