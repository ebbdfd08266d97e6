"""Sessions that check types: one of them is ready before a program needs it.

To check anything at all, a session first reads the types of Python itself, which takes ten times
as long as the check of a program, and it forgets them with its end. So a session reads ahead, and
waits for the next program. It then checks that program alone and is ended: what a checker remembers
of one program never reaches another, and all that it holds before are texts of ours.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pydantic_monty import ExternalModule, MontyError, MontySession

from toolcrib.adapters.monty.checking import check
from toolcrib.adapters.monty.modules import Modules
from toolcrib.adapters.monty.places import Source
from toolcrib.adapters.monty.read_ahead import READ_AHEAD

_PAUSE: Final = 0.05
"""Seconds after a check in which its program has the machine for itself: to let a session go that
has read much, and to have the next one read, takes a processor for 30 ms."""


@dataclass(frozen=True, slots=True)
class _Ready:
    """A session that has read ahead."""

    session: MontySession
    modules: dict[str, Callable[[], ExternalModule]]
    """What it can import: nothing yet. The session looks here when something is imported."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """A session that reads ahead, or has."""

    enough: threading.Event
    """Set as soon as somebody wants it: it begins no further text."""
    ready: Future[_Ready | None]
    """None: it had not begun, or cannot be had; whoever asks for another is told why."""


Lend = Callable[[Modules], MontySession]
"""Lends a session that checks types; it has a worker from when it is entered."""
Soon = Callable[[Callable[[], _Ready | None]], Future[_Ready | None]]
"""Has work done in another thread."""


class Checkers:
    """Lends sessions that check types, each for one program. Any thread may call.

    Args:
        lend: Where sessions come from.
        soon: Where a session reads ahead, and another ends; None: none reads ahead.
    """

    def __init__(self, lend: Lend, soon: Soon | None) -> None:
        self._lend = lend
        self._soon = soon
        self._reading = None if soon is None else self._begun(soon)
        self._guard = threading.Lock()
        """Held where the two above are looked at; never while a worker is waited for."""

    def lent(self, modules: Modules) -> MontySession:
        """A session with a worker, for one program that can import these modules."""
        ready = self._taken()
        if ready is None:
            return self._lend(modules).__enter__()
        ready.modules.update(modules)
        return ready.session

    def done(self, session: MontySession) -> None:
        """End a session that was lent; without waiting for it, where another begins to read."""
        with self._guard:
            if self._soon is not None and self._reading is None:
                self._reading = self._begun(self._soon, session)
                return
        _end(session)

    def close(self) -> None:
        """End the session that nobody took."""
        with self._guard:
            self._soon = None
        ready = self._taken()
        if ready is not None:
            _end(ready.session)

    def _taken(self) -> _Ready | None:
        """The session that is ready or about to be, unless its worker has died meanwhile."""
        with self._guard:
            reading, self._reading = self._reading, None
        if reading is None:
            return None
        reading.enough.set()
        ready = reading.ready.result()
        if ready is None:
            return None
        try:
            ready.session.dump()
        except (MontyError, RuntimeError):
            _end(ready.session)
            return None
        return ready

    def _begun(self, soon: Soon, before: MontySession | None = None) -> _Reading:
        """Let a session read, in the worker of one that ends before."""
        enough = threading.Event()

        def work() -> _Ready | None:
            if before is not None:
                enough.wait(_PAUSE)
                _end(before)
            return None if enough.is_set() else self._read(enough)

        return _Reading(enough, soon(work))

    def _read(self, enough: threading.Event) -> _Ready | None:
        modules: dict[str, Callable[[], ExternalModule]] = {}
        session = self._lend(modules)
        try:
            session.__enter__()
            for text in READ_AHEAD:
                check(session, Source("", ""), text)
                if enough.is_set():
                    break
        except (MontyError, OSError, RuntimeError):
            _end(session)
            return None
        return _Ready(session, modules)


def _end(session: MontySession) -> None:
    """Give a worker back, or what is left of it."""
    with suppress(MontyError, RuntimeError):
        session.dump()  # where the worker was killed between two turns, its pool learns it here
    with suppress(MontyError, RuntimeError):
        session.__exit__(None, None, None)
