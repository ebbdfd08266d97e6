"""JSON-RPC messages as lines of text, which is all there is to the stdio framing."""

from collections.abc import Iterator
from typing import Final

from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from toolcrib.calls.results.encoding import NotFinite, encode
from toolcrib.core.jsontypes import is_object
from toolcrib.wire.jsonwire import decode, encode_error, encode_response

TOO_LONG: Final = b""
"""What `LineSplitter` yields for a line that was too long: no message is an empty line."""


class LineSplitter:
    """Cuts a stream of bytes into lines, within a bound."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._begun = bytearray()
        self._skipping = False

    def fed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines a chunk completes, without their ends; `TOO_LONG` for each that is dropped."""
        *complete, rest = chunk.split(b"\n")
        for part in complete:
            line, skipped = bytes(self._begun) + part, self._skipping
            self._begun.clear()
            self._skipping = False
            if skipped:
                continue
            if len(line) > self._limit:
                yield TOO_LONG
            elif line.strip():
                yield line
        if self._skipping:
            return
        self._begun += rest
        if len(self._begun) > self._limit:
            self._begun.clear()
            self._skipping = True
            yield TOO_LONG


def message_of(line: bytes) -> SessionMessage | JSONRPCError:
    """The message on a line, or the error that answers it."""
    if line is TOO_LONG:
        return _error(INVALID_REQUEST, "the line is longer than line_bytes allows")
    try:
        fields = decode(line)
        if _has_no_usable_id(fields):
            return _error(INVALID_REQUEST, "the id of a request is a text or a whole number")
        return SessionMessage(jsonrpc_message_adapter.validate_python(fields, by_name=False))
    except ValidationError:
        return _error(INVALID_REQUEST, "the line is no JSON-RPC message")
    except ValueError:
        return _error(PARSE_ERROR, "Parse error")


def line_of(message: SessionMessage) -> bytes:
    """A message as one line; results are encoded as they are, without another look at them.

    A result that there is no JSON for is answered with an error: the line is written in any case.
    """
    content = message.message
    if isinstance(content, JSONRPCResponse):
        try:
            return encode_response(content.id, content.result) + b"\n"
        except NotFinite as broken:
            error = {"code": INTERNAL_ERROR, "message": f"the result is broken: {broken}"}
            return encode_error(content.id, error) + b"\n"
    return encode(content.model_dump(by_alias=True, exclude_unset=True)) + b"\n"


def _has_no_usable_id(fields: object) -> bool:
    """Whether it asks for an answer under an id that no request can have; SDKs ignore such an id.

    Then they take the request for a notification, and its host waits without end.
    """
    if not is_object(fields) or "method" not in fields or "id" not in fields:
        return False
    request_id = fields["id"]
    return isinstance(request_id, bool) or not isinstance(request_id, int | str)


def _error(code: int, text: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=text))
