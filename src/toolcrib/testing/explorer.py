"""An explicit-state explorer: every state that can be reached, breadth first, shortest traces.

`explore` visits the states of a `Space` and stops at the first that breaks a promise. `settle`
looks at what becomes of a set of states once nothing disturbs any more: whether all orders of turns
end, where they end, and how often something that counts happens on the longest way there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol


class Space(Protocol):
    """States as numbers from 0, and the turns between them."""

    def start(self) -> int:
        """The first state."""
        ...

    def after(self, state: int) -> Iterable[int]:
        """Every state that one turn leads to."""
        ...

    def broken(self, state: int) -> str:
        """The promise that a state breaks, in words; empty if it breaks none."""
        ...


class CalmSpace(Protocol):
    """The part of a space in which nothing disturbs."""

    def starts(self, state: int) -> Iterable[int]:
        """The states in which the calm may begin, for one state of the whole space."""
        ...

    def after(self, state: int) -> Iterable[int]:
        """Every state that one turn leads to."""
        ...

    def broken(self, state: int) -> str:
        """The promise that a state breaks, in words; empty if it breaks none."""
        ...

    def counts(self, state: int, after: int) -> bool:
        """Whether the turn from one state to the other counts."""
        ...

    def begun(self, state: int) -> int:
        """What counts already in a state, if one counts from there."""
        ...

    def unconverged(self, state: int) -> str:
        """What is wrong with a state that has no turns, in words; empty if nothing is."""
        ...


@dataclass
class Explored:
    """What was seen of a space."""

    states: int = 0
    """How many different states were met."""
    edges: int = 0
    """Turns taken, those to known states included."""
    depth: int = 0
    """Turns to the state that is furthest away."""
    seconds: float = 0.0
    exhausted: bool = False
    """Whether every state was visited."""
    broken: str = ""
    """The promise that was broken, or nothing."""
    path: list[int] = field(default_factory=list[int])
    """The shortest way to the state that breaks it."""
    origins: dict[int, int] = field(default_factory=dict[int, int])
    """Every state, and the one it was reached from first; -1 for the first of all."""


def explore(space: Space, *, most: int | None = None) -> Explored:
    """Visit every state, or about `most` of them, or all until one breaks a promise."""
    began = monotonic()
    first = space.start()
    found = Explored(broken=space.broken(first), path=[first], origins={first: -1})
    layer = [first]
    while layer and not found.broken and (most is None or len(found.origins) < most):
        layer = _next_layer(space, found, layer)
        found.depth += bool(layer)
    found.states = len(found.origins)
    found.exhausted = not layer and not found.broken
    found.seconds = monotonic() - began
    return found


def _next_layer(space: Space, found: Explored, layer: list[int]) -> list[int]:
    origins, after, broken = found.origins, space.after, space.broken
    new: list[int] = []
    for state in layer:
        for reached in after(state):
            found.edges += 1
            if reached in origins:
                continue
            origins[reached] = state
            wrong = broken(reached)
            if wrong:
                found.broken, found.path = wrong, way_to(origins, reached)
                return []
            new.append(reached)
    return new


def way_to(origins: Mapping[int, int], state: int) -> list[int]:
    """The way to a state, from the one without an origin."""
    way = [state]
    while (state := origins[state]) >= 0:
        way.append(state)
    return way[::-1]


@dataclass
class Settled:
    """What becomes of a set of states in the calm."""

    states: int = 0
    edges: int = 0
    ends: int = 0
    """States in which nothing more happens."""
    longest: int = 0
    """How often, at most, something that counts happens until then."""
    seconds: float = 0.0
    broken: str = ""
    path: list[int] = field(default_factory=list[int])
    """The shortest way from the beginning of the calm to a state that is broken; where it goes on
    for ever, with the loop at its end."""


UNDER_WAY = -1
"""In place of a count: a state that was entered and not left, so that coming back is a loop."""

ENDLESS = 1_000
"""An order of so many turns in the calm counts as one that goes on for ever."""


def settle(space: CalmSpace, states: Iterable[int], *, most: int) -> Settled:
    """Follow every order of turns in the calm from each of these states.

    It is broken if a promise is, if an end has not converged, if an order goes on for ever (comes
    back, or has more than `ENDLESS` turns), or if something that counts happens more than `most`
    times.
    """
    began = monotonic()
    firsts = {first: -1 for state in states for first in space.starts(state)}
    ahead: dict[int, int] = {}
    out = Settled()
    for first in firsts:
        if first not in ahead and not out.broken:
            _follow(space, first, ahead, out, most)
    out.states, out.seconds = len(ahead), monotonic() - began
    if out.broken:
        out.path = [*_way_in(space, firsts, out.path[0]), *out.path[1:]]
    return out


def _follow(space: CalmSpace, first: int, ahead: dict[int, int], out: Settled, most: int) -> None:
    """Depth first: a state is counted once everything that follows it is."""
    turns: dict[int, list[int]] = {}
    waiting = [first]
    while waiting and not out.broken:
        state = waiting[-1]
        if state not in ahead:
            ahead[state] = UNDER_WAY
            turns[state] = after = list(space.after(state))
            _entered(space, state, after, out)
            loops = [reached for reached in after if ahead.get(reached) == UNDER_WAY]
            if loops or len(turns) > ENDLESS:
                out.broken = "it may go on for ever"
                out.path = _round(list(turns), loops)
            waiting.extend(reached for reached in after if reached not in ahead)
            continue
        waiting.pop()
        if ahead[state] == UNDER_WAY:
            after = turns.pop(state)
            ahead[state] = max(
                (ahead[reached] + space.counts(state, reached) for reached in after), default=0
            )
            _counted(state, ahead[state] + space.begun(state), out, most)


def _round(way: list[int], loops: list[int]) -> list[int]:
    """The part of the way that leads back to where it came from, or the whole way."""
    return [*way[way.index(loops[0]) :], loops[0]] if loops else way


def _entered(space: CalmSpace, state: int, after: list[int], out: Settled) -> None:
    out.edges += len(after)
    out.ends += not after
    wrong = space.broken(state) or ("" if after else space.unconverged(state))
    if wrong:
        out.broken, out.path = wrong, [state]


def _counted(state: int, count: int, out: Settled, most: int) -> None:
    out.longest = max(out.longest, count)
    if count > most:
        out.broken = f"what counts happens {count} times, not at most {most}"
        out.path = [state]


def _way_in(space: CalmSpace, firsts: dict[int, int], goal: int) -> list[int]:
    """The shortest way from where the calm may begin to a state."""
    origins = dict(firsts)
    layer = list(firsts)
    while goal not in origins:
        new: list[int] = []
        for state in layer:
            for reached in space.after(state):
                if reached not in origins:
                    origins[reached] = state
                    new.append(reached)
        layer = new
    return way_to(origins, goal)
