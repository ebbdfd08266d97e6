"""What a person said about the calls of one program: good while the program runs, and no longer.

A program may make the same kind of call a hundred times, and nobody answers a hundred questions. So
one answer holds for all calls of a kind (server, tool, contract and rule) within the program, and
each of them is still held against it.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import anyio

from toolcrib.errors import ConfirmationNeeded


class ProgramConsent:
    """Answers by kind, and which questions are out.

    Args:
        said: What was said before the program was put aside.
    """

    def __init__(self, said: Mapping[str, bool] | None = None) -> None:
        self._said = dict(said or {})
        self._out: set[str] = set()
        self._left: dict[str, ConfirmationNeeded] = {}
        self._turns: dict[str, anyio.Lock] = {}

    @asynccontextmanager
    async def turn(self, kind: str) -> AsyncGenerator[None]:
        """One call of a kind at a time: whoever comes next finds the answer."""
        async with self._turns.setdefault(kind, anyio.Lock()):
            yield

    @property
    def said(self) -> Mapping[str, bool]:
        """Yes and no, by kind; to be kept where the program is put aside."""
        return dict(self._said)

    def verdict(self, kind: str) -> bool | None:
        """What was said; None: nothing yet."""
        return self._said.get(kind)

    def say(self, kind: str, *, yes: bool) -> None:
        """It was answered."""
        self._said[kind] = yes

    def is_out(self, kind: str) -> bool:
        """Whether its question went out with a result, to be answered when the program goes on."""
        return kind in self._out

    def goes_out(self, kind: str) -> None:
        """Its question goes out with a result."""
        self._out.add(kind)

    def left(self, kind: str) -> ConfirmationNeeded | None:
        """What the first call was told whose question nobody could be asked."""
        return self._left.get(kind)

    def leave(self, kind: str, error: ConfirmationNeeded) -> None:
        """Nobody can be asked: one question in the inbox is enough."""
        self._left[kind] = error
