"""What is searched for, and what was found."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from toolcrib.core.naming import Present
from toolcrib.core.snapshot import Item
from toolcrib.settings import SearchMethod


@dataclass(frozen=True, slots=True)
class Query:
    """One search for tools."""

    text: str
    """In any language; for method `regex` a pattern."""
    servers: Collection[str] | None = None
    """Only tools of these servers; None: of all that may be searched."""
    limit: int = 10
    """Most hits."""
    method: SearchMethod = "auto"
    """`auto`: what the settings say."""
    present: Present | None = None
    """The servers that are there for the searcher: no other one has a say in what is found, or
    under which name; None: all are."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One tool that was found."""

    server: str
    item: Item
    name: str
    """Under which it is exposed and may be called."""
    score: float
    """Comparable within one answer only; higher is better."""


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of one search."""

    hits: tuple[Hit, ...]
    """The best first; equal ones by (server id, original name), by code point."""
    method: SearchMethod
    """How it was searched in the end, never `auto`."""
    near: tuple[str, ...] = ()
    """Without hits: exposed names that look like the query."""
    notes: tuple[str, ...] = ()
    """What the searcher should know, in sentences: that a method fell back, or why."""
    absent: tuple[str, ...] = ()
    """Servers of which nothing was held when it was searched."""


class ToolSearch(Protocol):
    """Finds tools of one principal."""

    async def find(self, query: Query) -> Found:
        """The hits among what is published now; a note says of which servers not all is searched.

        Raises:
            BadArguments: The query cannot be searched for; it says why and what to write.
        """
        ...


class Introduced(Protocol):
    """Says what a server says of itself, for whoever reads hits."""

    def about(self, server: str) -> str:
        """In one paragraph, as configured, or else as the server instructs; empty for nothing."""
        ...
