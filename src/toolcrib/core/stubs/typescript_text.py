"""Signatures as declarations of TypeScript, to be read by type checkers and models.

export interface CreateIssueArgs { title: string; labels?: string[] }
/** Opens an issue. */
export function create_issue(args: CreateIssueArgs): Promise<CreateIssueResult>;

As in Python, values that a schema lists bind results, and say of arguments what is meant: a text
that came from elsewhere, or a number that was computed, may be one of them.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final, assert_never

from toolcrib.core.stubs.shapes import (
    Field,
    ListOf,
    Literals,
    MapOf,
    Named,
    Plain,
    Shape,
    Union,
    Value,
)
from toolcrib.core.stubs.signature import Signature
from toolcrib.core.stubs.wording import typescript_comment, typescript_string

TYPE_WORDS: Final = frozenset({"Array", "Promise", "Record"})
"""Names of the language's library that these declarations are written with."""

_KEY: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_PLAIN: Final = {
    Plain.ANY: "any",
    Plain.NEVER: "never",
    Plain.STR: "string",
    Plain.INT: "number",
    Plain.NUM: "number",
    Plain.BOOL: "boolean",
    Plain.NULL: "null",
}


def typescript_declarations(it: Signature) -> str:
    """The types of one function, and the function."""
    fields = [one.field for one in it.parameters]
    records = "".join(
        _interface(one.name, one.fields, _given, is_open=one.open) for one in it.given
    )
    records += "".join(
        _interface(one.name, one.fields, _taken, is_open=one.open) for one in it.taken
    )
    if fields:
        records += _interface(it.arguments, fields, _given, is_open=it.open)
        kind = it.arguments
    else:
        kind = f"Record<string, {'any' if it.open else 'never'}>"
    optional = "" if any(field.required for field in fields) else "?"
    comment = f"{typescript_comment(it.doc)}\n" if it.doc else ""
    head = f"export function {it.identifier}(args{optional}: {kind})"
    return f"{records}{comment}{head}: Promise<{_taken(it.result)}>;\n"


def _interface(
    name: str, fields: Iterable[Field], printed: Callable[[Shape], str], *, is_open: bool
) -> str:
    members = [f"{_key(it.key)}{'' if it.required else '?'}: {printed(it.shape)}" for it in fields]
    if is_open:
        members.append("[key: string]: any")
    return f"export interface {name} {{ {'; '.join(members)} }}\n"


def _key(key: str) -> str:
    return key if _KEY.fullmatch(key) else typescript_string(key)


def _given(shape: Shape) -> str:
    return _type(shape, _meant)


def _taken(shape: Shape) -> str:
    return _type(shape, lambda values: [_value(it) for it in values])


def _type(shape: Shape, listed: Callable[[tuple[Value, ...]], Iterable[str]]) -> str:
    match shape:
        case Plain():
            return _PLAIN[shape]
        case Literals(values):
            return " | ".join(dict.fromkeys(listed(values)))
        case ListOf(item):
            return f"Array<{_type(item, listed)}>"
        case MapOf(value):
            return f"Record<string, {_type(value, listed)}>"
        case Named(name):
            return name
        case Union(options):
            return " | ".join(dict.fromkeys(_type(it, listed) for it in options))
        case _:
            assert_never(shape)


def _meant(values: tuple[Value, ...]) -> list[str]:
    """Values of an argument: texts that are meant, and any other; numbers as any number."""
    texts = [_value(it) for it in values if isinstance(it, str)]
    others = [
        "boolean" if isinstance(it, bool) else "number" for it in values if type(it) is not str
    ]
    return [*texts, *(["(string & {})"] if texts else []), *others]


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return typescript_string(value) if isinstance(value, str) else str(value)
