"""Tools whose names look like a query, for one that found nothing."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import anyio.to_thread

from toolcrib.core.naming import JOINT, near
from toolcrib.core.snapshot import Item

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
    found = near(wanted, tools, _SHOWN * 2)
    return tuple(dict.fromkeys(tools[name] for name in found))[:_SHOWN]
