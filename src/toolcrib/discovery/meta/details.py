"""`get_tool_details`: whole definitions by name, and candidates for names that nothing has."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolcrib.calls.call import Requester
from toolcrib.catalog.absence import reason
from toolcrib.core.jsontypes import is_array
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.core.snapshot import Item, Kind
from toolcrib.discovery.hits import Found, Query
from toolcrib.discovery.meta.arguments import DETAILS_MOST, names_asked
from toolcrib.discovery.meta.current import looked_up
from toolcrib.discovery.meta.grouped import size
from toolcrib.discovery.meta.one_line import exact
from toolcrib.discovery.meta.seams import Surroundings
from toolcrib.discovery.meta.whereabouts import Whereabouts, not_reached
from toolcrib.discovery.meta.whole import whole
from toolcrib.discovery.unavailable import not_enabled
from toolcrib.errors import BadArguments, ToolGone

_RESERVED: Final = 8_192
"""Bytes of an answer for names that have no definition, at most a quarter of it."""

_TOLD: Final = 50
"""Names without an answer that may be listed."""

_LEAST: Final = 128
"""Bytes of the shortest definition."""

_GUESSED: Final = 5
"""Unknown names in one call for which similar ones are looked for: that takes long in a large
catalog."""

_CANDIDATES: Final = 3
"""Names that are told for one that nothing has."""

_QUERY: Final = 100
"""Characters of an unknown name that are searched for."""


@dataclass(frozen=True, slots=True)
class _Tool:
    """A name that was asked for, and the tool it stands for."""

    name: str
    server: str
    key: str


class Details:
    """Answers `get_tool_details` for one principal.

    Args:
        around: What it works with.
        own: The names of all meta-tools.
    """

    def __init__(self, around: Surroundings, own: Collection[str]) -> None:
        self._around = around
        self._own = own

    async def answer(self, arguments: Mapping[str, Any], requester: Requester) -> str:
        """The text of the answer. Raises `BadArguments`."""
        names = names_asked(arguments)
        where = await Whereabouts.of(self._around, requester)
        tools: list[_Tool] = []
        notes: list[str] = []
        for name in names[:DETAILS_MOST]:
            guess = len(notes) < _GUESSED
            found = await self._meant(name, where, requester, guess=guess)
            if isinstance(found, _Tool):
                tools.append(found)
            else:
                notes.append(found)
        items = await self._held(tools, where, notes)
        lines, left = await self._shown(items, where, requester)
        left += names[DETAILS_MOST:]
        if notes:
            notes += [where.unsure, not_reached(self._around.access, where.searched)]
        if left:
            told = enumerated(map(quoted, left[:_TOLD]), 600)
            if len(left) > _TOLD:
                told = f"{told}, and {len(left) - _TOLD:,} more names"
            notes.append(f"Left out: {told}. Ask for a few at a time, {DETAILS_MOST} at most.")
        return "\n".join(filter(None, [*lines, *notes]))

    async def _meant(
        self, name: str, where: Whereabouts, who: Requester, *, guess: bool
    ) -> _Tool | str:
        """The tool, or a sentence on why there is none."""
        if name in self._own:
            return f"{exact(name)} is in your own list of tools: call it directly."
        try:
            server, key = await self._around.naming.find(name, who, where.present)
        except ToolGone as gone:
            servers = await self._around.enabling.to_enable(who, name)
            if servers:
                return f"{not_enabled(name, servers).message}."
            return await self._unknown(name, where, gone.details.get("near"), guess=guess)
        if server in where.on_demand:
            return f"{not_enabled(name, (server,)).message}."
        return _Tool(name, server, key)

    async def _held(
        self, tools: list[_Tool], where: Whereabouts, notes: list[str]
    ) -> list[tuple[_Tool, Item]]:
        """The definitions as a call would be admitted against; what has none goes to the notes."""
        access = self._around.access
        found, failed = await looked_up(
            [tool.server for tool in tools], lambda server: access.read_one(server, Kind.TOOLS)
        )
        items: list[tuple[_Tool, Item]] = []
        for tool in tools:
            reading = found.get(tool.server)
            snapshot = None if reading is None else reading.snapshot
            item = None if snapshot is None else snapshot.get(tool.key)
            if item is not None:
                items.append((tool, item))
            elif tool.server in failed:
                notes.append(f"{quoted(tool.name)}: {failed[tool.server].for_model()}.")
            elif reading is not None and snapshot is None:
                why = reason(reading, access)
                notes.append(f"{quoted(tool.name)}: its server was not reached ({why}).")
            else:
                guess = len(notes) < _GUESSED
                notes.append(await self._unknown(tool.name, where, None, guess=guess))
        return items

    async def _shown(
        self, items: list[tuple[_Tool, Item]], where: Whereabouts, who: Requester
    ) -> tuple[list[str], list[str]]:
        """The lines of the answer, and the names that had no room in it."""
        most = self._around.limits.clip_bytes
        room = most - min(_RESERVED, most // 4)
        lines: list[str] = []
        left: list[str] = []
        for tool, item in items:
            of = f"{exact(tool.key)} of server {exact(tool.server)}{self._imported(tool, where)}"
            heading = f"## {exact(tool.name)} ({of})"
            fits = not lines or room - size(heading) >= _LEAST  # else nothing would, tried for long
            shown = whole(item, room - size(heading), cut=not lines) if fits else None
            if shown is None:
                left.append(tool.name)
                continue
            lines += [heading, shown.text]
            room -= size(heading) + size(shown.text)
            if shown.seen:
                await self._around.sights.saw(who, tool.server, (item,))
        return lines, left

    def _imported(self, tool: _Tool, where: Whereabouts) -> str:
        """What programs call it, where there are programs."""
        speaking = self._around.speaking
        if speaking is None:
            return ""
        spoken = speaking.spoken(tool.server, (tool.key,), where.searched)
        function = spoken.functions.get(tool.key)
        return "" if function is None else f"; in programs {spoken.module}.{function}"

    async def _unknown(self, name: str, where: Whereabouts, alike: object, *, guess: bool) -> str:
        """A sentence on a name that nothing has, with names that may be meant."""
        names = [text for text in alike if isinstance(text, str)] if is_array(alike) else []
        query = Query(
            name[:_QUERY],
            servers=where.searched if self._around.enabling.dynamic else None,
            limit=_CANDIDATES,
            method="lexical",
            present=where.present,
        )
        try:
            found = await self._around.search.find(query) if guess else Found((), "lexical")
            names += [*(hit.name for hit in found.hits), *found.near]
        except BadArguments:
            pass
        told = list(dict.fromkeys(names))[:_CANDIDATES]
        hint = f"similar: {enumerated(map(exact, told))}" if told else "search for what it does"
        return f"There is no tool {quoted(name)}; {hint}."
