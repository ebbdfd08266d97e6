"""Runs one program in a sandbox to its end, and answers its calls: for tests of sandboxes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from toolcrib.ports import (
    Answer,
    Called,
    Event,
    Failed,
    Finished,
    Printed,
    Program,
    Returned,
    Running,
    Sandbox,
    Waits,
)

Wanted = TypeVar("Wanted", Called, Waits, Printed)
Ending = TypeVar("Ending", Finished, Failed)
_LONGEST = 2000
"""Characters of an end that are shown."""

Answering = Callable[[Called], Answer | None]
"""Answers a call; None: not yet."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A program that came to its end, and all that it said before."""

    events: tuple[Event, ...]

    @property
    def end(self) -> Finished | Failed:
        """How it ended."""
        end = self.events[-1]
        return end if isinstance(end, Failed) else _expected(end, Finished)

    @property
    def failed(self) -> Failed:
        """How it failed."""
        return _expected(self.end, Failed)

    @property
    def value(self) -> object:
        """What it returned."""
        return _expected(self.end, Finished).value

    @property
    def calls(self) -> list[Called]:
        """What it called, in order."""
        return [event for event in self.events if isinstance(event, Called)]

    @property
    def printed(self) -> str:
        """What it printed."""
        return "".join(event.text for event in self.events if isinstance(event, Printed))

    @property
    def dropped(self) -> int:
        """Characters that it printed and nobody took."""
        return sum(event.dropped for event in self.events if isinstance(event, Printed))


def _expected(event: Event, kind: type[Ending]) -> Ending:
    if not isinstance(event, kind):
        raise AssertionError(f"the program ended otherwise: {event}"[:_LONGEST])  # noqa: TRY004
    return event


def numbered(called: Called) -> Answer:
    """An answer that tells the calls apart."""
    return Returned({"number": called.id})


async def to_the_end(running: Running, answering: Answering = numbered) -> Ran:
    """Read all events; calls that it makes meanwhile are answered whenever the program waits."""
    events: list[Event] = []
    calls: dict[int, Called] = {}
    while True:
        event = await running.next()
        events.append(event)
        match event:
            case Called():
                calls[event.id] = event
            case Waits():
                for id_ in event.ids:
                    given = answering(calls[id_]) if id_ in calls else None
                    if given is not None:
                        running.answer(id_, given)
            case Finished() | Failed():
                return Ran(tuple(events))
            case Printed():
                pass


async def run_in(sandbox: Sandbox, program: Program, answering: Answering = numbered) -> Ran:
    """Open a sandbox for a program and run it to its end."""
    async with sandbox.open(program) as running:
        return await to_the_end(running, answering)


async def until(running: Running, kind: type[Wanted]) -> Wanted:
    """The next event of a kind; those before it are thrown away."""
    while True:
        event = await running.next()
        if isinstance(event, kind):
            return event
