"""JSON Schema read into shapes, within bounds: every schema ends, and soon.

    reading = Reading(schema, "CreateIssue", names)
    fields, is_open = reading.arguments()
    records = reading.records()                     # all that the fields name

Objects with known members become records, which wait in a row until their members are read: so
cycles end at a name, and what is near the top gets its share of the bounds first. A cycle without
such an object ends in any.
"""

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from toolcrib.core.jsontypes import JsonArray
from toolcrib.core.quoting import has_surrogates
from toolcrib.core.stubs.gathering import Gathered, Gatherer
from toolcrib.core.stubs.listing import LONGEST, SIMPLE, listed
from toolcrib.core.stubs.shapes import (
    Field,
    ListOf,
    MapOf,
    Named,
    Plain,
    Record,
    Shape,
    union,
)

_ROOM: Final = 3_000
"""What the shapes of one schema may weigh: a type 1, a value 1, and each 40 characters of text."""
_MOST_RECORDS: Final = 200
_MOST_FIELDS: Final = 200
_DEEPEST: Final = 6
"""Levels of objects and arrays in each other; references begin anew."""
_MOST_NESTED: Final = 24
"""Schemas in each other at one place, unions counted."""
_MOST_CHOICES: Final = 100
_WORDS: Final = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class _Place:
    hint: str
    """What a record here would be called."""
    level: int = 0
    nested: int = 0
    active: frozenset[str] = frozenset()

    def inside(self, more: str, levels: int = 1) -> "_Place":
        """The place of an element or a member."""
        return replace(
            self, hint=self.hint + more, level=self.level + levels, nested=self.nested + 1
        )


@dataclass(frozen=True, slots=True)
class _Waiting:
    name: str
    found: Gathered
    place: _Place


@dataclass(slots=True)
class Reading:
    """One schema of a tool on its way to shapes."""

    root: object
    prefix: str
    """Begins the name of each record."""
    names: set[str]
    """Names of records so far, also of the tool's other schema; new ones go in."""
    gatherer: Gatherer = field(init=False)
    _room: int = _ROOM
    _records: list[Record] = field(default_factory=list[Record])
    _by_reference: dict[str, str] = field(default_factory=dict[str, str])
    _waiting: deque[_Waiting] = field(default_factory=deque[_Waiting])

    def __post_init__(self) -> None:
        self.gatherer = Gatherer(self.root)

    def arguments(self) -> tuple[tuple[Field, ...], bool]:
        """The members of an input schema, alternatives joined, and whether there may be others."""
        place = _Place(self.prefix)
        found = self.gatherer.gathered([self.root], frozenset())
        place = replace(place, active=frozenset(found.followed))
        unsaid = not (found.says_members or found.rest or found.choices)
        fields, is_open = self._members(self._joined(found, place), replace(place, level=-1))
        return fields, is_open or unsaid or found.impossible

    def result(self) -> Shape:
        """The type of what an output schema describes."""
        return self._shape([self.root], _Place(self.prefix))

    # ------------------------------------------------------------ records

    def records(self) -> tuple[Record, ...]:
        """All records that were named, with their members."""
        while self._waiting:
            it = self._waiting.popleft()
            fields, is_open = self._members(it.found, it.place)
            self._records.append(Record(it.name, fields, is_open))
        return tuple(self._records)

    def _members(self, found: Gathered, place: _Place) -> tuple[tuple[Field, ...], bool]:
        """The members of an object, the required ones first, and whether there may be others."""
        is_open = found.loose or bool(found.patterns)
        if found.rest:
            is_open |= all(rest is not False for rest in found.rest)
        fields: list[Field] = []
        for key in sorted(found.properties, key=lambda key: (key not in found.required, key)):
            sayable = len(key) <= LONGEST and not has_surrogates(key)
            if sayable and len(fields) < _MOST_FIELDS and self._spend(1 + len(key) // 40):
                shape = self._shape(found.properties[key], place.inside(_pascal(key)))
                fields.append(Field(key, shape, key in found.required))
            else:
                is_open = True
        return tuple(fields), is_open

    def _record(self, found: Gathered, place: _Place, reference: str | None) -> Shape:
        """A name for an object with members, which are read later."""
        if place.level > _DEEPEST or len(self.names) >= _MOST_RECORDS:
            return MapOf(Plain.ANY)
        hint = place.hint
        if reference is not None:
            hint = self.prefix + _pascal(reference.rpartition("/")[2])
            place = _Place(hint)
        name, number = hint[:80], 1
        while name in self.names:
            number += 1
            name = f"{hint[:80]}{number}"
        self.names.add(name)
        if reference is not None:
            self._by_reference[reference] = name
        self._waiting.append(_Waiting(name, found, replace(place, hint=name, active=frozenset())))
        return Named(name)

    # ------------------------------------------------------------ shapes

    def _spend(self, weight: int) -> bool:
        """Whether there is room for this much more."""
        self._room -= weight
        return self._room >= 0

    def _shape(self, schemas: JsonArray, place: _Place) -> Shape:
        """The type of a place for which all of these schemas hold."""
        if place.nested > _MOST_NESTED or not self._spend(1):
            return Plain.ANY
        reference = self.gatherer.alone(schemas)
        if reference is not None and reference in self._by_reference:
            return Named(self._by_reference[reference])
        found = self.gatherer.gathered(schemas, place.active)
        within = replace(place, active=place.active | found.followed)
        if found.impossible:
            return Plain.NEVER
        if found.values is not None:
            return listed(found.values, found.types, self._spend)
        if found.choices:
            return self._chosen(found, within, reference)
        return self._typed(found, within, reference)

    def _chosen(self, found: Gathered, place: _Place, reference: str | None) -> Shape:
        if found.properties:
            return self._typed(self._joined(found, place), place, reference)
        choice = found.choices[0]
        if len(choice) > _MOST_CHOICES:
            return self._typed(found, place, reference)
        whole = union(self._shape([option], place.inside("", 0)) for option in choice)
        return whole if whole is not Plain.ANY else self._typed(found, place, reference)

    def _joined(self, found: Gathered, place: _Place) -> Gathered:
        """An object whose alternatives add members: with the members of all of them."""
        for choice in found.choices:
            parts = [
                self.gatherer.gathered([option], place.active)
                for option in choice[:_MOST_CHOICES]
                if self._spend(1)
            ]
            if len(parts) < len(choice) or any(part.choices or part.loose for part in parts):
                found.loose = True
            added = {key: None for part in parts for key in part.properties}
            for key in added:
                options: JsonArray = [
                    {"allOf": part.properties[key]} for part in parts if key in part.properties
                ]
                found.properties.setdefault(key, []).append({"anyOf": options})
            if parts and len(parts) == len(choice):
                found.required |= set[str].intersection(*(part.required for part in parts))
            found.loose |= any(rest is not False for part in parts for rest in part.rest)
        found.choices = []
        found.says_members |= bool(found.properties)
        return found

    def _typed(self, found: Gathered, place: _Place, reference: str | None) -> Shape:
        types = found.types or _implied(found)
        options: list[Shape] = []
        for kind in types:
            if kind == "object":
                options.append(self._object(found, place, reference))
            elif kind == "array":
                items = [self._shape([item], place.inside("Item")) for item in found.items]
                options.append(ListOf(union(items) if items else Plain.ANY))
            else:
                options.append(SIMPLE.get(kind, Plain.ANY))
        return union(options) if options else Plain.ANY

    def _object(self, found: Gathered, place: _Place, reference: str | None) -> Shape:
        if found.properties:
            return self._record(found, place, reference)
        if found.rest and any(rest is False for rest in found.rest) and not found.patterns:
            return MapOf(Plain.ANY if found.loose else Plain.NEVER)
        values: JsonArray = [*found.patterns, *(rest for rest in found.rest if rest is not False)]
        if not values or found.loose or place.level > _DEEPEST:
            return MapOf(Plain.ANY)
        return MapOf(union(self._shape([it], place.inside("Value")) for it in values[:8]))


def _implied(found: Gathered) -> Iterable[str]:
    """The types of a place that names none."""
    if found.says_members or found.rest or found.patterns:
        return ("object",)
    return ("array",) if found.items else ()


def _pascal(text: str) -> str:
    """The words of a name run together, each with a capital letter."""
    words = _WORDS.findall(text[:200])
    return "".join(word[:1].upper() + word[1:] for word in words)[:40] or "Value"
