"""One run, examined: what was seen, and the story of what went wrong, if anything did."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolcrib.testing.explorer import Explored, Settled, explore, settle, way_to
from toolcrib.testing.orders.bounds import Bounds
from toolcrib.testing.orders.calm import Calm
from toolcrib.testing.orders.kept import packed, unpacked
from toolcrib.testing.orders.world import World


@dataclass(frozen=True)
class Examined:
    """What one run showed."""

    bounds: Bounds
    explored: Explored
    settled: Settled
    story: tuple[str, ...] = ()
    """The shortest order of events that breaks a promise, or nothing."""

    @property
    def broken(self) -> str:
        """The promise that is broken, or nothing."""
        return self.explored.broken or self.settled.broken

    def __str__(self) -> str:
        """A line of figures: name, states, turns, depth, states and ends of the calm, seconds."""
        seen, calm = self.explored, self.settled
        end = self.broken or ("exhausted" if seen.exhausted else "stopped")
        return (
            f"{self.bounds.name:34} {seen.states:9,} states {seen.edges:10,} turns"
            f" {seen.depth:3} deep | calm {calm.states:9,} {calm.ends:5} ends"
            f" {calm.longest} walks"
            f" | {seen.seconds + calm.seconds:5.1f} s {end}"
        )


def examine(bounds: Bounds, *, most: int | None = None) -> Examined:
    """Explore a run, and the calm after each of its states; `most` states, or all of them."""
    world = World(bounds)
    seen, settled, story = explore(world, most=most), Settled(), ()
    if seen.broken:
        story = _story(world, seen.path)
    elif bounds.live:
        calm = Calm(world)
        settled = settle(calm, seen.origins, most=bounds.walks)
        if settled.broken:
            first = settled.path[0]
            before = next(state for state in seen.origins if first in calm.starts(state))
            story = (
                *_story(world, way_to(seen.origins, before)),
                "-- faults cease --",
                *_story(world, settled.path),
            )
    return Examined(bounds, replace(seen, origins={}), settled, story)


def _story(world: World, path: Sequence[int]) -> tuple[str, ...]:
    """What happens on the way through these states.

    States forget which replica is which; within one story each keeps its name.
    """
    parts = unpacked(path[0])
    told: list[str] = []
    for state in path[1:]:
        turns = world.turns(parts)
        what, parts = next((what, after) for what, after in turns if packed(after) == state)
        told.append(what)
    return tuple(told)
