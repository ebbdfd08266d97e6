"""Keywords about one value alone: its type, listed values, bounds of numbers, texts and sizes."""

import operator
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from toolcrib.adapters.schema import fault_words as words
from toolcrib.core.canonical import canonical
from toolcrib.core.jsontypes import (
    JsonArray,
    JsonObject,
    is_array,
    is_integer,
    is_number,
    is_object,
)

Matches = Callable[[str, str], bool | None]
"""Whether a pattern occurs in a text; None: unknown."""

_TYPES: Final[dict[str, Callable[[object], bool]]] = {
    "array": is_array,
    "boolean": lambda value: isinstance(value, bool),
    "integer": is_integer,
    "null": lambda value: value is None,
    "number": is_number,
    "object": is_object,
    "string": lambda value: isinstance(value, str),
}

_MOST_COMPARED: Final = 10_000
"""Items that are searched for equal ones."""

_FRACTION_DIGITS: Final = 400
"""More digits than that are not divided."""


def types_of(schema: JsonObject) -> tuple[str, ...]:
    """The types that a schema names; none where it names none."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return (kind,)
    return tuple(map(str, kind)) if is_array(kind) else ()


def is_of(value: object, types: Sequence[str], *, whole: bool) -> bool:
    """Whether a value has one of these types.

    Args:
        value: Any JSON value.
        types: Names of types.
        whole: Whether an integer must be written as one, as in draft 4: `1.0` is none there.
    """
    if whole and "integer" in types and "number" not in types and isinstance(value, float):
        return False
    return any(name in _TYPES and _TYPES[name](value) for name in types)


def listed(schema: JsonObject) -> list[object] | None:
    """The values that a schema lists; None where it lists none."""
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if is_array(values) else None


def is_listed(value: object, values: Sequence[object]) -> bool:
    """Whether a value is among others, as JSON compares them."""
    own = canonical(value)
    return any(canonical(one) == own for one in values)


def broken_rules(
    schema: JsonObject, value: object, matches: Matches
) -> Iterator[tuple[str, str | None]]:
    """Keywords that a value breaks, each with a sentence; None for one that nobody can tell."""
    if is_number(value):
        yield from _of_numbers(schema, value)
    elif isinstance(value, str):
        yield from _sizes(schema, len(value), "characters", "minLength", "maxLength")
        pattern = schema.get("pattern")
        fits = matches(pattern, value) if isinstance(pattern, str) else True
        if fits is None:
            yield "pattern", None
        elif not fits:
            yield "pattern", words.unmatched(value, str(pattern))
    elif is_array(value):
        yield from _sizes(schema, len(value), "items", "minItems", "maxItems")
        if schema.get("uniqueItems") is True:
            yield from _twice(value)
    elif is_object(value):
        yield from _sizes(schema, len(value), "members", "minProperties", "maxProperties")


def _of_numbers(schema: JsonObject, value: float) -> Iterator[tuple[str, str | None]]:
    for keyword, limit in _bounds(schema):
        rule, breaks = _COMPARED[keyword]
        if is_number(limit) and breaks(value, limit):
            yield keyword, words.beyond(value, rule, limit)
    step = schema.get("multipleOf")
    if is_number(step) and step > 0:
        divides = _divides(step, value)
        if not divides:
            what = words.beyond(value, "a multiple of", step)
            yield "multipleOf", None if divides is None else what


_COMPARED: Final[dict[str, tuple[str, Callable[[float, float], bool]]]] = {
    "minimum": ("at least", operator.lt),
    "exclusiveMinimum": ("more than", operator.le),
    "maximum": ("at most", operator.gt),
    "exclusiveMaximum": ("less than", operator.ge),
}
"""What each bound asks for, and how a number breaks it."""


def _bounds(schema: JsonObject) -> Iterator[tuple[str, object]]:
    """The bounds of numbers; in draft 4 `true` makes the bound beside it exclusive."""
    for plain, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if schema.get(exclusive) is True:
            yield exclusive, schema.get(plain)
        else:
            yield plain, schema.get(plain)
            yield exclusive, schema.get(exclusive)


def _divides(step: float, value: float) -> bool | None:
    """Whether a number is a multiple of another, both as written in decimal digits."""
    parts = [Decimal(repr(number)) for number in (value, step)]
    if any(abs(part.adjusted()) > _FRACTION_DIGITS for part in parts):
        return None
    return (Fraction(parts[0]) / Fraction(parts[1])).denominator == 1


def _sizes(
    schema: JsonObject, size: int, word: str, least: str, most: str
) -> Iterator[tuple[str, str | None]]:
    low, high = schema.get(least), schema.get(most)
    if is_number(low) and size < low:
        yield least, words.counted(size, word, "at least", low)
    if is_number(high) and size > high:
        yield most, words.counted(size, word, "at most", high)


def _twice(value: JsonArray) -> Iterator[tuple[str, str | None]]:
    """The first two equal items."""
    if len(value) > _MOST_COMPARED:
        yield "uniqueItems", None
        return
    seen: dict[bytes, int] = {}
    for at, item in enumerate(value):
        mark = canonical(item)
        if mark in seen:
            what = f"has equal items at {seen[mark]} and {at}, but each must be different"
            yield "uniqueItems", what
            return
        seen[mark] = at


def required(schema: JsonObject, value: JsonObject) -> list[str]:
    """Members that have to be there and are not."""
    names: Any = schema.get("required")
    found = [name for name in names if name not in value] if is_array(names) else []
    for name, needs in _dependent(schema):
        if name in value:
            found += [need for need in needs if need not in value]
    return list(dict.fromkeys(map(str, found)))


def _dependent(schema: JsonObject) -> Iterator[tuple[str, JsonArray]]:
    for keyword in ("dependentRequired", "dependencies"):
        named = schema.get(keyword)
        if is_object(named):
            yield from ((name, needs) for name, needs in named.items() if is_array(needs))
