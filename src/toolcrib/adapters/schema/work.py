"""How many steps a check takes, estimated before it begins: nobody can stop it later.

A schema of a few lines can ask for more steps than there is time: definitions that use each other
twice double at each level, and so does recursion through two references. The estimate counts the
paths of a checker that remembers nothing and stops nowhere. A schema without recursion has a number
of its own; times the size of the value, that is mostly small enough. Only where it is not, schema
and value are walked together, each pair once.
"""

from typing import Final

from toolcrib.adapters.schema.layout import Layout, Place
from toolcrib.adapters.schema.survey import TEXT_UNIT, Survey, survey
from toolcrib.core.jsontypes import JsonArray, JsonObject, is_array, is_object

_DEEPEST: Final = 300
"""Steps into each other, of schema and value together: the library recurses, too."""

_BEGUN: Final = -1
"""Marks a pair that is being counted: met again, the schema applies itself to the same value."""


class TooMuch(Exception):
    """The estimate is above its limit, or has no end; the text says which."""


def steps_for_anything(layout: Layout) -> int | None:
    """Steps of a schema for each node of a value; None where recursion or depth forbid to say."""
    try:
        return _unfolded(layout.root, {}, 0)
    except TooMuch:
        return None


def _unfolded(place: Place, known: dict[int, int], depth: int) -> int:
    """The steps of everything that can be reached from a place, by all paths."""
    found = known.get(id(place))
    if found == _BEGUN or depth > _DEEPEST:
        raise TooMuch
    if found is None:
        known[id(place)] = _BEGUN
        found = place.cost + place.per_text + place.per_key
        found += place.times * sum(_unfolded(one, known, depth + 1) for one in place.here)
        found += sum(_unfolded(one, known, depth + 1) for one in place.inside())
        known[id(place)] = found
    return found


def must_fit(
    layout: Layout, for_anything: int | None, value: object, size: Survey, limit: int
) -> None:
    """Let a check pass that takes at most `limit` steps.

    Args:
        layout: The schema.
        for_anything: What `steps_for_anything` says of it.
        value: What is to be checked.
        size: What `survey` says of it.
        limit: Most steps.

    Raises:
        TooMuch: It takes more, or nobody can tell.
    """
    if for_anything is not None:
        compared = size.depth + 1 if layout.unique else 1
        if size.units * compared * for_anything <= limit:
            return
    _Walk(limit).steps(layout.root, value, 0)


class _Walk:
    """Counts the steps of a schema at a value, pair by pair."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: dict[tuple[int, int], int] = {}

    def steps(self, place: Place, value: object, depth: int) -> int:
        pair = id(place), id(value)
        found = self._known.get(pair)
        if found is None:
            if depth > _DEEPEST:
                raise TooMuch(f"schema and value go more than {_DEEPEST} steps into each other")
            self._known[pair] = _BEGUN
            found = self._known[pair] = self._counted(place, value, depth + 1)
        elif found == _BEGUN:
            raise TooMuch("a part of the schema applies itself to the same value again")
        return self._in_bounds(found)

    def _counted(self, place: Place, value: object, depth: int) -> int:
        total = place.cost
        for one in place.here:
            total = self._in_bounds(total + place.times * self.steps(one, value, depth))
        if isinstance(value, str):
            return total + place.per_text * (1 + len(value) // TEXT_UNIT)
        if is_object(value):
            return self._of_object(place, value, total, depth)
        return self._of_array(place, value, total, depth) if is_array(value) else total

    def _of_object(self, place: Place, value: JsonObject, total: int, depth: int) -> int:
        self._in_bounds(total + len(value))
        for key, member in value.items():
            own = place.members.get(key)
            for one in place.other_member if own is None else (own,):
                total += self.steps(one, member, depth)
            for one in place.each_member:
                total += self.steps(one, member, depth)
            for one in place.each_key:
                total += self.steps(one, key, depth)
            total = self._in_bounds(total + 1 + place.per_key * (1 + len(key) // TEXT_UNIT))
        return total

    def _of_array(self, place: Place, value: JsonArray, total: int, depth: int) -> int:
        if place.unique:
            # What is given up on is not walked first.
            self._in_bounds(total + len(value))
            total = self._in_bounds(total + survey(value, self._limit).units)
        first = place.first_items
        if not first and not place.each_item and all(map(_is_idle, place.other_item)):
            return total
        self._in_bounds(total + len(value))
        for at, item in enumerate(value):
            for one in first[at : at + 1] or place.other_item:
                total += self.steps(one, item, depth)
            for one in place.each_item:
                total += self.steps(one, item, depth)
            total = self._in_bounds(total)
        return total

    def _in_bounds(self, total: int) -> int:
        if total > self._limit:
            raise TooMuch(f"the check may take more than {self._limit:,} steps (limit schema_work)")
        return total


def _is_idle(place: Place) -> bool:
    """Whether nothing is asked of a value there."""
    return place.cost == 1 and not (
        place.per_text or place.per_key or place.here or place.unique or place.inside()
    )
