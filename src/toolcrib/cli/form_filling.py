"""A form, filled in at the terminal field by field (MCP 2026-07-28, client: elicitation).

An empty line takes the default, or leaves a field out that may be left out; `""` is the empty text.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolcrib.cli.person import CANCEL, DECLINE, Person, Refused
from toolcrib.cli.terminal_text import clipped, one_line, visible
from toolcrib.core.jsontypes import is_array, is_number, is_object
from toolcrib.protocol.forms import Field, Form

_LABEL: Final = 120
_YES: Final = frozenset({"y", "yes", "true"})
_NO: Final = frozenset({"n", "no", "false"})
_HINTS: Final[Mapping[str, str]] = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "y or n",
    "choices": "numbers with commas between them, - for none",
}
_NOTHING: Final = object()


async def fill_in(form: Form, person: Person) -> dict[str, Any]:
    """The content of the form, as the person wants to send it.

    Raises:
        Refused: The person says no, or puts the question aside.
    """
    person.tell(f"({DECLINE} says no, {CANCEL} or Ctrl-D puts the question aside)", "dim")
    if not form.fields:
        if await person.agrees("Do you agree?"):
            return {}
        raise Refused("decline")
    while True:
        content = {
            field.name: value
            for field in form.fields
            if (value := await _fill(field, person)) is not _NOTHING
        }
        if _is_one_choice(form) or await _is_right(content, person):
            return content


async def _is_right(content: Mapping[str, Any], person: Person) -> bool:
    """Whether the person sends what they filled in, having seen it as a whole."""
    person.tell("This is what you send:")
    for name, value in content.items():
        person.tell(f"  {one_line(name)} = {one_line(json.dumps(value, ensure_ascii=False))}")
    return await person.agrees("Send it?")


def _is_one_choice(form: Form) -> bool:
    """Whether to choose is to answer: then nothing is left to look over."""
    return len(form.fields) == 1 and not form.fields[0].free and form.fields[0].type != "choices"


async def _fill(field: Field, person: Person) -> object:
    """A value that fits; `_NOTHING` where the field is left out."""
    title, default = _title(field.schema, field.name), _default(field)
    head = one_line(title) + (" (required)" if field.required and default is _NOTHING else "")
    person.tell(head, "bold")
    described = field.schema.get("description")
    if isinstance(described, str) and described.strip():
        person.tell(f"  {visible(described.strip())}")
    for number, (value, label) in enumerate(_labelled(field), start=1):
        named = "" if label == value else f"  ({clipped(value, _LABEL)})"
        person.tell(f"  {number}. {clipped(label, _LABEL)}{named}")
    while True:
        written = await person.line(f"  {_hint(field, default)}:")
        if not written:
            if default is not _NOTHING:
                return default
            if not field.required:
                return _NOTHING
            person.tell("  it must be answered", "yellow")
            continue
        value = _read(field, written)
        fault = field.fault_of(value)
        if fault is None:
            return value
        person.tell(f"  it {visible(fault)}", "yellow")


def _hint(field: Field, default: object) -> str:
    what = _HINTS[field.type]
    if field.type == "string" and field.choices is not None:
        what = "a number"
    if default is _NOTHING:
        return what
    return f"{what} [{clipped(_shown(default), _LABEL)}]"


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _default(field: Field) -> object:
    """The default, where the server offers one that fits."""
    value = field.schema.get("default", _NOTHING)
    if value is _NOTHING or value is None or field.fault_of(value) is not None:
        return _NOTHING
    return value


def _read(field: Field, written: str) -> object:
    """What was written, as the type of the field; as text where it is nothing of the kind."""
    match field.type:
        case "boolean":
            word = written.lower()
            return True if word in _YES else False if word in _NO else written
        case "number" | "integer":
            return _number(written)
        case "string":
            if field.choices is None:
                return "" if written == '""' else written
            return _chosen(written, field.choices)
        case "choices":
            return _several(written, field.choices or ())


def _number(written: str) -> object:
    try:
        value: object = json.loads(written)
    except (ValueError, RecursionError):
        return written
    return value if is_number(value) and math.isfinite(value) else written


def _several(written: str, choices: Sequence[str]) -> list[str]:
    if written in choices:
        return [written]
    if written == "-":
        return []
    words = [word.strip() for word in written.split(",")]
    return list(dict.fromkeys(_chosen(word, choices) for word in words if word))


def _chosen(word: str, choices: Sequence[str]) -> str:
    """A choice by its own name, else by its number."""
    if word in choices:
        return word
    number = int(word) if word.isascii() and word.isdigit() and len(word) < 5 else 0  # noqa: PLR2004
    return choices[number - 1] if 0 < number <= len(choices) else word


def _labelled(field: Field) -> list[tuple[str, str]]:
    """The choices of a field with their titles."""
    if field.choices is None:
        return []
    schema: Any = field.schema.get("items") if field.type == "choices" else field.schema
    source: Mapping[str, Any] = schema if is_object(schema) else {}
    named, titled = source.get("enumNames"), source.get("oneOf", source.get("anyOf"))
    labels: list[object] = list(field.choices)
    if is_array(titled):
        labels = [_title(one, "") for one in titled]
    elif is_array(named):
        labels = [*named, *labels[len(named) :]]
    return [
        (choice, label if isinstance(label, str) and label else choice)
        for choice, label in zip(field.choices, labels, strict=False)
    ]


def _title(schema: object, otherwise: str) -> str:
    title = schema.get("title") if is_object(schema) else None
    return title if isinstance(title, str) and title.strip() else otherwise
