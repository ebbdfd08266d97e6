"""The person at the terminal: is shown texts on standard error, and answers line by line."""

import sys
from collections.abc import Awaitable, Callable
from typing import Final, Literal, TextIO

import anyio
import anyio.to_thread
from rich.text import Text

from toolcrib.cli.output import Output, View

ReadLine = Callable[[], Awaitable[str]]
"""Reads one line, its line break included; the empty text at the end of the input."""

Refusal = Literal["decline", "cancel"]

DECLINE: Final = "!d"
CANCEL: Final = "!c"
_YES: Final = frozenset({"y", "yes"})
_NO: Final = frozenset({"n", "no"})


class Refused(Exception):
    """The person does not want to answer: says no, or puts the question aside."""

    def __init__(self, action: Refusal) -> None:
        super().__init__(action)
        self.action: Refusal = action


class Person:
    """Puts questions to a person and waits for answers.

    Args:
        output: Where texts go.
        read_line: Where lines come from.
    """

    def __init__(self, output: Output, read_line: ReadLine) -> None:
        self._output = output
        self._read_line = read_line

    def tell(self, text: str, style: str = "") -> None:
        """Shows a text that was made harmless before."""
        self._output.complain(View(Text(text, style), {}))

    async def line(self, prompt: str) -> str:
        """What the person writes.

        Raises:
            Refused: They write `!d` (no) or `!c`, or end the input.
        """
        self._output.prompt(f"{prompt} ")
        written = await self._read_line()
        answer = written.strip()
        if not written or answer == CANCEL:
            raise Refused("cancel")
        if answer == DECLINE:
            raise Refused("decline")
        return answer.removeprefix("!") if answer.startswith("!!") else answer

    async def agrees(self, prompt: str) -> bool:
        """Whether the person says yes; asked again until they say yes or no.

        Raises:
            Refused: As for `line`.
        """
        while True:
            answer = (await self.line(f"{prompt} [y/n]")).lower()
            if answer in _YES | _NO:
                return answer in _YES


def person_at(output: Output, stdin: TextIO, stderr: TextIO) -> Person | None:
    """The person at this terminal; None where nobody is there to be asked.

    Nobody is asked where the answer is wanted as JSON, or either stream is no terminal.
    """
    if output.as_json or not stdin.isatty() or not stderr.isatty():
        return None
    return Person(output, TerminalLines(stdin))


class TerminalLines:
    """Reads lines of a terminal on the event loop, so that an interruption ends the waiting.

    A thread that reads would keep the process until somebody presses return.
    """

    def __init__(self, stdin: TextIO) -> None:
        self._stdin = stdin

    async def __call__(self) -> str:
        """The next line."""
        if sys.platform == "win32":
            return await anyio.to_thread.run_sync(self._stdin.readline, abandon_on_cancel=True)
        await anyio.wait_readable(self._stdin)
        # A terminal hands over whole lines, so this does not wait for more.
        return self._stdin.readline()
