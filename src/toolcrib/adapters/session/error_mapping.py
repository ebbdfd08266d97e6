"""Turns what the SDK's dispatcher raises into the errors of the `Upstream` port."""

from collections.abc import Mapping
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

from toolcrib.adapters.http.outcome import HttpOutcome, split_outcome
from toolcrib.adapters.jsonrpc_line import BROKEN_MARK, LIMIT_MARK
from toolcrib.core.jsontypes import is_object
from toolcrib.core.quoting import excerpt, literal
from toolcrib.errors import (
    AuthRequired,
    LimitExceeded,
    RateLimited,
    ResultInvalid,
    ToolcribError,
    UpstreamRefused,
    UpstreamUnreachable,
)

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = frozenset({_UNAUTHORIZED, 403})
_TOO_MANY: Final = 429


def is_closing(error: MCPError) -> bool:
    """Whether the dispatcher itself says that the connection is over.

    A server can forge this and thereby only declare its own answer lost.
    """
    return (
        error.code == CONNECTION_CLOSED
        and error.message == "Connection closed"
        and error.data is None
    )


def map_error(error: MCPError, *, server: str, http: bool) -> ToolcribError:
    """The error of the port for an answer that is an error, from a server or a transport of ours.

    Its message is an excerpt of what the server said: from here it goes to logs, listings and
    models, and again with each attempt. Marks of ours in the data are believed: `jsonrpc_line` and
    `own_error` take those out that a server sends. `http` says whether a transport of ours wrote
    the HTTP outcome: a stdio server may forge it.
    """
    message = excerpt(error.message)
    outcome, data = split_outcome(error.data) if http else (None, error.data)
    if outcome is None:
        return _without_outcome(error.code, message, data, server)
    details = _details(outcome)
    if outcome.status in _FORBIDDEN:
        remedy = outcome.remedy or _oauth_remedy(outcome, server)
        return AuthRequired(message, server=server, remedy=remedy, details=details)
    if outcome.status == _TOO_MANY:
        return RateLimited(message, server=server, details=details)
    if outcome.from_server:
        return UpstreamRefused(
            message,
            rpc_code=error.code,
            data=data,
            server=server,
            http_status=outcome.status,
            challenge=outcome.challenge,
            retry_after=outcome.retry_after,
        )
    if outcome.fault == "too_large":
        return LimitExceeded(message, server=server, details=details)
    if outcome.fault == "unreadable":
        return ResultInvalid(message, server=server, remedy=outcome.remedy, details=details)
    return UpstreamUnreachable(message, server=server, remedy=outcome.remedy, details=details)


def _oauth_remedy(outcome: HttpOutcome, server: str) -> str | None:
    """How to configure OAuth, where a server asks for a token that nobody configured one for."""
    if outcome.status != _UNAUTHORIZED or "bearer" not in (outcome.challenge or "").lower():
        return None
    return (
        f"put a token into its headers, or add [servers.{server}.oauth] to toolcrib.toml and run "
        f"`toolcrib login {server}`"
    )


def _without_outcome(code: int, message: str, data: object, server: str) -> ToolcribError:
    if is_object(data) and BROKEN_MARK in data:
        return ResultInvalid(message, server=server)
    if is_object(data) and LIMIT_MARK in data:
        remedy = f"raise the limit {literal(data[LIMIT_MARK])}"
        return LimitExceeded(message, server=server, remedy=remedy)
    return UpstreamRefused(message, rpc_code=code, data=data, server=server)


def _details(outcome: HttpOutcome) -> Mapping[str, Any]:
    told = {
        "http_status": outcome.status,
        "challenge": outcome.challenge,
        "retry_after": outcome.retry_after,
        "never_sent": outcome.never_sent or None,
    }
    return {key: value for key, value in told.items() if value is not None}
