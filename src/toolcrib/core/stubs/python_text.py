"""Signatures as declarations of Python, to be read by type checkers and models.

    async def create_issue(*, title: str, labels: ListOf[str] = ...) -> CreateIssueResult:
        "Opens an issue."

A checker cannot follow how a program has built what it hands over: a list that grew is a
`list[str]`, an object in a variable a `dict[str, str]`, a row of another tool's result a record of
that tool, a number that was computed any number; and none of them is what a stricter type would
demand. So arguments are anything that can be read as a list or a mapping, values inside them may
be any of their type, numbers have no list of values, and an object may be any mapping. What a
server really takes is checked with each call.
"""

import re
from collections.abc import Callable
from typing import Final, assert_never

from toolcrib.core.stubs.reserved import LIST, PYTHON_KEYWORDS, TYPE_WORDS, TYPING
from toolcrib.core.stubs.shapes import (
    ListOf,
    Literals,
    MapOf,
    Named,
    Plain,
    Record,
    Shape,
    Union,
    Value,
)
from toolcrib.core.stubs.signature import Signature
from toolcrib.core.stubs.wording import MOST_DOC, python_string

HEADER: Final = f"""\
from typing import {", ".join(sorted(TYPING))}
_T = TypeVar("_T", covariant=True)
class {LIST}(Protocol[_T]):
    def __contains__(self, item: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> _T: ...
    def __iter__(self) -> Any: ...
    def __mul__(self, times: Any, /) -> Any: ...
"""
"""Before all types. Lists and tuples have these four; texts, sets, ranges and dicts have not: a
text is a sequence of texts, but never meant as one, and the others are no JSON."""

_PLAIN: Final = {
    Plain.ANY: "Any",
    Plain.NEVER: "Never",
    Plain.STR: "str",
    Plain.INT: "int",
    Plain.NUM: "float",
    Plain.BOOL: "bool",
    Plain.NULL: "None",
}
_ANY_OBJECT: Final = "Mapping[str, Any]"
_SEPARATOR: Final = re.compile(r"[^A-Za-z0-9_]")
_Printed = Callable[[Shape], str]


def python_declarations(it: Signature) -> str:
    """The types of one function, and the function."""
    unfit = TYPE_WORDS | PYTHON_KEYWORDS | it.type_names
    records = [_record(record, _given, unfit) for record in it.given]
    records += [_record(record, _taken, unfit) for record in it.taken]
    return "".join([*records, _function(it)])


def _function(it: Signature) -> str:
    parts = [
        f"{one.name}: {_given(one.field.shape)}{'' if one.field.required else ' = ...'}"
        for one in it.parameters
    ]
    if it.open:
        name = "extra"
        while any(one.name == name for one in it.parameters):
            name += "_"
        parts.append(f"**{name}: Any")
    star = "*, " if it.parameters else ""
    head = f"async def {it.identifier}({star}{', '.join(parts)}) -> {_taken(it.result)}:"
    doc = _doc(it)
    return f"{head}\n    {python_string(doc)}\n" if doc else f"{head} ...\n"


def _doc(it: Signature) -> str:
    """What the tool says of itself, and which arguments have other names upstream."""
    pairs = [
        f"{name} is {python_string(key[:60])}"
        for name, key in it.renamed.items()
        if _SEPARATOR.sub("_", key) != name  # what the module says once
    ]
    if not pairs:
        return it.doc
    renamed = f"Arguments: {', '.join(pairs)}."[:MOST_DOC]
    room = max(0, MOST_DOC - len(renamed) - 1)
    return f"{it.doc[:room]} {renamed}".strip()


def _record(record: Record, printed: _Printed, unfit: frozenset[str]) -> str:
    members = [
        (it.key, printed(it.shape) if it.required else f"NotRequired[{printed(it.shape)}]")
        for it in record.fields
    ]
    others = ", extra_items=Any" if record.open else ""  # PEP 728
    if members and all(_is_plain_key(key, unfit) for key, _ in members):
        lines = "".join(f"    {key}: {shape}\n" for key, shape in members)
        return f"class {record.name}(TypedDict{others}):\n{lines}"
    inside = ", ".join(f"{python_string(key)}: {shape}" for key, shape in members)
    return f'{record.name} = TypedDict("{record.name}", {{{inside}}}{others})\n'


def _is_plain_key(key: str, unfit: frozenset[str]) -> bool:
    """Whether a key can be written as a member of a class, and hides no type in there."""
    return key.isascii() and key.isidentifier() and not key.startswith("__") and key not in unfit


def _given(shape: Shape, *, within: bool = False) -> str:
    """The type of an argument; `within` a sequence or mapping it is wider."""
    match shape:
        case Plain():
            return _PLAIN[shape]
        case Literals(values):
            return _listed(values, within=within)
        case ListOf(item):
            return f"{LIST}[{_given(item, within=True)}]"
        case MapOf(value):
            return f"Mapping[str, {_given(value, within=True)}]"
        case Named(name):
            return f"{name} | {_ANY_OBJECT}"
        case Union(options):
            parts = [_option(option, within=within) for option in options]
            objects = any(isinstance(option, Named) for option in options)
            return " | ".join(dict.fromkeys([*parts, _ANY_OBJECT] if objects else parts))
        case _:
            assert_never(shape)


def _option(shape: Shape, *, within: bool) -> str:
    """One alternative; that objects may be any is said once for all of them."""
    return shape.name if isinstance(shape, Named) else _given(shape, within=within)


def _taken(shape: Shape) -> str:
    """The type of a result, as exact as it is known."""
    match shape:
        case Plain():
            return _PLAIN[shape]
        case Literals(values):
            return _literal(values)
        case ListOf(item):
            return f"list[{_taken(item)}]"
        case MapOf(value):
            return f"dict[str, {_taken(value)}]"
        case Named(name):
            return name
        case Union(options):
            return " | ".join(map(_taken, options))
        case _:
            assert_never(shape)


def _literal(values: tuple[Value, ...]) -> str:
    written = (python_string(it) if isinstance(it, str) else repr(it) for it in values)
    return f"Literal[{', '.join(written)}]"


def _listed(values: tuple[Value, ...], *, within: bool) -> str:
    """Values that an argument may have: numbers as any number, and so is what is `within`."""
    numbers = any(type(it) is int for it in values)
    others = tuple(it for it in values if type(it) is not int)
    parts = [_literal(others)] if others else []
    parts += dict.fromkeys(type(it).__name__ for it in others) if within else ()
    return " | ".join([*parts, "float"] if numbers else parts)
