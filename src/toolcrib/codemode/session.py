"""A program in its sandbox, which may leave its worker while it waits, and come back.

    if await session.leave():             # its worker is another's now
        ...                               # answers come meanwhile, and are kept
        await session.come_back()         # it goes on where it was

What goes on from a snapshot is a new program in a new worker, told what came since.
"""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio

from toolcrib.codemode.turns import Turn
from toolcrib.ports import Answer, Event, Program, Running, Sandbox


class Session:
    """One program, and the worker that it has or has left.

    Args:
        sandbox: Where it runs.
        program: What runs.
        turn: Its turn at the workers of this sandbox.
    """

    def __init__(self, sandbox: Sandbox, program: Program, turn: Turn) -> None:
        self._sandbox = sandbox
        self._program = program
        self.turn = turn
        self._worker = AsyncExitStack()
        self._running: Running | None = None
        self._kept: dict[int, Answer] = {}
        """Answers that came while nobody was there to take them."""
        self._frozen = b""
        self.stays = anyio.Event()
        """Set where it does not leave its worker before it ends."""
        self.why_it_stays = ""

    @asynccontextmanager
    async def opened(self, snapshot: bytes | None) -> AsyncGenerator[None]:
        """Have the program in a worker, with what comes after that; raises as `Sandbox.open`."""
        async with self._worker:
            await self._open(snapshot)
            yield

    async def next(self) -> Event:
        """The following event of the program."""
        return await self._here.next()

    def answer(self, id_: int, answer: Answer) -> None:
        """Let a call come back, now or when the program does."""
        if self._running is None:
            self._kept[id_] = answer
        else:
            self._running.answer(id_, answer)

    async def snapshot(self) -> bytes:
        """The program as it waits, in its worker or not; raises as `Running.snapshot`."""
        return self._frozen if self._running is None else await self._running.snapshot()

    async def leave(self) -> bool:
        """Give the worker back; False: the program stays (`why_it_stays`).

        Only while the program waits. Once the snapshot is begun, answers are kept for whoever goes
        on from it: what was in the worker sees none of them, and so does nothing twice.

        Raises:
            SnapshotRefused: It holds too much; it has ended.
        """
        running, self._running = self._here, None
        frozen = await running.snapshot()
        if refused := self.turn.makes_room(len(frozen)):
            self.stay(refused)
            self._is_here(running)
            return False
        self._frozen = frozen
        await self._worker.aclose()
        self.turn.leave()
        return True

    def stay(self, why: str) -> None:
        """Not leave any more."""
        self.turn.stay()
        self.why_it_stays = why
        self.stays.set()

    async def come_back(self) -> None:
        """Go on in a worker.

        Raises:
            TooBusy: There is none for long.
            SandboxUnavailable, SnapshotRefused: As `Sandbox.open` does.
        """
        await self.turn.come_back()
        await self._open(self._frozen)
        self._frozen = b""

    @property
    def _here(self) -> Running:
        if self._running is None:
            raise RuntimeError("the program is in no worker")
        return self._running

    async def _open(self, snapshot: bytes | None) -> None:
        opening = self._sandbox.open(self._program, snapshot=snapshot)
        self._is_here(await self._worker.enter_async_context(opening))

    def _is_here(self, running: Running) -> None:
        self._running = running
        kept, self._kept = self._kept, {}
        for id_, answer in kept.items():
            running.answer(id_, answer)
