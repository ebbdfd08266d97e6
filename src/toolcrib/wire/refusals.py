"""Refusals of tool calls: results that a model can act on (DESIGN section 9)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from toolcrib.errors import ToolcribError

Retry = Literal["corrected", "later", "no"]
"""Whether to call again: with other arguments or another tool, unchanged after a while, or not at
all."""

_RETRY: Final[Mapping[str, Retry]] = MappingProxyType(
    {
        "schema_changed": "corrected",
        "bad_arguments": "corrected",
        "limit_exceeded": "corrected",
        "catalog_too_old": "later",
        "server_unavailable": "later",
        "refresh_failed": "later",
        "rate_limited": "later",
        "needs_confirmation": "later",
    }
)
"""Codes that are not here must not be retried: a call that timed out, for one, may have acted."""


def refusal(error: ToolcribError, tool: str) -> dict[str, Any]:
    """The `CallToolResult` that tells a model why its call was not made, or brought nothing.

    `tool` is the name the model used.
    """
    message = error.for_model()
    told = {
        "code": error.code,
        "message": message,
        "server": error.server,
        "tool": tool,
        "retry": _RETRY.get(error.code, "no"),
        "details": dict(error.details),
    }
    return {
        "content": [{"type": "text", "text": message}],
        "structuredContent": {"error": told},
        "isError": True,
    }
