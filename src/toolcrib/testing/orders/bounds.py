"""How far a run goes: what may happen in it, and how often."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

from toolcrib.core.freshness.tempo import NEVER, Tempo


class Fault(IntEnum):
    """What does not happen by itself, each with a budget of its own."""

    CHANGE = 0
    """The server lists something else; any set of listening replicas is told, the empty one too."""
    SPURIOUS = 1
    """A signal without a change, to any set of listening replicas: a doubled one is one, too."""
    FAILING_PAGE = 2
    REFUSED_CURSOR = 3
    LOST_ANSWER = 4
    """A store operation without an answer, whether it ran or not."""
    LATE_RUN = 5
    """The same, and it runs at the store later, when nobody waits for its answer."""
    EXPIRY = 6
    """The lease of the walk under way is over."""
    TTL = 7
    """Everything held is older than its ttl."""
    TICK = 8
    """Time goes on to the next moment a replica waits for, before everything else is done."""
    LOST_STREAM = 9
    DISCONNECT = 10
    LOSS = 11
    """The store forgets everything, and is another server from then on."""
    FAILOVER = 12
    """The store falls back to what its standby remembers."""
    SPLIT = 13
    """A fail-over in which any replica may stay at the old store for a while."""
    SYNC = 14
    """The standby is brought up to date."""
    REVOCATION = 15
    """The right is gone; any set of replicas is told."""
    REGRANT = 16
    CRASH = 17
    """A replica starts anew and remembers nothing."""
    FORCE = 18
    """Somebody asks for a walk although the catalog is fresh."""


UNHURRIED = Tempo(
    strategy="notify",
    min_interval=0.0,
    max_stale=NEVER,
    max_stale_list=NEVER,
    debounce=0.0,
    recheck=NEVER,
    settle_window=0.0,
    poll_base=NEVER,
    wanted_for=NEVER,
    look_every=NEVER,
    after_loss="wait",
    walk_seconds=NEVER,
    walks_per_minute=1,
)
"""No waits, so that order alone decides; signals are trusted, nothing is polled."""

BY_TTL = replace(UNHURRIED, strategy="auto")
"""The same, where a listing is also stale once its ttl is over."""

HURRIED = replace(BY_TTL, debounce=0.03125, min_interval=2.0, recheck=0.25)
"""With the waits of production, each a moment of its own."""


CHANGES = 2
"""The most changes of the server in one run."""


@dataclass(frozen=True)
class Bounds:
    """One run."""

    name: str
    faults: Mapping[Fault, int] = field(default_factory=dict[Fault, int])
    tempo: Tempo = UNHURRIED
    cold: bool = False
    """Whether both replicas start new, instead of at rest with the first listing."""
    remote: bool = False
    alone: bool = False
    """Whether there is one replica only."""
    late_pages: bool = False
    """Whether anything may happen between the reading of a page and its arrival."""
    pages: int = 2
    contents: tuple[int, ...] = (0, 1, 2)
    """What the server lists in each of its states, by number."""
    refuses: bool = True
    """Whether the server refuses to list once the right is gone; else only we know of it."""
    clock: bool = True
    """Whether the clock of a new store is not behind the one of the old."""
    live: bool = True
    """Whether from each state the end of all calm orders is looked at, too."""
    walks: int = 2
    """In a live run: the most walks after the last signal, the one under way included."""

    def __post_init__(self) -> None:
        """Refuse a run in which something that states forget would matter."""
        if self.faults.get(Fault.CHANGE, 0) > CHANGES:
            raise ValueError(f"{self.name}: at most {CHANGES} changes, see `moment`")

    @property
    def budget(self) -> tuple[int, ...]:
        """How often each fault may happen, in their order."""
        return tuple(self.faults.get(fault, 0) for fault in Fault)
