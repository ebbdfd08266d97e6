"""JSON-RPC messages from and to bytes.

The SDK reads with pydantic's JSON parser alone, which refuses a lone surrogate and deep nesting:
one odd string in one tool's schema would cost the whole listing.
"""

import json

from mcp_types import JSONRPCMessage
from pydantic_core import PydanticSerializationError

from toolcrib.adapters.jsonrpc_line import read_line

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
    """The message as UTF-8 JSON; a lone surrogate is escaped, its only form on a wire."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except PydanticSerializationError:
        fields = message.model_dump(by_alias=True, exclude_unset=True)
        return json.dumps(fields, separators=(",", ":")).encode()
