"""Schemas that OpenAI can hold a model to, letter by letter, where a schema can be made one.

Every object lists all its properties as required and is closed; what may be left out may be null
instead. So a strict copy allows less than the original, and null stands for "left out": see
`without_nulls`.
"""

from typing import Any, Final

from toolcrib.core.jsontypes import JsonArray, JsonObject, is_array, is_object

KEPT: Final = frozenset(
    {
        "type",
        "description",
        "enum",
        "const",
        "format",
        "pattern",
        "minimum",
        "exclusiveMinimum",
        "maximum",
        "exclusiveMaximum",
        "multipleOf",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "maxItems",
        "anyOf",
    }
)
"""Keywords of a strict schema."""

_SCALAR: Final = KEPT - {
    "additionalProperties",
    "items",
    "maxItems",
    "minItems",
    "properties",
    "required",
}
FORMATS: Final = frozenset(
    {
        "date",
        "date-time",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "time",
        "uuid",
    }
)
_INSIDE: Final = frozenset({"anyOf", "items", "properties"})
_PLAIN: Final = frozenset({"boolean", "integer", "null", "number", "string"})
MOST_PROPERTIES: Final = 5_000
MOST_LEVELS: Final = 10
MOST_VALUES: Final = 1_000

_IGNORED: Final = frozenset(
    {
        "contentEncoding",
        "contentMediaType",
        "default",
        "maxLength",
        "minLength",
        "title",
        "uniqueItems",
    }
)
"""Keywords that may be left out, because the original checks them."""


class _NotStrict(Exception):
    """A part of the schema cannot be said strictly."""


def strict(schema: JsonObject) -> JsonObject | None:
    """The strict form of a copy without references; None where there is none.

    There is none for objects with free names, for values of any kind, and beyond OpenAI's limits:
    5,000 properties, 10 levels, 1,000 values of enumerations in all.
    """
    making = _Making()
    try:
        return making.closed(schema, 1)
    except _NotStrict:
        return None


class _Making:
    """One schema on its way to a strict one, within limits that count over all of it."""

    def __init__(self) -> None:
        self._properties = 0
        self._values = 0

    def closed(self, schema: JsonObject, level: int) -> JsonObject:
        """The strict form of an object."""
        properties = schema.get("properties", {})
        open_to = schema.get("additionalProperties", False)
        self._properties += len(properties)
        if self._properties > MOST_PROPERTIES or level > MOST_LEVELS:
            raise _NotStrict
        if open_to is not False or (level > 1 and not properties):
            raise _NotStrict
        required = schema.get("required", [])
        made = {
            name: self.at(it, level) if name in required else _or_null(self.at(it, level))
            for name, it in properties.items()
        }
        out: JsonObject = {"type": "object"}
        if "description" in schema:
            out["description"] = schema["description"]
        return {
            **out,
            "properties": made,
            "required": list(made),
            "additionalProperties": False,
        }

    def at(self, schema: JsonObject, level: int) -> JsonObject:
        """The strict form of any schema."""
        kind = schema.get("type")
        if not (schema.keys() - _IGNORED <= KEPT):
            raise _NotStrict
        if is_array(branches := schema.get("anyOf")):
            return self._any_of(schema, branches, level)
        if kind == "object":
            return self.closed(schema, level + 1)
        out = {keyword: it for keyword, it in schema.items() if keyword in _SCALAR}
        if out.get("format", "date") not in FORMATS:
            del out["format"]
        if kind == "array":
            items = schema.get("items")
            if not is_object(items) or not items:
                raise _NotStrict
            bounds = {it: schema[it] for it in ("minItems", "maxItems") if it in schema}
            return {**out, "items": self.at(items, level), **bounds}
        return self._scalar(out)

    def _any_of(self, schema: JsonObject, branches: JsonArray, level: int) -> JsonObject:
        if schema.keys() - _IGNORED - {"anyOf", "description", "type"}:
            raise _NotStrict
        out = {"anyOf": [self.at(branch, level) for branch in branches]}
        words = schema.get("description")
        return {"description": words, **out} if words else out

    def _scalar(self, out: JsonObject) -> JsonObject:
        values = out.get("enum")
        if is_array(values):
            self._values += len(values)
        kind = out.get("type") or _implied(values if is_array(values) else [out.get("const", {})])
        names = kind if is_array(kind) else [kind]
        if self._values > MOST_VALUES or not names or not set(names) <= _PLAIN:
            raise _NotStrict
        return {"type": names[0] if len(names) == 1 else names, **_without_type(out)}


def _without_type(schema: JsonObject) -> JsonObject:
    return {keyword: value for keyword, value in schema.items() if keyword != "type"}


def _implied(values: JsonArray) -> list[str]:
    """The types of values, where none was declared: a strict schema names them."""
    return sorted({_type_of(value) for value in values})


def _type_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case int() | float():
            return "number"
        case _:
            return "object"


def _or_null(schema: JsonObject) -> JsonObject:
    """The schema, or null, which stands for a value that is left out."""
    if accepts_null(schema):
        return schema
    kind = schema.get("type")
    if isinstance(kind, str) and not {"const", "enum", "properties"} & schema.keys():
        return {**schema, "type": [kind, "null"]}
    if is_array(branches := schema.get("anyOf")):
        return {**schema, "anyOf": [*branches, {"type": "null"}]}
    words = schema.get("description")
    rest = {keyword: value for keyword, value in schema.items() if keyword != "description"}
    out: JsonObject = {"anyOf": [rest, {"type": "null"}]}
    return {"description": words, **out} if words else out


def accepts_null(schema: JsonObject) -> bool:
    """Whether null fits a copy without references, as far as types and alternatives say."""
    for keyword in ("anyOf", "oneOf"):
        if is_array(branches := schema.get(keyword)):
            return any(accepts_null(branch) for branch in branches)
    if "const" in schema:
        return schema["const"] is None
    if is_array(values := schema.get("enum")):
        return None in values
    kind = schema.get("type")
    return kind is None or kind == "null" or (is_array(kind) and "null" in kind)


def without_nulls(arguments: Any, copy: JsonObject) -> Any:
    """The arguments without each null that stands for a value that was left out.

    A null goes only where the schema neither requires the member nor takes null for it.

    Args:
        arguments: As a model wrote them.
        copy: The schema as a copy without references.
    """
    if _INSIDE.isdisjoint(copy):
        return arguments  # nothing is known of it, however deep it is
    if is_array(arguments):
        items = copy.get("items")
        return [without_nulls(it, items) for it in arguments] if is_object(items) else arguments
    if not is_object(arguments):
        return arguments
    if is_array(branches := copy.get("anyOf")):
        fitting = [it for it in branches if arguments.keys() <= _members(it).keys()]
        copy = fitting[0] if fitting else {}
    properties = _members(copy)
    required = copy.get("required", [])
    kept: JsonObject = {}
    for name, value in arguments.items():
        rule = properties.get(name, {})
        if value is not None or name in required or accepts_null(rule):
            kept[name] = without_nulls(value, rule)
    return kept


def _members(copy: JsonObject) -> JsonObject:
    return copy.get("properties", {})
