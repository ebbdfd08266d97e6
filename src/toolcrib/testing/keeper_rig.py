"""One keeper over a listing that a test answers by hand, so that interleavings are forced."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
from anyio.abc import TaskGroup

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.adapters.store.records import Operation
from toolcrib.catalog.keeper import Keeper, Surroundings
from toolcrib.core.freshness.events import Failure
from toolcrib.core.freshness.record import Answer
from toolcrib.core.snapshot import Kind, Page, Snapshot
from toolcrib.errors import StoreUnreachable
from toolcrib.protocol.listing import parse_page
from toolcrib.settings import Limits, Waits
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.virtual_clock import LoopClock


class HandListing:
    """A list of names behind one page, answered when the test lets it."""

    def __init__(self, clock: LoopClock, *names: str) -> None:
        self._clock = clock
        self.names = list(names)
        self.ttl_ms = 0
        self.asked = 0
        """List requests so far."""
        self.cancelled = 0
        self.failure: Failure | Exception | None = None
        self.held_back: anyio.Event | None = None
        """While there is one, answers wait for it; their content is that of the question."""
        self.reached = anyio.Event()
        """Set when a request arrives; put a new one to wait for the next."""

    async def fetch(self, cursor: str | None) -> Page | Failure:
        """One list request, as a keeper sends it."""
        del cursor
        self.asked += 1
        definitions = [tool(name) for name in self.names]
        self.reached.set()
        try:
            if self.held_back is not None:
                await self.held_back.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        if isinstance(self.failure, Exception):
            raise self.failure
        if self.failure is not None:
            return self.failure
        result = {
            "resultType": "complete",
            "tools": definitions,
            "ttlMs": self.ttl_ms,
            "cacheScope": "private",
        }
        return parse_page(Kind.TOOLS, result, era="modern", received=self._clock.now())


class FlakyStore(MemoryStore):
    """A memory that can be away."""

    away = False
    """Whether nobody can reach it."""

    async def decide(self, pid: str, operation: Operation) -> Answer:
        """Decide as a memory does, or be away."""
        if self.away:
            raise StoreUnreachable("locked")
        return await super().decide(pid, operation)


class KeeperRig:
    """One keeper and all that it speaks to."""

    def __init__(self, tasks: TaskGroup, names: tuple[str, ...], waits: Waits) -> None:
        self.clock = LoopClock()
        self.recorder = Recorder()
        self.store = FlakyStore(self.clock)
        self.listing = HandListing(self.clock, *names)
        self.told: list[tuple[list[str] | None, int]] = []
        """Names and generation of every change of content."""
        self.on_told: Callable[[], None] | None = None
        self.wanted = 0
        """How often the connection was asked for."""
        self.settings = server_settings("s", waits=waits)
        self._around = Surroundings(tasks, self.clock, self.recorder, self.store, Limits())
        self.keeper = self.another("pid", self.listing)

    def another(self, pid: str, listing: HandListing) -> Keeper:
        """One more keeper, over the same store."""
        return Keeper(
            self._around,
            self.settings,
            Kind.TOOLS,
            pid,
            fetch=listing.fetch,
            tell=self._told,
            want=self._want,
        )

    def _want(self) -> None:
        self.wanted += 1

    def _told(
        self, kind: Kind, before: Snapshot | None, after: Snapshot | None, generation: int
    ) -> None:
        names = None if after is None else [item.key for item in after.items]
        self.told.append((names, generation))
        if self.on_told is not None:
            self.on_told()

    async def settled(self) -> Keeper:
        """A keeper that listed once over an open stream, and that nobody asked for a minute."""
        self.keeper.start()
        self.keeper.connected()
        self.keeper.stream_changed("open")
        await self.keeper.read()
        await anyio.sleep(60)
        self.told.clear()
        self.recorder.facts.clear()
        self.listing.asked = 0
        return self.keeper


@asynccontextmanager
async def keeper_rig(*names: str, **waits: float) -> AsyncGenerator[KeeperRig]:
    """A keeper that is not started yet, over a listing of these names; keywords are waits."""
    changes: dict[str, Any] = waits
    async with anyio.create_task_group() as tasks:
        yield KeeperRig(tasks, names or ("a",), replace(Waits(), **changes))
        tasks.cancel_scope.cancel()
