"""Schemas with one type each, in the subset of OpenAPI 3.0 that Gemini takes as `parameters`.

Made of a copy without references and with `anyOf` as its only kind of alternatives. What the
subset cannot say is told in the description of its place.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolcrib.context.schemas.enum_words import joined
from toolcrib.context.schemas.merging import both
from toolcrib.core.canonical import canonical
from toolcrib.core.jsontypes import JsonObject, is_array, is_number, is_object
from toolcrib.core.quoting import enumerated, literal

KEPT: Final[Mapping[str, frozenset[str]]] = {
    "string": frozenset({"minLength", "maxLength", "pattern"}),
    "number": frozenset({"minimum", "maximum"}),
    "integer": frozenset({"minimum", "maximum"}),
    "boolean": frozenset(),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "object": frozenset({"properties", "required", "minProperties", "maxProperties"}),
}
"""Keywords beside type, description, title, nullable, enum and format, by type."""

FORMATS: Final[Mapping[str, frozenset[str]]] = {
    "string": frozenset({"date-time"}),
    "number": frozenset({"double", "float"}),
    "integer": frozenset({"int32", "int64"}),
}
"""Formats that are taken, by type; the others fail the whole request."""

_TOLD: Final[Mapping[str, str]] = {
    "format": "format {}",
    "default": "default {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "contentEncoding": "encoded as {}",
}
"""Keywords that are told in words where they cannot be kept."""

_IMPLIED: Final[Mapping[str, frozenset[str]]] = {
    "object": frozenset({"additionalProperties", "patternProperties", "properties", "required"}),
    "array": frozenset({"items", "maxItems", "minItems", "prefixItems", "uniqueItems"}),
    "string": frozenset({"format", "maxLength", "minLength", "pattern"}),
    "number": frozenset({"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"}),
}
"""Keywords from which a type is taken where none is declared."""

_APART: Final = frozenset({"items", "properties", "required"})
"""Keywords that are not copied as they are."""

_ROOM: Final = 65_536
"""Bytes that alternatives may repeat of what stands beside them; what needs more is left open."""

_FURTHER: Final = "further rules are checked when it is called"
_HIDDEN_RULES: Final = ("not", "if", "dependentRequired", "dependentSchemas")


def single_type(schema: JsonObject) -> JsonObject:
    """The schema in the subset, as a new object.

    Alternatives repeat what stands beside them. Where that would grow beyond all measure, they are
    left out, and said to be checked later.
    """
    return _Typing().of(schema)


class _Typing:
    """One schema on its way into the subset, within a limit that counts over all of it."""

    def __init__(self) -> None:
        self._room = _ROOM

    def of(self, schema: JsonObject) -> JsonObject:
        """The schema at any place."""
        if is_array(branches := schema.get("anyOf")):
            return self._any_of(schema, branches)
        if "const" in schema and "enum" not in schema:
            schema = {**schema, "enum": [schema["const"]]}
        kinds = _kinds(schema)
        named = [kind for kind in kinds if kind != "null"]
        nullable = len(named) < len(kinds) or None in _enum(schema)
        if not named:
            return _described({"nullable": True} if nullable else {}, schema, ())
        if len(named) > 1:
            made = [self._typed(_narrowed(schema, kind), kind, nullable=False) for kind in named]
            return _alternatives([it for it in made if it != {}], nullable=nullable)
        return self._typed(schema, named[0], nullable=nullable)

    def _any_of(self, schema: JsonObject, branches: list[Any]) -> JsonObject:
        """Alternatives: Gemini takes nothing beside `anyOf`, so each one takes the rest into it."""
        rest = {keyword: it for keyword, it in schema.items() if keyword != "anyOf"}
        words = {it: rest.pop(it) for it in ("title", "description") if it in rest}
        if rest and self._room >= 0:
            self._room -= len(canonical(rest)) * len(branches)
        if rest and self._room < 0:
            return _described(self.of(rest), words, [_FURTHER])
        made: list[JsonObject] = []
        nullable = False
        for branch in branches:
            if branch.get("type") == "null" or branch.get("enum") == [None]:
                nullable = True
                continue
            one = self.of(both(rest, branch) if rest else branch)
            inner = one.get("anyOf")
            made += inner if is_array(inner) else [one]
        if made:
            made[0] = _with_words(made[0], words)
        return _alternatives(made, nullable=nullable)

    def _typed(self, schema: JsonObject, kind: str, *, nullable: bool) -> JsonObject:
        out: JsonObject = {"type": kind}
        if nullable:
            out["nullable"] = True
        hints = list(_put_values(out, schema, kind))
        if schema.get("format") in FORMATS.get(kind, ()):
            out["format"] = schema["format"]
        for keyword in sorted((KEPT[kind] & schema.keys()) - _APART):
            out[keyword] = schema[keyword]
        if kind == "array":
            out["items"] = self._items(schema)
        if kind == "object":
            self._put_members(out, schema)
            hints += _open_words(schema)
        hints += [
            words.format(literal(schema[keyword]))
            for keyword, words in _TOLD.items()
            if keyword in schema and keyword not in out
        ]
        if any(keyword in schema for keyword in _HIDDEN_RULES):
            hints.append(_FURTHER)
        return _described(out, schema, hints)

    def _items(self, schema: JsonObject) -> JsonObject:
        items, heads = schema.get("items"), schema.get("prefixItems")
        found = [*(heads if is_array(heads) else []), *([items] if items else [])]
        if not found:
            return {}
        return self.of({"anyOf": found} if len(found) > 1 else found[0])

    def _put_members(self, out: JsonObject, schema: JsonObject) -> None:
        if "properties" in schema:
            members = schema["properties"].items()
            out["properties"] = {name: self.of(inner) for name, inner in members}
        known = out.get("properties", {})
        required = [name for name in schema.get("required", []) if name in known]
        if required:
            out["required"] = required


def _with_words(one: JsonObject, words: JsonObject) -> JsonObject:
    text = joined(words.get("description") or words.get("title"), one.get("description"))
    return {**one, "description": text} if text else one


def _alternatives(made: list[JsonObject], *, nullable: bool) -> JsonObject:
    distinct = list({canonical(one): one for one in made}.values())
    if not distinct:
        return {"nullable": True} if nullable else {}
    if nullable:
        distinct[0] = {**distinct[0], "nullable": True}
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _kinds(schema: JsonObject) -> list[str]:
    kind = schema.get("type")
    if isinstance(kind, str):
        return [kind] if kind in KEPT or kind == "null" else []
    if is_array(kind):
        return [name for name in kind if name in KEPT or name == "null"]
    values = [value for value in _enum(schema) if value is not None]
    if values and all(isinstance(value, str) for value in values):
        return ["string"]
    return [name for name, signs in _IMPLIED.items() if signs & schema.keys()][:1]


def _enum(schema: JsonObject) -> list[Any]:
    values = schema.get("enum")
    return values if is_array(values) else []


def _narrowed(schema: JsonObject, kind: str) -> JsonObject:
    """The schema for values of one type alone."""
    if not _enum(schema):
        return schema
    rest = {keyword: it for keyword, it in schema.items() if keyword != "enum"}
    values = [value for value in _enum(schema) if _is_of(value, kind)]
    return {**rest, "enum": values} if values else rest


def _is_of(value: object, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "number" | "integer":
            return is_number(value)
        case "array":
            return is_array(value)
        case _:
            return is_object(value)


def _put_values(out: JsonObject, schema: JsonObject, kind: str) -> Iterable[str]:
    """Enumerations are taken of strings only, and the empty one is refused."""
    values = [value for value in _enum(schema) if value is not None]
    named = [value for value in values if isinstance(value, str) and value]
    if kind == "string" and named and len(named) == len(values):
        out["enum"] = list(dict.fromkeys(named))
    elif values:
        yield f"one of {enumerated(map(literal, values), 1_000)}"


def _open_words(schema: JsonObject) -> Iterable[str]:
    """What an object without listed properties may hold."""
    rule = schema.get("additionalProperties")
    if is_object(rule) and isinstance(kind := rule.get("type"), str):
        yield f"any names, each with a value of type {kind}"
    elif "patternProperties" in schema and is_object(rules := schema["patternProperties"]):
        yield f"names that match {enumerated(map(literal, rules), 200)}"


def _described(out: JsonObject, schema: JsonObject, hints: Iterable[str]) -> JsonObject:
    said = "; ".join(dict.fromkeys(hints))
    text = joined(schema.get("description") or schema.get("title"), f"({said})" if said else "")
    return {**out, "description": text} if text else out
