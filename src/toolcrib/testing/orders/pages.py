"""Pages of the server that tell, outside their digest, which of its states they were read from."""

from toolcrib.core.instant import Instant
from toolcrib.core.snapshot import Hints, Item, Page, Snapshot

TTL = 32.0
"""Seconds that every page allows."""
NAMES = "pqr"
"""The one definition of each page."""


def marked(
    version: int, content: int, cursor: str | None, grant: int, last: int, now: Instant
) -> Page:
    """A page; the state it is read from, and the count `grant` of its walk, are its oddities."""
    number = 0 if cursor is None else int(cursor)
    name = NAMES[number]
    return Page(
        items=(Item(name, {"name": name}, f"{name}:{content}", f"{name}:{content}"),),
        quarantined=(),
        next_cursor=None if number == last else str(number + 1),
        hints=Hints(TTL, oddities=(f"{name} {version} {grant} {last}",)),
        received=now,
        size=1,
    )


def reads_of(snapshot: Snapshot) -> tuple[int, ...]:
    """The state of the server that each page was read from."""
    return tuple(int(each.split()[1]) for each in snapshot.hints.oddities)


def grant_of(snapshot: Snapshot) -> int:
    """The count that its walk was granted at."""
    return int(snapshot.hints.oddities[0].split()[2])


def is_whole(snapshot: Snapshot) -> bool:
    """Whether every page is there."""
    marks = snapshot.hints.oddities
    return len(marks) == len(snapshot) == int(marks[-1].split()[3]) + 1


def contents_of(snapshot: Snapshot) -> set[str]:
    """What the pages say, without their names: one member where the listing is of one state."""
    return {item.fingerprint.partition(":")[2] for item in snapshot.items}
