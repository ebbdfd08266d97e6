"""Errors of a server, translated for our own client.

An error code speaks about one hop. A server's -32022 says that *it* does not speak our revision;
passed on, it would say that *we* do not, and clients act on that: they renegotiate, list anew,
drop their caches (DESIGN section 6; MCP 2026-07-28, basic: error codes). So the code of a server
never leaves as it is. A tool call becomes a result with `isError`, which the model can read;
anything else becomes invalid params, an internal error, or the server's own code where that lies
outside the range JSON-RPC reserves.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from toolcrib.core.jsontypes import is_object
from toolcrib.core.quoting import clipped, enumerated, quoted
from toolcrib.protocol.eras import HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION

INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603
_RESERVED = range(-32768, -31999)
"""Codes that JSON-RPC keeps for itself and for servers: -32768 to -32000."""

_MESSAGE = 2_000
_INT32 = 2**31


@dataclass(frozen=True, slots=True)
class ToolErrorResult:
    """Answer the call with a result whose `isError` is true and whose text is this."""

    text: str


@dataclass(frozen=True, slots=True)
class RpcError:
    """Answer with this JSON-RPC error."""

    code: int
    message: str


Laundered = ToolErrorResult | RpcError


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a code of a server amounts to."""

    says: str
    """Follows the name of the server."""
    code: int = INTERNAL_ERROR
    """The code that leaves where no tool was called."""
    quotes: bool = True
    """Whether the server's own message follows."""


_MEANINGS: Mapping[int, _Meaning] = {
    -32700: _Meaning("could not read the request"),
    -32600: _Meaning("refused the form of the request"),
    -32601: _Meaning("does not know this method"),
    -32602: _Meaning("refused the parameters", INVALID_PARAMS),
    -32603: _Meaning("had an internal error"),
    -32002: _Meaning("has no such resource", INVALID_PARAMS),
    HEADER_MISMATCH: _Meaning("did not accept how toolcrib addressed it", quotes=False),
    MISSING_CAPABILITY: _Meaning("needs a client capability that is not offered here"),
    UNSUPPORTED_VERSION: _Meaning("stopped speaking the agreed protocol revision", quotes=False),
    -32042: _Meaning(
        "wants a person to visit a web page first, which this host cannot show", quotes=False
    ),
}
"""Codes with a meaning in some revision; all others in the reserved range mean nothing."""

_UNKNOWN = _Meaning("failed")


def launder(
    code: object, message: object, data: object = None, *, server: str, method: str = "tools/call"
) -> Laundered:
    """What our client is told instead of a server's JSON-RPC error.

    Args:
        code: The error's code as received; anything but an integer means nothing.
        message: Its message as received.
        data: Its data; only names of missing capabilities are taken from it, the rest stays here.
        server: The configured id of the server.
        method: The method that failed upstream.
    """
    number = code if isinstance(code, int) and not isinstance(code, bool) else None
    meaning = _UNKNOWN if number is None else _MEANINGS.get(number, _UNKNOWN)
    own = clipped(message, _MESSAGE).strip() if isinstance(message, str) else ""
    text = f"{quoted(server)} {meaning.says}{_capabilities(number, data)}"
    if own and meaning.quotes:
        text = f"{text}: {own}"
    if method == "tools/call":
        return ToolErrorResult(text)
    if number is not None and number not in _RESERVED and -_INT32 <= number < _INT32:
        return RpcError(number, text)
    return RpcError(meaning.code, text)


def _capabilities(number: int | None, data: object) -> str:
    """Which capabilities a server misses (MCP 2026-07-28, basic: per-request protocol fields)."""
    required = data.get("requiredCapabilities") if is_object(data) else None
    if number != MISSING_CAPABILITY or not is_object(required) or not required:
        return ""
    return f" ({enumerated(map(clipped, sorted(required)), 200)})"
