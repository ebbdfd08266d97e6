"""One program in its sandbox, as the event loop sees it; a `ports.Running`."""

from collections import deque
from collections.abc import Callable

import anyio

from toolcrib.adapters.monty.feeding import Feeding, Napping, State, Stopped, Waiting
from toolcrib.adapters.monty.frozen import unpacked
from toolcrib.adapters.monty.workers import VERSION, Workers
from toolcrib.adapters.programs.threads import Threads, soon_here
from toolcrib.ports import Answer, Called, Event, Failed, Finished, Printed, Program, Waits
from toolcrib.settings import CodeSettings


class MontyRunning:
    """Lets a thread run the program from wait to wait, and answers it in between."""

    def __init__(
        self, workers: Workers, threads: Threads, program: Program, settings: CodeSettings
    ) -> None:
        self._threads = threads
        self._feeding = Feeding(workers, program, settings, self._emit)
        self._soon = soon_here()
        self._events: deque[Event] = deque()
        self._news = anyio.Event()
        self._wanted = anyio.Event()
        self._answered = anyio.Event()
        self._stopped = anyio.Event()
        self._answers: dict[int, Answer] = {}
        self._turn_taking = anyio.Lock()
        self._waiting: Waiting | None = None
        self._due: dict[int, float] = {}
        self._restored: Waiting | None = None
        self._over = False

    async def next(self) -> Event:
        """The following event."""
        self._wanted.set()
        while not self._events:
            if self._over:
                raise RuntimeError("the program has ended: there is no further event")
            self._news = anyio.Event()
            await self._news.wait()
        event = self._events.popleft()
        self._over = self._over or isinstance(event, Finished | Failed)
        return event

    def answer(self, id_: int, answer: Answer) -> None:
        """Let a call come back."""
        self._answers[id_] = answer
        self._answered.set()

    async def snapshot(self) -> bytes:
        """All of the program as it waits."""
        async with self._turn_taking:
            waiting = self._waiting
            if waiting is None or waiting.sleeps or self._ready(waiting):
                raise RuntimeError("the program does not wait")
            return await self._threads.run(self._feeding.dump)

    async def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot.

        Raises:
            SnapshotRefused: It cannot be taken.
        """
        frozen = unpacked(snapshot, VERSION)
        self._restored = await self._threads.run(lambda: self._feeding.restore(frozen))

    async def drive(self) -> None:
        """Run the program to its end, from the first event that somebody wants."""
        await self._wanted.wait()
        try:
            self._tell(await self._driven())
        except Stopped:
            self._tell(Failed("crashed", "the program was ended from outside"))

    async def _driven(self) -> Finished | Failed:
        state: State = self._restored or await self._turn(self._feeding.begin)
        while True:
            match state:
                case Napping(seconds):
                    with anyio.move_on_after(seconds):
                        await self._stopped.wait()
                    state = await self._turn(self._feeding.wake)
                case Waiting():
                    answers, woken = await self._come_back(state)
                    state = await self._turn(lambda a=answers, w=woken: self._feeding.resume(a, w))
                case Finished() | Failed():
                    return state

    def stop(self) -> None:
        """End the program, wherever it is."""
        self._feeding.stop()
        self._stopped.set()
        self._answered.set()

    async def close(self) -> None:
        """Give its worker back."""
        with anyio.CancelScope(shield=True):
            await self._threads.run(self._feeding.close)

    async def _turn(self, work: Callable[[], State]) -> State:
        async with self._turn_taking:
            self._waiting = None
            try:
                return await self._threads.run(work)
            except Stopped:
                raise
            except Exception as error:  # noqa: BLE001 - odd values raise what they like
                return Failed("crashed", f"the runtime failed: {type(error).__name__}")

    async def _come_back(self, waiting: Waiting) -> tuple[dict[int, Answer], frozenset[int]]:
        """What came back, as soon as anything did."""
        now = anyio.current_time()
        for id_, seconds in waiting.sleeps.items():
            self._due.setdefault(id_, now + seconds)
        told = False
        while True:
            if self._stopped.is_set():
                raise Stopped
            self._answered = anyio.Event()
            ready = self._ready(waiting)
            now = anyio.current_time()
            woken = frozenset(id_ for id_ in waiting.sleeps if self._due[id_] <= now)
            if ready or woken:
                self._waiting = None  # before anybody else runs: what is taken here is in no dump
                return {id_: self._answers.pop(id_) for id_ in ready}, woken
            self._waiting = waiting
            if not told and not waiting.sleeps:  # while it sleeps, it goes on without an answer
                told = True
                self._tell(Waits(waiting.calls))
            with anyio.move_on_at(min((self._due[id_] for id_ in waiting.sleeps), default=None)):
                await self._answered.wait()

    def _ready(self, waiting: Waiting) -> list[int]:
        return [id_ for id_ in waiting.calls if id_ in self._answers]

    def _emit(self, event: Called | Printed) -> None:
        """Pass an event on, from the thread of the program."""
        self._events.append(event)
        self._soon(self._wake)

    def _wake(self) -> None:
        self._news.set()

    def _tell(self, event: Event) -> None:
        self._events.append(event)
        self._news.set()
