"""Tools for the Responses API of OpenAI.

Tool search: `{"type": "tool_search"}` beside functions with `defer_loading: true`, best inside
namespaces, of which the model sees name and description from the start (developers.openai.com,
guide on tool search, read in November 2026; models from gpt-5.4 on).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from toolcrib.context.providers.linting import name_findings
from toolcrib.context.providers.openai_functions import findings, function
from toolcrib.context.providers.saying import Image, Said, Text, failed, in_words, said
from toolcrib.context.providers.tool_names import legal_name
from toolcrib.context.schemas.keywords import plain_text
from toolcrib.core.quoting import excerpt

SEARCH_TOOL: Final[Mapping[str, str]] = {"type": "tool_search"}
"""The tool of the provider that finds the others."""

_ABOUT: Final = 500
"""Characters of what a namespace says of itself."""


def tool(
    name: str, definition: Mapping[str, Any], *, strict: bool = False, deferred: bool = False
) -> dict[str, Any]:
    """`{"type": "function", "name", "description", "parameters", "strict"}`, all at one level.

    `strict` is said in any case, because the API takes an absent one for true.
    """
    made = {"type": "function", **function(name, definition, strictly=strict)}
    return {**made, "defer_loading": True} if deferred else made


def namespace(server: str, about: str, tools: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The deferred functions of one server: `{"type": "namespace", "name", "description", …}`.

    The calls of a model name the function as it is named here, beside the namespace.
    """
    return {
        "type": "namespace",
        "name": legal_name(server),
        "description": announced(server, about),
        "tools": list(tools),
    }


def announced(server: str, about: str) -> str:
    """The description of the namespace of a server, from what the server says of itself."""
    words = re.sub(r"\s+", " ", plain_text(about)).strip() or f"Tools of the server {server}"
    return excerpt(words, _ABOUT)


def result(call_id: str, outcome: Mapping[str, Any]) -> dict[str, Any]:
    """The `function_call_output` item for a `CallToolResult`: one text, or parts with images.

    The API has no flag for failures, so the text of one says so.
    """
    parts = said(outcome)
    output: str | list[dict[str, Any]]
    if any(isinstance(part, Image) for part in parts):
        mark = [Text("Error:")] if failed(outcome) else []
        output = [_part(part) for part in (*mark, *parts)]
    else:
        output = f"Error: {in_words(outcome)}" if failed(outcome) else in_words(outcome)
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def _part(part: Said) -> dict[str, Any]:
    if isinstance(part, Image):
        return {"type": "input_image", "image_url": f"data:{part.media_type};base64,{part.data}"}
    return {"type": "input_text", "text": part.text}


def lint(tool: Mapping[str, Any]) -> list[str]:
    """What the API would refuse of a tool object; nothing where it would take it."""
    return list(_findings(tool))


def _findings(tool: Mapping[str, Any]) -> Iterator[str]:
    match tool.get("type"):
        case "tool_search":
            if dict(tool) != SEARCH_TOOL:
                yield "tool_search has members that are not known here"
        case "namespace":
            yield from name_findings(tool.get("name"), r"[a-zA-Z0-9_-]{1,64}")
            for inner in tool.get("tools", ()):
                yield from _findings(inner)
        case "function":
            yield from findings(tool)
            if "strict" not in tool:
                yield "it does not say whether it is strict"
        case kind:
            yield f"{kind!r} is no kind of tool that is known here"
