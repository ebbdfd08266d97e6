"""Tools for Chat Completions of OpenAI, which many other servers speak, too."""

from collections.abc import Mapping
from typing import Any

from toolcrib.context.providers.openai_functions import findings, function
from toolcrib.context.providers.saying import failed, in_words


def tool(name: str, definition: Mapping[str, Any], *, strict: bool = False) -> dict[str, Any]:
    """`{"type": "function", "function": {"name", "description", "parameters"}}`.

    `strict` is in it only where it is true: not every server that speaks this API knows it.
    """
    made = function(name, definition, strictly=strict)
    if not made["strict"]:
        del made["strict"]
    return {"type": "function", "function": made}


def result(tool_call_id: str, outcome: Mapping[str, Any]) -> dict[str, Any]:
    """The message of role `tool` for a `CallToolResult`; images are named in words.

    The API has no flag for failures, so the text of one says so.
    """
    text = in_words(outcome)
    content = f"Error: {text}" if failed(outcome) else text
    return {"role": "tool", "tool_call_id": tool_call_id, "content": content}


def lint(tool: Mapping[str, Any]) -> list[str]:
    """What the API would refuse of a tool object; nothing where it would take it."""
    if sorted(tool) != ["function", "type"] or tool["type"] != "function":
        return ["it is no function"]
    return list(findings(tool["function"]))
