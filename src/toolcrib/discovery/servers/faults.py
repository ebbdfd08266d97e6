"""Answers of these tools, and what is wrong with their arguments."""

from collections.abc import Iterable
from typing import Any

from toolcrib.errors import BadArguments


def told(lines: Iterable[str]) -> dict[str, Any]:
    """A `CallToolResult` of these lines."""
    return {"content": [{"type": "text", "text": "\n".join(lines)}]}


def wrong(where: str, what: str) -> BadArguments:
    """The error for one argument."""
    fault = {"where": where, "what": what}
    return BadArguments(f"`{where}` {what}.", details={"faults": [fault]})
