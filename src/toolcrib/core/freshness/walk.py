"""A walk: folding the pages of one listing, from the first request to the last, into a candidate.

The protocol gives no consistency between pages (MCP 2026-07-28, pagination), so a walk is worth
something only as a whole. `fold` takes one page in and says how it goes on: `More`, `Whole`,
`Again` from page one under the same ticket, or `Broken`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from toolcrib.core.fingerprint import digest
from toolcrib.core.freshness.events import Failure, FailureKind
from toolcrib.core.freshness.record import Published, Ticket
from toolcrib.core.freshness.tempo import Tempo
from toolcrib.core.instant import Instant
from toolcrib.core.quoting import literal
from toolcrib.core.snapshot import Hints, Item, Kind, Page, Quarantined, Scope, Snapshot

CURSOR_CYCLE = "cursor_cycle"
"""The warning of a listing that ended because a cursor came twice."""

DUPLICATE_NAME = "duplicate_name"
"""The reason of a definition kept out because an earlier one has its name."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A walk under way: exactly one list request of it is unanswered."""

    ticket: Ticket
    started: float
    """Monotonic seconds of the grant."""
    pages: tuple[Page, ...] = ()
    items: int = 0
    size: int = 0
    owed: bool = False
    """Whether it was begun although the catalog counts as fresh."""
    polled: bool = False
    """Whether it was begun because a poll was due, and for nobody."""
    expected: frozenset[str] = frozenset()
    """Names the listing held before carried twice: no reason to walk twice again."""
    cursor_refused: bool = False
    """Whether it was restarted because the server did not take its own cursor."""
    repeated: bool = False
    """Whether it was restarted because names came twice."""
    renew: bool = False
    """Whether a RENEW is due."""
    candidate: Published | None = None
    """Its result, once whole, until it is offered to the store."""
    read: float = 0.0
    """Monotonic seconds at which its earliest page was received."""
    expires: float = 0.0
    """Monotonic seconds until which its hints let it count as fresh."""


@dataclass(frozen=True, slots=True)
class More:
    """Another page has to be fetched."""

    walk: Walk
    cursor: str


@dataclass(frozen=True, slots=True)
class Whole:
    """The last page was reached; `walk.candidate` is set."""

    walk: Walk
    candidate: Published


@dataclass(frozen=True, slots=True)
class Again:
    """The walk starts over from page one, under the same ticket."""

    walk: Walk


@dataclass(frozen=True, slots=True)
class Broken:
    """The walk cannot be used."""

    failure: Failure


def restarted(walk: Walk) -> Again | Broken:
    """What follows a refused cursor: page one again, once (MCP 2026-07-28, caching)."""
    if walk.cursor_refused:
        detail = "the server refused its own cursor twice in one listing"
        return Broken(Failure(FailureKind.REFUSED_CURSOR, detail))
    return Again(_emptied(replace(walk, cursor_refused=True)))


def _emptied(walk: Walk) -> Walk:
    return replace(walk, pages=(), items=0, size=0, renew=True)


def fold(
    walk: Walk, page: Page, kind: Kind, tempo: Tempo, now: Instant
) -> More | Whole | Again | Broken:
    """Take in one page.

    Any `next_cursor` but None continues the walk, the empty string too. One that was already sent
    ends it, and that page is not appended: with new names on it the listing is unusable, without
    them it is usable, with a warning.
    """
    cursor = page.next_cursor
    if cursor is not None and any(cursor == earlier.next_cursor for earlier in walk.pages):
        names = {item.key for earlier in walk.pages for item in earlier.items}
        if any(item.key not in names for item in page.items):
            shown = literal(cursor)
            detail = f"the listing goes in circles: cursor {shown} came twice, with new names"
            return Broken(Failure(FailureKind.MALFORMED, detail))
        return _ended(walk, kind, (CURSOR_CYCLE,))
    walk = replace(
        walk,
        pages=(*walk.pages, page),
        items=walk.items + len(page.items) + len(page.quarantined),
        size=walk.size + page.size,
        renew=True,
    )
    crossed = _crossed(walk, tempo, now, ends=cursor is None)
    if crossed is not None:
        return Broken(Failure(FailureKind.LIMIT, crossed))
    if cursor is None:
        return _ended(walk, kind, ())
    return More(walk, cursor)


def _crossed(walk: Walk, tempo: Tempo, now: Instant, *, ends: bool) -> str | None:
    """Which limit the walk has crossed, in words that name the setting."""
    for value, limit, what in (
        (len(walk.pages) + (not ends), tempo.walk_pages, "pages (walk_pages)"),
        (walk.items, tempo.walk_items, "definitions (walk_items)"),
        (walk.size, tempo.walk_bytes, "bytes (walk_bytes)"),
        (now.mono - walk.started, tempo.walk_seconds, "seconds (walk_seconds)"),
    ):
        if value > limit:
            return f"one listing takes more than {limit:g} {what}"
    return None


def _ended(walk: Walk, kind: Kind, warnings: tuple[str, ...]) -> Whole | Again:
    kept, doubled, torn = _merged(walk.pages)
    suspicious = torn | {entry.key for entry in doubled}
    if suspicious - walk.expected and not walk.repeated:
        return Again(_emptied(replace(walk, repeated=True)))
    items = tuple(sorted(kept, key=lambda item: item.key))
    malformed = (entry for page in walk.pages for entry in page.quarantined)
    quarantined = tuple(sorted((*malformed, *doubled), key=lambda out: (out.key, out.fingerprint)))
    snapshot = Snapshot(
        kind=kind,
        items=items,
        digest=digest(kind, items, quarantined),
        quarantined=quarantined,
        warnings=warnings,
        hints=strictest(page.hints for page in walk.pages),
        pages=len(walk.pages),
    )
    candidate = Published(
        snapshot,
        read_at=min(page.received.wall for page in walk.pages),
        expires_at=min(page.received.wall + page.hints.ttl for page in walk.pages),
    )
    whole = replace(
        walk,
        candidate=candidate,
        read=min(page.received.mono for page in walk.pages),
        expires=min(page.received.mono + page.hints.ttl for page in walk.pages),
    )
    return Whole(whole, candidate)


def _merged(pages: tuple[Page, ...]) -> tuple[list[Item], list[Quarantined], set[str]]:
    """Usable items by name, the later ones of the same name, and names that came on two pages.

    Equal definitions collapse. On one page that is only untidy; on two it is a trace of a listing
    that moved while it was read.
    """
    first: dict[str, tuple[int, Item]] = {}
    doubled: list[Quarantined] = []
    torn: set[str] = set()
    for number, page in enumerate(pages):
        for item in page.items:
            place, winner = first.setdefault(item.key, (number, item))
            if winner is item:
                continue
            if place != number:
                torn.add(item.key)
            if winner.fingerprint != item.fingerprint:
                doubled.append(_kept_out(item, winner))
    return [item for _, item in first.values()], doubled, torn


def _kept_out(item: Item, winner: Item) -> Quarantined:
    detail = (
        f"two definitions are called {item.key!r}: {winner.fingerprint[:12]} came first "
        f"and is used, {item.fingerprint[:12]} is kept out"
    )
    return Quarantined(item.key, DUPLICATE_NAME, detail, item.fingerprint)


def strictest(hints: Iterable[Hints]) -> Hints:
    """The hints that hold for all pages: the smallest ttl, and public only where every page is.

    A peer's digest holds only where all pages say the same.
    """
    every = tuple(hints)
    digests = {each.peer_digest for each in every}
    return Hints(
        ttl=min(each.ttl for each in every),
        scope=Scope.PUBLIC if all(each.scope is Scope.PUBLIC for each in every) else Scope.PRIVATE,
        oddities=tuple(dict.fromkeys(oddity for each in every for oddity in each.oddities)),
        peer_digest=digests.pop() if len(digests) == 1 else "",
    )
