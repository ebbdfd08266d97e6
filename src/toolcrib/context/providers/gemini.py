"""Function declarations for the Gemini API.

`parameters` takes a subset of OpenAPI 3.0 and fails the whole request for what is not in it (Schema
reference, read in November 2026): one type for each schema, enumerations of strings, two formats
of strings, no references, nothing beside `anyOf`. `parametersJsonSchema`, in its place, takes a
part of JSON Schema as it is.
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
from toolcrib.context.providers.saying import failed, in_words
from toolcrib.context.providers.tool_names import LEGAL, legal_name
from toolcrib.context.schemas.profiles import GEMINI_JSON, INLINED
from toolcrib.context.schemas.schema_copy import copy_schema
from toolcrib.context.schemas.single_type import FORMATS, KEPT, single_type
from toolcrib.core.jsontypes import JsonObject, is_array, is_object
from toolcrib.core.schema import positions, shown

_NAME: Final = r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"
_KNOWN: Final = frozenset(
    {"anyOf", "description", "enum", "format", "nullable", "title", "type"}
).union(*KEPT.values())


def declaration(
    name: str, definition: Mapping[str, Any], *, json_schema: bool = False
) -> dict[str, Any]:
    """`{"name", "description", "parameters"}`, or with `parametersJsonSchema` in its place.

    A tool without parameters has neither: older models refuse an object without properties.
    """
    copied = copy_schema(definition.get("inputSchema"), GEMINI_JSON if json_schema else INLINED)
    made: dict[str, Any] = {
        "name": legal_name(name),
        "description": described(definition, copied.notes),
    }
    if not copied.schema.get("properties"):
        return made
    if json_schema:
        return {**made, "parametersJsonSchema": copied.schema}
    return {**made, "parameters": single_type(copied.schema)}


def result(name: str, outcome: Mapping[str, Any], call_id: str = "") -> dict[str, Any]:
    """The part `{"functionResponse": {"id"?, "name", "response"}}` for a `CallToolResult`.

    `response` holds `result`, structured where the tool's is, or `error`.
    """
    structured = outcome.get("structuredContent")
    if failed(outcome):
        response: dict[str, Any] = {"error": in_words(outcome)}
    else:
        response = {"result": structured if is_object(structured) else in_words(outcome)}
    known = {"id": call_id} if call_id else {}
    told = name if LEGAL.fullmatch(name) else legal_name(name)  # a model repeats what it was told
    return {"functionResponse": {**known, "name": told, "response": response}}


def lint(declaration: Mapping[str, Any]) -> list[str]:
    """What the API would refuse of a declaration; nothing where it would take it."""
    return list(_findings(declaration))


def _findings(declaration: Mapping[str, Any]) -> Iterator[str]:
    yield from text_findings(declaration)
    yield from name_findings(declaration.get("name"), _NAME)
    if not declaration.get("description"):
        yield "it has no description"
    if "parametersJsonSchema" in declaration:
        schema = declaration["parametersJsonSchema"]
        yield from root_findings(schema)
        yield from draft_findings(schema)
        yield from array_findings(schema)
        yield from keyword_findings(schema, GEMINI_JSON.kept | {"$defs"})
    if "parameters" in declaration:
        schema = declaration["parameters"]
        yield from root_findings(schema)
        yield from keyword_findings(schema, _KNOWN)
        for path, node in positions(schema):
            where = shown(path) or "the root"
            yield from (f"{where}: {finding}" for finding in _subset_findings(node))


def _subset_findings(node: JsonObject) -> Iterator[str]:
    """On one schema of the subset."""
    kind = node.get("type", "")
    if "anyOf" in node and node.keys() - {"anyOf"}:
        yield "something stands beside anyOf"
    if not isinstance(kind, str) or (kind and kind not in KEPT):
        yield f"the type {kind!r} is not one of the known ones"
        return
    if kind == "array" and not is_object(node.get("items")):
        yield "an array has no items"
    if "format" in node and node["format"] not in FORMATS.get(kind, ()):
        yield f"the format {node['format']} is refused for type {kind or 'none'}"
    if unknown := set(node.get("required", ())) - node.get("properties", {}).keys():
        yield f"required names what is no property: {sorted(unknown)}"
    yield from _enum_findings(node, kind)


def _enum_findings(node: JsonObject, kind: str) -> Iterator[str]:
    values = node.get("enum", ["."])
    if not is_array(values) or not values or not all(isinstance(it, str) and it for it in values):
        yield "an enumeration holds something but texts"
    elif "enum" in node and kind != "string":
        yield "an enumeration stands beside another type than string"
