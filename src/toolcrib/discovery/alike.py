"""Tools whose names look like a query, for one that found nothing."""

import re
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import Final

import anyio.to_thread

from toolcrib.core.naming import JOINT, near
from toolcrib.core.snapshot import Item

_LENGTHS: Final = 0.4, 2.4
"""How long a name may be beside what was asked: others are never alike enough."""
_COMPARED: Final = 400
"""Names that are compared letter by letter, those that share most rows: some milliseconds."""
_IN_A_ROW: Final = 3
"""Letters in a row that a name shares with the query, if it is compared at all; half of those of a
short one."""
_MOST_WANTED: Final = 128
"""Characters of a query that are looked at."""
_AT_ONCE: Final = 2_000
"""Tools that are compared on the event loop; more take so long that a thread does it."""
_SHOWN: Final = 3
_FORM: Final = re.compile(r"[^\w\s.-]+")
"""What no name has, but patterns do."""

Tool = tuple[str, str]
"""Server id and original name."""


async def alike(text: str, catalogs: Mapping[str, Sequence[Item]]) -> tuple[Tool, ...]:
    """At most three tools, those whose names are most like the text first.

    Args:
        text: The query.
        catalogs: The tools to compare with, by server.
    """
    wanted = "_".join(_FORM.sub("", text).split())
    if not wanted:
        return ()
    if sum(map(len, catalogs.values())) <= _AT_ONCE:
        return _alike(wanted, catalogs)
    return await anyio.to_thread.run_sync(_alike, wanted, catalogs)


def _alike(wanted: str, catalogs: Mapping[str, Sequence[Item]]) -> tuple[Tool, ...]:
    """A tool is compared by its own name, and by that of its server and its own."""
    tools: dict[str, Tool] = {}
    for server, items in catalogs.items():
        for item in items:
            tools.setdefault(item.key, (server, item.key))
            tools[f"{server}{JOINT}{item.key}"] = (server, item.key)
    found = near(wanted, _comparable(wanted, tools), _SHOWN * 2)
    return tuple(dict.fromkeys(tools[name] for name in found))[:_SHOWN]


def _comparable(wanted: str, names: Iterable[str]) -> list[str]:
    """The names that may be like the text, told by what costs least."""
    text = wanted[:_MOST_WANTED].lower()
    shortest, longest = (share * len(text) for share in _LENGTHS)
    row = min(_IN_A_ROW, max(1, len(text) // 2))
    rows = sorted({re.escape(text[at : at + row]) for at in range(len(text) - row + 1)})
    shared = re.compile("|".join(rows)).findall
    fitting = (name for name in names if shortest <= len(name) <= longest)
    found = [(-len(set(there)), name) for name in fitting if (there := shared(name.lower()))]
    return [name for _, name in nsmallest(_COMPARED, found)]
