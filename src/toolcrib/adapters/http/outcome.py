"""What HTTP itself said about a request, kept beside the JSON-RPC error that the request ended in.

The SDK's dispatcher hands on an error's code, message and data and nothing else, so the outcome
travels in `data` under `HTTP_OUTCOME`. Only our own transports write that key: whatever a server
puts there is taken out.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from mcp_types import ErrorData

from toolcrib.adapters.stream_watch import HTTP_OUTCOME

__all__ = ["TRANSPORT_FAILED", "Fault", "HttpOutcome", "join_outcome", "split_outcome"]

TRANSPORT_FAILED: Final = -31_000
"""Code of an error that no server sent: outside of -32768 to -32000, which JSON-RPC reserves."""

Fault = Literal[
    "accepted",
    "authorization",
    "closed",
    "connect_failed",
    "connect_refused",
    "connect_timeout",
    "content_type",
    "dns",
    "endpoint",
    "protocol",
    "proxy",
    "redirect",
    "reset",
    "tls",
    "too_large",
    "unexpected",
    "unreadable",
]
"""What went wrong where the status alone does not say it; `http_faults` has a text for each."""

_NEVER_SENT: Final[frozenset[Fault]] = frozenset(
    {
        "authorization",
        "connect_failed",
        "connect_refused",
        "connect_timeout",
        "dns",
        "proxy",
        "tls",
    }
)


@dataclass(frozen=True, slots=True)
class HttpOutcome:
    """How one HTTP exchange ended that brought no result."""

    status: int | None = None
    """The status of the answer; None when none came."""
    fault: Fault | None = None
    """What broke; None where the status is all there is to say."""
    challenge: str | None = None
    """The `WWW-Authenticate` header, as received, clipped to 4,096 characters."""
    retry_after: float | None = None
    """Seconds from `Retry-After`, whichever form it had."""
    remedy: str | None = None
    """What to do about it, where it is not a matter of the status alone."""
    from_server: bool = False
    """Whether code, message and data are the server's own, from a JSON-RPC error in the body.

    Only such an error is evidence of what the server speaks (MCP 2026-07-28, versioning: fallback).
    """

    @property
    def never_sent(self) -> bool:
        """Whether the server certainly did not act on the request: sending it again is safe."""
        return self.status is None and self.fault in _NEVER_SENT


def join_outcome(error: ErrorData, outcome: HttpOutcome) -> ErrorData:
    """The error with the outcome in its data.

    An object keeps its keys and gains one; anything else moves to `data` inside the private object.
    """
    note: dict[str, Any] = {
        "status": outcome.status,
        "error": outcome.fault,
        "challenge": outcome.challenge,
        "retry_after": outcome.retry_after,
        "remedy": outcome.remedy,
        "from_server": outcome.from_server,
    }
    data: object = error.data
    merged: dict[str, Any] = {}
    if isinstance(data, dict):
        merged = {**cast("dict[str, Any]", data)}
    elif data is not None:
        note["data"] = data
    return ErrorData(code=error.code, message=error.message, data={**merged, HTTP_OUTCOME: note})


def split_outcome(data: object) -> tuple[HttpOutcome | None, object]:
    """The outcome in an error's data, if it has one, and the data as the server sent it."""
    if not isinstance(data, dict) or HTTP_OUTCOME not in data:
        return None, cast("object", data)
    rest = dict(cast("dict[str, Any]", data))
    note = rest.pop(HTTP_OUTCOME)
    if not isinstance(note, dict):
        return None, rest or None
    told = cast("dict[str, Any]", note)
    outcome = HttpOutcome(
        status=told.get("status"),
        fault=told.get("error"),
        challenge=told.get("challenge"),
        retry_after=told.get("retry_after"),
        remedy=told.get("remedy"),
        from_server=bool(told.get("from_server")),
    )
    return outcome, told.get("data", rest or None)
