"""How many calls one connection carries at a time, and how many may wait for their turn."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from toolcrib.errors import LimitExceeded
from toolcrib.settings import Limits


class Turns:
    """Lets so many calls through at once, queues so many more, and refuses the rest.

    First come, first served. A caller that goes away leaves the queue.
    """

    def __init__(self, server: str, limits: Limits) -> None:
        self._server = server
        self._most_waiting = limits.queue_per_server
        self._free = anyio.Semaphore(limits.calls_per_server, fast_acquire=True)
        self._waiting = 0

    @asynccontextmanager
    async def take(self) -> AsyncGenerator[None]:
        """One turn, for as long as the context lasts.

        Raises:
            LimitExceeded: `queue_per_server` calls wait already.
        """
        await self._come_up()
        try:
            yield
        finally:
            self._free.release()

    async def _come_up(self) -> None:
        if self._free.value == 0 and self._waiting >= self._most_waiting:
            raise LimitExceeded(
                f"{self._waiting} calls wait for {self._server!r} already, as many as "
                "queue_per_server allows",
                server=self._server,
                remedy="call less at a time, or raise queue_per_server",
            )
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
