"""How often a small model is asked: so many times a minute, and not while it fails."""

from collections import deque
from typing import Final

__all__ = ["Pace"]

_MINUTE: Final = 60.0
_FAILURES: Final = 3
"""In a row, after which it is left alone for a while."""
_PAUSE: Final = 30.0
_LONGEST_PAUSE: Final = 600.0
"""Seconds that an endpoint may ask for."""


class Pace:
    """Decides whether a question may be asked. Times are seconds on one monotonic clock."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._asked: deque[float] = deque()
        self._failures = 0
        self._until = 0.0

    def refuses(self, now: float) -> str:
        """Why nothing may be asked now, `paused` or `over_budget`; empty: it may, and is counted.

        After a pause one question finds out whether things are better; the others wait for it.
        """
        if now < self._until:
            return "paused"
        while self._asked and now - self._asked[0] >= _MINUTE:
            self._asked.popleft()
        if len(self._asked) >= self._per_minute:
            return "over_budget"
        self._asked.append(now)
        if self._failures >= _FAILURES:
            self._until = now + _PAUSE
        return ""

    def succeeded(self) -> None:
        """A question was answered."""
        self._failures = 0
        self._until = 0.0

    def failed(self, now: float, wait: float = 0.0) -> None:
        """A question was not answered; the endpoint asked to be left alone for `wait` seconds."""
        self._failures += 1
        pause = _PAUSE if self._failures >= _FAILURES else 0.0
        self._until = max(self._until, now + max(pause, min(wait, _LONGEST_PAUSE)))
