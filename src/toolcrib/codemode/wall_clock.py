"""The time that a program may take, which stands still while a person is asked."""

from collections.abc import Generator
from contextlib import contextmanager
from math import inf

import anyio


class WallClock:
    """Bounds the time within `running`, apart from the times within `paused`.

    Args:
        seconds: How long it may take.
        used: How much of that went by before, in another process perhaps.
    """

    def __init__(self, seconds: float, used: float = 0.0) -> None:
        self._seconds = seconds
        self._used = used
        self._pauses = 0
        self._since: float | None = None
        self._stood = 0.0
        self._stands_since = 0.0
        self._stopped = anyio.Event()
        """Set while it stands still."""
        self._scope = anyio.CancelScope()

    @property
    def used(self) -> float:
        """Seconds that went by."""
        if self._pauses or self._since is None:
            return self._used
        return self._used + anyio.current_time() - self._since

    @property
    def stands(self) -> bool:
        """Whether it stands still."""
        return self._pauses > 0

    @property
    def stood(self) -> float:
        """Seconds that it stood still, all together."""
        now = anyio.current_time() - self._stands_since if self.stands else 0.0
        return self._stood + now

    async def standing(self) -> None:
        """Return when it stands still."""
        await self._stopped.wait()

    @property
    def ran_out(self) -> bool:
        """Whether it was cut short."""
        return self._scope.cancelled_caught

    @contextmanager
    def running(self) -> Generator[None]:
        """Cancels what is inside when the time is over."""
        with self._scope:
            self._go_on()
            yield

    @contextmanager
    def paused(self) -> Generator[None]:
        """Time does not count."""
        self._stop()
        try:
            yield
        finally:
            stood = self.stood
            self._pauses -= 1
            if not self.stands:
                self._stood = stood
                self._stopped = anyio.Event()
                self._go_on()

    def _stop(self) -> None:
        if not self.stands:
            self._used = self.used
            self._scope.deadline = inf
            self._stands_since = anyio.current_time()
            self._stopped.set()
        self._pauses += 1

    def _go_on(self) -> None:
        self._since = anyio.current_time()
        self._scope.deadline = self._since + self._seconds - self._used
