"""The root of an input schema as one plain object: providers take no alternatives there.

The properties of all alternatives are merged, nothing is required but what all of them require,
and what got lost is told in words. The original still decides when the tool is called.
"""

from collections.abc import Callable
from typing import Any, Final

from toolcrib.context.schemas.keywords import UNIONS, modern
from toolcrib.context.schemas.merging import either
from toolcrib.core.jsontypes import JsonObject, is_array, is_object
from toolcrib.core.quoting import enumerated, literal, quoted

_CONDITIONS: Final = ("if", "then", "else")
_GONE: Final = frozenset(
    {*UNIONS, *_CONDITIONS, "const", "dependentRequired", "dependentSchemas", "enum", "not"}
)
"""Keywords that no root of a copy has."""

_LEVELS: Final = 8
"""Levels of alternatives inside alternatives that are merged."""

_ROOM: Final = 20_000
"""Alternatives, their properties and their required names that are read in all: alternatives that
refer to each other would be more than anybody can read."""

_RULES: Final = 20
"""Sentences on what is needed with what."""

_MORE: Final = "Further rules are checked when it is called"

Follow = Callable[[object], object]
"""What a schema that is a reference points at; any other schema as it is."""


def flat(root: JsonObject, follow: Follow) -> tuple[JsonObject, tuple[str, ...]]:
    """The root without alternatives, and sentences that tell what they said."""
    merged = _Flattening(follow)
    schema = merged.of(root, _LEVELS)
    return {**schema, "type": "object"}, tuple(dict.fromkeys(merged.said))


class _Flattening:
    """One root on its way to a plain object."""

    def __init__(self, follow: Follow) -> None:
        self._follow = follow
        self._room = _ROOM
        self.said: list[str] = []

    def of(self, schema: JsonObject, levels: int) -> JsonObject:
        schema = modern(schema)
        if _GONE.isdisjoint(schema):
            return schema
        plain = {keyword: value for keyword, value in schema.items() if keyword not in _GONE}
        if levels <= 0:
            self.said.append(_MORE)
            return plain
        for keyword in UNIONS:
            if is_array(branches := schema.get(keyword)):
                self._merge(plain, keyword, branches, levels)
        self._conditions(plain, schema, levels)
        self._others(schema)
        return plain

    def _objects(self, branches: list[Any], levels: int) -> tuple[list[JsonObject], bool]:
        """The alternatives that an object of arguments may choose; whether it is all of them."""
        chosen: list[JsonObject] = []
        for branch in branches:
            found = self._follow(branch)
            if found is True:
                chosen.append({})
            elif is_object(found) and found.get("type", "object") in ("object", ["object", "null"]):
                self._room -= 1 + len(_properties(found)) + len(_required(found))
                if self._room < 0:
                    self.said.append(_MORE)
                    return chosen, False
                chosen.append(self.of(found, levels - 1))
        return chosen, True

    def _merge(self, plain: JsonObject, keyword: str, branches: list[Any], levels: int) -> None:
        branches, whole = self._objects(branches, levels)
        if not branches:
            return
        held = _properties(plain)
        required = [set(_required(branch)) for branch in branches]
        every = keyword == "allOf"
        shared = set[str]().union(*required) if every else set[str].intersection(*required)
        if not (every or whole):
            shared = set[str]()  # one that was not read may require nothing
        names = dict.fromkeys(name for branch in branches for name in _required(branch))
        _add(plain, held, branches, [name for name in names if name in shared])
        if whole and not every:
            self.said.append(_told(keyword, branches, shared))

    def _conditions(self, plain: JsonObject, schema: JsonObject, levels: int) -> None:
        """What holds under a condition: its properties are known, its demands are told."""
        ruled = [schema[keyword] for keyword in _CONDITIONS if keyword in schema]
        rules = schema.get("dependentSchemas")
        ruled += [rules[name] for name in sorted(rules)] if is_object(rules) else []
        if ruled:
            _add(plain, _properties(plain), self._objects(ruled, levels)[0], [])
            self.said.append(_MORE)

    def _others(self, schema: JsonObject) -> None:
        if {"const", "enum"} & schema.keys():
            self.said.append(_MORE)
        rules = schema.get("dependentRequired")
        needs = [it for it in sorted(rules.items()) if it[1]] if is_object(rules) else []
        for name, needed in needs[:_RULES]:
            if is_array(needed):
                self.said.append(f"With {quoted(name)} it needs {_names(needed)}")
        if len(needs) > _RULES:
            self.said.append(_MORE)
        refused = schema.get("not")
        if is_object(refused) and refused.keys() == {"required"} and _required(refused):
            self.said.append(f"Never give all of these together: {_names(_required(refused))}")
        elif "not" in schema:
            self.said.append(_MORE)


def _add(
    plain: JsonObject, held: JsonObject, branches: list[JsonObject], required: list[str]
) -> None:
    """Put the properties of alternatives behind those that the root has itself."""
    found: dict[str, list[Any]] = {}
    if not (plain.get("additionalProperties") is False and held):
        for branch in branches:
            for name, schema in _properties(branch).items():
                found.setdefault(name, []).append(schema)
    added = {
        name: either([schema for schema in schemas if schema is not False] or [False])
        for name, schemas in found.items()
        if name not in held
    }
    if added:
        plain["properties"] = {**held, **added}
    if required:
        plain["required"] = list(dict.fromkeys([*_required(plain), *required]))


def _told(keyword: str, branches: list[JsonObject], shared: set[str]) -> str:
    """What the alternatives demand, in a sentence."""
    told = [_branch(branch, shared) for branch in branches]
    if not any(told):
        return _MORE
    how = "exactly one" if keyword == "oneOf" else "at least one"
    ways = enumerated((f"({n}) {way or 'nothing more'}" for n, way in enumerate(told, 1)), 1_000)
    return f"The arguments must be given in {how} of these ways: {ways}"


def _branch(branch: JsonObject, shared: set[str]) -> str:
    fixed = {
        name: schema["const"]
        for name, schema in sorted(_properties(branch).items())
        if is_object(schema) and "const" in schema
    }
    needed = [name for name in _required(branch) if name not in shared and name not in fixed]
    values = [f"{quoted(name)} = {literal(value)}" for name, value in fixed.items()]
    return " with ".join(filter(None, [enumerated(values), _names(needed)]))


def _names(names: list[str]) -> str:
    return enumerated(map(quoted, names))


def _properties(schema: JsonObject) -> JsonObject:
    found = schema.get("properties")
    return found if is_object(found) else {}


def _required(schema: JsonObject) -> list[str]:
    found = schema.get("required")
    return [name for name in found if isinstance(name, str)] if is_array(found) else []
