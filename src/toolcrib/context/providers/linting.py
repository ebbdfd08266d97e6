"""Rules that several providers share, as findings on a finished tool object.

Written from what the providers' APIs refuse, not from how copies are made, so that the one can be
held against the other.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from toolcrib.core.jsontypes import JsonObject, is_array, is_object
from toolcrib.core.refs import Missing, resolved
from toolcrib.core.schema import positions, shown, subschemas

_OLD: Final = frozenset({"$schema", "additionalItems", "definitions", "dependencies", "id"})
_AT_ROOT: Final = ("allOf", "anyOf", "const", "enum", "not", "oneOf")


def name_findings(name: object, pattern: str) -> Iterator[str]:
    """On the name of a tool."""
    if not isinstance(name, str) or not re.fullmatch(pattern, name):
        yield f"the name {name!r} does not match {pattern}"


def text_findings(tool: Any) -> Iterator[str]:
    """On what no request can carry: it must be JSON, and UTF-8."""
    try:
        json.dumps(tool, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as fault:
        yield f"it cannot be sent: {type(fault).__name__}"


def root_findings(schema: Any) -> Iterator[str]:
    """On the root of a schema of arguments."""
    if not is_object(schema):
        yield "the schema of its arguments is no object"
        return
    if schema.get("type") != "object":
        yield 'the root has no "type": "object"'
    if not is_object(schema.get("properties")):
        yield "the root has no properties"
    yield from (f"{keyword} stands at the root" for keyword in _AT_ROOT if keyword in schema)


def draft_findings(schema: JsonObject) -> Iterator[str]:
    """On spellings of older drafts, on booleans as schemas, and on references."""
    for path, node in positions(schema):
        where = shown(path) or "the root"
        yield from (f"{where}: {keyword} is of an older draft" for keyword in _OLD & node.keys())
        if is_array(node.get("items")):
            yield f"{where}: items is an array"
        if is_boolean_bound(node):
            yield f"{where}: an exclusive bound is a boolean"
        yield from _booleans(where, node)
        reference = node.get("$ref")
        if isinstance(reference, str) and isinstance(resolved(schema, reference), Missing):
            yield f"{where}: the reference {reference} leads nowhere"


def is_boolean_bound(node: JsonObject) -> bool:
    """Whether a bound is written as draft 4 wrote it."""
    return any(isinstance(node.get(it), bool) for it in ("exclusiveMinimum", "exclusiveMaximum"))


def _booleans(where: str, node: JsonObject) -> Iterator[str]:
    for step, inner in subschemas(node):
        closing = step[0] in {"additionalProperties", "unevaluatedItems", "unevaluatedProperties"}
        if isinstance(inner, bool) and not closing and step[0] not in _RULED:
            yield f"{where}: {shown(step)} is a boolean"


_RULED: Final = frozenset({"dependentSchemas", "patternProperties"})


def array_findings(schema: JsonObject) -> Iterator[str]:
    """On arrays that do not say what is in them."""
    for path, node in positions(schema):
        kind = node.get("type")
        if (kind == "array" or (is_array(kind) and "array" in kind)) and not (
            is_object(node.get("items")) or "prefixItems" in node
        ):
            yield f"{shown(path) or 'the root'}: an array has no items"


def keyword_findings(schema: JsonObject, known: Iterable[str]) -> Iterator[str]:
    """On keywords that the provider does not know."""
    allowed = frozenset(known)
    for path, node in positions(schema):
        for keyword in sorted(node.keys() - allowed):
            yield f"{shown(path) or 'the root'}: {keyword} is not known"
