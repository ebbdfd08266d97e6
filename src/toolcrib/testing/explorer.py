"""An explicit-state explorer: every state that can be reached, breadth first, so traces are shortest.

`explore` visits the states of a `Space` and stops at the first that breaks a promise. `settle` looks
at what becomes of a set of states once nothing disturbs any more: whether all orders of turns end,
where they end, and how often something that counts happens on the longest way there.
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

    def granted(self, state: int, after: int) -> bool:
        """Whether the turn from one state to the other counts."""
        ...

    def walking(self, state: int) -> int:
        """What counts beforehand, in a state that may be the first to count from."""
        ...

    def unconverged(self, state: int) -> str:
        """What is wrong with a state that has no turns, in words; empty if nothing is."""
        ...


@dataclass
class Explored:
    """What was seen of a space."""

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

    @property
    def states(self) -> int:
        """How many different states were seen."""
        return len(self.origins)


def explore(space: Space, *, most: int | None = None) -> Explored:
    """Visit every state, or about `most` of them, or all until one breaks a promise."""
    began = monotonic()
    first = space.start()
    found = Explored(broken=space.broken(first), path=[first], origins={first: -1})
    layer = [first]
    while layer and not found.broken and (most is None or found.states < most):
        layer = _next_layer(space, found, layer)
        found.depth += bool(layer)
    found.exhausted = not layer and not found.broken
    found.seconds = monotonic() - began
    return found


def _next_layer(space: Space | CalmSpace, found: Explored, layer: list[int]) -> list[int]:
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
    """The shortest way from the beginning of the calm to what is broken; a loop at its end where
    it goes on for ever."""


def settle(space: CalmSpace, states: Iterable[int], *, most: int) -> Settled:
    """Follow every order of turns in the calm from each of these states.

    It is broken if a promise is, if an end has not converged, if an order goes on for ever, or if
    something that counts happens more than `most` times.
    """
    began = monotonic()
    firsts = {first for state in states for first in space.starts(state)}
    seen = Explored(origins=dict.fromkeys(firsts, -1))
    layer = list(firsts)
    while layer:
        layer = _next_layer(space, seen, layer)
    out = Settled(len(seen.origins), seen.edges, broken=seen.broken, path=seen.path)
    if not out.broken:
        _ended(space, seen, out)
    if not out.broken:
        _counted(space, seen, out, most)
    out.seconds = monotonic() - began
    return out


def _ended(space: CalmSpace, seen: Explored, out: Settled) -> None:
    for state in seen.origins:
        if any(True for _ in space.after(state)):
            continue
        out.ends += 1
        wrong = space.unconverged(state)
        if wrong:
            out.broken, out.path = wrong, way_to(seen.origins, state)
            return


def _counted(space: CalmSpace, seen: Explored, out: Settled, most: int) -> None:
    """Go through the states from the ends backwards; what is left over lies before a loop."""
    befores: dict[int, list[int]] = {state: [] for state in seen.origins}
    open_turns = dict.fromkeys(seen.origins, 0)
    for state in seen.origins:
        for reached in set(space.after(state)):
            befores[reached].append(state)
            open_turns[state] += 1
    ahead = dict.fromkeys(seen.origins, 0)
    ready = [state for state, turns in open_turns.items() if not turns]
    while ready:
        state = ready.pop()
        count = ahead[state] + space.walking(state)
        if count > out.longest:
            out.longest, out.path = count, way_to(seen.origins, state)
        for before in befores.pop(state):
            ahead[before] = max(ahead[before], ahead[state] + space.granted(before, state))
            open_turns[before] -= 1
            if not open_turns[before]:
                ready.append(before)
    if befores:
        out.broken, out.path = "it may go on for ever", _loop(space, seen, befores)
    elif out.longest > most:
        out.broken = f"promise 3: {out.longest} walks after the last signal, not {most}"


def _loop(space: CalmSpace, seen: Explored, left: Mapping[int, object]) -> list[int]:
    way = [next(iter(left))]
    while way[-1] not in way[:-1]:
        way.append(next(after for after in space.after(way[-1]) if after in left))
    first = way.index(way[-1])
    return [*way_to(seen.origins, way[first]), *way[first + 1 :]]
