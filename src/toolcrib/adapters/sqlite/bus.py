"""The invalidation bus between processes that share one store file.

Hints lie in the file, written in the transaction of the change they speak of. Listeners of the
process that changes something hear of it at once; the others when they next ask the file, so
after one poll interval (half a second by default) at most, plus the time the file is busy. Asking
costs one `PRAGMA data_version` while nobody else wrote, and is left out while nobody listens.
"""

from collections.abc import Awaitable, Callable, Sequence

import anyio

from toolcrib.adapters.store.memory_bus import Listener, MemoryBus
from toolcrib.errors import StoreUnreachable


class SqliteBus:
    """Hands hints to the listeners of this process, whoever left them.

    Args:
        local: The listeners of this process.
        leave: Leaves a hint for the other processes; may raise `StoreUnreachable`.
        collect: The PIDs left since it was last asked, None for "any"; may raise
            `StoreUnreachable`.
        interval: Seconds between two polls.
    """

    def __init__(
        self,
        local: MemoryBus,
        leave: Callable[[str], Awaitable[None]],
        collect: Callable[[], Awaitable[Sequence[str | None]]],
        interval: float,
    ) -> None:
        self._local = local
        self._leave = leave
        self._collect = collect
        self._interval = interval

    async def publish(self, pid: str) -> None:
        """Tell everybody that the record of this PID may have changed.

        Where the file cannot be used, the other processes do not hear of it: a lost hint costs
        latency, never correctness (REPLICAS rule 21).
        """
        self._local.tell(pid)
        try:
            await self._leave(pid)
        except StoreUnreachable:
            return

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(pid)` for each hint, `listener(None)` after a gap, until unsubscribed."""
        return self._local.subscribe(listener)

    async def poll(self) -> None:
        """Ask the file once and pass on what was left there."""
        try:
            hints = await self._collect()
        except StoreUnreachable:
            # What was left is still there when the file can be used again.
            return
        for pid in hints:
            self._local.tell(pid)

    async def watch(self) -> None:
        """Poll until cancelled, as long as anybody listens."""
        while True:
            await anyio.sleep(self._interval)
            if self._local:
                await self.poll()
