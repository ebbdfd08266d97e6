"""How long a request may take: a time-out that stands still while somebody is being asked."""

from collections.abc import Generator
from contextlib import contextmanager

import anyio


class Patience:
    """The time-out of one request.

    Nothing that a server sends meanwhile makes it longer: progress is no answer (MCP 2026-07-28,
    cancellation: time-outs). Only the time that a person takes for an answer does not count, and of
    that there is a bounded amount for one request, however often it asks.

    Args:
        seconds: How long the server may take; None: as long as it likes.
        asking: Seconds that people may take altogether.
    """

    def __init__(self, seconds: float | None, asking: float) -> None:
        self.scope = anyio.CancelScope()
        """What waits for the answer is run in it."""
        self._seconds = seconds
        self._asking_seconds = asking
        self._asking_left = asking
        self._asked = 0
        self._rest = 0.0
        self._since = 0.0

    def start(self) -> None:
        """The time begins to run."""
        if self._seconds is not None:
            self.scope.deadline = anyio.current_time() + self._seconds

    @property
    def stopped(self) -> bool:
        """Whether somebody is being asked."""
        return self._asked > 0

    def says(self, method: str) -> str:
        """What is to be told when it has run out, in a sentence."""
        if self.stopped:
            return (
                f"what the server asked during {method} was not answered within "
                f"{self._asking_seconds:g} s"
            )
        return f"the server did not answer {method} within {self._seconds:g} s"

    @contextmanager
    def standing_still(self) -> Generator[None]:
        """Somebody is being asked; several at once are counted once."""
        if not self.stopped:
            self._since = anyio.current_time()
            self._rest = self.scope.deadline - self._since
            self.scope.deadline = self._since + self._asking_left
        self._asked += 1
        try:
            yield
        finally:
            self._asked -= 1
            if not self.stopped:
                now = anyio.current_time()
                self._asking_left -= now - self._since
                self.scope.deadline = now + self._rest
