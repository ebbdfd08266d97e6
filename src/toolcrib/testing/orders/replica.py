"""One replica of a state: its entry, what it has sent, and what is on its way to it."""

from dataclasses import dataclass

from toolcrib.core.freshness.effects import FetchPage, StoreEffect
from toolcrib.core.freshness.entry import Entry
from toolcrib.core.freshness.record import Answer, Caller
from toolcrib.core.snapshot import Page

UNKNOWN = 1 << 30
"""In place of a count of withdrawals: heard of one that is not recorded yet."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the store on its way, and what the model knows of the moment it was made."""

    answer: Answer
    recorded: int
    """Newest state of the server of which a signal was recorded."""
    revokes: int
    """Withdrawals recorded, over all memories of the store."""
    reads: tuple[int, ...]
    """The states of the server that the record's snapshot was last read from, page by page."""
    grant: int
    """Withdrawals recorded when the walk that read it was granted."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The last listing a replica took in, and where it was last read, by whomever."""

    generation: int
    digest: str
    reads: tuple[int, ...]
    grant: int


@dataclass(frozen=True, slots=True)
class Order:
    """A store operation as it was sent."""

    effect: StoreEffect
    caller: Caller
    told: int
    """Newest state of the server of which the sender had heard."""


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica and everything that is on its way from or to it; hashable, nothing changes."""

    entry: Entry
    order: Order | None = None
    """The operation in flight."""
    reply: Reply | None = None
    """Its answer, once it ran."""
    fetch: FetchPage | None = None
    """The list request of the walk under way. Requests of walks that were given up are not kept:
    `promises` looks in each state whether an answer to them would be dropped."""
    read: Page | None = None
    """Its answer on its way."""
    signals: tuple[int, ...] = ()
    """Change signals on their way, each about one state of the server."""
    rights: tuple[bool, ...] = ()
    """News about the right on its way: lost (False) or obtained anew (True)."""
    zombies: tuple[Order, ...] = ()
    """Operations that were given up and may still run."""
    heard: int = 0
    """Newest state of the server of which it heard, or whose record it has seen."""
    revokes: int = 0
    """What it shows must be of a walk granted after so many withdrawals."""
    grant: int = 0
    """Withdrawals recorded when the walk under way was granted."""
    shown: Shown | None = None
    astray: bool = False
    """Whether it stayed at the old store when that was split."""
    broken: str = ""
    """The promise that is broken in this state."""
