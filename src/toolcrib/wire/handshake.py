"""The `initialize` handshake of the revisions before 2026-07-28, and what it leaves behind."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_types import methods
from pydantic import ValidationError

from toolcrib.protocol.eras import HANDSHAKE_VERSIONS
from toolcrib.wire.faults import invalid_params
from toolcrib.wire.service import Service


@dataclass(frozen=True, slots=True)
class Agreed:
    """What host and we agreed on."""

    version: str
    capabilities: Mapping[str, Any]
    """What the host declared."""


UNSETTLED: Final = Agreed(HANDSHAKE_VERSIONS[0], {})
"""What a `ping` before the handshake is answered with."""


def agree(params: Mapping[str, Any]) -> Agreed:
    """Take the host's revision where we speak it, else our newest (MCP 2025-11-25, lifecycle)."""
    try:
        methods.validate_client_request("initialize", HANDSHAKE_VERSIONS[0], params)
    except ValidationError:
        raise invalid_params("Invalid initialize parameters") from None
    asked = params["protocolVersion"]
    version = asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0]
    return Agreed(version, params["capabilities"])


def initialize_result(service: Service, agreed: Agreed) -> dict[str, Any]:
    """The `InitializeResult`, with the same capabilities on every transport."""
    result: dict[str, Any] = {
        "protocolVersion": agreed.version,
        "capabilities": service.capabilities(),
        "serverInfo": service.identity.stamp(),
    }
    if service.identity.instructions:
        result["instructions"] = service.identity.instructions
    return result
