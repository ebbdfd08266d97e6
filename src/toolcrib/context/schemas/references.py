"""References inside one schema, followed; recursive ones and those that lead nowhere in words."""

import re
from typing import Any, Final

from toolcrib.context.schemas.enum_words import joined
from toolcrib.context.schemas.merging import both
from toolcrib.core.jsontypes import JsonObject, is_array, is_object
from toolcrib.core.quoting import has_surrogates
from toolcrib.core.refs import Missing, resolved

Trail = tuple[str, ...]
"""References that were followed on the way to a place."""

_DEFINITION: Final = re.compile(r"#/(\$defs|definitions)/([^/%~]+)")
_STEPS: Final = 64
"""References that may lead from one to the next."""

_ROOM: Final = 524_288
"""Members, elements and characters that references may bring in: a reference can be spelled in
many ways, and each definition can refer to the next one twice."""

_BESIDE: Final = ("title", "description", "default")
"""Words beside a reference, which hold for the place and not for what it points at."""

_AGAIN: Final = "Again of the form of what contains it"
_TOO_MUCH: Final = "There is more inside than is shown here"
_NOWHERE: Final = "Any value: what its schema refers to is not in it"


class References:
    """Where the references of one schema lead."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._twice = "$defs" in root and "definitions" in root
        self._room = _ROOM
        self._weights: dict[int, int] = {}

    def name(self, reference: str) -> str | None:
        """The definition that a reference names; empty: the root; None: it is of another kind."""
        if reference == "#":
            return ""
        match = _DEFINITION.fullmatch(reference)
        if match is None or self._twice or has_surrogates(match[2]):
            return None
        return None if isinstance(resolved(self._root, reference), Missing) else match[2]

    def definition(self, name: str) -> object:
        """What stands under a name; a definition that is missing allows anything."""
        for member in ("$defs", "definitions"):
            held = self._root.get(member)
            if is_object(held) and name in held:
                return held[name]
        return True

    def followed(self, schema: object, trail: Trail) -> tuple[object, Trail]:
        """What a schema that is a reference points at, with what it says beside the reference.

        Any other schema comes back as it is. A reference that is on the trail already is cut: what
        comes back says in words that the form repeats. So is one for which there is no room left.
        """
        for _ in range(_STEPS):
            if not is_object(schema) or not isinstance(reference := schema.get("$ref"), str):
                return schema, trail
            beside = {keyword: it for keyword, it in schema.items() if keyword != "$ref"}
            target = resolved(self._root, reference)
            if isinstance(target, Missing):
                return {**beside, "description": _said(beside, _NOWHERE)}, trail
            if reference in trail:
                return _again(beside, target), trail
            self._room -= self._weight(target)
            if self._room < 0:
                return {**beside, "description": _said(beside, _TOO_MUCH)}, trail
            trail = (*trail, reference)
            schema = _with(beside, target) if is_object(target) else target
        return {"description": _NOWHERE}, trail

    def _weight(self, target: object) -> int:
        """How much stands at a place of the root."""
        known = self._weights.get(id(target))
        if known is None:
            known = self._weights[id(target)] = _weight_of(target)
        return known


def _with(beside: JsonObject, target: JsonObject) -> JsonObject:
    if not beside:
        return target
    own = {keyword: beside.pop(keyword) for keyword in _BESIDE if keyword in beside}
    return {**both(beside, target), **own}


def _again(beside: JsonObject, target: object) -> JsonObject:
    kind: Any = target.get("type") if is_object(target) else None
    again: JsonObject = {"type": kind} if isinstance(kind, str) else {}
    return {**again, "description": _said(beside, _AGAIN)}


def _said(beside: JsonObject, text: str) -> str:
    return joined(beside.get("description"), text)


def _weight_of(value: object) -> int:
    """Members, elements and characters of a JSON value, whatever its depth."""
    found, stack = 0, [value]
    while stack:
        one = stack.pop()
        found += 1
        if isinstance(one, str):
            found += len(one)
        elif is_object(one):
            found += sum(map(len, one))
            stack += one.values()
        elif is_array(one):
            stack += one
    return found
