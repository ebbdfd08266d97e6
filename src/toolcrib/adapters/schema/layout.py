"""A schema laid out by what applies where: to the same value, to members, to items, to keys."""

from dataclasses import dataclass, field
from typing import Final

from toolcrib.adapters.schema.patterns import Patterns
from toolcrib.adapters.schema.references import References
from toolcrib.core.jsontypes import JsonObject, is_array, is_object
from toolcrib.core.refs import Missing

_LOOKED_BACK: Final = 3
"""`unevaluated…` has what stands beside it looked through again: measured 2.6 times, per level."""

_IN_PLACE: Final = ("not", "if", "then", "else")
_LISTED_IN_PLACE: Final = ("allOf", "anyOf", "oneOf")
_UNEVALUATED: Final = ("unevaluatedItems", "unevaluatedProperties")
_COUNTED: Final = ("enum", "required")


class LeadsOutside(Exception):
    """A reference leads nowhere inside the schema."""


def _no_places() -> "list[Place]":
    return []


@dataclass(slots=True, eq=False)
class Place:
    """What one schema costs at one value, in steps, and where it leads."""

    cost: int = 1
    """Whatever the value is."""
    per_text: int = 0
    """For each unit of a text."""
    per_key: int = 0
    """For each unit of each key."""
    unique: bool = False
    """Whether everything inside an array is compared."""
    times: int = 1
    """How often what applies in place is walked."""
    here: "list[Place]" = field(default_factory=_no_places)
    """Schemas that apply to the same value."""
    members: "dict[str, Place]" = field(default_factory=dict[str, "Place"])
    """Schemas of members, by key."""
    other_member: "list[Place]" = field(default_factory=_no_places)
    """Schemas of members without one of their own."""
    each_member: "list[Place]" = field(default_factory=_no_places)
    """Schemas that any member may have to fit."""
    each_key: "list[Place]" = field(default_factory=_no_places)
    """Schemas of the keys themselves."""
    first_items: "list[Place]" = field(default_factory=_no_places)
    """Schemas of items, by position."""
    other_item: "list[Place]" = field(default_factory=_no_places)
    """Schemas of items that have none by position."""
    each_item: "list[Place]" = field(default_factory=_no_places)
    """Schemas that any item may have to fit."""

    def inside(self) -> "list[Place]":
        """Everything that applies to members, keys and items."""
        members = (*self.members.values(), *self.each_member, *self.other_member, *self.each_key)
        return [*members, *self.first_items, *self.each_item, *self.other_item]


class Layout:
    """The places of one schema; a schema that is reached in two ways is one place."""

    def __init__(self, root: object, references: References, patterns: Patterns) -> None:
        """Lay out everything that can be reached.

        Raises:
            LeadsOutside: A reference cannot be followed.
        """
        self._references = references
        self._patterns = patterns
        self._known: dict[int, Place] = {}
        self._begun: list[tuple[JsonObject, Place]] = []
        self.unique = False
        """Whether some array must hold no value twice."""
        self.root = self._place(root)
        """Where a value begins."""
        while self._begun:
            node, place = self._begun.pop()
            self._in_place(node, place)
            self._of_objects(node, place)
            self._of_arrays(node, place)

    def _place(self, schema: object) -> Place:
        if isinstance(schema, Missing):
            raise LeadsOutside
        if not is_object(schema):
            return Place()
        found = self._known.get(id(schema))
        if found is None:
            found = self._known[id(schema)] = Place()
            self._begun.append((schema, found))
        return found

    def _places(self, schemas: object) -> list[Place]:
        return [self._place(schema) for schema in schemas] if is_array(schemas) else []

    def _in_place(self, node: JsonObject, place: Place) -> None:
        place.cost += sum(len(node[key]) for key in _COUNTED if is_array(node.get(key)))
        pattern = node.get("pattern")
        if isinstance(pattern, str):
            place.per_text = self._patterns.work(pattern)
        place.here += map(self._place, self._references.targets(node))
        for key in _LISTED_IN_PLACE:
            place.here += self._places(node.get(key))
        place.here += [self._place(node[key]) for key in _IN_PLACE if key in node]
        for key in ("dependentSchemas", "dependencies"):
            named = node.get(key)
            schemas = named.values() if is_object(named) else ()
            place.here += [self._place(schema) for schema in schemas if not is_array(schema)]
        if any(key in node for key in _UNEVALUATED):
            place.times = _LOOKED_BACK

    def _of_objects(self, node: JsonObject, place: Place) -> None:
        named, matched = node.get("properties"), node.get("patternProperties")
        if is_object(named):
            place.members = {key: self._place(schema) for key, schema in named.items()}
        if is_object(matched):
            place.each_member += map(self._place, matched.values())
            place.per_key = sum(map(self._patterns.work, matched))
        if "unevaluatedProperties" in node:
            place.each_member.append(self._place(node["unevaluatedProperties"]))
        if "additionalProperties" in node:
            place.other_member.append(self._place(node["additionalProperties"]))
        if "propertyNames" in node:
            place.each_key.append(self._place(node["propertyNames"]))

    def _of_arrays(self, node: JsonObject, place: Place) -> None:
        items = node.get("items", True)
        place.first_items = self._places(items) or self._places(node.get("prefixItems"))
        if not is_array(items):
            place.other_item.append(self._place(items))
        if "additionalItems" in node:
            place.other_item.append(self._place(node["additionalItems"]))
        place.each_item += [
            self._place(node[key]) for key in ("contains", "unevaluatedItems") if key in node
        ]
        if node.get("uniqueItems") is True:
            place.unique = self.unique = True
