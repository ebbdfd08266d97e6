"""The keywords of JSON Schema that copies know: their order, their shape, their older spellings.

Copies are written in one fixed order, because the order of members is no part of a fingerprint:
servers whose maps have no order must not cost a prompt cache its prefix.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from toolcrib.core.canonical import canonical
from toolcrib.core.finite import place_not_finite
from toolcrib.core.jsontypes import JsonObject, is_array, is_integer, is_number, is_object
from toolcrib.core.quoting import has_surrogates

_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_count(value: object) -> bool:
    return is_integer(value) and value >= 0


def _is_schema(value: object) -> bool:
    return isinstance(value, bool) or is_object(value)


def _is_data(value: object) -> bool:
    """Whether it is JSON; what came over the wire can still hold numbers that are none."""
    return place_not_finite(value) is None


def _are_data(value: object) -> bool:
    return is_array(value) and _is_data(value)


def _is_bound(value: object) -> bool:
    return is_number(value) and _is_data(value)


def _are_names(value: object) -> bool:
    return is_array(value) and all(isinstance(name, str) for name in value)


def _are_types(value: object) -> bool:
    names = value if is_array(value) else [value]
    return bool(names) and all(isinstance(name, str) and name in _TYPES for name in names)


def _are_schemas(value: object) -> bool:
    return is_array(value) and bool(value)


def _maps_to_names(value: object) -> bool:
    return is_object(value) and all(map(_are_names, value.values()))


SHAPES: Final[Mapping[str, Callable[[object], bool]]] = {
    "$ref": _is_text,
    "type": _are_types,
    "title": _is_text,
    "description": _is_text,
    "enum": _are_data,
    "const": _is_data,
    "default": _is_data,
    "format": _is_text,
    "pattern": _is_text,
    "minLength": _is_count,
    "maxLength": _is_count,
    "minimum": _is_bound,
    "exclusiveMinimum": _is_bound,
    "maximum": _is_bound,
    "exclusiveMaximum": _is_bound,
    "multipleOf": _is_bound,
    "properties": is_object,
    "required": _are_names,
    "additionalProperties": _is_schema,
    "patternProperties": is_object,
    "propertyNames": _is_schema,
    "minProperties": _is_count,
    "maxProperties": _is_count,
    "unevaluatedProperties": _is_schema,
    "dependentRequired": _maps_to_names,
    "dependentSchemas": is_object,
    "prefixItems": _are_schemas,
    "items": _is_schema,
    "contains": _is_schema,
    "minContains": _is_count,
    "maxContains": _is_count,
    "minItems": _is_count,
    "maxItems": _is_count,
    "uniqueItems": _is_flag,
    "unevaluatedItems": _is_schema,
    "anyOf": _are_schemas,
    "oneOf": _are_schemas,
    "allOf": _are_schemas,
    "not": _is_schema,
    "if": _is_schema,
    "then": _is_schema,
    "else": _is_schema,
    "contentEncoding": _is_text,
    "contentMediaType": _is_text,
    "examples": _are_data,
    "deprecated": _is_flag,
    "readOnly": _is_flag,
    "writeOnly": _is_flag,
}
"""Every keyword that may be copied, in the order of copies, and the shape its value must have."""

KEYWORDS: Final = frozenset(SHAPES)

UNIONS: Final = ("anyOf", "oneOf", "allOf")
"""Keywords whose value lists alternatives, or parts."""


def modern(schema: JsonObject) -> JsonObject:
    """The schema with spellings of older drafts in those of 2020-12; itself where it has none.

    Some providers check schemas against the metaschema of 2020-12 and refuse a whole request over
    one older spelling.
    """
    if not _OLD.isdisjoint(schema):
        schema = dict(schema)
        for rename in (_exclusive, _tuple, _dependencies):
            rename(schema)
    return schema


_OLD: Final = frozenset({"dependencies", "exclusiveMaximum", "exclusiveMinimum", "items"})


def _exclusive(schema: JsonObject) -> None:
    for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(flag), bool) and schema.pop(flag) and bound in schema:
            schema[flag] = schema.pop(bound)


def _tuple(schema: JsonObject) -> None:
    if is_array(schema.get("items")):
        schema["prefixItems"] = schema.pop("items")
        if "additionalItems" in schema:
            schema["items"] = schema.pop("additionalItems")


def _dependencies(schema: JsonObject) -> None:
    rules = schema.pop("dependencies", None)
    if not is_object(rules):
        return
    names = {name: rule for name, rule in rules.items() if is_array(rule)}
    others = {name: rule for name, rule in rules.items() if not is_array(rule)}
    if names:
        schema.setdefault("dependentRequired", names)
    if others:
        schema.setdefault("dependentSchemas", others)


def in_order(properties: JsonObject, required: list[str]) -> list[str]:
    """The names of properties as copies list them: required ones as required, then by code point.

    The order in which a model writes arguments follows it, so the ones that matter come first.
    """
    first = [name for name in dict.fromkeys(required) if name in properties]
    return [*first, *sorted(properties.keys() - set(first))]


def plain_data(value: Any) -> Any:
    """A JSON value spelled in one way only, whatever the order and spelling it came in."""
    if isinstance(value, str):
        return plain_text(value)
    if value is None or isinstance(value, bool):
        return value
    text = canonical(value)
    if b"\\ud" in text:
        text = plain_text(json.dumps(json.loads(text), ensure_ascii=False))
    return json.loads(text)


def plain_text(text: str) -> str:
    """The text, with what no UTF-8 request can carry replaced."""
    if not has_surrogates(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
