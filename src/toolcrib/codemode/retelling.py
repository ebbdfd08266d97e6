"""What is kept of the calls of a program that may have to be told them again, and how much of it.

A program that nobody asks a person about needs none of it. So once it is too much all of it is let
go, and the program runs on: it only cannot wait any more.
"""

from collections.abc import Iterable

from toolcrib.calls.results.encoding import encode
from toolcrib.codemode.journal import Row
from toolcrib.ports import Answer, Raised


class Retelling:
    """Keeps what rows came to.

    Args:
        rows: What was kept before the program was put aside.
        most: Bytes of arguments and answers, as JSON (`code.replayed_bytes`).
    """

    def __init__(self, rows: Iterable[Row], most: int) -> None:
        self._most = most
        self._rows = [row for row in rows if row.answer is not None]
        self._size = sum(map(_size, self._rows))
        self._let_go = False

    @property
    def lost(self) -> str:
        """Why the program cannot be told everything again; empty: it can."""
        if not self._let_go:
            return ""
        return (
            "its calls and what they brought have more bytes than code.replayed_bytes allows "
            f"({self._most:,})"
        )

    def keep(self, row: Row, told: Answer) -> None:
        """Keep what a call came to; not before all that was kept earlier was told again."""
        row.answer = told
        self._rows.append(row)
        self._size += _size(row)
        self._let_go = self._let_go or self._size > self._most
        if self._let_go:
            for each in self._rows:
                each.answer, each.arguments = None, {}
            self._rows.clear()


def _size(row: Row) -> int:
    """Bytes of its arguments and its answer, as JSON."""
    told = len(row.answer.message) if isinstance(row.answer, Raised) else row.size
    return len(encode(row.arguments)) + told
