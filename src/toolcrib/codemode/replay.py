"""A program that starts anew is told what it was told before, in the same order.

For runtimes that cannot be put aside: the program runs again with the same clock and the same
chance, each call that it made before is answered from the journal, and none of them is sent twice.
Nothing is sent at all before it has come to everything that it did before: a program that takes
other steps then does no more than it had done.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from toolcrib.codemode.callees import Callee
from toolcrib.codemode.journal import Row, marked
from toolcrib.core.quoting import quoted
from toolcrib.ports import Answer


class StepsApart(Exception):
    """A program that is replayed does something else than before."""


class Replay:
    """The rows that a program has to come to again.

    Args:
        rows: Its journal before it starts anew; those with an answer are told again.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._ahead = [(row.mark, row) for row in rows]
        self._order = sorted(row.settled for row in rows if row.settled)
        self._ready: dict[int, tuple[int, Callable[[], None]]] = {}
        self._held: dict[int, Callable[[], None]] = {}
        self._new: Callee | None = None

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
        self._ready[row.settled] = row.call, lambda: answer(row.call, told)
        while self._order and (now := self._ready.pop(self._order[0], None)) is not None:
            self._order.pop(0)
            now[1]()

    def hold(self, id_: int, go: Callable[[], None], new: Callee | None = None) -> None:
        """Keep a call that has no answer yet until the program has come to all that it did before.

        Args:
            id_: Its number in the runtime.
            go: Makes it.
            new: What it calls, where the program had not come so far. That is no other step yet:
                answers come faster than before, so a part of it may be ahead of the others.
        """
        self._held[id_] = go
        self._new = self._new or new

    def release(self) -> list[Callable[[], None]]:
        """What was kept, in the order in which it was called; once it is over."""
        held, self._held = list(self._held.values()), {}
        return held

    def in_vain(self, ids: Collection[int]) -> bool:
        """Whether a program that waits for these calls alone waits for what cannot come."""
        kept = {*self._held, *(id_ for id_, _ in self._ready.values())}
        return bool(ids) and not self.over and kept.issuperset(ids)

    def apart(self) -> StepsApart:
        """Where the program left its way; while it is not over."""
        if self._new is not None:
            tool, server = quoted(self._new.tool), quoted(self._new.server)
            return StepsApart(f"it calls {tool} of {server}, which it did not before")
        _, row = self._ahead[0]
        tool, server = quoted(row.tool), quoted(row.server)
        return StepsApart(f"it called {tool} of {server} before, and now it does not")
