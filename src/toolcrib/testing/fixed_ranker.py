"""A ranker whose order a test sets: searching without an index."""

from collections.abc import Collection
from dataclasses import dataclass

__all__ = ["FixedRanker", "Ordered"]


@dataclass(frozen=True, slots=True)
class Ordered:
    """A `discovery.methods.Ranking`."""

    tools: tuple[tuple[tuple[str, str], float], ...]
    notes: tuple[str, ...] = ()
    by_meaning: bool = True


class FixedRanker:
    """Gives the same order for every text, and remembers what it was asked.

    Args:
        tools: `server/name` each, the best first; scores fall from 100.
        by_meaning: What it says of itself.
        notes: What it tells the searcher.
    """

    def __init__(self, *tools: str, by_meaning: bool = True, notes: tuple[str, ...] = ()) -> None:
        pairs = (it.partition("/") for it in tools)
        self.tools = [(server, key) for server, _, key in pairs]
        self.by_meaning = by_meaning
        self.notes = notes
        self.trouble: Exception | None = None
        """What it raises instead."""
        self.heeds_servers = True
        """Whether it keeps to the servers that are asked for."""
        self.asked: list[tuple[str, Collection[str] | None, int]] = []

    async def __call__(self, text: str, servers: Collection[str] | None, most: int) -> Ordered:
        """The order, as `discovery.methods.Ranker` gives it."""
        self.asked.append((text, servers, most))
        if self.trouble is not None:
            raise self.trouble
        everywhere = servers is None or not self.heeds_servers
        scored = [(it, 100.0 - place) for place, it in enumerate(self.tools)]
        kept = [it for it in scored if everywhere or it[0][0] in (servers or ())]
        return Ordered(tuple(kept[:most]), self.notes, self.by_meaning)
