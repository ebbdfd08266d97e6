"""JSON to and from the wire, with large members that were encoded before.

Listings are encoded once per content and spliced into every answer; what differs from answer to
answer (`ttlMs`, `_meta`) is small and encoded each time.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from toolcrib.calls.results.encoding import encode


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A result whose one large member is encoded already."""

    field: str
    """The name of the large member, such as `tools`."""
    items: Sequence[dict[str, Any]]
    """Its value, for transports that take objects."""
    encoded: bytes
    """Its value as JSON."""
    members: dict[str, Any]
    """All other members of the result."""

    def as_dict(self) -> dict[str, Any]:
        """The result as one object; the items are shared, not copied."""
        return {self.field: list(self.items), **self.members}


Result = dict[str, Any] | Prepared


def encode_result(result: Result) -> bytes:
    """Encode a result, splicing what is encoded already."""
    if not isinstance(result, Prepared):
        return encode(result)
    rest = encode(result.members)[1:-1]
    head = encode(result.field) + b":" + result.encoded
    return b"{" + head + (b"," + rest if rest else b"") + b"}"


def encode_response(request_id: str | int, result: Result) -> bytes:
    """Encode a JSON-RPC success response."""
    return b"".join(
        (b'{"jsonrpc":"2.0","id":', encode(request_id), b',"result":', encode_result(result), b"}")
    )


def encode_error(request_id: str | int | None, error: dict[str, Any]) -> bytes:
    """Encode a JSON-RPC error response; an id that could not be read is null."""
    return encode({"jsonrpc": "2.0", "id": request_id, "error": error})


def decode(body: bytes) -> object:
    """Decode UTF-8 JSON as received; ValueError for anything else, and for too deep nesting.

    The words NaN and Infinity are no JSON, and a number beyond a float's range would come out as an
    infinity, which cannot be sent on.
    """
    try:
        return json.loads(body.decode(), parse_constant=_no_json, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _no_json(word: str) -> float:
    raise ValueError(f"{word} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is beyond the range of a float")
    return number
