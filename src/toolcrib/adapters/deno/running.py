"""One program in its worker; a `ports.Running`, and what the thread of the worker drives."""

import json
import re
import threading
from collections import deque
from typing import Any, Final

import anyio

from toolcrib.adapters.deno.frames import Frames, Malformed, print_room
from toolcrib.adapters.deno.gauge import Gauge, out_of_memory, too_long
from toolcrib.adapters.deno.worker import Worker
from toolcrib.adapters.line_splitter import LongLine
from toolcrib.adapters.programs.threads import soon_here
from toolcrib.ports import Answer, Event, Failed, Finished, Printed, Program, Raised, Returned
from toolcrib.settings import CodeSettings

_TYPES: Final = re.compile(r"^export (?:interface|type) ([A-Za-z_$][\w$]*)", re.MULTILINE)
_MEMORY: Final = ("heap limit", "out of memory")
_STUCK: Final = "promise never resolved"
_TOO_LONG: Final = 24
"""The signal of a process that computed for longer than the kernel lets it."""


class DenoRunning:
    """Lets a worker run the program, and passes its events on.

    Args:
        worker: Runs this program alone.
        program: The program.
        settings: Its limits.
    """

    def __init__(self, worker: Worker, program: Program, settings: CodeSettings) -> None:
        self._worker = worker
        self._program = program
        self._settings = settings
        self._frames = Frames(program, settings)
        self._soon = soon_here()
        self._events: deque[Event] = deque()
        self._news = anyio.Event()
        self._telling = threading.Lock()
        """Held where an end is told: `stop` and the thread of the worker may tell one each."""
        self._answers: deque[tuple[int, Answer]] = deque()
        self.pid: int | None = None
        """Of the process in the jail, once the program was sent there."""
        self.peak = 0
        """The most resident memory that it was seen with, in bytes."""
        self._begun = self._started = self._over = self._ended = False

    async def next(self) -> Event:
        """The following event; the first one that is wanted starts the program."""
        if not self._begun:
            self._begun = True
            self._worker.begin(self)
        while not self._events:
            if self._over:
                raise RuntimeError("the program has ended: there is no further event")
            self._news = anyio.Event()
            if not self._events:  # the thread may have been quicker
                await self._news.wait()
        event = self._events.popleft()
        self._over = isinstance(event, Finished | Failed)
        return event

    def answer(self, id_: int, answer: Answer) -> None:
        """Let a call come back."""
        self._answers.append((id_, answer))
        self._worker.poke()

    async def snapshot(self) -> bytes:
        """Never: this runtime has none."""
        raise RuntimeError("programs in TypeScript cannot be taken out of their worker")

    def stop(self) -> None:
        """End the program from outside, where it has not ended."""
        self._worker.stop()
        self._tell(Failed("crashed", "the program was ended from outside"))

    # What follows is called in the thread of the worker.

    def heard(self, line: bytes | LongLine, gauge: Gauge) -> bool:
        """Pass on what a line tells."""
        try:
            events = self._frames.read(line)
        except Malformed as broken:
            return self._tell(
                *self._frames.dropped(),
                Failed("crashed", f"the program broke what it talks to its host with: {broken}"),
            )
        for event in events:
            if not isinstance(event, Printed):
                gauge.turn()
        return self._tell(*events)

    def looked(self, gauge: Gauge, now: float) -> bool:
        """End a program that has passed a limit."""
        passed = gauge.look(now, waits=bool(self._frames.open))
        self.peak = gauge.peak
        return passed is not None and self._tell(*self._frames.dropped(), passed)

    def lost(self, code: int, said: str) -> None:
        """Tell why the process ended, as far as that can be known."""
        self._tell(*self._frames.dropped(), self._loss(code, said))

    def outgoing(self, gauge: Gauge) -> bytes:
        """The program at first, then what came back."""
        parts: list[bytes] = []
        if not self._started:
            self._started = True
            self.pid = gauge.pid
            parts.append(self._start())
        while self._answers:
            id_, answer = self._answers.popleft()
            if id_ in self._frames.open:
                self._frames.open.discard(id_)
                gauge.turn()
                parts.append(_line(id_, answer))
        return b"".join(parts)

    def _start(self) -> bytes:
        settings, program = self._settings, self._program
        modules = {
            name: {
                "functions": sorted(module.functions),
                "source": module.source,
                "types": _TYPES.findall(module.declarations),
            }
            for name, module in program.modules.items()
        }
        most = {
            "print": print_room(settings),
            "frame": settings.answer_bytes,
            "sleep": settings.sleep_seconds * 1000,
        }
        return _json(
            {
                "source": program.source,
                "modules": modules,
                "away": dict(program.away),
                "most": most,
                "now": program.started_at,
                "seed": program.seed,
            }
        )

    def _loss(self, code: int, said: str) -> Failed:
        settings = self._settings
        if any(word in said for word in _MEMORY):
            return out_of_memory(f"code.memory_bytes: {settings.memory_bytes}")
        if _STUCK in said:
            return Failed("raised", "Error: it waits for a promise that nothing will resolve")
        if code in {-_TOO_LONG, 128 + _TOO_LONG}:
            return too_long(f"code.interpreter_seconds: {settings.interpreter_seconds:g}")
        return Failed("crashed", "the process that ran the program ended under it")

    def _tell(self, *events: Event) -> bool:
        """Pass events on, up to an end; whether there was one."""
        with self._telling:
            for event in events:
                if self._ended:
                    break
                self._ended = isinstance(event, Finished | Failed)
                self._events.append(event)
        if events:
            self._soon(self._wake)
        return self._ended

    def _wake(self) -> None:
        self._news.set()


def _line(id_: int, answer: Answer) -> bytes:
    match answer:
        case Returned(value):
            try:
                return _json({"id": id_, "value": value})
            except (TypeError, ValueError, RecursionError):
                return _json({"id": id_, "error": "the answer is no JSON"})
        case Raised(message):
            return _json({"id": id_, "error": message})


def _json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode() + b"\n"
