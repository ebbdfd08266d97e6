"""JSON-RPC errors of servers as hosts are told them: codes speak about a hop of their own."""

from typing import Final, assert_never

from toolcrib.errors import UpstreamRefused
from toolcrib.protocol.laundering import INVALID_PARAMS, RpcError, ToolErrorResult, launder
from toolcrib.wire.faults import RpcFault

_CONTRADICTING: Final = frozenset({-32601, INVALID_PARAMS, -32002})
"""Codes with which servers refuse what they do not have (any more), or arguments that no longer
fit."""


def contradicts(refused: UpstreamRefused) -> bool:
    """Whether a refusal speaks against the catalog that the request was made from."""
    return refused.rpc_code in _CONTRADICTING


def told(
    refused: UpstreamRefused, *, server: str, method: str, uri: str | None = None
) -> UpstreamRefused | RpcFault:
    """What to raise instead: for a call an error the model can read, for the rest a JSON-RPC error.

    `uri` is the resource as the host named it: the answer about a missing one must name it
    (MCP 2026-07-28, resources: error handling).
    """
    laundered = launder(
        refused.rpc_code, refused.message, refused.data, server=server, method=method
    )
    match laundered:
        case ToolErrorResult(text):
            return UpstreamRefused(text, rpc_code=refused.rpc_code, server=server)
        case RpcError(code, message):
            missing = uri is not None and code == INVALID_PARAMS
            return RpcFault(code, message, {"uri": uri} if missing else None)
        case _:
            assert_never(laundered)
