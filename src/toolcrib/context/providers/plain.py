"""Tools as plain JSON, for whatever takes MCP's own form or builds its own."""

from collections.abc import Mapping
from typing import Any

from toolcrib.context.providers.descriptions import described
from toolcrib.context.providers.saying import in_words
from toolcrib.context.schemas.profiles import LOOSE
from toolcrib.context.schemas.schema_copy import copy_schema


def tool(name: str, definition: Mapping[str, Any]) -> dict[str, Any]:
    """`{"name", "description", "inputSchema"}`, under the exposed name as it is."""
    copied = copy_schema(definition.get("inputSchema"), LOOSE)
    return {
        "name": name,
        "description": described(definition, copied.notes),
        "inputSchema": copied.schema,
    }


def result(outcome: Mapping[str, Any]) -> str:
    """What a `CallToolResult` says, as one text."""
    return in_words(outcome)
