"""Who gets the next place: whoever waits and holds fewest, and of equals whoever waited longest.

    if not queue.enter("ada", ticket):
        ...                                   # too many of hers wait already
    for each in queue.admitted():
        ...                                   # these have their places now

Places are handed out by caller, not by request, so that a flood of one costs nobody else a turn:

1. A free place goes to the caller who waits and holds the fewest (max-min fairness).
2. Of equals it goes to the one who has gone longest without being given one: round robin.
3. Within a caller, first come, first served; what comes back to a place it left stands in front.
4. The last place goes only to a caller who holds none, and so does the last but one while a single
   caller holds all that are taken. So of four places one caller has two at most, two together have
   three, and a third finds one at once. Of three or two places only the last is kept so, of one
   place none. Only `owner` may have all, while nobody else holds or waits.

A caller who waits and holds none has a place after as many places came back as callers wait; how
long their lines are does not matter. Rule 4 costs a place or two that stand empty while callers
wait for a further one. What else could keep one within reach is to end something that has begun.
"""

from collections import Counter, deque
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

Caller = TypeVar("Caller", bound=Hashable)
Ticket = TypeVar("Ticket", bound=Hashable)

_KEPT: Final = 1
_KEPT_BY_ONE: Final = 2
"""Places that are kept for callers who hold none, and while one caller holds all that are taken."""


class FairQueue(Generic[Caller, Ticket]):
    """Places that callers share.

    Args:
        places: How many there are; one at least.
        most: How many tickets of one caller may wait.
        owner: Who may have them all while nobody else is there.
    """

    def __init__(self, places: int, most: int, *, owner: Caller | None = None) -> None:
        self._free = places
        self._half = places // 2
        self._most = most
        self._owner = owner
        self._held: Counter[Caller] = Counter()
        self._lines: dict[Caller, deque[Ticket]] = {}
        """Who waits, from the one who was given nothing for longest; no line is empty."""
        self._admitted: list[Ticket] = []

    def enter(self, caller: Caller, ticket: Ticket) -> bool:
        """Take a ticket that wants a place; False: so many of this caller wait already."""
        line = self._lines.setdefault(caller, deque())
        line.append(ticket)
        self._serve()
        if ticket not in line or len(line) <= self._most:
            return True
        self.leave(caller, ticket)
        return False

    def come_back(self, caller: Caller, ticket: Ticket) -> None:
        """Take a ticket that had a place before: it is never one too many."""
        self._lines.setdefault(caller, deque()).appendleft(ticket)
        self._serve()

    def leave(self, caller: Caller, ticket: Ticket) -> None:
        """A ticket that waits wants no place any more; that makes none free for others."""
        line = self._lines[caller]
        line.remove(ticket)
        if not line:
            del self._lines[caller]

    def give_back(self, caller: Caller) -> None:
        """A place of this caller becomes free."""
        self._move(caller, -1)
        self._serve()

    def would_serve(self, caller: Caller) -> Caller | None:
        """Who would have a place if this caller, who holds one, gave one back; None: nobody."""
        self._move(caller, -1)
        served = self._next()
        self._move(caller, +1)
        return served

    def admitted(self) -> tuple[Ticket, ...]:
        """The tickets that were given places since this was last asked."""
        admitted = tuple(self._admitted)
        self._admitted.clear()
        return admitted

    def held(self, caller: Caller) -> int:
        """How many places a caller holds."""
        return self._held[caller]

    def waiting(self, *, besides: Caller | None = None) -> int:
        """How many tickets wait, without those of one caller."""
        return sum(len(line) for caller, line in self._lines.items() if caller != besides)

    def _serve(self) -> None:
        """Hand out what can be handed out."""
        while (caller := self._next()) is not None:
            line = self._lines.pop(caller)
            self._admitted.append(line.popleft())
            if line:
                self._lines[caller] = line
            self._move(caller, +1)

    def _next(self) -> Caller | None:
        """Who has the next place, if one can be handed out."""
        if not self._free or not self._lines:
            return None
        caller = min(self._lines, key=self._held.__getitem__)  # the first of equals
        if not self._held[caller] or self._free > min(self._half, self._kept_from(caller)):
            return caller
        alone = caller == self._owner and not (self._held.keys() | self._lines.keys()) - {caller}
        return caller if alone else None

    def _kept_from(self, caller: Caller) -> int:
        """How many places a caller who holds some leaves to others."""
        return _KEPT if self._held.keys() - {caller} else _KEPT_BY_ONE

    def _move(self, caller: Caller, places: int) -> None:
        """So many more places are this caller's."""
        self._held[caller] += places
        self._free -= places
        if not self._held[caller]:
            del self._held[caller]
