"""All that one place of a schema says, with references followed and `allOf` merged.

References are followed inside the same schema only, as JSON pointers (RFC 6901); nothing is ever
fetched. What cannot be followed allows anything, and is noted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from toolcrib.core.jsontypes import JsonArray, JsonObject, is_array, is_object
from toolcrib.core.refs import MISSING, resolved

_MOST_PARTS: Final = 64
"""Schemas that are merged at one place; what the others demand is left out."""
_LONGEST_REFERENCE: Final = 1_000

_CONDITIONAL: Final = ("else", "then", "dependentSchemas", "dependencies", "unevaluatedProperties")
"""Keywords that may speak of members which nothing else names."""
_SHAPING: Final = frozenset(
    {
        "$dynamicRef",
        "$recursiveRef",
        "$ref",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "enum",
        "items",
        "oneOf",
        "patternProperties",
        "prefixItems",
        "properties",
        "required",
        "type",
    }
)
_OTHER_REFERENCES: Final = ("$dynamicRef", "$recursiveRef")


@dataclass(slots=True)
class Gathered:
    """What the schemas of one place say together."""

    types: tuple[str, ...] | None = None
    """In the order of the first that names some; None: any."""
    values: JsonArray | None = None
    properties: dict[str, JsonArray] = field(default_factory=dict[str, JsonArray])
    """The schemas of each member, all of which hold."""
    required: set[str] = field(default_factory=set[str])
    rest: JsonArray = field(default_factory=list[object])
    """What other members are."""
    patterns: JsonArray = field(default_factory=list[object])
    items: JsonArray = field(default_factory=list[object])
    """What the elements are, one of these each."""
    choices: list[JsonArray] = field(default_factory=list[JsonArray])
    """`anyOf` and `oneOf`; alternatives that only demand members are left out."""
    followed: set[str] = field(default_factory=set[str])
    impossible: bool = False
    loose: bool = False
    """Whether something is said that is not held here, so that other members may be expected."""
    says_members: bool = False
    """Whether `properties` is there, empty or not."""


@dataclass(slots=True)
class Gatherer:
    """Reads the places of one schema."""

    root: object
    _targets: dict[str, object] = field(default_factory=dict[str, object])

    def gathered(self, schemas: JsonArray, active: frozenset[str]) -> Gathered:
        """What these say together; a reference that is `active`, or comes again, says nothing."""
        found = Gathered()
        waiting = list(reversed(schemas[:_MOST_PARTS]))
        parts = 0
        while waiting:
            part = waiting.pop()
            parts += 1
            if parts > _MOST_PARTS:
                found.loose = True
                break
            if part is False:
                found.impossible = True
            elif is_object(part):
                self._follow(part, found, active, waiting)
                _fold(part, found)
                merged = part.get("allOf")
                if is_array(merged):
                    waiting += reversed(merged[: _MOST_PARTS + 1])
        return found

    def _follow(
        self, part: JsonObject, found: Gathered, active: frozenset[str], waiting: JsonArray
    ) -> None:
        for keyword in _OTHER_REFERENCES:
            if isinstance(part.get(keyword), str):
                found.loose = True
        reference = part.get("$ref")
        if not isinstance(reference, str) or reference in found.followed or reference in active:
            return
        found.followed.add(reference)
        target = self.target(reference)
        if target is MISSING:
            found.loose = True
        else:
            waiting.append(target)

    def target(self, reference: str) -> object:
        """What a reference points at, or `MISSING`."""
        if len(reference) > _LONGEST_REFERENCE:
            return MISSING
        if reference not in self._targets:
            self._targets[reference] = resolved(self.root, reference)
        return self._targets[reference]

    def alone(self, schemas: JsonArray) -> str | None:
        """The last reference of a place that says nothing but a reference, or None.

        `allOf` around one schema, as some libraries write it beside a description, is unwrapped.
        """
        last: str | None = None
        seen: set[str] = set()
        node = schemas[0] if len(schemas) == 1 else None
        while is_object(node) and len(seen) < _MOST_PARTS:
            said = {keyword for keyword in node if keyword in _SHAPING}
            wrapped = node.get("allOf")
            reference = node.get("$ref")
            if said == {"allOf"} and is_array(wrapped) and len(wrapped) == 1:
                node = wrapped[0]
                seen.add(f" {len(seen)}")
            elif said == {"$ref"} and isinstance(reference, str) and reference not in seen:
                seen.add(reference)
                last, node = reference, self.target(reference)
            else:
                break
        return last


def _fold(part: JsonObject, found: Gathered) -> None:
    """Add what one schema says itself."""
    _fold_values(part, found)
    properties = part.get("properties")
    if is_object(properties):
        found.says_members = True
        for key, inner in properties.items():
            found.properties.setdefault(key, []).append(inner)
    required = part.get("required")
    if is_array(required):
        found.required.update(key for key in required if isinstance(key, str))
    if "additionalProperties" in part:
        found.rest.append(part["additionalProperties"])
    patterns = part.get("patternProperties")
    if is_object(patterns):
        found.patterns += patterns.values()
    _fold_items(part, found)
    choices = (part.get(keyword) for keyword in ("anyOf", "oneOf"))
    found.choices += [it for it in choices if is_array(it) and any(map(_is_telling, it))]
    if any(_is_telling(part.get(keyword)) for keyword in _CONDITIONAL):
        found.loose = True


def _fold_values(part: JsonObject, found: Gathered) -> None:
    kinds = part.get("type")
    named: JsonArray = kinds if is_array(kinds) else [kinds]
    types = tuple(dict.fromkeys(kind for kind in named if isinstance(kind, str)))
    if types:
        both = types if found.types is None else _both(found.types, types)
        found.types = both
        found.impossible |= not both
    values = [part["const"]] if "const" in part else part.get("enum")
    if is_array(values) and (found.values is None or len(values) < len(found.values)):
        found.values = values


def _both(these: tuple[str, ...], those: tuple[str, ...]) -> tuple[str, ...]:
    """The types in both lists; every integer is a number."""
    kept = [kind for kind in these if kind in those or (kind == "integer" and "number" in those)]
    if "number" in these and "integer" in those and "integer" not in kept:
        kept.append("integer")
    return tuple(kept)


def _fold_items(part: JsonObject, found: Gathered) -> None:
    first = part.get("prefixItems")
    items = part.get("items")
    if is_array(items):  # up to draft 2019-09
        first, items = items, part.get("additionalItems")
    if is_array(first):
        found.items += first[:_MOST_PARTS]
        if items is None or len(first) > _MOST_PARTS:
            found.items.append(True)
    if items is not None and items is not False:
        found.items.append(items)


def _is_telling(schema: object) -> bool:
    """Whether a schema says more than which members there must be."""
    if isinstance(schema, Mapping):
        return bool(_SHAPING.intersection(schema) - {"required"})  # pyright: ignore[reportUnknownArgumentType] - keys of JSON
    return False
