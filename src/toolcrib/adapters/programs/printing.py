"""What a program prints, on its way out of its thread; a flood of it ends no program."""

from collections.abc import Callable
from typing import Final

from toolcrib.ports import Printed

_TIMES: Final = 4
"""How many times what the model is shown is taken at all."""


class Printing:
    """Passes printed text on until there was too much of it, and counts the rest.

    Args:
        shown: Bytes that the model is shown of it.
        emit: Where a piece goes.
    """

    def __init__(self, shown: int, emit: Callable[[Printed], None]) -> None:
        self._room = shown * _TIMES
        self._emit = emit
        self.dropped = 0
        """Characters that were thrown away."""
        self.any = False
        """Whether anything was printed."""

    def __call__(self, stream: str, text: str) -> None:
        """Take a piece; the runtime calls this from the thread of the program."""
        self.any = True
        taken = text[: self._room]
        self._room -= len(taken)
        self.dropped += len(text) - len(taken)
        if taken:
            self._emit(Printed(taken))
