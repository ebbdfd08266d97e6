"""One search from the query to hits: which method, in whose tools, and what it fell back to.

Rankers only order tools that they know; what is shown is taken from the catalogs of the principal
as they are at that moment. So an index that is a step behind can miss a tool, and never show one
that was denied, withdrawn or changed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Final

from toolcrib.catalog.access import CatalogAccess
from toolcrib.core.naming import Present, Style, expose
from toolcrib.core.snapshot import Item, Kind
from toolcrib.discovery.alike import alike
from toolcrib.discovery.hits import Found, Hit, Query
from toolcrib.discovery.methods import Methods, Ranker
from toolcrib.discovery.subagent.prompt import Candidate
from toolcrib.discovery.subagent.subagent import Subagent
from toolcrib.errors import BadArguments
from toolcrib.settings import Limits, SearchMethod, SearchSettings

__all__ = ["Searching"]

_TRIES: Final = 3
"""Rankings that are asked for, each four times as long, where tools in it cannot be shown."""

_NAMES: Final = 4_096
"""Exposed names that are remembered: long ones hold a hash, which takes longer than their search
by words does."""


class Searching:
    """Searches the tools of one principal; the `ToolSearch` of everything that searches.

    Args:
        access: The principal's catalogs.
        settings: Which method `auto` means.
        rankers: By method, as `Methods` takes them.
        subagent: Chooses among the first hits, where a small model is configured.
        limits: Bounds of queries and answers.
        style: How names are exposed; as in the listing, with `limits.name_length`.
    """

    def __init__(
        self,
        access: CatalogAccess,
        settings: SearchSettings,
        rankers: Mapping[SearchMethod, Ranker],
        *,
        subagent: Subagent | None = None,
        limits: Limits,
        style: Style = "qualified",
    ) -> None:
        self._access = access
        self._methods = Methods(settings, rankers, subagent=subagent is not None)
        self._subagent = subagent
        self._limits = limits
        self._style: Style = style
        exposed = partial(expose, style=style, limit=limits.name_length)
        self._exposed = lru_cache(maxsize=_NAMES)(exposed)
        self._ids: tuple[str, ...] = ()
        self._there: frozenset[str] = frozenset()
        """The servers that there were when they were looked at last."""

    async def find(self, query: Query) -> Found:
        """The hits among what is published now, as `ToolSearch` describes it."""
        text = self._text_of(query)
        servers = None if query.servers is None else frozenset(query.servers)
        absent = await self._access.lacking(Kind.TOOLS, servers)
        plan = self._methods.plan(query.method)
        subagent = self._subagent if plan.chooses else None
        limit = min(query.limit, self._limits.search_hits_most)
        method, hits, notes = await self._ranked(
            plan.method,
            text,
            servers,
            limit if subagent is None else max(limit, subagent.candidates),
            query.present,
        )
        notes = [*plan.notes, *notes]
        if subagent is not None and hits:
            first = hits[: subagent.candidates]
            choice = await subagent.choose(text, [_candidate(hit) for hit in first])
            notes += [choice.note] if choice.note else []
            method = "subagent" if choice.answered else method
            if choice.first:
                hits = self._still_shown(_reordered(hits, choice.first), servers, query.present)
            else:
                # Not the first of the candidates: an answer of its own length has its own order.
                _, hits, _ = await self._ranked(plan.method, text, servers, limit, query.present)
        if query.limit > limit:
            notes.append(f"No more than {limit} hits are given.")
        near = () if hits else await self._near(text, servers, query.present)
        return Found(tuple(hits[:limit]), method, near, tuple(notes), absent)

    async def _ranked(
        self,
        method: SearchMethod,
        text: str,
        servers: Collection[str] | None,
        most: int,
        present: Present | None,
    ) -> tuple[SearchMethod, list[Hit], list[str]]:
        """How it was ranked in the end, at most so many hits, and notes.

        Rankers leave room for several servers in an answer of the length they are asked for. So
        they are asked for just that, and for more only where some of it cannot be shown.
        """
        asked, tries = most, 1
        while True:
            ranked = await self._methods.ranked(method, text, servers, asked)
            hits = list(self._shown(ranked.tools, servers, present))[:most]
            if len(hits) == most or len(ranked.tools) < asked or tries == _TRIES:
                return ranked.method, hits, list(ranked.notes)
            asked, tries = asked * 4, tries + 1

    def _text_of(self, query: Query) -> str:
        """The text to search for. Raises `BadArguments`."""
        most = self._limits.search_chars
        if not query.text.strip():
            raise BadArguments("the query is empty: say what the tool should do")
        if len(query.text) > most:
            raise BadArguments(
                f"the query has {len(query.text):,} characters, more than {most:,} (search_chars): "
                "say in a sentence what the tool should do"
            )
        if query.limit < 1:
            hits = f"1 to {self._limits.search_hits_most}"
            raise BadArguments(f"the limit {query.limit} leaves no hits: ask for {hits}")
        return _well_formed(query.text)

    def _servers_there(self) -> frozenset[str]:
        """The servers there are: the same set for as long as they are."""
        ids = self._access.server_ids()
        if ids is not self._ids:
            self._ids, self._there = ids, frozenset(ids)
        return self._there

    def _known(self, servers: Collection[str] | None) -> Sequence[str]:
        """Those of the servers that there are."""
        ids = self._access.server_ids()
        return ids if servers is None else [it for it in ids if it in servers]

    def _shown(
        self,
        ranked: Iterable[tuple[tuple[str, str], float]],
        servers: Collection[str] | None,
        present: Present | None,
    ) -> Iterator[Hit]:
        """The ranked tools that this principal can see and call now."""
        there = self._servers_there()
        for (server, key), score in ranked:
            known = server in there and (servers is None or server in servers)
            item = self._held(server, key) if known else None
            if item is not None and not self._collides(server, key, present):
                yield Hit(server, item, self._exposed(server, key), score)

    def _still_shown(
        self, hits: list[Hit], servers: Collection[str] | None, present: Present | None
    ) -> list[Hit]:
        """The hits as they are now: what went away or changed in a wait is not shown as it was."""
        found = [((hit.server, hit.item.key), hit.score) for hit in hits]
        return list(self._shown(found, servers, present))

    def _held(self, server: str, key: str) -> Item | None:
        snapshot = self._access.peek(server, Kind.TOOLS).snapshot
        return snapshot.get(key) if snapshot is not None else None

    def _collides(self, server: str, key: str, present: Present | None) -> bool:
        """Whether the exposed name stands for no tool, or for that of another server."""
        if self._style == "qualified":
            return False
        ids = self._access.server_ids()
        there = Present.of(ids, ()) if present is None else present
        return there.holder(it for it in ids if self._held(it, key) is not None) != server

    async def _near(
        self, text: str, servers: Collection[str] | None, present: Present | None
    ) -> tuple[str, ...]:
        """Exposed names that look like the query."""
        held = {it: self._access.peek(it, Kind.TOOLS).snapshot for it in self._known(servers)}
        catalogs = {server: shown.items for server, shown in held.items() if shown is not None}
        found = await alike(text, catalogs)
        return tuple(self._exposed(*it) for it in found if not self._collides(*it, present))


def _well_formed(text: str) -> str:
    """The text without surrogates that stand alone, which neither models nor messages take."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _reordered(hits: list[Hit], first: Sequence[int]) -> list[Hit]:
    """The hits with the chosen ones first.

    Scores keep falling: those of the chosen are raised above the best.
    """
    best, count, taken = hits[0].score, len(first), set(first)
    chosen = [
        replace(hits[position], score=best + (count - place))
        for place, position in enumerate(first)
    ]
    return chosen + [hit for position, hit in enumerate(hits) if position not in taken]


def _candidate(hit: Hit) -> Candidate:
    definition = hit.item.definition
    texts = (definition.get(member) for member in ("description", "title"))
    text = next((it for it in texts if isinstance(it, str) and it.strip()), "")
    return Candidate(hit.name, text, hit.item.fingerprint)
