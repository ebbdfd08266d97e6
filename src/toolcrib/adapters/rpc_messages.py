"""JSON-RPC messages from and to bytes.

The SDK reads with pydantic's JSON parser alone, which refuses a lone surrogate and deep nesting:
one odd string in one tool's schema would cost the whole listing.
"""

import json

from mcp_types import JSONRPCMessage
from pydantic_core import PydanticSerializationError, to_json

from toolcrib.adapters.jsonrpc_line import read_line
from toolcrib.core.finite import place_not_finite
from toolcrib.core.quoting import quoted

__all__ = ["UnreadableMessage", "read_message", "write_message"]


class UnreadableMessage(ValueError):
    """What came is not JSON-RPC. Says where, never what: the text may be anything."""


def read_message(raw: bytes | str) -> JSONRPCMessage:
    """The message in a body or an event; a batch, which MCP 2025-03-26 alone has, is none.

    Raises `UnreadableMessage`.
    """
    found = read_line(raw.encode() if isinstance(raw, str) else raw)
    if found is None:
        raise UnreadableMessage(f"{len(raw)} characters that are no JSON-RPC message")
    return found.message


def write_message(message: JSONRPCMessage) -> bytes:
    """The message as UTF-8 JSON; a lone surrogate is escaped, its only form on a wire.

    Raises `ValueError` for NaN and infinities, naming the place: pydantic's own writer would turn
    them into null, which is another value.
    """
    fields = message.model_dump(by_alias=True, exclude_unset=True)
    try:
        written = to_json(fields, inf_nan_mode="constants")
    except PydanticSerializationError:
        written = json.dumps(fields, separators=(",", ":")).encode()
    if b"NaN" in written or b"Infinity" in written:
        place = place_not_finite(fields)
        if place is not None:
            raise ValueError(f"NaN or an infinity, which JSON has not, stands at {quoted(place)}")
    return written
