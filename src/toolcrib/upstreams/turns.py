"""How many calls one connection carries at a time, and how many may wait for their turn.

A call that waits for a person has no turn meanwhile: people who think must not keep a server from
others. It takes its turn again at once when the answer is there, also where all turns are taken:
the server may be working on nothing else until it has that answer, and then those who hold the
turns wait for it, too. So as many calls as `calls_per_server` and `parked_calls` together are open
at most.
"""

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio

from toolcrib.errors import TooBusy
from toolcrib.ports import Ask, RequestContext
from toolcrib.settings import Limits


class Turns:
    """Lets so many calls through at once, queues so many more, and refuses the rest.

    First come, first served. A caller that goes away leaves the queue.
    """

    def __init__(self, server: str, limits: Limits) -> None:
        self._server = server
        self._most_waiting = limits.queue_per_server
        self._most_lent = limits.parked_calls
        self._free = anyio.Semaphore(limits.calls_per_server, fast_acquire=True)
        self._waiting = 0
        self.under_way = 0
        """Calls that have their turn, or gave it back for a while."""
        self._lent = 0
        """Turns of calls that wait for a person."""
        self._owed = 0
        """Turns taken again while all others were taken: so many end without a successor."""

    @asynccontextmanager
    async def take(self) -> AsyncGenerator["Turn"]:
        """One turn, for as long as the context lasts.

        Raises:
            TooBusy: `queue_per_server` calls wait already.
        """
        await self._come_up()
        turn = Turn(self)
        self.under_way += 1
        try:
            yield turn
        finally:
            self.under_way -= 1
            turn.end()

    def lend(self) -> bool:
        """Give a turn back for a while; False where `parked_calls` calls do so already."""
        if self._lent >= self._most_lent:
            return False
        self._lent += 1
        self.release()
        return True

    def reclaim(self, *, over: bool) -> None:
        """Take a turn again that was lent, without waiting; or leave it where its call is over."""
        self._lent -= 1
        if over:
            return
        try:
            self._free.acquire_nowait()
        except anyio.WouldBlock:
            self._owed += 1

    def release(self) -> None:
        """Let the next one go."""
        if self._owed:
            self._owed -= 1
        else:
            self._free.release()

    async def _come_up(self) -> None:
        if self._free.value == 0 and self._waiting >= self._most_waiting:
            raise TooBusy(
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


class Turn:
    """The turn of one call. It is given back while at least one question of the call is open."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._open = 0
        self._lent = False
        self._over = False

    @contextmanager
    def paused(self) -> Generator[None]:
        """Somebody else may have the turn while the context lasts, or while another one does."""
        self._open += 1
        if self._open == 1 and not self._over:
            self._lent = self._turns.lend()
        try:
            yield
        finally:
            self._open -= 1
            if self._open == 0:
                self._reclaim()

    def pausing(self, context: RequestContext | None) -> RequestContext | None:
        """The same context, in which whoever is asked pauses this turn."""
        if context is None or context.ask is None:
            return context
        return replace(context, ask=_PausingAsk(context.ask, self))

    def end(self) -> None:
        """The call is over, whatever is still being asked."""
        self._over = True
        if self._lent:
            self._reclaim()
        else:
            self._turns.release()

    def _reclaim(self) -> None:
        if self._lent:
            self._lent = False
            self._turns.reclaim(over=self._over)


@dataclass(frozen=True, slots=True)
class _PausingAsk:
    """A `ports.Ask`, equal to another one where those inside are: that tells callers apart."""

    ask: Ask
    turn: Turn = field(compare=False)

    async def __call__(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        with self.turn.paused():
            return await self.ask(method, params)
