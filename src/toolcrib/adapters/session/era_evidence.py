"""What an error in the middle of a connection says about the era of the server that sent it."""

import re
from typing import Final

from toolcrib.errors import ToolcribError, UpstreamRefused
from toolcrib.ports import ServerFacts
from toolcrib.protocol.eras import MODERN_ERRORS, UNSUPPORTED_VERSION

_UNKNOWN_HERE: Final = frozenset({400, 404, 405})
"""Statuses by which a server of the other era says that it does not know what it was sent."""

_DEFINED: Final = MODERN_ERRORS | {-32700, -32600, -32601, -32602, -32603}
"""Codes of JSON-RPC and MCP 2026-07-28. A server of that era sends no other with those statuses."""

_NO_SESSION: Final = re.compile(r"session id|session not found|not initialized", re.IGNORECASE)


def http_status(error: ToolcribError) -> int | None:
    """The status that carried an error, None where there was none."""
    if isinstance(error, UpstreamRefused):
        return error.http_status
    status: object = error.details.get("http_status")
    return status if isinstance(status, int) else None


def is_foreign(error: ToolcribError) -> bool:
    """Whether an HTTP error is an answer that no server of MCP 2026-07-28 gives.

    MCP 2026-07-28, Streamable HTTP: 400, 404 or 405 without a JSON-RPC error of that revision in
    the body is evidence of an older server.
    """
    if http_status(error) not in _UNKNOWN_HERE:
        return False
    return not isinstance(error, UpstreamRefused) or error.rpc_code not in _DEFINED


def contradiction(error: ToolcribError, facts: ServerFacts) -> str:
    """Why the connection cannot go on after this error, in one sentence; empty where it can.

    A server behind a URL may be replaced by one that speaks another revision, or forget the
    session without the 404 that the specification asks for: a new connection meets both.
    """
    if not isinstance(error, UpstreamRefused):
        return ""
    if error.rpc_code == UNSUPPORTED_VERSION:
        return f"the server no longer speaks MCP {facts.protocol_version}"
    if facts.era == "handshake" and is_foreign(error) and _NO_SESSION.search(error.message):
        return "the server no longer knows the session"
    return ""
