"""JSON-RPC errors that we emit, and the one place where an exception becomes one.

Only codes that the specification defines leave this process, and only with their meaning (MCP
2026-07-28, basic: error codes): an exception that nobody foresaw is -32603 and says nothing of its
inside.
"""

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from mcp_types import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
)

from toolcrib.errors import ToolcribError

logger = logging.getLogger(__name__)

REQUEST_CANCELLED: Final = -32800
"""Ends the HTTP exchange of a request that its host cancelled in a handshake revision; outside all
reserved ranges. The 2026-07-28 transports answer a cancelled request with nothing at all."""

HTTP_STATUS: Final[Mapping[int, int]] = MappingProxyType(
    {
        PARSE_ERROR: 400,
        INVALID_REQUEST: 400,
        INVALID_PARAMS: 400,
        HEADER_MISMATCH: 400,
        MISSING_REQUIRED_CLIENT_CAPABILITY: 400,
        UNSUPPORTED_PROTOCOL_VERSION: 400,
        METHOD_NOT_FOUND: 404,
    }
)
"""Status of an HTTP answer that carries the error (MCP 2026-07-28, streamable HTTP); others are
200."""


class RpcFault(Exception):
    """A JSON-RPC error for the host: raise it to answer with it."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def as_error(self) -> dict[str, Any]:
        """The `error` member of a response; `data` only where there is some."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error

    @property
    def http_status(self) -> int:
        """The status for an answer that was not streamed."""
        return HTTP_STATUS.get(self.code, 200)


def invalid_params(message: str, data: object = None) -> RpcFault:
    """-32602: the request is well formed but asks for something that cannot be meant."""
    return RpcFault(INVALID_PARAMS, message, data)


def invalid_request(message: str) -> RpcFault:
    """-32600: no request of this protocol, or not now."""
    return RpcFault(INVALID_REQUEST, message)


def method_not_found(method: str) -> RpcFault:
    """-32601: the method does not exist in this revision, or is not served here."""
    return RpcFault(METHOD_NOT_FOUND, "Method not found", method)


def missing_capability(message: str, required: object) -> RpcFault:
    """-32021: answering takes something that a host of 2026-07-28 did not declare it can do."""
    data = {"requiredCapabilities": required}
    return RpcFault(MISSING_REQUIRED_CLIENT_CAPABILITY, message, data)


def unserved(error: ToolcribError) -> RpcFault:
    """-32603 for what stopped us from answering, with its stable code as data."""
    told = {"code": error.code, "message": error.for_model(), "server": error.server}
    return RpcFault(INTERNAL_ERROR, error.for_model(), {"error": told})


def fault_of(error: Exception) -> RpcFault:
    """The fault that answers any exception out of a request: nothing unforeseen is quoted."""
    if isinstance(error, RpcFault):
        return error
    if isinstance(error, ToolcribError):
        return unserved(error)
    logger.error("a request failed for an unforeseen reason", exc_info=error)
    return RpcFault(INTERNAL_ERROR, "Internal error")
