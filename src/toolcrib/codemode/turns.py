"""Programs take turns at the workers of a runtime, which callers share fairly.

This is the one place where programs wait for workers. Who is next, and what is kept for whoever
comes, `core.fair_queue` decides; how long one waits is said here. Whoever runs the process has all
workers while nobody else is there.

A program that waits for a person can leave its worker meanwhile. It is kept in memory then, within
the bounds of programs that are put aside, and stands in front of its caller's others when it comes
back.
"""

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from toolcrib.core.fair_queue import FairQueue
from toolcrib.core.partition import LOCAL, Principal
from toolcrib.errors import TooBusy
from toolcrib.settings import CodeSettings, Language

Caller = tuple[str, str, str]
"""Issuer, tenant and subject: whoever has several clients, or rights, is still one."""


def _caller(principal: Principal) -> Caller:
    return principal.issuer, principal.tenant, principal.subject


class Turns:
    """The workers of each runtime, by language.

    Args:
        settings: How many programs run at a time, and how many wait for how long.
    """

    def __init__(self, settings: CodeSettings) -> None:
        self._settings = settings
        self._lines: dict[Language, _Line] = {}
        self._absent = _Absent(settings)

    @asynccontextmanager
    async def turn(self, principal: Principal, language: Language) -> AsyncGenerator["Turn"]:
        """Wait for a worker, and have it until the end of the context, or until it is left.

        Raises:
            TooBusy: Too many programs of this caller wait already, or this one waited too long.
        """
        if (line := self._lines.get(language)) is None:
            line = self._lines[language] = _Line(self._settings)
        turn = Turn(line, _caller(principal), self._settings, self._absent)
        await turn.begin()
        try:
            yield turn
        finally:
            turn.end()


class _Ticket:
    def __init__(self) -> None:
        self.came = anyio.Event()


class _Line:
    """The workers of one runtime, and who waits for one."""

    def __init__(self, settings: CodeSettings) -> None:
        self.queue: FairQueue[Caller, _Ticket] = FairQueue(
            settings.programs, settings.queued, owner=_caller(LOCAL)
        )
        self.promised = 0
        """Workers that programs are about to give back to those who wait."""
        self._moved = anyio.Event()

    async def place(self, caller: Caller, seconds: float, *, again: bool = False) -> bool | None:
        """Wait for a place; False: none came in time; None: too many wait already."""
        ticket = _Ticket()
        if again:
            self.queue.come_back(caller, ticket)
        elif not self.queue.enter(caller, ticket):
            return None
        self.tell()
        has_it = False
        try:
            if not ticket.came.is_set():
                with anyio.move_on_after(seconds):
                    await ticket.came.wait()
            has_it = ticket.came.is_set()
        finally:
            if not has_it:
                self._give_up(caller, ticket)
        return has_it

    def _give_up(self, caller: Caller, ticket: _Ticket) -> None:
        if ticket.came.is_set():  # in the moment in which its program was cancelled
            self.queue.give_back(caller)
        else:
            self.queue.leave(caller, ticket)
        self.tell()

    def give_back(self, caller: Caller) -> None:
        self.queue.give_back(caller)
        self.tell()

    def tell(self) -> None:
        """Wake whom this concerns."""
        for ticket in self.queue.admitted():
            ticket.came.set()
        self._moved.set()
        self._moved = anyio.Event()

    def is_wanted(self, caller: Caller, *, by_others: bool) -> bool:
        """Whether a worker of this caller's would go to one for whom none is promised yet."""
        served = self.queue.would_serve(caller)
        if served is None or (by_others and served == caller):
            return False
        return self.queue.waiting(besides=caller if by_others else None) > self.promised

    async def wanted(self, caller: Caller, *, by_others: bool) -> None:
        while not self.is_wanted(caller, by_others=by_others):
            await self._moved.wait()


class _Absent:
    """What programs that have left their workers take in memory."""

    def __init__(self, settings: CodeSettings) -> None:
        self._settings = settings
        self._programs: Counter[Caller] = Counter()
        self._bytes: Counter[Caller] = Counter()

    def take(self, caller: Caller, size: int) -> str:
        """Room for a program of this size; a text where there is none: why."""
        settings = self._settings
        if size > (largest := settings.suspended_bytes):
            return f"it has {size:,} bytes, code.suspended_bytes allows {largest:,}"
        if self._programs[caller] >= settings.suspended:
            return f"{settings.suspended} others of the same caller do so already (code.suspended)"
        mine, most = self._bytes[caller] + size, settings.all_suspended_bytes
        if mine > most - (self._bytes.total() + size):  # as much has to stay free for others
            return f"too much waits already (code.all_suspended_bytes, {most:,})"
        self._programs[caller] += 1
        self._bytes[caller] += size
        return ""

    def leave(self, caller: Caller, size: int) -> None:
        """It takes no room any more."""
        self._programs[caller] -= 1
        self._bytes[caller] -= size
        if not self._programs[caller]:
            del self._programs[caller], self._bytes[caller]


class Turn:
    """The turn of one program."""

    def __init__(
        self, line: _Line, caller: Caller, settings: CodeSettings, absent: _Absent
    ) -> None:
        self._line = line
        self._caller = caller
        self._settings = settings
        self._absent = absent
        self._has_place = False
        self._promised = False
        self._size: int | None = None
        """Bytes of the program while it is not in its worker."""

    async def begin(self) -> None:
        """Wait for a worker; raises `TooBusy` as `Turns.turn` does."""
        settings = self._settings
        came = await self._line.place(self._caller, settings.wait_seconds)
        if came is None:
            raise TooBusy(
                f"{settings.queued} of your programs wait for a worker already, as many as "
                "code.queued allows",
                remedy="run fewer programs at a time, or raise code.queued or code.programs",
            )
        if not came:
            held = self._line.queue.held(self._caller)
            raise TooBusy(
                f"no worker became free for this program within {settings.wait_seconds:g} s "
                f"(code.wait_seconds); {held} of your programs run already, of "
                f"{settings.programs} that may run at a time (code.programs)",
                remedy="run fewer programs at a time, or raise code.programs or code.wait_seconds",
            )
        self._has_place = True

    async def wanted(self, *, by_others: bool = False) -> None:
        """Return when this worker would help one who waits; `by_others`: another caller."""
        await self._line.wanted(self._caller, by_others=by_others)

    def gives_way(self, *, by_others: bool = False) -> bool:
        """Promise the worker to one who waits; False where nobody does for whom none is promised.

        So of many programs that could give way only as many do as are needed.
        """
        self._promised = self._line.is_wanted(self._caller, by_others=by_others)
        self._line.promised += self._promised
        return self._promised

    def makes_room(self, size: int) -> str:
        """Room to be away, for a program of so many bytes; a text where there is none: why."""
        refused = self._absent.take(self._caller, size)
        if not refused:
            self._size = size
        return refused

    def stay(self) -> None:
        """Keep the worker after all."""
        if self._promised:
            self._promised = False
            self._line.promised -= 1
            self._line.tell()

    def leave(self) -> None:
        """Give the worker back."""
        self.stay()
        self._has_place = False
        self._line.give_back(self._caller)

    async def come_back(self) -> None:
        """Have a worker again.

        Raises:
            TooBusy: None became free for as long as a program may take at all.
        """
        most = self._settings.wall_seconds
        self._has_place = bool(await self._line.place(self._caller, most, again=True))
        if not self._has_place:
            raise TooBusy(
                f"no worker became free for it within {most:g} s (code.programs, code.wall_seconds)"
            )
        self._be_there()

    def end(self) -> None:
        """The program is over, wherever it is."""
        self._be_there()
        if self._has_place:
            self.leave()

    def _be_there(self) -> None:
        if self._size is not None:
            self._absent.leave(self._caller, self._size)
            self._size = None
