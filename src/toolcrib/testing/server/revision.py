"""The words of the protocol that the scripted server uses, and what its revisions ask of a request.

Written down once more on purpose: a test server that took them from the code under test would share
its mistakes.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from toolcrib.testing.server.behaviour import Profile

__all__ = [
    "HEADER_MISMATCH",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "LIST_CHANGED",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "SUBSCRIPTION_ID",
    "UNSUPPORTED_VERSION",
    "Rejection",
    "check_headers",
    "check_version",
    "error_status",
    "is_modern",
    "mapping",
    "meta_of",
    "params_of",
]

INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
PARSE_ERROR = -32700
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"

LIST_CHANGED = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}
"""Server capability to the member of a listen filter (MCP 2026-07-28, subscriptions)."""

_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_BASE64 = ("=?base64?", "?=")
_MODERN_STATUS = {
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    PARSE_ERROR: 400,
    HEADER_MISMATCH: 400,
    -32021: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a request is not served: the members of a JSON-RPC error."""

    code: int
    message: str
    data: Any = None
    status: int | None = None
    """The HTTP status, where it is not the one of the code."""


def mapping(value: object) -> Mapping[str, Any]:
    """A JSON value where it is an object; an empty one for everything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def params_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of a message; empty where there are none."""
    return mapping(message.get("params"))


def meta_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The `_meta` of its parameters; empty where there is none."""
    return mapping(params_of(message).get("_meta"))


def is_modern(request: Mapping[str, Any]) -> bool:
    """Whether a request carries the envelope of a stateless revision (MCP 2026-07-28, basic)."""
    return request.get("method") != "initialize" and VERSION in meta_of(request)


def error_status(code: int, *, modern: bool) -> int:
    """The HTTP status of an answer with that error (MCP 2026-07-28, transports; 200 before)."""
    return _MODERN_STATUS.get(code, 200) if modern else 200


def check_version(request: Mapping[str, Any], profile: Profile) -> Rejection | None:
    """What is wrong with the envelope of a modern request; None when it is served."""
    envelope = meta_of(request)
    if CAPABILITIES not in envelope:
        return Rejection(INVALID_PARAMS, f"_meta lacks {CAPABILITIES}")
    version = envelope[VERSION]
    if version in profile.modern:
        return None
    data = {"supported": list(profile.modern), "requested": version}
    return Rejection(UNSUPPORTED_VERSION, "unsupported protocol version", data)


def _decoded(value: str | None) -> str | None:
    """A header value, taken out of the base64 form that carries what headers cannot (SEP-2243)."""
    begin, end = _BASE64
    if value is None or not (value.startswith(begin) and value.endswith(end)):
        return value
    try:
        return base64.b64decode(value[len(begin) : -len(end)], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def check_headers(request: Mapping[str, Any], headers: Mapping[str, str]) -> Rejection | None:
    """Which header of a modern request disagrees with its body (MCP 2026-07-28, transports)."""
    method = str(request.get("method"))
    wanted = {"mcp-protocol-version": meta_of(request)[VERSION], "mcp-method": method}
    if method in _NAMED:
        wanted["mcp-name"] = params_of(request).get(_NAMED[method])
    for name, value in wanted.items():
        if value is not None and _decoded(headers.get(name)) != value:
            return Rejection(HEADER_MISMATCH, f"the header {name} does not agree with the body")
    return None
