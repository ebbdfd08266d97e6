"""A search as people make it: hits to choose from, or the words that a model would read instead.

The same question means the same here as in `search_tools`: slashes around a query make it a
pattern, an empty one asks which servers there are, and where nothing is found, what may help is
said. Only the form differs: people get a table.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from toolcrib.calls.call import Requester
from toolcrib.core.naming import Present, near
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.discovery.hits import Found, Query, ToolSearch
from toolcrib.discovery.meta.arguments import search_asked
from toolcrib.discovery.meta.definitions import SEARCH
from toolcrib.discovery.seams import Enabling, MetaToolSet
from toolcrib.errors import BadArguments
from toolcrib.settings import Limits, SearchMethod

HITS: Final = 10
"""Hits where nobody says how many."""


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody searches for."""

    text: str
    servers: tuple[str, ...] = ()
    """Their ids; none: all of them."""
    limit: int = HITS
    method: SearchMethod = "auto"


@dataclass(frozen=True, slots=True)
class LookedUp:
    """What came of it."""

    found: Found | None
    """None where servers were asked about, and not tools."""
    text: str = ""
    """What a model would read, where there are no hits."""


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """Answers the questions of people over the tools of one principal."""

    search: ToolSearch
    meta: MetaToolSet
    enabling: Enabling
    limits: Limits

    async def find(self, asked: Question, requester: Requester) -> LookedUp:
        """Hits, or words.

        Raises:
            BadArguments: The query cannot be searched for, or there is no such server.
        """
        arguments: dict[str, Any] = {
            "query": asked.text,
            "server": list(asked.servers),
            "limit": asked.limit,
        }
        method = asked.method
        if method == "regex" and asked.text:
            arguments["query"] = f"/{asked.text}/"
        read = search_asked(arguments, self.limits)
        if method == "auto" and read.pattern:
            method = "regex"
        if not read.query and method == "auto":
            return LookedUp(None, await self._words(arguments, requester))
        there = await self.enabling.searchable(requester)
        self._check(asked.servers, there)
        dynamic = self.enabling.dynamic
        found = await self.search.find(
            Query(
                read.query if method == "regex" else asked.text,
                servers=asked.servers or (tuple(sorted(there)) if dynamic else None),
                limit=read.limit or asked.limit,
                method=method,
                present=Present.of(self.enabling.listed(), there) if dynamic else None,
            )
        )
        if found.hits or method not in {"auto", "regex"}:
            return LookedUp(found)
        return LookedUp(found, await self._words(arguments, requester))

    def _check(self, servers: Collection[str], there: Collection[str]) -> None:
        for server in servers:
            if server not in there:
                alike = near(server, sorted(there)) or sorted(there)
                known = enumerated(map(quoted, alike)) or "none"
                raise BadArguments(f"there is no server {quoted(server)}; there are: {known}")

    async def _words(self, arguments: dict[str, Any], requester: Requester) -> str:
        result = await self.meta.call(SEARCH, arguments, requester)
        return "\n".join(block.get("text", "") for block in result["content"])
