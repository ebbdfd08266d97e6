"""A program that starts anew is told what it was told before, in the same order.

For runtimes that cannot be put aside: the program runs again with the same clock and the same
chance, each call that it made before is answered from the journal, and none of them is sent twice.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolcrib.codemode.callees import Callee
from toolcrib.codemode.journal import Row, marked
from toolcrib.ports import Answer


class Replay:
    """The rows that a program has to come to again.

    Args:
        rows: Its journal before it starts anew; those with an answer are told again.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._ahead = [(row.mark, row) for row in rows]
        self._order = sorted(row.settled for row in rows if row.settled)
        self._ready: dict[int, Callable[[], None]] = {}

    @property
    def over(self) -> bool:
        """Whether the program has come to all that it did before."""
        return not self._ahead

    def row(self, callee: Callee, arguments: Mapping[str, Any]) -> Row | None:
        """The row of a call that the program makes again; None: it made no such call.

        Calls that go out together may come in another order, so the first one that is the same in
        server, tool and arguments is meant.
        """
        mark = marked(callee.server, callee.tool, arguments)
        for at, (known, row) in enumerate(self._ahead):
            if known == mark:
                del self._ahead[at]
                return row
        return None

    def tell(self, row: Row, told: Answer, answer: Callable[[int, Answer], None]) -> None:
        """Answer a row as before, once all that was answered earlier is answered again."""
        self._ready[row.settled] = lambda: answer(row.call, told)
        while self._order and (now := self._ready.pop(self._order[0], None)) is not None:
            self._order.pop(0)
            now()
