"""Which findings of the type checker are certain, and worth that a program does not run.

A checker asks for proof that nothing can go wrong. A program that is written once, by somebody who
has seen the data, brings none: it takes a member that may be null where it is not, hands a text to
an argument that has a list of values, adds members to rows. So a finding is certain where no value
that the checker holds possible would do. Of all others the call's own check decides, against the
schema, with the value itself.
"""

import re
from collections.abc import Collection, Iterable
from typing import Final

_UNTOLD: Final = frozenset(
    {
        "invalid-parameter-default",  # what functions of the program say of themselves:
        "invalid-return-type",  # it runs whatever they say
        "missing-typed-dict-key",  # what is added to the rows of a result is the program's own
        "no-matching-overload",  # it does not say which types there were; no tool has overloads
    }
)
"""Sorts of findings that are never certain."""
_POSSIBLE: Final = (
    " may not be ",
    " in union `",
    "object of type `None` with no `__getitem__`",
    "Expected `<TypedDict with items",
)
"""Parts of findings that concern some of the values of a place, or what a program adds to rows."""
_ANY_KEY: Final = "can only be subscripted with a string literal key"
_KEY: Final = re.compile(r'Unknown key "(.*)" for TypedDict')
_STORED: Final = "` on object of type `dict["
_IN_PLACE: Final = re.compile(r"[^=]*\]\s*\S{1,3}=")
"""A member that is changed in place: only one of its types is told."""
_SET: Final = re.compile(r"""\[\s*(["'])([^"'\n]*)\1\s*\]\s*[-+*/|&]?=(?!=)""")
_DEFAULT: Final = re.compile(r"""\bsetdefault\(\s*(["'])([^"'\n]*)\1""")
_MERGED: Final = re.compile(r"(?:\bupdate\(|\|=)([^(){}=|]*=|\s*\{[^{}]*)")
_MEMBER: Final = re.compile(r"""(["'])([^"'\n]*)\1\s*:|()\b(\w+)\s*=""")
_RECORD: Final = re.compile(r"\w*Result\w*|Settled")
"""Names of types of results: what a program has of them are dicts."""
_GENERIC: Final = re.compile(r"(\w+)\[(.*)\]", re.DOTALL)
_TOKEN: Final = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[\[\]()]| \| |, """)
_MOST_BRACKETS: Final = 60
"""In one finding; what is nested deeper is not compared, nor what is longer or wider:"""
_LONGEST: Final = 6_000
_MOST_PAIRS: Final = 2_000
_LISTS: Final = frozenset({"Iterable", "ListOf", "Sequence", "list", "tuple"})
_DICTS: Final = frozenset({"Mapping", "defaultdict", "dict"})
_UNKNOWN: Final = frozenset({"Any", "Unknown", "object"})
_WIDER: Final = {"bool": {"float", "int"}, "int": {"float"}, "LiteralString": {"str"}}
_KNOWN: Final = frozenset({"None", "bool", "bytes", "float", "int", "str", "Literal"})


def certain(code: str, message: str, text: str, written: Collection[str]) -> bool:
    """Whether a finding holds for every value.

    Args:
        code: What sort of finding it is.
        message: In the words of the checker.
        text: The line of the program, from where it is about.
        written: The names of members that the program itself writes.
    """
    if code in _UNTOLD or any(part in message for part in _POSSIBLE):
        return False
    match code:
        case "invalid-key":
            key = _KEY.match(message)
            return _ANY_KEY not in message and (key is None or key[1] not in written)
        case "invalid-argument-type" if text.startswith("**"):
            return False  # every member of a dict is held against every argument
        case "unsupported-operator" if _IN_PLACE.match(text):
            return False
        case "missing-argument" | "unknown-argument":
            return True
        case _:
            small = len(message) <= _LONGEST and message.count("[") <= _MOST_BRACKETS
            return small and _no_value_fits(message)


def written_keys(source: str) -> frozenset[str]:
    """The names of members that a program seems to write; rather too many than too few."""
    found = {it[2] for pattern in (_SET, _DEFAULT) for it in pattern.finditer(source)}
    for merged in _MERGED.finditer(source):
        found |= {it[2] or it[4] for it in _MEMBER.finditer(merged[1])}
    return frozenset(found)


def _no_value_fits(message: str) -> bool:
    if (pair := _pair(message, "xpected `", "`, found `")) is not None:
        return not _may_fit(pair[1], pair[0])
    if (pair := _pair(message, "Object of type `", "` is not assignable to `")) is not None:
        return pair[0] != "None" and not _may_fit(*pair)
    if (pair := _pair(message, "between objects of type `", "` and `")) is not None:
        return _do_not_join(*pair)
    if (pair := _pair(message, "between two objects of type ", "`")) is not None:
        return _do_not_join(pair[1], pair[1])
    return _STORED not in message


def _pair(message: str, before: str, between: str) -> tuple[str, str] | None:
    """The two types that a text tells in such words, by looking at each character once."""
    _, first, rest = message.partition(before)
    left, second, right = rest.rpartition("`")[0].rpartition(between)
    return (left, right) if first and second else None


def _do_not_join(left: str, right: str) -> bool:
    """Whether an operator has no operands here that it may take."""
    sides = [_parts(left), _parts(right)]
    if any(len(side) > 1 or side[0] in _UNKNOWN for side in sides):
        return False
    lists = all(_family(side[0]) == "list" for side in sides)
    return not (lists and (_may_fit(left, right) or _may_fit(right, left)))


def _may_fit(found: str, wanted: str) -> bool:
    """Whether some value of one type can be of the other."""
    these, those = _parts(found), _parts(wanted)
    if len(these) * len(those) > _MOST_PAIRS:
        return True
    if len(these) > 1 and any(_family(it) == "" for it in those):
        return True  # a protocol: what belongs to it is not said
    return any(_fits(this, that) for this in these for that in those)


def _fits(found: str, wanted: str) -> bool:
    if found == wanted or not _UNKNOWN.isdisjoint({found, wanted}):
        return True
    name, inner = _split(found)
    other, outer = _split(wanted)
    if other == "Literal":
        values = {_base(value) for value in outer}
        return name in values or ("str" in values and name == "LiteralString")
    if name == "Literal":
        return other in {_base(value) for value in inner}
    family = _family(found)
    if family == _family(wanted) == "dict":
        return not (inner and outer) or _may_fit(inner[-1], outer[-1])
    if family == _family(wanted) == "list":
        return not outer or any(_may_fit(it, outer[0]) for it in inner)
    return other in _WIDER.get(name, ())


def _family(part: str) -> str:
    """What a type is a sort of; empty: nothing is known of it."""
    name, _ = _split(part)
    if name in _LISTS:
        return "list"
    if name in _DICTS or _RECORD.fullmatch(part):
        return "dict"
    return "other" if name in _KNOWN | _UNKNOWN or name in _WIDER else ""


def _base(value: str) -> str:
    if value[:1] in {'"', "'"}:
        return "str"
    return "bool" if value in {"True", "False"} else "int"


def _split(part: str) -> tuple[str, list[str]]:
    generic = _GENERIC.fullmatch(part)
    return (part, []) if generic is None else (generic[1], list(_cut(generic[2], ", ")))


def _parts(text: str) -> list[str]:
    """The alternatives of a type; a number is one of them."""
    parts = list(_cut(text, " | "))
    return [it for it in parts if it != "int"] if {"int", "float"} <= {*parts} else parts


def _cut(text: str, at: str) -> Iterable[str]:
    """The pieces of a type between separators that stand in no bracket and no text."""
    depth, begin = 0, 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        depth += (sign in {"(", "["}) - (sign in {")", "]"})
        if sign == at and not depth:
            yield text[begin : token.start()]
            begin = token.end()
    yield text[begin:]
