"""A copy of an input schema by a profile: the same bytes for the same schema, the original whole.

A copy guides a model; it is never what arguments are checked against. So where a provider's rules
cannot say something, the copy allows more and says it in words, and the schema as the server
declared it still decides when the tool is called.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolcrib.context.schemas.argument_names import legal_names
from toolcrib.context.schemas.enum_words import beginning, joined
from toolcrib.context.schemas.keywords import SHAPES, in_order, modern, plain_data, plain_text
from toolcrib.context.schemas.merging import both
from toolcrib.context.schemas.profiles import Profile
from toolcrib.context.schemas.references import References, Trail
from toolcrib.context.schemas.root import flat
from toolcrib.core.jsontypes import JsonObject, is_array, is_object
from toolcrib.core.quoting import clipped, has_surrogates

_PLAIN: Final = frozenset({"description", "enum", "required", "title", "type"})
"""Keywords without schemas that are not copied as they are."""

_TITLE: Final = 200
_DEEPER: Final = "There is more inside than is shown here"


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy of one schema."""

    schema: JsonObject
    notes: tuple[str, ...] = ()
    """What the copy cannot say, in sentences for the description of the tool."""
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    """The original names of arguments that had to be renamed, by their names in the copy."""


class TooManySchemas(Exception):
    """There are more schemas inside of one than the profile takes, and it takes all or nothing."""


def copy_schema(schema: object, profile: Profile) -> Copied:
    """The copy of an input schema that a profile asks for; the schema itself is left alone.

    Args:
        schema: As declared; anything but an object counts as a schema without parameters.
        profile: Whose rules it follows.
    """
    root = schema if is_object(schema) else {}
    references = References(root)
    copying = _Copying(references, profile)
    notes: tuple[str, ...] = ()
    if profile.flat_root:
        whole, _ = references.followed(root, ())
        plain = modern(whole) if is_object(whole) else {}
        root, notes = flat(plain, lambda it: references.followed(it, ())[0])
    copy = copying.of(modern(root), 0, ())
    renamed: Mapping[str, str] = {}
    if profile.flat_root:
        copy = _completed(copy)
        if profile.property_names is not None:
            copy, renamed = legal_names(copy, profile.property_names)
    return Copied({**copy, **copying.definitions()}, tuple(map(plain_text, notes)), renamed)


class _Copying:
    """One schema on its way into a copy."""

    def __init__(self, references: References, profile: Profile) -> None:
        self._references = references
        self._profile = profile
        self._left = profile.nodes
        self._used: set[str] = set()
        self._waiting: list[str] = []

    def at(self, schema: object, depth: int, trail: Trail) -> JsonObject | None:
        """The copy of the schema at one place; None where it allows nothing."""
        if schema is False:
            return None
        if not is_object(schema):
            return {}
        self._left -= 1
        if self._left < 0 and self._profile.is_all_or_nothing:
            raise TooManySchemas
        if self._left < 0 or depth > self._profile.depth:
            return self._cut(schema)
        return self.of(modern(schema), depth, trail)

    def of(self, schema: JsonObject, depth: int, trail: Trail) -> JsonObject:
        """The copy of an object schema."""
        if isinstance(reference := schema.get("$ref"), str):
            name = None if self._profile.inlined else self._references.name(reference)
            if name is None:
                followed, trail = self._references.followed(schema, trail)
                return self.at(followed, depth + 1, trail) or {}
            if name and name not in self._used:
                self._used.add(name)
                self._waiting.append(name)
            schema = {**schema, "$ref": f"#/$defs/{name}" if name else "#"}
        if self._profile.merged and is_array(schema.get("allOf")):
            schema, trail = self._parts_merged(schema, depth, trail)
        out: JsonObject = {}
        for keyword, fits in SHAPES.items():
            if not (keyword in schema and keyword in self._profile.kept and fits(schema[keyword])):
                continue
            if keyword in _PLAIN:
                self._plain(out, keyword, schema)
            else:
                self._copy(out, keyword, schema, depth, trail)
        return out

    def definitions(self) -> JsonObject:
        """The definitions that the copy refers to, and those that these refer to."""
        done: JsonObject = {}
        while self._waiting:
            name = self._waiting.pop()
            done[name] = self.at(self._references.definition(name), 1, ()) or {}
        return {"$defs": {name: done[name] for name in sorted(done)}} if done else {}

    def _copy(
        self, out: JsonObject, keyword: str, schema: JsonObject, depth: int, trail: Trail
    ) -> None:
        """Put a keyword into a copy that may hold schemas, or is copied as it is."""
        value = schema[keyword]
        match keyword:
            case "properties":
                out[keyword] = self._properties(schema, depth, trail)
            case "anyOf" | "oneOf" | "allOf" | "prefixItems":
                self._listed(out, keyword, value, depth, trail)
            case "patternProperties" | "dependentSchemas":
                rules = {plain_text(name): value[name] for name in sorted(value)}
                out[keyword] = {name: self._ruled(it, depth, trail) for name, it in rules.items()}
            case "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems":
                out[keyword] = self._ruled(value, depth, trail)
            case "items":
                out[keyword] = self.at(value, depth + 1, trail) or {}
            case "contains" | "propertyNames" | "not" | "if" | "then" | "else":
                copy = self.at(value, depth + 1, trail)
                if copy is not None:
                    out[keyword] = copy
            case _:
                out[keyword] = plain_data(value)

    def _plain(self, out: JsonObject, keyword: str, schema: JsonObject) -> None:
        """Put a keyword of `_PLAIN` into a copy."""
        match keyword:
            case "type":
                _put_type(out, schema)
            case "required":
                _put_required(out, schema)
            case "enum":
                self._put_enum(out, schema["enum"])
            case "title":
                if not schema.get("description"):
                    out["title"] = clipped(plain_text(schema["title"]), _TITLE)
            case _:
                if text := self._text(schema["description"]):
                    out["description"] = text

    def _text(self, said: str) -> str:
        text, most = plain_text(said), self._profile.text
        return text if most is None or len(text) <= most else f"{text[: most - 1]}…"

    def _cut(self, schema: JsonObject) -> JsonObject:
        """What is said of a schema that lies too deep to be copied."""
        said = schema.get("description")
        cut: JsonObject = {}
        if isinstance(schema.get("type"), str) and SHAPES["type"](schema["type"]):
            _put_type(cut, {"type": schema["type"]})
        text = self._text(said) if isinstance(said, str) else ""
        return {**cut, "description": joined(text, _DEEPER)}

    def _put_enum(self, out: JsonObject, values: list[Any]) -> None:
        most = self._profile.values
        if len(values) <= most:
            out["enum"] = [plain_data(value) for value in values]
            return
        words = plain_text(beginning(values, most))
        out["description"] = joined(out.get("description"), words)
        if all(isinstance(value, str) for value in values):
            out.setdefault("type", "string")

    def _properties(self, schema: JsonObject, depth: int, trail: Trail) -> JsonObject:
        properties, required = schema["properties"], _names(schema.get("required"))
        copies: JsonObject = {}
        for name in in_order(properties, required):
            copy = self.at(properties[name], depth + 1, trail)
            if copy is not None and not has_surrogates(name):
                copies[name] = copy
        missing = (name for name in required if name not in properties)
        return copies | {name: {} for name in missing if not has_surrogates(name)}

    def _ruled(self, schema: object, depth: int, trail: Trail) -> Any:
        """A schema at a place where booleans say something: `false` closes an object."""
        return schema if isinstance(schema, bool) else self.at(schema, depth + 1, trail)

    def _listed(
        self, out: JsonObject, keyword: str, value: list[Any], depth: int, trail: Trail
    ) -> None:
        if keyword == "oneOf" and self._profile.one_as_any:
            keyword = "anyOf"
        copies = [self.at(inner, depth + 1, trail) for inner in value]
        if keyword == "prefixItems":
            copies = [copy or {} for copy in copies]  # each keeps its place
        kept = [copy for copy in copies if copy is not None]
        chosen = keyword in {"anyOf", "oneOf"}
        if kept and keyword not in out and (chosen or len(kept) == len(copies)):
            out[keyword] = kept

    def _parts_merged(
        self, schema: JsonObject, depth: int, trail: Trail
    ) -> tuple[JsonObject, Trail]:
        """The schema with the parts of its `allOf` merged into it."""
        for _ in range(self._profile.depth - depth):
            parts = schema.get("allOf")
            if not is_array(parts):
                break
            schema = {keyword: value for keyword, value in schema.items() if keyword != "allOf"}
            for part in parts:
                found, trail = self._references.followed(part, trail)
                if not is_object(found):
                    continue
                members = found.get("properties")
                self._left -= 1 + (len(members) if is_object(members) else 0)
                if self._left < 0:
                    words = joined(schema.get("description"), _DEEPER)
                    return {**schema, "description": words}, trail
                schema = both(schema, modern(found))
        return schema, trail


def _put_type(out: JsonObject, schema: JsonObject) -> None:
    kind = schema["type"]
    names: list[str] = list(dict.fromkeys(kind)) if is_array(kind) else [kind]
    out["type"] = names[0] if len(names) == 1 else names
    if "array" in names and not {"items", "prefixItems"} & schema.keys():
        out["items"] = {}  # several providers refuse a bare array


def _put_required(out: JsonObject, schema: JsonObject) -> None:
    names = dict.fromkeys(name for name in schema["required"] if not has_surrogates(name))
    known = out.get("properties")
    kept = [name for name in names if known is None or name in known]
    if kept:
        out["required"] = kept


def _completed(copy: JsonObject) -> JsonObject:
    """The copy of a root with what every provider wants to see there."""
    properties = {**copy.get("properties", {})}
    properties |= {name: {} for name in copy.get("required", []) if name not in properties}
    return {"type": "object", **copy, "properties": properties}


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if is_array(value) else []
