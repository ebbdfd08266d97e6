"""How many programs of a runtime run at a time, and how long the others wait."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from toolcrib.errors import TooBusy
from toolcrib.settings import CodeSettings


class Places:
    """A place for each program that may run (`code.programs`).

    Args:
        settings: How many there are, and how long a program waits for one.
    """

    def __init__(self, settings: CodeSettings) -> None:
        self._settings = settings
        self._free = anyio.Semaphore(settings.programs)

    @asynccontextmanager
    async def one(self) -> AsyncGenerator[None]:
        """Hold a place; raises `TooBusy` where none becomes free within `code.wait_seconds`."""
        seconds = self._settings.wait_seconds
        with anyio.move_on_after(seconds) as waiting:
            await self._free.acquire()
        if waiting.cancelled_caught:
            raise TooBusy(
                f"{self._settings.programs} programs run already (code.programs), and none ended "
                f"within {seconds:g} s (code.wait_seconds)"
            )
        try:
            yield
        finally:
            self._free.release()
