"""Forms that servers want filled in: what may be in one, and whether an answer fits.

MCP 2026-07-28, client: elicitation, requested schema. A form is flat: text, numbers, yes or no, and
choices. Older spellings of the same are taken too (`enumNames`, a type joined with `null`), because
servers in use send them; what no host can show is refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from toolcrib.core.invisible import visible
from toolcrib.core.jsontypes import described, is_array, is_integer, is_number, is_object
from toolcrib.core.quoting import enumerated, literal, quoted

MOST_FIELDS: Final = 64
"""Fields of one form."""

_LARGEST: Final = 1e300

MOST_CHOICES: Final = 512
"""Choices of one field."""

FieldType = Literal["string", "number", "integer", "boolean", "choices"]
_TYPES: Final[Mapping[str, FieldType]] = {
    "string": "string",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "array": "choices",
}

_FORMATS: Final[Mapping[str, re.Pattern[str]]] = {
    "email": re.compile(r"[^\s@]+@[^\s@]+"),
    "uri": re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+"),
    "date": re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"),
    "date-time": re.compile(
        r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt ]"
        r"(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)"
    ),
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form."""

    name: str
    type: FieldType
    schema: Mapping[str, Any]
    required: bool = False
    nullable: bool = False
    choices: tuple[str, ...] | None = None
    """What may be chosen; None: anything of the type."""

    @property
    def free(self) -> bool:
        """Whether a person writes the answer, and does not choose it."""
        return self.type != "boolean" and self.choices is None

    def fault_of(self, value: object) -> str | None:
        """What is wrong with a value, in words that follow `it`; None: nothing."""
        if value is None:
            return None if self.nullable or not self.required else "must not be null"
        match self.type:
            case "string":
                return self._text_fault(value)
            case "number" | "integer":
                return self._number_fault(value)
            case "boolean":
                return None if isinstance(value, bool) else f"is {described(value)}, not a boolean"
            case "choices":
                return self._choices_fault(value)

    def _text_fault(self, value: object) -> str | None:
        if not isinstance(value, str):
            return f"is {described(value)}, not a string"
        if self.choices is not None:
            return None if value in self.choices else f"must be one of {_listed(self.choices)}"
        least, most = _bound(self.schema, "minLength"), _bound(self.schema, "maxLength")
        if least is not None and len(value) < least:
            return f"has fewer than {least:g} characters"
        if most is not None and len(value) > most:
            return f"has more than {most:g} characters"
        form = self.schema.get("format")
        pattern = _FORMATS.get(form) if isinstance(form, str) else None
        if pattern is not None and not pattern.fullmatch(value):
            return f"does not have the format {quoted(str(form))}"
        return None

    def _number_fault(self, value: object) -> str | None:
        if not is_number(value):
            return f"is {described(value)}, not a number"
        if self.type == "integer" and not is_integer(value):
            return "is not a whole number"
        least, most = _bound(self.schema, "minimum"), _bound(self.schema, "maximum")
        if least is not None and value < least:
            return f"is less than {least:g}"
        if most is not None and value > most:
            return f"is more than {most:g}"
        return None

    def _choices_fault(self, value: object) -> str | None:
        if not is_array(value):
            return f"is {described(value)}, not an array"
        allowed = self.choices or ()
        if len(value) > MOST_CHOICES:
            return f"must hold at most {MOST_CHOICES}"
        if any(choice not in allowed for choice in value):
            return f"may only hold {_listed(allowed)}"
        least, most = _bound(self.schema, "minItems"), _bound(self.schema, "maxItems")
        if least is not None and len(value) < least:
            return f"must hold at least {least:g}"
        if most is not None and len(value) > most:
            return f"must hold at most {most:g}"
        return None


@dataclass(frozen=True, slots=True)
class Form:
    """A form that hosts can show."""

    fields: tuple[Field, ...] = ()

    def fault_of(self, content: object) -> str | None:
        """What is wrong with an accepted answer, as a sentence; None: it fits.

        Members that nobody asked for are no fault.
        """
        if content is None:
            content = {}
        if not is_object(content):
            return f"content is {described(content)}, not an object"
        for item in self.fields:
            if item.name not in content:
                if item.required:
                    return f"content lacks {quoted(item.name)}"
            elif fault := item.fault_of(content[item.name]):
                return f"content.{quoted(item.name)} {fault}"
        return None


def parse_form(schema: object) -> Form | str:
    """A `requestedSchema`, or what is wrong with it, as a sentence."""
    if not is_object(schema):
        return f"requestedSchema is {described(schema)}, not an object"
    if fault := _shape_fault(schema):
        return fault
    properties: dict[str, Any] = schema.get("properties", {})
    required: set[str] = set(schema.get("required", []))
    fields: list[Field] = []
    for name, definition in properties.items():
        item = _field(name, definition, name in required)
        if isinstance(item, str):
            return f"the field {quoted(name)} {item}"
        fields.append(item)
    return Form(tuple(fields))


def _shape_fault(schema: Mapping[str, Any]) -> str | None:
    if schema.get("type") != "object":
        return f"requestedSchema has the type {literal(schema.get('type'))}, not `object`"
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not is_object(properties):
        return f"requestedSchema.properties is {described(properties)}, not an object"
    if not is_array(required) or not all(isinstance(name, str) for name in required):
        return "requestedSchema.required is not an array of strings"
    if len(properties) > MOST_FIELDS:
        return f"the form has more than {MOST_FIELDS} fields"
    return None


def _field(name: str, definition: object, required: bool) -> Field | str:  # noqa: FBT001
    if not is_object(definition):
        return f"is {described(definition)}, not a schema"
    if visible(name) != name:
        return "has invisible characters in its name"
    schema, nullable = _without_null(definition)
    named = schema.get("type", "string" if "enum" in schema or "oneOf" in schema else None)
    kind = _TYPES.get(named) if isinstance(named, str) else None
    if kind is None:
        return "is no text, number, boolean or choice: forms are flat"
    source: object = schema
    if kind == "choices":
        source = schema.get("items")
        if not is_object(source):
            return "is an array of anything, and only choices may be an array"
    choices = _choices(source)
    if isinstance(choices, str):
        return choices
    if kind == "choices" and choices is None:
        return "is an array of anything, and only choices may be an array"
    return Field(name, kind, schema, required, nullable, choices)


def _without_null(definition: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """A schema without the `null` that it is joined with, and whether it was."""
    named, joined = definition.get("type"), definition.get("anyOf")
    if is_array(named):
        kinds = [kind for kind in named if kind != "null"]
        if len(kinds) == 1 and len(kinds) < len(named):
            return {**definition, "type": kinds[0]}, True
    if is_array(joined) and "type" not in definition:
        parts = [part for part in joined if not (is_object(part) and part.get("type") == "null")]
        if len(parts) == 1 and len(parts) < len(joined) and is_object(parts[0]):
            outer = {key: value for key, value in definition.items() if key != "anyOf"}
            return {**outer, **parts[0]}, True
    return definition, False


def _choices(schema: Mapping[str, Any]) -> tuple[str, ...] | str | None:
    """The choices of a field; None where it has none; what is wrong with them otherwise."""
    plain = schema.get("enum")
    titled = schema.get("oneOf", schema.get("anyOf"))
    if plain is None and titled is None:
        return None
    values: list[Any]
    if is_array(plain):
        values = plain
    elif is_array(titled) and all(is_object(choice) for choice in titled):
        values = [choice.get("const") for choice in titled]
    else:
        return "has choices that are no array"
    if not values or not all(isinstance(value, str) for value in values):
        return "has choices that are not all strings"
    if len(values) > MOST_CHOICES:
        return f"has more than {MOST_CHOICES} choices"
    return tuple(values)


def _bound(schema: Mapping[str, Any], keyword: str) -> int | float | None:
    """A bound; one that is too large to be written down binds nobody."""
    value = schema.get(keyword)
    return value if is_number(value) and abs(value) <= _LARGEST else None


def _listed(choices: tuple[str, ...]) -> str:
    return enumerated(map(quoted, choices), 200)
