"""Catalog content: items, pages and whole snapshots of the four list kinds, frozen as received.

A snapshot is immutable and whole: it comes from one walk that reached its last page. Items keep the
raw definition, because the SDK's models drop fields they do not know.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from toolcrib.core.instant import Instant


class Kind(Enum):
    """One of the four list kinds of MCP (2026-07-28, server features)."""

    TOOLS = ("tools/list", "tools", "name", "tools")
    PROMPTS = ("prompts/list", "prompts", "name", "prompts")
    RESOURCES = ("resources/list", "resources", "uri", "resources")
    TEMPLATES = ("resources/templates/list", "resourceTemplates", "uriTemplate", "resources")

    def __init__(self, method: str, field_name: str, key: str, capability: str) -> None:
        self.method = method
        """The list request, such as `tools/list`."""
        self.field = field_name
        """The member of the result that holds the items."""
        self.key = key
        """The member of an item that identifies it on its server."""
        self.capability = capability
        """The server capability that declares the kind."""

    @property
    def label(self) -> str:
        """The name used in facts, metrics and on the command line."""
        return self.name.lower()


class Scope(Enum):
    """`cacheScope` as we may rely on it; unknown is private (MCP 2026-07-28, caching)."""

    PRIVATE = "private"
    PUBLIC = "public"


@dataclass(frozen=True, slots=True)
class Hints:
    """The caching hints of one page, or the strictest of a whole walk, already clamped."""

    ttl: float = 0.0
    """Seconds; absent, negative and malformed `ttlMs` are 0."""
    scope: Scope = Scope.PRIVATE
    oddities: tuple[str, ...] = ()
    """What was wrong with the hints as received, in words: counted, never fatal."""
    peer_digest: str = ""
    """The digest that a toolcrib peer gave its own listing; empty for any other server."""


@dataclass(frozen=True, slots=True)
class Item:
    """One usable definition."""

    key: str
    """The original name, URI or URI template."""
    definition: Mapping[str, Any] = field(hash=False)
    """The definition as received (after the documented repairs); never mutated."""
    fingerprint: str
    """Hash of the canonical JSON of the definition as received."""
    contract: str
    """Hash of what a call depends on; the fingerprint for kinds that have no schema."""
    notes: tuple[str, ...] = ()
    """Repairs and oddities, in words, such as `empty inputSchema repaired to {"type": "object"}`.
    """


@dataclass(frozen=True, slots=True)
class Quarantined:
    """One definition that was kept out, and why."""

    key: str
    """Its name if it has one, else `#<position in the walk>`."""
    reason: str
    """A stable code, such as `no_input_schema`."""
    detail: str
    """The reason in a sentence."""
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a listing, parsed item by item."""

    items: tuple[Item, ...]
    quarantined: tuple[Quarantined, ...]
    next_cursor: str | None
    """Any string continues the walk, the empty one too; None ends it."""
    hints: Hints
    received: Instant
    size: int
    """Bytes on the wire, or of the canonical JSON where the wire size is unknown."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A whole catalog of one kind: what one server shows to one partition at one time."""

    kind: Kind
    items: tuple[Item, ...]
    """Sorted by key, by code point; keys are unique."""
    digest: str
    """Hash over the fingerprints of items and quarantined definitions: the order received does not
    matter.
    """
    quarantined: tuple[Quarantined, ...] = ()
    warnings: tuple[str, ...] = ()
    """What was odd about the walk, in words, such as a cursor cycle."""
    hints: Hints = Hints()
    """The strictest over all pages."""
    pages: int = 1
    _by_key: dict[str, Item] = field(
        default_factory=dict[str, Item], init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        self._by_key.update((item.key, item) for item in self.items)

    def get(self, key: str) -> Item | None:
        """The item with that original name, URI or template, or None."""
        return self._by_key.get(key)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        out = f", {len(self.quarantined)} quarantined" if self.quarantined else ""
        return f"<Snapshot {self.kind.label}: {len(self.items)} items{out}, {self.digest[:10]}>"
