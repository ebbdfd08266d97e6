"""What every modern request carries: its `_meta` members and, over HTTP, its headers.

MCP 2026-07-28, basic: `_meta` and per-request protocol fields; Streamable HTTP: request metadata.
"""

import re
from collections.abc import Mapping
from typing import Any

from toolcrib.core.jsontypes import is_object
from toolcrib.core.quoting import literal, quoted
from toolcrib.protocol.headers import (
    METHOD_HEADER,
    NAME_HEADER,
    VERSION_HEADER,
    encode_value,
    parameter_headers,
)

PROTOCOL_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"
SUBSCRIPTION_ID_KEY = "io.modelcontextprotocol/subscriptionId"
PROGRESS_TOKEN_KEY = "progressToken"  # noqa: S105 - a name, no secret
TRACE_KEYS = ("traceparent", "tracestate", "baggage")

OWN_PREFIX = "dev.toolcrib/"
CONTRACT_KEY = f"{OWN_PREFIX}contract"
DIGEST_KEY = f"{OWN_PREFIX}digest"
SEEN_KEY = f"{OWN_PREFIX}seen"
HANDLE_KEY = f"{OWN_PREFIX}handle"
VERSION_KEY = f"{OWN_PREFIX}version"
"""Ours (DESIGN section 9): foreign peers ignore them, and nothing requires them."""

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Levels of log messages, the least severe first (MCP 2026-07-28, logging: log levels)."""

NAMED_METHODS: Mapping[str, str] = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
}
"""Methods with an `Mcp-Name` header, and the parameter it repeats."""

COMPLETE, INPUT_REQUIRED = "complete", "input_required"
"""The types of result that the core of MCP 2026-07-28 knows."""

ASKING_METHODS = frozenset(NAMED_METHODS)
"""Methods whose result may be `input_required` (MCP 2026-07-28, multi round-trip requests)."""

_MARK = 256
"""Characters that a contract or a digest may have: those of any hash, many times over."""

_OF_ONE_HOP = frozenset(
    {
        PROTOCOL_VERSION_KEY,
        CLIENT_INFO_KEY,
        CLIENT_CAPABILITIES_KEY,
        SERVER_INFO_KEY,
        LOG_LEVEL_KEY,
        SUBSCRIPTION_ID_KEY,
        PROGRESS_TOKEN_KEY,
        "io.modelcontextprotocol/related-task",
    }
)
"""Keys that say something about the two who speak with each other, and nobody behind them."""

_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PREFIX = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NAME = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?")
_RESERVED_LABELS = frozenset({"mcp", "modelcontextprotocol"})


def modern_meta(
    version: str, client_name: str, client_version: str, capabilities: Mapping[str, Any]
) -> dict[str, Any]:
    """The `_meta` members of a modern request, in a dict of the caller's own."""
    return {
        PROTOCOL_VERSION_KEY: version,
        CLIENT_INFO_KEY: {"name": client_name, "version": client_version},
        CLIENT_CAPABILITIES_KEY: dict(capabilities),
    }


def modern_headers(
    version: str, method: str, params: Mapping[str, Any] | None = None, input_schema: object = None
) -> dict[str, str]:
    """The headers of a modern request over HTTP, equal to what its body says.

    Args:
        version: The revision, as in `_meta`.
        method: The JSON-RPC method.
        params: Its parameters, for `Mcp-Name` and `Mcp-Param-*`.
        input_schema: For `tools/call`, the input schema of the tool in the newest snapshot.

    Raises:
        UnmirrorableValue: where a name or an argument fits in no header.
    """
    headers = {VERSION_HEADER: version, METHOD_HEADER: method}
    named = NAMED_METHODS.get(method)
    name = params.get(named) if params and named else None
    if isinstance(name, str):
        headers[NAME_HEADER] = encode_value(name)
    if method == "tools/call" and params:
        headers |= parameter_headers(input_schema, params.get("arguments") or {})
    return headers


def result_type_fault(method: str, result: Mapping[str, Any]) -> str | None:
    """What is wrong with the `resultType` of a modern result, in a sentence; None if nothing is.

    A missing one counts as `complete`: there are servers that leave it out, and what they did is
    done. Any other type means a result that cannot be read (MCP 2026-07-28, basic: results).
    """
    kind: object = result.get("resultType", COMPLETE)
    if kind == COMPLETE or (kind == INPUT_REQUIRED and method in ASKING_METHODS):
        return None
    possible = f"{COMPLETE} or {INPUT_REQUIRED}" if method in ASKING_METHODS else COMPLETE
    return f"the result of {method} has resultType {literal(kind)}, not {possible}"


def without_own(members: object) -> Any:
    """What a server sent, without the keys that only toolcrib writes; a copy where there are some.

    Our keys carry weight (limits, HTTP outcomes, contracts), so a server's are never believed.
    """
    if not is_object(members) or not any(key.startswith(OWN_PREFIX) for key in members):
        return members
    return {key: value for key, value in members.items() if not key.startswith(OWN_PREFIX)}


def own_mark(meta: object, key: str) -> str:
    """What a toolcrib peer wrote under a key of ours in a `_meta`; empty where there is nothing.

    Contracts and digests are compared and sent back, never read into: any short text will do.
    """
    value = meta.get(key) if is_object(meta) else None
    return value if isinstance(value, str) and len(value) <= _MARK else ""


def relayed_meta(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    """What of a server's `_meta` goes on to hosts: all that does not speak of the hop to it.

    Ours are taken out, and those of the envelope; equal to what was given where nothing is.
    """
    if not any(key.startswith(OWN_PREFIX) or key in _OF_ONE_HOP for key in meta):
        return meta
    return {
        key: value
        for key, value in meta.items()
        if not key.startswith(OWN_PREFIX) and key not in _OF_ONE_HOP
    }


def meta_key_fault(key: str) -> str | None:
    """What is wrong with the form of a `_meta` key, in a sentence; None for a valid one."""
    prefix, slash, name = key.rpartition("/")
    if slash and not _PREFIX.fullmatch(prefix):
        return f"{quoted(key)} has a prefix that is no series of labels with dots between them"
    if not _NAME.fullmatch(name):
        return f"{quoted(key)} has a name that does not begin and end with a letter or digit"
    return None


def is_reserved_key(key: str) -> bool:
    """Whether a `_meta` key belongs to MCP, so that we neither invent it nor read into it."""
    prefix, slash, _ = key.rpartition("/")
    if not slash:
        return key == PROGRESS_TOKEN_KEY or key in TRACE_KEYS
    labels = prefix.split(".")
    return len(labels) > 1 and labels[1] in _RESERVED_LABELS
