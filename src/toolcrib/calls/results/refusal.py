"""Refusals of tool calls: results that a model can act on (DESIGN section 9)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from toolcrib.core.quoting import clipped, has_surrogates
from toolcrib.errors import ChangedSilently, TooBusy, ToolcribError, ToolGone

_NAME: Final = 256
"""Characters of a name that are repeated."""

Retry = Literal["corrected", "later", "no"]
"""Whether to call again: with other arguments or another tool, unchanged after a while, or not at
all."""

_RETRY: Final[Mapping[str, Retry]] = MappingProxyType(
    {
        "schema_changed": "corrected",
        "bad_arguments": "corrected",
        "changed_silently": "corrected",
        "limit_exceeded": "corrected",
        "script_failed": "corrected",
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

    `tool` is the name the model used; one that is no name of a tool may be cut.
    """
    message = error.for_model()
    told = {
        "code": error.code,
        "message": message,
        "server": error.server,
        "tool": tool if len(tool) <= _NAME and not has_surrogates(tool) else clipped(tool, _NAME),
        "retry": _retry(error),
        "details": dict(error.details),
    }
    return {
        "content": [{"type": "text", "text": message}],
        "structuredContent": {"error": told},
        "isError": True,
    }


def _retry(error: ToolcribError) -> Retry:
    """As its code says, but where the error knows better.

    A tool that is gone can be made up for where its new name is known, and a limit on what goes on
    at a time by waiting.
    """
    if isinstance(error, TooBusy):
        return "later"
    if isinstance(error, ToolGone) and "inputSchema" in error.details:
        return "corrected"
    if isinstance(error, ChangedSilently) and "inputSchema" not in error.details:
        return "no"
    return _RETRY.get(error.code, "no")
