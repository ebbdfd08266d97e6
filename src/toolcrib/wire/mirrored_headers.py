"""Do the `Mcp-Param-*` headers of a call say what its arguments say."""

from collections.abc import Mapping
from typing import Any

from mcp.shared.inbound import validate_mcp_param_headers
from starlette.datastructures import Headers

from toolcrib.wire.faults import RpcFault


def check_mirrored(
    schema: Mapping[str, Any],
    arguments: Mapping[str, Any],
    headers: tuple[tuple[str, str], ...],
) -> None:
    """Refuse a call whose headers contradict its arguments.

    See MCP 2026-07-28, Streamable HTTP: custom headers from tool parameters.
    `schema` is the input schema that the call was admitted with, so that no call passes unchecked
    because its tool could not be looked up. Headers that the schema does not ask for are ignored.
    Raises `RpcFault` -32020.
    """
    lines = Headers(
        raw=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    )
    rejection = validate_mcp_param_headers(schema, arguments, lines)
    if rejection is not None:
        raise RpcFault(rejection.code, rejection.message, rejection.data)
