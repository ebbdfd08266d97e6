"""JSON-RPC messages as lines of text, which is all there is to the stdio framing."""

from collections.abc import Iterator
from typing import Final

from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from toolcrib.wire.jsonwire import decode, encode, encode_response

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
        return SessionMessage(jsonrpc_message_adapter.validate_python(decode(line), by_name=False))
    except ValidationError:
        return _error(INVALID_REQUEST, "the line is no JSON-RPC message")
    except ValueError:
        return _error(PARSE_ERROR, "Parse error")


def line_of(message: SessionMessage) -> bytes:
    """A message as one line; results are encoded as they are, without another look at them."""
    content = message.message
    if isinstance(content, JSONRPCResponse):
        return encode_response(content.id, content.result) + b"\n"
    return encode(content.model_dump(by_alias=True, exclude_unset=True)) + b"\n"


def _error(code: int, text: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=text))
