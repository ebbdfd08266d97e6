"""The envelope that requests of 2026-07-28 carry in `_meta`, and the era it is evidence of."""

import re
from collections.abc import Mapping
from typing import Any, Final

from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request

from toolcrib.core.jsontypes import is_object
from toolcrib.protocol.envelope import (
    CLIENT_CAPABILITIES_KEY,
    HANDLE_KEY,
    LOG_LEVEL_KEY,
    LOG_LEVELS,
    PROTOCOL_VERSION_KEY,
)
from toolcrib.wire.faults import RpcFault

_HANDLE: Final = re.compile(r"[A-Za-z0-9._~-]{16,128}", re.ASCII)
"""What a host may call itself by: long enough not to be another's by chance. Handles of our own
making have a colon, so that none of these is one of them."""


def has_envelope(params: object) -> bool:
    """Whether parameters claim a protocol version: only revisions from 2026-07-28 on do that.

    The version alone is the sign, so that half an envelope is told what it lacks instead of being
    taken for an older revision.
    """
    meta = params.get("_meta") if is_object(params) else None
    return is_object(meta) and PROTOCOL_VERSION_KEY in meta


def opened_version(
    method: str, params: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> str:
    """The revision a modern request is answered in, once its envelope and headers agree.

    Raises `RpcFault`: -32602 for a missing envelope, -32020 for headers that say otherwise, -32022
    for a revision we do not speak.
    """
    verdict = classify_inbound_request({"method": method, "params": params}, headers=headers)
    if isinstance(verdict, InboundLadderRejection):
        raise RpcFault(verdict.code, verdict.message, verdict.data)
    return verdict.protocol_version


def declared_capabilities(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The client capabilities of a modern request; none when they are malformed."""
    declared = params["_meta"][CLIENT_CAPABILITIES_KEY]
    return declared if is_object(declared) else {}


def given_handle(params: Mapping[str, Any]) -> str:
    """The handle that a modern request carries; empty for none, or one that cannot be used."""
    handle = params["_meta"].get(HANDLE_KEY)
    return handle if isinstance(handle, str) and _HANDLE.fullmatch(handle) else ""


def wanted_level(params: Mapping[str, Any]) -> str:
    """From which level on a modern request wants log messages; empty: it wants none."""
    level = params["_meta"].get(LOG_LEVEL_KEY)
    return level if level in LOG_LEVELS else ""
