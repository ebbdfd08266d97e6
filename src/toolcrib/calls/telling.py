"""What a server's refusal of a call is about: the tool, its arguments, a right, or itself.

A JSON-RPC error and a result with `isError` may say the same: servers use either for a tool that
they do not have, or for arguments that they do not take (MCP 2026-07-28, tools: error handling).
"""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.errors import UpstreamRefused

METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
NOT_FOUND: Final = -32002
"""Of revisions before 2026-07-28."""

HEADER_MISMATCH: Final = -32020
UNSUPPORTED_VERSION: Final = -32022

UNEXECUTED: Final = frozenset({HEADER_MISMATCH, UNSUPPORTED_VERSION})
"""Codes that prove that nothing ran: the request was turned away at the door."""

_LENGTH: Final = 2_000
"""Longer texts are results, not refusals."""

_DENIAL: Final = re.compile(
    r"unknown (tool|prompt)|not found|no such tool|does not exist|not available|no tool named"
)
_ARGUMENTS: Final = re.compile(
    r"\A\W*(error executing tool [^:]{1,128}: )?(mcp error -32602|input validation error"
    r"|invalid (arguments|params|parameters|input)\b|\d+ validation errors? for )"
)
_RIGHT: Final = re.compile(
    r"permission denied|not permitted|forbidden|unauthori[sz]ed|access denied|not authori[sz]ed"
    r"|insufficient[ _](scope|permission|privilege)"
)


class Complaint(Enum):
    """What a server found wrong with a call."""

    TOOL = "tool"
    """It has no such tool."""
    ARGUMENTS = "arguments"
    """The arguments do not fit its schema."""
    OUTDATED = "outdated"
    """A toolcrib peer refused it as made from an older catalog than its own."""
    RIGHT = "right"
    """The caller may not do this."""


def complaint_of(refused: UpstreamRefused, key: str) -> Complaint | None:
    """What a JSON-RPC error says against a call of the tool `key`; None: nothing of the kind."""
    text = refused.message.lower()
    if refused.rpc_code in {METHOD_NOT_FOUND, NOT_FOUND}:
        return Complaint.TOOL
    if refused.rpc_code == INVALID_PARAMS:
        return Complaint.TOOL if _denies(text, key) else Complaint.ARGUMENTS
    return Complaint.RIGHT if _RIGHT.search(text[:_LENGTH]) else None


def complaint_in(result: Mapping[str, Any], key: str) -> Complaint | None:
    """What a tool's result says against the call itself; None for a tool's own error.

    Only results with `isError` and one short text are taken for it.
    """
    content = result.get("content")
    if result.get("isError") is not True or not is_array(content) or len(content) != 1:
        return None
    block = content[0]
    text = block.get("text") if is_object(block) else None
    if not isinstance(text, str) or len(text) > _LENGTH:
        return None
    text = text.lower()
    if _denies(text, key):
        return Complaint.TOOL
    return Complaint.ARGUMENTS if _ARGUMENTS.match(text) else None


def _denies(text: str, key: str) -> bool:
    """Whether a short text names the tool and says that there is none."""
    return len(text) <= 300 + len(key) and key.lower() in text and bool(_DENIAL.search(text))
