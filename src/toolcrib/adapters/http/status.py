"""Answers that are not a success: status, challenge, Retry-After, the server's own error."""

import json
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final, cast

from mcp_types import ErrorData
from pydantic import ValidationError

from toolcrib.adapters.http.outcome import TRANSPORT_FAILED, HttpOutcome, join_outcome
from toolcrib.protocol.envelope import without_own

__all__ = ["describe_status", "may_pass", "own_error", "parse_retry_after", "status_error"]

_CHALLENGE_LENGTH: Final = 4_096

_LONGEST_WAIT: Final = 86_400.0
"""Seconds of a `Retry-After` that are believed."""

_REMEDIES: Final[dict[int, str]] = {
    400: "the server does not accept the request's form; check that it speaks this MCP revision",
    401: "configure the credential it asks for, or renew one that has run out",
    403: "the credential is not allowed to do this; ask for more rights or use another",
    404: "check the path of its URL; many servers answer at /mcp",
    405: "check the path of its URL, and that it speaks Streamable HTTP",
    406: "the server cannot answer in JSON or as an event stream; check the path of its URL",
    408: "the server gave up waiting; check the connection to it",
    413: "send smaller arguments, or raise the server's limit",
    421: "the server does not accept this host name; add it to the hosts that it allows",
    429: "wait as long as it asks, and call it less often",
    431: "the server finds the headers too large; shorten the configured ones",
}
_SERVER_REMEDY: Final = "look into the server's log, or wait until it is up again"
_CLIENT_REMEDY: Final = "check URL and headers of the server's configuration"
_FIRST_SERVER_ERROR: Final = 500
_NOT_IMPLEMENTED: Final = 501
_PASSING: Final = frozenset({408, 409, 425, 429})
"""Client errors that may pass. 409: the server has not noticed that our last stream is gone."""


def parse_retry_after(value: str | None, date: str | None) -> float | None:
    """Seconds from a `Retry-After` in either form (RFC 9110, 10.2.3); None if it is unreadable.

    A date is compared with the answer's own `Date`, so that a server whose clock is wrong still
    means what it says and no clock of ours is read; without a `Date` it tells nothing. More than
    a day counts as a day: nobody who asks for that means it to the second.
    """
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(float(text), _LONGEST_WAIT)
    try:
        until, sent = parsedate_to_datetime(text), parsedate_to_datetime(date or "")
        return min(max(0.0, (until - sent).total_seconds()), _LONGEST_WAIT)
    except (TypeError, ValueError, OverflowError):
        return None


def may_pass(status: int) -> bool:
    """Whether asking again later may help."""
    return status in _PASSING or (status >= _FIRST_SERVER_ERROR and status != _NOT_IMPLEMENTED)


def describe_status(status: int, retry_after: float | None = None) -> str:
    """What a status means for whoever operates the crib, and what to do."""
    try:
        phrase = f" {HTTPStatus(status).phrase}"
    except ValueError:
        phrase = ""
    remedy = _REMEDIES.get(status)
    if remedy is None:
        remedy = _SERVER_REMEDY if status >= _FIRST_SERVER_ERROR else _CLIENT_REMEDY
    wait = f", asking to wait {retry_after:g} s" if retry_after is not None else ""
    return f"the server answered HTTP {status}{phrase}{wait}; {remedy}"


def own_error(body: bytes) -> ErrorData | None:
    """The JSON-RPC error in a body; None for others, such as OAuth's with a text in `error`.

    `id` and `jsonrpc` are not asked for: a server that refuses a request early may not know them.
    Keys of ours in its data are taken out.
    """
    try:
        message: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    try:
        error = ErrorData.model_validate(cast("dict[str, Any]", message).get("error"))
    except ValidationError:
        return None
    error.data = without_own(error.data)
    return error


def status_error(status: int, headers: Mapping[str, str], own: ErrorData | None) -> ErrorData:
    """The JSON-RPC error for an answer that is not a success.

    The server's own error keeps code, message and data; without one the error is ours.
    """
    challenge = headers.get("www-authenticate")
    retry_after = parse_retry_after(headers.get("retry-after"), headers.get("date"))
    outcome = HttpOutcome(
        status=status,
        challenge=challenge[:_CHALLENGE_LENGTH] if challenge is not None else None,
        retry_after=retry_after,
        from_server=own is not None,
    )
    error = own or ErrorData(code=TRANSPORT_FAILED, message=describe_status(status, retry_after))
    return join_outcome(error, outcome)
