"""The few types that stubs are made of, between JSON Schema and the languages they are printed in.

What a schema says beyond them (bounds, patterns, conditions) is left to the check of each call. A
shape may allow more than its schema, never less.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

MOST_LITERALS: Final = 40
"""Values that are listed one by one; of more, only the type is told."""
_MOST_OPTIONS: Final = 20
"""Alternatives of one union, values aside; of more, nothing is told."""

Value = str | int | bool


class Plain(Enum):
    """Types without parts."""

    ANY = "any"
    NEVER = "never"
    STR = "str"
    INT = "int"
    NUM = "num"
    BOOL = "bool"
    NULL = "null"


@dataclass(frozen=True, slots=True)
class Literals:
    """One of some values; null is a type of its own."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """An array."""

    item: "Shape"


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object whose members have any name and one type."""

    value: "Shape"


@dataclass(frozen=True, slots=True)
class Named:
    """A record, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Union:
    """One of at least two types, none of which is a union."""

    options: tuple["Shape", ...]


Shape = Plain | Literals | ListOf | MapOf | Named | Union


@dataclass(frozen=True, slots=True)
class Field:
    """A member of an object."""

    key: str
    """As it stands upstream."""
    shape: Shape
    required: bool


@dataclass(frozen=True, slots=True)
class Record:
    """An object with known members."""

    name: str
    fields: tuple[Field, ...]
    """The required ones first, each sort by key, so that the order received does not matter."""
    open: bool
    """Whether members with other names are expected."""


def union(options: Iterable[Shape]) -> Shape:
    """What any of these types allows, in the simplest form; null stands last."""
    flat: list[Shape] = []
    values: dict[tuple[type, Value], Value] = {}
    for option in options:
        for shape in option.options if isinstance(option, Union) else (option,):
            if isinstance(shape, Literals):
                values.update(((type(value), value), value) for value in shape.values)
            if shape not in flat:
                flat.append(shape)
    if Plain.ANY in flat:
        return Plain.ANY
    kept = [shape for shape in flat if not isinstance(shape, Literals)]
    first = [Literals(tuple(values.values()))] if values else []
    if len(values) > MOST_LITERALS:
        bases = {_base(value): None for value in values.values()}
        first, kept = [], [*bases, *(shape for shape in kept if shape not in bases)]
    return _joined([*first, *kept])


def _joined(shapes: list[Shape]) -> Shape:
    ordered = [shape for shape in shapes if shape not in {Plain.NEVER, Plain.NULL}]
    if Plain.NULL in shapes:
        ordered.append(Plain.NULL)
    if len(ordered) > _MOST_OPTIONS:
        return Plain.ANY
    if len(ordered) <= 1:
        return ordered[0] if ordered else Plain.NEVER
    return Union(tuple(ordered))


def _base(value: Value) -> Shape:
    if isinstance(value, bool):
        return Plain.BOOL
    return Plain.INT if isinstance(value, int) else Plain.STR
