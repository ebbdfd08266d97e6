"""Values that a schema lists, as types."""

from collections.abc import Callable, Iterable
from typing import Final

from toolcrib.core.jsontypes import JsonArray, is_array, is_integer, is_number
from toolcrib.core.quoting import has_surrogates
from toolcrib.core.stubs.shapes import MOST_LITERALS, ListOf, Literals, MapOf, Plain, Shape, union

LONGEST: Final = 200
"""Characters of a key or value that is written out."""
_SAFE: Final = 2**53
"""Beyond it a program of the other language would see another number."""

SIMPLE: Final = {
    "boolean": Plain.BOOL,
    "integer": Plain.INT,
    "null": Plain.NULL,
    "number": Plain.NUM,
    "string": Plain.STR,
}
"""The types of JSON without parts, by the names that schemas have for them."""


def listed(values: JsonArray, types: Iterable[str] | None, spend: Callable[[int], bool]) -> Shape:
    """The type of a place that may have these values, as far as they can be written.

    Args:
        values: Of `enum`, or the one of `const`.
        types: What the schema names beside them; values of others are left out.
        spend: Takes the weight of a value; false where there is no room for it.
    """
    named = [value for value in values if _fits(value, types)]
    if len(named) > MOST_LITERALS:
        return union({_type_of(value): None for value in named})
    return union(
        _alone(value) if spend(1 + _length(value) // 40) else _type_of(value) for value in named
    )


def _length(value: object) -> int:
    return len(value) if isinstance(value, str) else 0


def _fits(value: object, types: Iterable[str] | None) -> bool:
    if types is None or not SIMPLE.keys() >= set(types):
        return True
    if value is None:
        return "null" in types
    if isinstance(value, bool):
        return "boolean" in types
    if is_number(value):
        return "number" in types or ("integer" in types and is_integer(value))
    return isinstance(value, str) and "string" in types


def _alone(value: object) -> Shape:
    """One value, or its type where it cannot be written in every language."""
    if isinstance(value, bool):
        return Literals((value,))
    if is_number(value) and -_SAFE <= value <= _SAFE and is_integer(value):
        return Literals((int(value),))
    if isinstance(value, str) and len(value) <= LONGEST and not has_surrogates(value):
        return Literals((value,))
    return _type_of(value)


def _type_of(value: object) -> Shape:
    if value is None:
        return Plain.NULL
    if isinstance(value, bool):
        return Plain.BOOL
    if is_number(value):
        return Plain.INT if isinstance(value, int) else Plain.NUM
    if isinstance(value, str):
        return Plain.STR
    return ListOf(Plain.ANY) if is_array(value) else MapOf(Plain.ANY)
