"""Where in the program something is, as Monty tells it, and as a person counts."""

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from toolcrib.ports import NOWHERE, Place

_LONGEST_LINE: Final = 200
"""Characters of a line that are repeated."""
_EACH_END: Final = 10
"""Places that are kept of a long trace at each of its ends."""


class Range(Protocol):
    """Bytes of a text that was fed."""

    @property
    def filename(self) -> str:
        """The name of the text."""
        ...

    @property
    def start(self) -> int:
        """Of the first byte."""
        ...


class Frame(Protocol):
    """One line of a traceback."""

    @property
    def filename(self) -> str:
        """The name of the text."""
        ...

    @property
    def line(self) -> int:
        """From 1."""
        ...

    @property
    def column(self) -> int:
        """From 1."""
        ...

    @property
    def function_name(self) -> str | None:
        """`<module>` outside of all functions; None before anything ran."""
        ...


class Source:
    """The text of a program, and under which name a session knows it.

    Args:
        text: As the model wrote it.
        fed: The name that Monty gave to it; every other text is none of the model's business.
    """

    def __init__(self, text: str, fed: str) -> None:
        self._raw = text.encode("utf-8", "replace")
        self._lines = text.splitlines()
        self.fed = fed

    def line(self, number: int) -> str:
        """A line, from 1; empty where there is none."""
        within = 0 < number <= len(self._lines)
        return self._lines[number - 1][:_LONGEST_LINE] if within else ""

    def place(self, position: Range) -> Place:
        """The start of a range of bytes."""
        if position.filename != self.fed:
            return NOWHERE
        before = self._raw[: position.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        return Place(line, column, self.line(line))

    def trace(self, frames: Iterable[Frame]) -> tuple[Place, ...]:
        """The frames that belong to the program, the outermost first; the middle may be left out.

        Text that the program itself made (`eval`) has no lines that anybody could look up.
        """
        own: Sequence[Frame] = [frame for frame in frames if frame.filename == self.fed]
        if len(own) > 2 * _EACH_END:
            own = [*own[:_EACH_END], *own[-_EACH_END:]]
        return tuple(
            Place(frame.line, frame.column, self.line(frame.line), _function(frame.function_name))
            for frame in own
        )


def _function(name: str | None) -> str:
    return "" if name is None or name == "<module>" else name
