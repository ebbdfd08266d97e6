"""What to say of servers instead of hits: which there are, and where nothing was found, why."""

from collections.abc import Iterable, Sequence
from typing import Final

from toolcrib.core.quoting import enumerated, quoted
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.hits import Introduced
from toolcrib.discovery.meta.current import looked_up
from toolcrib.discovery.meta.grouped import size
from toolcrib.discovery.meta.one_line import exact, spoken
from toolcrib.discovery.meta.seams import Surroundings
from toolcrib.discovery.meta.whereabouts import Whereabouts, not_reached, readings

_ABOUT: Final = 120
"""Characters of what a server says of itself, in an overview."""

_RESERVED: Final = 1_536
"""Bytes of an overview for its notes."""


async def overview(around: Surroundings, where: Whereabouts) -> str:
    """The servers with how many tools they have, and what they say of themselves."""
    access = around.access
    found, _ = await looked_up(where.searched, lambda server: access.renewed(server, Kind.TOOLS))
    counts = {
        server: len(snapshot)
        for server in where.searched
        if server in found and (snapshot := found[server].snapshot) is not None
    }
    room = around.limits.search_bytes - _RESERVED
    lines = [_line(server, count, around.introduced) for server, count in counts.items()]
    if sum(map(size, lines)) > room:
        lines = [_line(server, count, None) for server, count in counts.items()]
    shown = _within(lines, room)
    notes = [
        f"{len(lines) - len(shown)} more servers left out." if len(shown) < len(lines) else "",
        where.unsure,
        not_reached(access, where.searched),
        _on_demand(where.on_demand),
        "Search by what a tool should do; with server and an empty query, all tools of a server.",
    ]
    lead = f"{sum(counts.values()):,} tools on {len(counts):,} servers:"
    return "\n".join(filter(None, [lead, *shown, *notes]))


def nothing_found(
    around: Surroundings,
    where: Whereabouts,
    servers: Sequence[str],
    query: str,
    *,
    near: Iterable[str],
    notes: Iterable[str],
) -> str:
    """What may help where a search among `servers` brought no hit."""
    access = around.access
    held = [
        f"{quoted(it.server)} ({_tools(len(it.snapshot))})"
        for it in readings(access, servers)
        if it.snapshot is not None
    ]
    names = enumerated(near)
    lines = [
        f"No tool found for {quoted(query, 120)}.",
        f"Similar names: {names}." if names else "",
        *notes,
        f"Searched: {enumerated(held, 600)}." if held else "No server was there to be searched.",
        not_reached(access, servers),
        _on_demand(where.on_demand),
        "Try other words, or fewer; an empty query tells of all servers." if held else "",
    ]
    return "\n".join(filter(None, lines))


def _line(server: str, count: int, introduced: Introduced | None) -> str:
    about = spoken(introduced.about(server), _ABOUT) if introduced else ""
    line = f"- {exact(server)} ({_tools(count)})"
    return f"{line}: {about}" if about else line


def _tools(count: int) -> str:
    return f"{count:,} tool{'' if count == 1 else 's'}"


def _within(lines: Sequence[str], room: int) -> Sequence[str]:
    for taken, line in enumerate(lines):
        room -= size(line)
        if room < 0:
            return lines[:taken]
    return lines


def _on_demand(servers: Sequence[str]) -> str:
    if not servers:
        return ""
    names = enumerated(map(quoted, servers))
    return f"Not enabled: {names}. search_available_servers describes them, enable_server adds one."
