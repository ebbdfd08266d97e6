"""What a caller is told of a tool whose server is not there, or would have to be enabled."""

from collections.abc import Collection

from toolcrib.core.quoting import enumerated, quoted
from toolcrib.errors import NotAllowed


def not_enabled(name: str, servers: Collection[str]) -> NotAllowed:
    """The error for an exposed name of a server on demand, or of one of several.

    Args:
        name: As exposed.
        servers: At least one; the first by code point is what the error is about.
    """
    every = sorted(servers)
    told = enumerated(map(quoted, every))
    if len(every) == 1:
        what = f"{quoted(name)} is of server {told}, which is not enabled"
    else:
        what = f"{quoted(name)} is of one of the servers {told}, which are not enabled"
    return NotAllowed(
        f"{what}: call enable_server for it first", server=every[0], details={"enable": every}
    )


def not_reached(servers: str) -> str:
    """The end of a sentence about a name that nobody has; empty where every server was reached.

    Args:
        servers: From `catalog.absence.away`.
    """
    return f"; not reached: {servers}" if servers else ""
