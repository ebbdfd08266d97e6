"""Why nothing is held of a server, in a few words, for whoever misses what it may have."""

from collections.abc import Iterable
from typing import Final

from toolcrib.catalog.access import CatalogAccess
from toolcrib.catalog.reading import Reading
from toolcrib.core.invisible import visible
from toolcrib.core.quoting import clipped, enumerated, quoted
from toolcrib.core.snapshot import Kind

_REASON: Final = 100
"""Characters of a reason."""

_ROOM: Final = 400
"""Characters of all servers and their reasons."""


def reason(reading: Reading, access: CatalogAccess) -> str:
    """Why nothing is held, as a model may read it."""
    if reading.server not in access.server_ids():
        return _one_line(reading.trouble or "the server is not configured any more")
    status = access.status(reading.server)
    return _one_line(status.told or reading.trouble or status.state)


def away(access: CatalogAccess, servers: Iterable[str], kind: Kind = Kind.TOOLS) -> str:
    """Those of these servers of which nothing is held, each with the reason; empty for none.

    Nothing is waited for. A server that is not configured any more is left out.
    """
    there = set(access.server_ids())
    held = (access.peek(server, kind) for server in servers if server in there)
    missing = (f"{quoted(it.server)} ({reason(it, access)})" for it in held if it.snapshot is None)
    return enumerated(missing, _ROOM)


def _one_line(text: str) -> str:
    """What may be a server's own text, on one line and seen as it is."""
    line = " ".join(text.split())
    return clipped(" ".join(visible(line).split()), _REASON)
