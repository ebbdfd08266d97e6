"""How a schema changed, in words a model understands.

`priority` is now required; `unit` no longer accepts `kelvin` (allowed: `celsius`, `fahrenheit`);
`limit`: integer, was string. Nested places are written `filter.state` and `tags[]`. What has no
short sentence gets a general one, so no change is passed over in silence, and the number of
sentences is bounded. What breaks calls comes before what does not.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from toolcrib.core.canonical import canonical
from toolcrib.core.fingerprint import wordless
from toolcrib.core.jsontypes import JsonObject, is_array, is_object
from toolcrib.core.quoting import clipped, enumerated
from toolcrib.core.refs import resolved
from toolcrib.core.schema_words import TOLD, same, typed, types_of, values_changed

_DEPTH = 16
"""Levels of properties and items that are compared one by one."""

_PLACES = 500
"""Places that are compared at all: references may lead to more pairs than schemas have bytes."""

_WORK = 2_500_000
"""Bytes that are compared in all: each place compares all that is below it."""

_NAME_ROOM = 120
_COUNTED = 100
"""Sentences beyond the shown ones that are counted exactly."""

_DEFINITIONS = ("$defs", "definitions")
_FOLLOWED = TOLD | {"$ref", "$schema", "additionalProperties", "items", "properties", "required"}
"""Keywords that have sentences of their own, or whose change shows where they lead."""

Place = tuple[str, ...]


def schema_changes(
    before: object, after: object, *, whole: str = "the argument object", limit: int = 12
) -> tuple[str, ...]:
    """What changed between two schemas: at most `limit` sentences, and one that counts the rest.

    Args:
        before: The schema as it was; anything but an object or `false` accepts everything.
        after: The schema as it is.
        whole: What the root of the schema is called in a sentence.
        limit: Most sentences in detail.
    """
    if same(before, after):
        return ()
    comparison = _Comparison(before, after, whole)
    sentences = comparison.at((), before, after)
    said = tuple(islice(sentences, limit))
    left_out = sum(1 for _ in islice(sentences, _COUNTED))
    if left_out:
        more = f"{left_out}" if left_out < _COUNTED else f"{_COUNTED} or more"
        return (*said, f"and {more} further changes")
    if comparison.spent:
        return (*said, f"and perhaps more: {whole} is too large to compare as a whole")
    return said or (f"{whole} changed in a way that has no short description",)


@dataclass(slots=True)
class _Comparison:
    """A walk along two schemas at once, following references inside each."""

    before: object
    after: object
    whole: str
    redefined: bool = field(init=False)
    """Whether definitions changed, so that equal references may lead to unequal schemas."""
    entered: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Pairs of references that were compared: a schema may contain itself."""
    places: int = 0
    """Places that were looked at."""
    work: int = 0
    """Bytes that were compared."""

    def __post_init__(self) -> None:
        old, new = _definitions(self.before), _definitions(self.after)
        self.redefined = not same(old, new)

    @property
    def spent(self) -> bool:
        """Whether the comparison was broken off."""
        return self.places > _PLACES or self.work > _WORK

    def at(self, place: Place, old: object, new: object) -> Iterator[str]:
        """The sentences about one place."""
        self.places += 1
        if self.spent or self._is_settled(old, new):
            return
        references = _reference(old), _reference(new)
        if references[0] and references[1]:
            if references in self.entered:
                return
            self.entered.add(references)
        there = _followed(self.before, old), _followed(self.after, new)
        if (there[0] is old and there[1] is new) or not self._is_settled(*there):
            yield from self._difference(place, *there)

    def _is_settled(self, old: object, new: object) -> bool:
        was, now = canonical(wordless(old)), canonical(wordless(new))
        self.work += len(was) + len(now)
        return was == now and not (self.redefined and b'"$ref"' in was)

    def _difference(self, place: Place, old: object, new: object) -> Iterator[str]:
        name = self._name(place)
        if not is_object(old) or not is_object(new) or len(place) >= _DEPTH:
            yield f"{name} {_accepting(new)}"
            return
        if types_of(old) != types_of(new):
            yield f"{name}: {typed(new)}, was {typed(old)}"
            if place:
                return
        yield from values_changed(name, old, new)
        yield from self._members(place, old, new)
        if "items" in old or "items" in new:
            yield from self.at((*place, "[]"), old.get("items", True), new.get("items", True))
        others = sorted((old.keys() | new.keys()) - _FOLLOWED - {*_DEFINITIONS})
        odd = [key for key in others if not same(old.get(key), new.get(key))]
        if odd:
            yield f"{name} has other rules ({enumerated(map(clipped, odd), 100)})"

    def _members(self, place: Place, old: JsonObject, new: JsonObject) -> Iterator[str]:
        """Properties that came, went or changed, and whether others are accepted."""
        was, now = _properties(old), _properties(new)
        had_to, has_to = _required(old), _required(new)
        come = sorted(now.keys() - was.keys())
        gone = sorted(was.keys() - now.keys())
        yield from (f"{self._name((*place, key))} was removed" for key in gone)
        yield from (self._came(place, key, now[key], "required") for key in come if key in has_to)
        for key in sorted((was.keys() & now.keys()) | ((had_to | has_to) - {*come, *gone})):
            if (key in had_to) != (key in has_to):
                turned = "now" if key in has_to else "no longer"
                yield f"{self._name((*place, key))} is {turned} required"
            yield from self.at((*place, key), was.get(key), now.get(key))
        yield from (
            self._came(place, key, now[key], "optional") for key in come if key not in has_to
        )
        rules = old.get("additionalProperties", True), new.get("additionalProperties", True)
        if not same(*rules):
            yield f"{self._name(place)} {_open_to_others(rules[1])}"

    def _came(self, place: Place, key: str, schema: object, need: str) -> str:
        kind = typed(_followed(self.after, schema))
        return f"{self._name((*place, key))} is new ({need}, {kind})"

    def _name(self, place: Place) -> str:
        if not place:
            return self.whole
        text = ""
        for part in place:
            text += part if part == "[]" else f".{clipped(part)}" if text else clipped(part)
        return f"`{text}`" if len(text) <= _NAME_ROOM else f"`…{text[-_NAME_ROOM:]}`"


def _definitions(root: object) -> list[object]:
    return [root.get(key) for key in _DEFINITIONS] if is_object(root) else []


def _reference(schema: object) -> str:
    found = schema.get("$ref") if is_object(schema) else None
    return found if isinstance(found, str) else ""


def _followed(root: object, schema: object) -> object:
    """What a schema stands for once its own reference inside the same root is followed."""
    for _ in range(_DEPTH):
        reference = _reference(schema)
        target = resolved(root, reference) if reference else None
        if not is_object(schema) or not is_object(target):
            return schema
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def _properties(schema: JsonObject) -> Mapping[str, Any]:
    found = schema.get("properties")
    return found if is_object(found) else {}


def _required(schema: JsonObject) -> set[str]:
    found = schema.get("required")
    return {name for name in found if isinstance(name, str)} if is_array(found) else set()


def _accepting(schema: object) -> str:
    if schema is False:
        return "accepts nothing any more"
    return "accepts anything now" if schema in (True, {}, None) else "has another shape"


def _open_to_others(rule: object) -> str:
    if rule is False:
        return "no longer accepts members that it does not name"
    if rule in (True, {}):
        return "accepts members that it does not name"
    return "has other rules for members that it does not name"
