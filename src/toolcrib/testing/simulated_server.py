"""A server in virtual time: a listing that a test changes, and the ways in which it may fail."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from toolcrib.core.freshness.events import Failure, FailureKind
from toolcrib.core.instant import Instant
from toolcrib.core.snapshot import Hints, Item, Page, Quarantined

Listing = Sequence[Sequence[str]]
"""The pages of a server, each some definitions written `name` or `name:variant`."""


def item(text: str) -> Item:
    """A definition from `name` or `name:variant`; equal texts are equal definitions."""
    name, _, variant = text.partition(":")
    return Item(name, {"name": name, "variant": variant}, fingerprint=text, contract=text)


@dataclass(slots=True)
class Server:
    """What the server would list, and how it behaves."""

    listing: Listing = ((),)
    hints: Hints = field(default=Hints())
    latency: float = 0.01
    """Seconds from a list request to its answer; the page is read at the end of them."""
    failure: Failure | None = None
    """Answer each request with this failure instead."""
    answers: Callable[[str | None], Page | Failure | None] | None = None
    """A script in place of the listing; it returns None to fall back on it."""
    after_page: Callable[[str | None], None] | None = None
    """Called when a page was read, before it arrives."""
    malformed: tuple[Quarantined, ...] = ()
    """Definitions on the last page that cannot be used."""

    def read(self, cursor: str | None, now: Instant) -> Page | Failure:
        """What one list request is answered at `now`."""
        if self.failure is not None:
            return self.failure
        scripted = None if self.answers is None else self.answers(cursor)
        return self.page(cursor, now) if scripted is None else scripted

    def page(self, cursor: str | None, now: Instant) -> Page | Failure:
        """One page of the listing; cursors are page numbers."""
        number = 0 if cursor is None else int(cursor)
        if number >= len(self.listing):
            return Failure(FailureKind.REFUSED_CURSOR, f"no page {number}")
        last = number + 1 == len(self.listing)
        return Page(
            items=tuple(item(text) for text in self.listing[number]),
            quarantined=self.malformed if last else (),
            next_cursor=None if last else str(number + 1),
            hints=self.hints,
            received=now,
            size=100,
        )
