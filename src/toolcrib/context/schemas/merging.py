"""Two schemas that both hold, written as one: as narrow as one plain schema can say."""

from typing import Any, Final

from toolcrib.context.schemas.enum_words import joined
from toolcrib.core.canonical import canonical
from toolcrib.core.jsontypes import JsonObject, is_array, is_number, is_object

_LARGER: Final = frozenset(
    {"exclusiveMinimum", "minContains", "minItems", "minLength", "minProperties", "minimum"}
)
_SMALLER: Final = frozenset(
    {"exclusiveMaximum", "maxContains", "maxItems", "maxLength", "maxProperties", "maximum"}
)


def both(one: JsonObject, other: JsonObject) -> JsonObject:
    """One schema for what both of these allow; where it cannot be said, the first one's word."""
    merged = dict(one)
    for keyword, value in other.items():
        merged[keyword] = _both(keyword, one[keyword], value) if keyword in one else value
    return merged


def _both(keyword: str, one: Any, other: Any) -> Any:
    if keyword == "properties" and is_object(one) and is_object(other):
        return _properties(one, other)
    if keyword == "required" and is_array(one) and is_array(other):
        return list(dict.fromkeys([*one, *other]))
    if keyword == "type":
        return _types(one, other)
    if keyword == "enum" and is_array(one) and is_array(other):
        return _shared(one, other) or one
    if keyword == "description":
        return joined(one, other)
    return _bound(keyword, one, other)


def _properties(one: JsonObject, other: JsonObject) -> JsonObject:
    merged = dict(one)
    for name, schema in other.items():
        held = one.get(name)
        if name not in one or held is True:
            merged[name] = schema
        elif is_object(held) and is_object(schema):
            merged[name] = both(held, schema)
        elif schema is False:
            merged[name] = False
    return merged


def _types(one: Any, other: Any) -> Any:
    names = [other] if isinstance(other, str) else other
    if not is_array(names):
        return one
    held = [one] if isinstance(one, str) else one
    if not is_array(held):
        return names
    wide = {"number"} if "integer" in names and "number" not in names else set[str]()
    narrow = {"integer"} if "integer" in held and "number" in names else set[str]()
    shared = [name for name in held if name in names or name in narrow]
    shared += ["integer" for name in held if name in wide]
    shared = list(dict.fromkeys(shared))
    return one if not shared else shared[0] if len(shared) == 1 else shared


def _shared(one: list[Any], other: list[Any]) -> list[Any]:
    known = {canonical(value) for value in other}
    return [value for value in one if canonical(value) in known]


def _bound(keyword: str, one: Any, other: Any) -> Any:
    if is_number(one) and is_number(other):
        if keyword in _LARGER:
            return max(one, other)
        if keyword in _SMALLER:
            return min(one, other)
    return False if keyword == "additionalProperties" and other is False else one


def either(schemas: list[Any]) -> Any:
    """One schema for what any of these allows."""
    distinct = {canonical(schema): schema for schema in schemas}
    found = list(distinct.values())
    return found[0] if len(found) == 1 else {"anyOf": found}
