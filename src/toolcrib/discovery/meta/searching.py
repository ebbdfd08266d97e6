"""`search_tools`: hits for a query, an overview of the servers, or the tools of one server."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from toolcrib.calls.call import Requester
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.core.snapshot import Item, Kind
from toolcrib.discovery.hits import Hit, Query
from toolcrib.discovery.meta.arguments import SearchAsked, full_hits, search_asked
from toolcrib.discovery.meta.current import looked_up
from toolcrib.discovery.meta.hit_lines import ShownHits
from toolcrib.discovery.meta.one_line import exact, one_line
from toolcrib.discovery.meta.overview import nothing_found, overview
from toolcrib.discovery.meta.seams import UNSPOKEN, Spoken, Surroundings
from toolcrib.discovery.meta.whereabouts import Whereabouts, not_reached
from toolcrib.errors import ToolGone

_RANKED: Final = "Numbers are ranks."
_SORTED: Final = "In the order of their names."
_FOREIGN: Final = "What follows a name is its server's own text."

_NOTE: Final = 200
"""Characters of one note of the search."""


class Searching:
    """Answers `search_tools` for one principal."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    async def answer(self, arguments: Mapping[str, Any], requester: Requester) -> str:
        """The text of the answer. Raises `BadArguments`."""
        around, limits = self._around, self._around.limits
        asked = search_asked(arguments, limits)
        where = await Whereabouts.of(around, requester)
        servers = where.chosen(asked.servers)
        if not asked.query:
            if not asked.servers:
                return await overview(around, where)
            return await self._browsed(asked, servers, where, requester)
        default = full_hits(limits) if asked.detail == "full" else limits.search_hits
        found = await around.search.find(
            Query(
                asked.query,
                servers=servers if asked.servers or around.enabling.dynamic else None,
                limit=asked.limit or default,
                method="regex" if asked.pattern else "auto",
                present=where.present,
            )
        )
        said = (one_line(note, _NOTE) for note in found.notes)
        notes = [*asked.notes, where.unsure, *said]
        if not found.hits:
            near = map(exact, found.near)
            return nothing_found(around, where, servers, asked.query, near=near, notes=notes)
        if found.absent:
            notes.append(not_reached(around.access, found.absent))
        return await self._listed(found.hits, asked, notes, where, requester)

    async def _browsed(
        self, asked: SearchAsked, servers: Sequence[str], where: Whereabouts, requester: Requester
    ) -> str:
        """The tools of servers by name, without a search."""
        access = self._around.access
        found, _ = await looked_up(servers, lambda server: access.renewed(server, Kind.TOOLS))
        tools = [
            (server, item)
            for server in servers
            if server in found and (snapshot := found[server].snapshot) is not None
            for item in snapshot.items
        ]
        limits = self._around.limits
        default = full_hits(limits) if asked.detail == "full" else limits.search_hits_most
        limit = asked.limit or default
        hits = await self._called(tools[:limit], where, requester)
        notes = [*asked.notes, where.unsure, not_reached(access, servers)]
        if len(tools) > limit:
            notes.append(f"These are the first of {len(tools):,} tools: find others by a query.")
        if not hits:
            names = enumerated(map(quoted, servers))
            return "\n".join(filter(None, [f"No tools to show of {names}.", *notes]))
        return await self._listed(hits, asked, notes, where, requester)

    async def _called(
        self, tools: Iterable[tuple[str, Item]], where: Whereabouts, who: Requester
    ) -> list[Hit]:
        """The tools with the names by which they can be called, where they can."""
        hits: list[Hit] = []
        for server, item in tools:
            name = self._around.exposed(server, item.key)
            try:
                meant = await self._around.naming.find(name, who, where.present)
            except ToolGone:
                continue
            if meant == (server, item.key):
                hits.append(Hit(server, item, name, 0.0))
        return hits

    def _spoken(self, hits: Sequence[Hit], where: Whereabouts) -> Mapping[str, Spoken]:
        """What programs call the tools, where there are programs."""
        speaking = self._around.speaking
        if speaking is None:
            return UNSPOKEN
        keys: dict[str, list[str]] = {}
        for hit in hits:
            keys.setdefault(hit.server, []).append(hit.item.key)
        return {it: speaking.spoken(it, keys[it], where.searched) for it in keys}

    async def _listed(
        self,
        hits: Sequence[Hit],
        asked: SearchAsked,
        notes: Iterable[str],
        where: Whereabouts,
        who: Requester,
    ) -> str:
        around = self._around
        spoken = self._spoken(hits, where) if asked.detail != "name" else UNSPOKEN
        shown = ShownHits(around.introduced, asked.detail, around.limits, spoken)
        left = hits[shown.take(hits) :]
        for server, items in shown.seen.items():
            await around.sights.saw(who, server, items)
        order = _RANKED if asked.query else _SORTED
        lead = order if asked.detail == "name" else f"{order} {_FOREIGN}"
        return "\n".join(filter(None, [lead, *shown.lines(), shown.without(left), *notes]))
