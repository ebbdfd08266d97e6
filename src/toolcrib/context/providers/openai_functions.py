"""What both APIs of OpenAI share: the parameters of a function, strict or not.

Not strict, a function takes JSON Schema 2020-12 but for its root, where it refuses alternatives,
and arrays without `items`. Strict, it takes a small part of it (Structured Outputs, supported
schemas; read in November 2026): see `schemas.strict`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolcrib.context.providers.descriptions import described
from toolcrib.context.providers.linting import (
    array_findings,
    draft_findings,
    keyword_findings,
    name_findings,
    root_findings,
    text_findings,
)
from toolcrib.context.providers.tool_names import legal_name
from toolcrib.context.schemas.profiles import INLINED, LOOSE
from toolcrib.context.schemas.schema_copy import copy_schema
from toolcrib.context.schemas.strict import KEPT, MOST_PROPERTIES, strict
from toolcrib.core.jsontypes import is_object
from toolcrib.core.schema import positions, shown

DESCRIPTION: Final = 1_024
"""Characters of the description of a function; more fails the whole request."""

_NAME: Final = r"[a-zA-Z0-9_-]{1,64}"


def function(name: str, definition: Mapping[str, Any], *, strictly: bool = False) -> dict[str, Any]:
    """`{"name", "description", "parameters", "strict"}`.

    `strict` is true only where it was asked for and the schema can be made strict.
    """
    schema = definition.get("inputSchema")
    held = copy_schema(schema, INLINED) if strictly else None
    closed = strict(held.schema) if held is not None else None
    copied = held if held is not None and closed is not None else copy_schema(schema, LOOSE)
    return {
        "name": legal_name(name),
        "description": described(definition, copied.notes, DESCRIPTION),
        "parameters": copied.schema if closed is None else closed,
        "strict": closed is not None,
    }


def findings(function: Mapping[str, Any]) -> Iterator[str]:
    """What the APIs would refuse of a function."""
    yield from text_findings(function)
    yield from name_findings(function.get("name"), _NAME)
    words = function.get("description")
    if not isinstance(words, str) or len(words) > DESCRIPTION:
        yield f"the description is no text of at most {DESCRIPTION:,} characters"
    schema = function.get("parameters")
    yield from root_findings(schema)
    if not is_object(schema):
        return
    yield from draft_findings(schema)
    yield from array_findings(schema)
    strict = function.get("strict", False)
    if not isinstance(strict, bool):
        yield "it does not say whether it is strict"
    elif strict:
        yield from _strict_findings(schema)


def _strict_findings(schema: dict[str, Any]) -> Iterator[str]:
    yield from keyword_findings(schema, KEPT)
    properties = 0
    for path, node in positions(schema):
        where = shown(path) or "the root"
        if node.get("type") == "object":
            members = node.get("properties", {})
            properties += len(members)
            if node.get("additionalProperties") is not False:
                yield f"{where}: an object is not closed"
            if set(node.get("required", ())) != set(members):
                yield f"{where}: not all properties are required"
        if not {"anyOf", "type"} & node.keys():
            yield f"{where}: it has no type"
    if properties > MOST_PROPERTIES:
        yield f"it has {properties:,} properties, more than {MOST_PROPERTIES:,}"
