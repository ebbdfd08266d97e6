"""An API that answers with something other than success: which error that is, and what to do.

Nothing of what it says goes any further but its own short code for the trouble: its sentences
repeat questions, and some of them repeat keys.
"""

import json
import re
from http import HTTPStatus
from typing import Final

import httpx2

from toolcrib.adapters.http.status import parse_retry_after
from toolcrib.core.jsontypes import is_object
from toolcrib.errors import AuthRequired, RateLimited, ToolcribError, UpstreamUnreachable

__all__ = ["refused"]

_FORBIDDEN: Final = frozenset({401, 403})
_TOO_MANY: Final = 429
_FIRST_SERVER_ERROR: Final = 500
_REMEDIES: Final = {
    400: "check that the model takes chat requests, and which API its endpoint has",
    401: "configure the key that it wants",
    402: "look at the account that pays for it",
    403: "use a key that may use this model",
    404: "check the URL and the name of the model",
    405: "check the URL, and which API it is that of",
    413: "give it fewer candidates",
    429: "ask it less often (per_minute)",
}
_CODE: Final = re.compile(r"[a-z]+(?:_[a-z]+){1,4}")
"""Such as `model_not_found`: words with `_` between them. No key looks like that."""


def refused(status: int, headers: httpx2.Headers, body: bytes) -> ToolcribError:
    """The error for an answer that is not a success.

    `details` has the status, and `retry_after` in seconds where the API named a time.
    """
    try:
        phrase = f" {HTTPStatus(status).phrase}"
    except ValueError:
        phrase = ""
    code = _code(body)
    message = f"the small model's API answered HTTP {status}{phrase}{f' ({code})' if code else ''}"
    details: dict[str, object] = {"status": status}
    wait = parse_retry_after(headers.get("retry-after"), headers.get("date"))
    if wait is not None:
        details["retry_after"] = wait
    return _kind(status)(message, remedy=_remedy(status), details=details)


def _kind(status: int) -> type[ToolcribError]:
    if status in _FORBIDDEN:
        return AuthRequired
    return RateLimited if status == _TOO_MANY else UpstreamUnreachable


def _remedy(status: int) -> str:
    if status < HTTPStatus.BAD_REQUEST:
        return "configure the URL that answers by itself; redirects are not followed"
    known = _REMEDIES.get(status)
    if known is not None:
        return known
    if status >= _FIRST_SERVER_ERROR:
        return "look at the state of its service, or wait"
    return "check the URL and the name of the model"


def _code(body: bytes) -> str:
    """The API's own word for the trouble; empty where it has none that can be shown."""
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    error: object = value.get("error") if is_object(value) else None
    if not is_object(error):
        return ""
    for member in ("code", "type"):
        word = error.get(member)
        if isinstance(word, str) and len(word) <= 40 and _CODE.fullmatch(word):  # noqa: PLR2004
            return word
    return ""
