"""A sandbox whose programs are coroutine functions of a test, in virtual time if need be.

    async def script(world: World) -> object:
        issue = await world.call("github", "create_issue", title="x")
        world.print("made")
        return issue

    sandbox = ScriptedSandbox({"the source": script})

A snapshot holds what the program was told; whoever opens it gets the same function, told the same
again without anybody noticing. With `snapshots=False` it says that it cannot be put aside.
"""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from toolcrib.errors import SnapshotRefused
from toolcrib.ports import (
    Abilities,
    Answer,
    Called,
    Event,
    Failed,
    Finished,
    Place,
    Printed,
    Program,
    Raised,
    Returned,
    Running,
    Waits,
)
from toolcrib.settings import Language

_STEPS = 40
"""Steps of other tasks that are waited for before a program counts as waiting."""


class ToolError(RuntimeError):
    """What a call raises in a scripted program."""


@dataclass(eq=False)
class World:
    """What a scripted program sees."""

    events: list[Event] = field(default_factory=list[Event])
    told: dict[int, Answer] = field(default_factory=dict[int, Answer])
    known: dict[int, Answer] = field(default_factory=dict[int, Answer])
    """Answers from before the snapshot: their calls are not announced again."""
    pending: frozenset[int] = frozenset()
    """Calls that were open when the snapshot was taken: announced already."""
    printed: int = 0
    """Pieces that were printed before the snapshot."""
    moved: anyio.Event = field(default_factory=anyio.Event)
    _calls: int = 0
    _prints: int = 0

    def call(self, module: str, function: str, *args: Any, **kwargs: Any) -> "Pending":
        """Call a function of a module, at once; await what comes back."""
        self._calls += 1
        id_ = self._calls
        if id_ not in self.known and id_ not in self.pending:
            self.emit(Called(id_, module, function, args, kwargs, Place(id_)))
        return Pending(self, id_)

    async def gather(self, *calls: "Pending") -> list[Any]:
        """The values of calls that were made together, in order."""
        return [await call for call in calls]

    def print(self, text: str) -> None:
        """Print a piece of text."""
        self._prints += 1
        if self._prints > self.printed:
            self.emit(Printed(text))

    def fail(self, failed: Failed) -> None:
        """End with this."""
        raise _Fails(failed)

    def hear(self, id_: int, answer: Answer) -> None:
        """An answer came."""
        self.told.setdefault(id_, answer)
        self._move()

    @property
    def open_calls(self) -> tuple[int, ...]:
        """Calls without an answer."""
        answered = self.known.keys() | self.told.keys()
        return tuple(it for it in range(1, self._calls + 1) if it not in answered)

    def snapshot(self) -> bytes:
        """What it was told so far."""
        answers = {**self.known, **self.told}
        rows = {str(id_): _written(answer) for id_, answer in answers.items()}
        state = {"answers": rows, "pending": self.open_calls, "printed": self._prints}
        return json.dumps(state).encode()

    def emit(self, event: Event) -> None:
        """Something happened."""
        self.events.append(event)
        self._move()

    def _move(self) -> None:
        self.moved.set()
        self.moved = anyio.Event()


@dataclass(frozen=True, slots=True, eq=False)
class Pending:
    """A call that was made; awaiting it raises `ToolError` with the text that came back."""

    world: World
    call: int

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._answer().__await__()

    async def _answer(self) -> Any:
        world = self.world
        while (answer := world.known.get(self.call) or world.told.get(self.call)) is None:
            await world.moved.wait()
        match answer:
            case Returned(value):
                return value
            case Raised(message):
                raise ToolError(message)


Script = Callable[[World], Awaitable[Any]]


class _Fails(Exception):
    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.message)
        self.failed = failed


class ScriptedSandbox:
    """Implements `ports.Sandbox`.

    Args:
        scripts: The programs by their source.
        snapshots: Whether they can be put aside.
        language: Which language they are said to be in.
    """

    def __init__(
        self,
        scripts: Mapping[str, Script],
        *,
        snapshots: bool = True,
        language: Language = "python",
    ) -> None:
        self._scripts = scripts
        self._abilities = Abilities(
            language=language,
            version="scripted 1",
            snapshots=snapshots,
            type_check=False,
            jail="none: scripted",
        )
        self.opened: list[Program] = []
        self.live = 0
        """Programs that run now."""

    async def abilities(self) -> Abilities:
        """What it was made with."""
        return self._abilities

    @asynccontextmanager
    async def open(
        self, program: Program, *, snapshot: bytes | None = None
    ) -> AsyncGenerator[Running]:
        """Run the function of this source."""
        self.opened.append(program)
        world = _resumed(snapshot)
        self.live += 1
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._drive, program, world)
                yield _Running(world, resumed=snapshot is not None)
                tasks.cancel_scope.cancel()
        finally:
            self.live -= 1

    async def aclose(self) -> None:
        """Nothing is held."""

    async def _drive(self, program: Program, world: World) -> None:
        try:
            value = await self._scripts[program.source](world)
        except _Fails as fails:
            world.emit(fails.failed)
        except ToolError as error:
            world.emit(Failed("raised", f"RuntimeError: {error}"))
        else:
            world.emit(Finished(value))


class _Running:
    def __init__(self, world: World, *, resumed: bool) -> None:
        self._world = world
        self._resumed = resumed
        self._waited = False
        self._over = False

    async def next(self) -> Event:
        if self._over:
            raise RuntimeError("the program has ended")
        world = self._world
        while True:
            for _ in range(_STEPS):
                if world.events:
                    break
                await anyio.lowlevel.checkpoint()
            if world.events and not self._resumed:
                self._waited = False
                event = world.events.pop(0)
                self._over = isinstance(event, Finished | Failed)
                return event
            if not self._waited or self._resumed:
                self._waited, self._resumed = True, False
                return Waits(world.open_calls)
            await world.moved.wait()

    def answer(self, id_: int, answer: Answer) -> None:
        self._waited = False
        self._world.hear(id_, answer)

    async def snapshot(self) -> bytes:
        return self._world.snapshot()


def _resumed(snapshot: bytes | None) -> World:
    if snapshot is None:
        return World()
    try:
        state: dict[str, Any] = json.loads(snapshot)
    except ValueError:
        raise SnapshotRefused("it is no snapshot of this sandbox") from None
    known = {int(id_): _read(row) for id_, row in state["answers"].items()}
    return World(known=known, pending=frozenset(state["pending"]), printed=state["printed"])


def _written(answer: Answer) -> list[Any]:
    match answer:
        case Returned(value):
            return ["returned", value]
        case Raised(message):
            return ["raised", message]


def _read(row: list[Any]) -> Answer:
    return Returned(row[1]) if row[0] == "returned" else Raised(row[1])
