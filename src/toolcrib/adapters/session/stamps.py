"""What every message to a server carries: its era's envelope, in the body and as HTTP headers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from toolcrib.ports import ClientProfile, RequestContext
from toolcrib.protocol.envelope import (
    CLIENT_CAPABILITIES_KEY,
    LOG_LEVEL_KEY,
    PROGRESS_TOKEN_KEY,
    modern_headers,
    modern_meta,
)
from toolcrib.protocol.headers import VERSION_HEADER

Params = Mapping[str, Any]

PLAIN: Final = RequestContext()
"""What goes with a request that nobody in particular is behind."""


class Stamp(Protocol):
    """Adds an era's envelope."""

    def body(self, params: Params | None, context: RequestContext = PLAIN) -> dict[str, Any]:
        """The parameters to send, in a new mapping."""
        ...

    def headers(
        self, method: str, params: Params, context: RequestContext = PLAIN
    ) -> dict[str, str]:
        """The HTTP headers to send with them.

        Raises:
            UnmirrorableValue: A value of the parameters that must be a header cannot be one.
        """
        ...


@dataclass(frozen=True, slots=True)
class HandshakeStamp:
    """The handshake revisions: nothing in the body, the negotiated revision as a header."""

    version: str | None
    """None before the handshake is through."""

    def body(self, params: Params | None, context: RequestContext = PLAIN) -> dict[str, Any]:
        """The parameters, without a progress token of somebody else's."""
        del context
        sent = dict(params or {})
        meta = _meta_of(sent)
        if meta:
            sent["_meta"] = meta
        return sent

    def headers(
        self, method: str, params: Params, context: RequestContext = PLAIN
    ) -> dict[str, str]:
        """`MCP-Protocol-Version` (MCP 2025-11-25, transports)."""
        del method, params, context
        return {} if self.version is None else {VERSION_HEADER: self.version}


class ModernStamp:
    """MCP 2026-07-28: revision, client and capabilities in `_meta`, and again as headers."""

    def __init__(self, version: str, profile: ClientProfile) -> None:
        self._version = version
        self._meta = modern_meta(version, profile.name, profile.version, profile.capabilities)

    def body(self, params: Params | None, context: RequestContext = PLAIN) -> dict[str, Any]:
        """The parameters with our envelope over whatever `_meta` they had.

        Capabilities and log level are those of this one request, whoever sent the one before.
        """
        sent = dict(params or {})
        meta = {**_meta_of(sent), **self._meta}
        meta.pop(LOG_LEVEL_KEY, None)
        if context.capabilities is not None:
            meta[CLIENT_CAPABILITIES_KEY] = dict(context.capabilities)
        if context.log_level:
            meta[LOG_LEVEL_KEY] = context.log_level
        sent["_meta"] = meta
        return sent

    def headers(
        self, method: str, params: Params, context: RequestContext = PLAIN
    ) -> dict[str, str]:
        """`MCP-Protocol-Version`, `Mcp-Method`, and what a method or a tool wants repeated."""
        return modern_headers(self._version, method, params, context.input_schema)


def _meta_of(params: Params) -> dict[str, Any]:
    """The `_meta` of parameters without its progress token.

    Tokens must be unique among the requests of one connection: the token of another side would
    call the wrong listener, so only the dispatcher mints them.
    """
    meta = params.get("_meta")
    if not isinstance(meta, Mapping):
        return {}
    given = cast("Mapping[str, Any]", meta)
    return {key: value for key, value in given.items() if key != PROGRESS_TOKEN_KEY}
