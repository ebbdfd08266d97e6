"""One line of a stdio server as a JSON-RPC message, or the verdict that it is none.

MCP 2026-07-28, stdio: one message is one line. Real servers also print banners, logs and blank
lines there, answer with malformed results, and write JSON that only a lenient parser reads (lone
surrogates, bytes that are no UTF-8): what can be understood is, and the rest is noise.

Errors made here carry marks in their data; a server's errors are freed of such marks as they are
read, so that no server speaks with our voice, whatever the transport.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast

from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from pydantic import ValidationError
from pydantic_core import from_json

from toolcrib.adapters.line_splitter import LongLine
from toolcrib.core.jsontypes import is_object
from toolcrib.protocol.envelope import OWN_PREFIX, without_own

LIMIT_MARK: Final = f"{OWN_PREFIX}limit"
"""Key in the `data` of an error made here: the name of the limit that an answer exceeded."""

BROKEN_MARK: Final = f"{OWN_PREFIX}broken"
"""Key in the `data` of an error made here: the answer came, but is no result."""

_ID = rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,128}")'
_ANSWER_HEAD = re.compile(
    rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*' + _ID + rb'\s*,\s*"(?:result|error)"'
)
_ANSWER_START = re.compile(rb'\s*\{\s*"(?:result|error)"\s*:')
_ANSWER_TAIL = re.compile(rb',\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*' + _ID + rb"\s*\}\s*$")


def read_line(line: bytes) -> SessionMessage | None:
    """The message on a line; None for noise: no JSON, an array, an object that is no JSON-RPC."""
    parsed = _parse(line)
    if not is_object(parsed) or parsed.get("jsonrpc") != "2.0":
        return None
    try:
        message = _asked(parsed) if "method" in parsed else _answered(parsed)
    except ValidationError:
        return None
    return None if message is None else SessionMessage(message)


def answer_of_long_line(line: LongLine, limit: int) -> SessionMessage | None:
    """An error in place of the answer that a too long line carried, where its id can be told.

    Only the two orders of keys that the common libraries write are read, and only at the very
    ends of the line, so that an `id` inside a result is never taken for the answer's own.
    """
    found = _ANSWER_HEAD.match(line.head)
    if found is None and _ANSWER_START.match(line.head):
        found = _ANSWER_TAIL.search(line.tail)
    if found is None:
        return None
    text = f"the answer has {line.size} bytes, more than the {limit} of one line"
    error = ErrorData(code=INTERNAL_ERROR, message=text, data={LIMIT_MARK: "line_bytes"})
    request_id = cast("RequestId", json.loads(found[1]))
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request_id, error=error))


def broken_answer(text: str) -> ErrorData:
    """The error in place of an answer that came but cannot be used."""
    return ErrorData(code=INTERNAL_ERROR, message=text, data={BROKEN_MARK: True})


def _parse(line: bytes) -> object:
    try:
        return from_json(line)
    except ValueError:
        pass
    text = line.decode("utf-8", "replace").lstrip("\ufeff").strip()
    if not text.startswith("{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _asked(fields: Mapping[str, Any]) -> JSONRPCMessage:
    kept = {key: fields[key] for key in ("jsonrpc", "id", "method", "params") if key in fields}
    if kept.get("id") is None:
        kept.pop("id", None)
        return JSONRPCNotification(**kept)
    return JSONRPCRequest(**kept)


def _answered(fields: Mapping[str, Any]) -> JSONRPCMessage | None:
    if "error" in fields and fields["error"] is not None:
        error = _error(fields["error"])
        return JSONRPCError(jsonrpc="2.0", id=fields.get("id"), error=error)
    if "result" not in fields:
        return None
    result: object = fields["result"]
    if not is_object(result):
        error = broken_answer("the server's result is no JSON object")
        return JSONRPCError(jsonrpc="2.0", id=fields.get("id"), error=error)
    return JSONRPCResponse(jsonrpc="2.0", id=cast("RequestId", fields.get("id")), result=result)


def _error(raw: object) -> ErrorData:
    """The error object, with what is missing or of the wrong type filled in."""
    if not is_object(raw):
        return ErrorData(code=INTERNAL_ERROR, message=str(raw))
    code, message = raw.get("code"), raw.get("message")
    return ErrorData(
        code=code if isinstance(code, int) else INTERNAL_ERROR,
        message=message if isinstance(message, str) else "the server's error has no message",
        data=without_own(raw.get("data")),
    )
