"""Write the state diagram of docs/heart.md, by watching the heart at work.

A seeded walk through everything that can happen to one catalog; each step that leads from one named
state to another is an arrow, labelled with the events that took it.
"""

import re
from collections import defaultdict
from random import Random
from unittest.mock import patch

from generated import ROOT, write_or_check
from toolcrib.core.freshness import need
from toolcrib.core.freshness.effects import Effect
from toolcrib.core.freshness.entry import Entry
from toolcrib.core.freshness.events import (
    Connected,
    Disconnected,
    Event,
    Failure,
    FailureKind,
    Needed,
    Regranted,
    Revoked,
    StreamLost,
    StreamOpened,
    StreamRefused,
)
from toolcrib.core.freshness.replica import step
from toolcrib.core.instant import Instant
from toolcrib.core.snapshot import Hints
from toolcrib.testing import simulator
from toolcrib.testing.simulator import World

PAGE = ROOT / "docs" / "heart.md"
BLOCK = re.compile(r"(<!-- diagram -->\n).*?(<!-- end -->)", re.DOTALL)
SEED, STARTS, STEPS = 7, 60, 250
OFTEN = (Needed, Needed, Needed, Connected, Connected, None, None)
CHANGES = 0.5
"""How likely what happens to the server is a change, and a change is signalled."""
BROKEN = Failure(FailureKind.TRANSPORT, "reset")


def state_of(entry: Entry, now: float) -> str:
    """The state of a catalog as a reader would call it."""
    standing = need.standing(entry, now)
    if entry.withdrawn or entry.revoked:
        return "Withdrawn"
    walking = "Walking" if entry.walk is not None else ""
    if standing.snapshot is None:
        return f"Nothing{walking}"
    return f"{'Fresh' if standing.fresh else 'Stale'}{walking}"


class Watch:
    """Stands where the simulator calls the heart, and notes which event led where."""

    def __init__(self) -> None:
        self.arrows: defaultdict[tuple[str, str], set[str]] = defaultdict(set)

    def step(self, entry: Entry, event: Event) -> tuple[Entry, tuple[Effect, ...]]:
        """One step of the heart. Time alone may have made a state another one before it."""
        now = event.now.mono
        after, effects = step(entry, event)
        arrow = state_of(entry, now), state_of(after, now)
        if arrow[0] != arrow[1]:
            self.arrows[arrow].add(type(event).__name__)
        return after, effects


def told(now: Instant, lots: Random) -> Event | None:
    """One event from outside, or none: readers and connections come more often than revocations."""
    chosen = lots.choice(
        (*OFTEN, Disconnected, StreamOpened, StreamLost, StreamRefused, Revoked, Regranted, None)
    )
    return None if chosen is None else chosen(now)


def disturb(world: World, lots: Random) -> None:
    """Lets one thing happen, likely or not, and some time pass."""
    event = told(world.instant, lots)
    if event is not None:
        world.a.tell(event)
    elif lots.random() < CHANGES:
        world.change(((f"t{lots.randrange(9)}",), ("u",)), signal=lots.random() < CHANGES)
    else:
        world.server.failure = lots.choice([None, None, BROKEN])
        world.server.hints = Hints(ttl=lots.choice([0.0, 5.0, 60.0]))
    world.run(lots.choice([0.0, 0.0, 0.02, 0.5, 2.0, 90.0]))


def diagram() -> str:
    """The diagram as a Mermaid block."""
    lots = Random(SEED)  # noqa: S311 - the same walk each time, not a secret
    watch = Watch()
    with patch.object(simulator, "step", watch.step):
        for _ in range(STARTS):
            world = World(1)
            world.start(read=False)
            for _ in range(STEPS):
                disturb(world, lots)
    lines = [
        f"    {before} --> {after}: {', '.join(sorted(events))}"
        for (before, after), events in sorted(watch.arrows.items())
    ]
    return "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> Nothing", *lines, "```", ""])


def page() -> str:
    """The page with its diagram as the code has it now."""
    return BLOCK.sub(lambda found: f"{found[1]}{diagram()}{found[2]}", PAGE.read_text())


if __name__ == "__main__":
    write_or_check(PAGE, page(), __doc__)
