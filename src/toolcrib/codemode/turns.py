"""No principal has all workers to itself, however many programs it sends."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from toolcrib.core.partition import LOCAL, Principal
from toolcrib.errors import TooBusy
from toolcrib.settings import CodeSettings


class Turns:
    """Lets so many programs of one principal run at a time that a worker is left for others.

    Whoever is alone on this machine may have them all.

    Args:
        settings: How many programs run at a time, and how long one waits for its turn.
    """

    def __init__(self, settings: CodeSettings) -> None:
        self._most = max(1, settings.programs - 1)
        self._seconds = settings.wait_seconds
        self._free = anyio.Semaphore(self._most)

    @asynccontextmanager
    async def turn(self, principal: Principal) -> AsyncGenerator[None]:
        """Wait until it may run.

        Raises:
            TooBusy: That takes too long.
        """
        if principal == LOCAL:
            yield
            return
        with anyio.move_on_after(self._seconds) as waiting:
            await self._free.acquire()
        if waiting.cancelled_caught:
            raise TooBusy(
                f"{self._most} of your programs run already, one less than code.programs, and none "
                f"ended within {self._seconds:g} s (code.wait_seconds)"
            )
        try:
            yield
        finally:
            self._free.release()
