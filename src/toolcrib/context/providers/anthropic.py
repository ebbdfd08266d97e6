"""Tools for the Messages API of Anthropic.

What it refuses: names and names of arguments beyond its patterns, alternatives at the root of
`input_schema`, schemas that are not draft 2020-12, `cache_control` on a tool that is loaded later.
Tool search: `tool_search_tool_bm25_20251119`, whose name is fixed, beside tools with
`defer_loading: true`, of which it takes 10,000 (platform.claude.com, tool search tool, read in
November 2026; it needs no beta header there any more).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolcrib.context.providers.descriptions import described
from toolcrib.context.providers.linting import (
    array_findings,
    draft_findings,
    name_findings,
    root_findings,
    text_findings,
)
from toolcrib.context.providers.saying import Image, Said, failed, said
from toolcrib.context.providers.tool_names import legal_name
from toolcrib.context.schemas.profiles import ANTHROPIC
from toolcrib.context.schemas.schema_copy import copy_schema
from toolcrib.core.jsontypes import is_object

SEARCH_TOOL: Final[Mapping[str, str]] = {
    "type": "tool_search_tool_bm25_20251119",
    "name": "tool_search_tool_bm25",
}
"""The tool of the provider that finds the others."""

MOST_DEFERRED: Final = 10_000
"""Tools that may be loaded later."""

_NAME: Final = r"[a-zA-Z0-9_-]{1,64}"


def tool(name: str, definition: Mapping[str, Any], *, deferred: bool = False) -> dict[str, Any]:
    """A tool object: `name`, `description`, `input_schema`, and `defer_loading` where it is."""
    copied = copy_schema(definition.get("inputSchema"), ANTHROPIC)
    made: dict[str, Any] = {
        "name": legal_name(name),
        "description": described(definition, copied.notes),
        "input_schema": copied.schema,
    }
    return {**made, "defer_loading": True} if deferred else made


def result(tool_use_id: str, outcome: Mapping[str, Any]) -> dict[str, Any]:
    """The `tool_result` block for a `CallToolResult`: `{"type", "tool_use_id", "content", …}`."""
    block = {
        "type": "tool_result",
        "tool_use_id": tool_use_id,
        "content": [_block(it) for it in said(outcome)],
    }
    return {**block, "is_error": True} if failed(outcome) else block


def _block(part: Said) -> dict[str, Any]:
    if isinstance(part, Image):
        source = {"type": "base64", "media_type": part.media_type, "data": part.data}
        return {"type": "image", "source": source}
    return {"type": "text", "text": part.text}


def lint(tool: Mapping[str, Any]) -> list[str]:
    """What the API would refuse of a tool object; nothing where it would take it."""
    return list(_findings(tool))


def _findings(tool: Mapping[str, Any]) -> Iterator[str]:
    yield from text_findings(tool)
    if "type" in tool:
        if dict(tool) != {**SEARCH_TOOL, **_cache_of(tool)}:
            yield "it is no server tool that is known here"
        return
    yield from name_findings(tool.get("name"), _NAME)
    if tool.get("defer_loading") and "cache_control" in tool:
        yield "cache_control stands on a tool that is loaded later"
    schema = tool.get("input_schema")
    yield from root_findings(schema)
    if is_object(schema):
        yield from draft_findings(schema)
        yield from array_findings(schema)
        for name in schema.get("properties", {}):
            if not ANTHROPIC.property_names or not ANTHROPIC.property_names.fullmatch(name):
                yield f"the name of the argument {name!r} is refused"


def _cache_of(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {"cache_control": tool["cache_control"]} if "cache_control" in tool else {}
