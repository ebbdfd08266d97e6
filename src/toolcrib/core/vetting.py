"""Definitions that wait until a person has seen them (`on_change = "ask"`).

What a person saw is a fingerprint: any other definition of the tool waits. Meanwhile the one that
was seen goes on being served, as long as the contract is the same; where it is not, a call made
from it would not be what the server takes, so nothing is served.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from toolcrib.core.diff import Changed
from toolcrib.core.snapshot import Item, Quarantined

NOT_APPROVED: Final = "not_approved"
"""The reason under which such a definition is kept out."""

Approved = Mapping[str, Item]
"""The definitions that a person has seen, by key."""


@dataclass(frozen=True, slots=True)
class Unapproved:
    """A definition that nobody has seen."""

    before: Item | None
    """The one that was seen; None: none of this name was."""
    after: Item

    @property
    def served(self) -> bool:
        """Whether the one that was seen stands in for it."""
        return self.before is not None and self.before.contract == self.after.contract

    def in_words(self) -> tuple[str, ...]:
        """What a person should know of it: how it differs, and what hides in it."""
        changes = () if self.before is None else Changed(self.before, self.after).in_words()
        return (*changes, *self.after.notes)

    def as_quarantined(self) -> Quarantined:
        """The definition as one that was kept out."""
        detail = "the definition is new" if self.before is None else "the definition changed"
        standing_in = "; the approved one is served meanwhile" if self.served else ""
        return Quarantined(
            self.after.key,
            NOT_APPROVED,
            f"{detail} and no person has approved it{standing_in}",
            self.after.fingerprint,
        )


def unapproved(items: Iterable[Item], approved: Approved) -> tuple[Unapproved, ...]:
    """The definitions among these that nobody has seen, in their order."""
    pairs = ((approved.get(item.key), item) for item in items)
    return tuple(
        Unapproved(before, item)
        for before, item in pairs
        if before is None or before.fingerprint != item.fingerprint
    )


def served(items: Iterable[Item], waiting: Iterable[Unapproved]) -> tuple[Item, ...]:
    """What is shown of these items while some of them wait."""
    instead = {one.after.key: one.before if one.served else None for one in waiting}
    shown = (instead.get(item.key, item) for item in items)
    return tuple(item for item in shown if item is not None)
