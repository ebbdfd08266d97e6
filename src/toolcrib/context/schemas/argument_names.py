"""Names of arguments that a provider refuses, replaced by ones that it takes, and back."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolcrib.context.schemas.enum_words import joined
from toolcrib.core.jsontypes import JsonObject
from toolcrib.core.quoting import quoted

_FOREIGN: Final = re.compile(r"[^a-zA-Z0-9_.-]")
_LONGEST: Final = 64


def legal_names(copy: JsonObject, pattern: re.Pattern[str]) -> tuple[JsonObject, Mapping[str, str]]:
    """The copy of a root with legal names only, and the original names by the new ones."""
    properties: JsonObject = copy["properties"]
    names = _Free(name for name in properties if pattern.fullmatch(name))
    new = {name: names.taken_for(name) for name in properties if not pattern.fullmatch(name)}
    if not new:
        return copy, {}
    renamed = {new.get(name, name): _told(name, new, inner) for name, inner in properties.items()}
    required = [new.get(name, name) for name in copy.get("required", [])]
    copy = {**copy, "properties": renamed, **({"required": required} if required else {})}
    return copy, {legal: name for name, legal in new.items()}


def led_back(arguments: Mapping[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    """The arguments under the names that their tool gave them."""
    return {renamed.get(name, name): value for name, value in arguments.items()}


class _Free:
    """Legal names that are still free, found without going through those that were given away."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def taken_for(self, name: str) -> str:
        """A legal name for this one, which is taken from now on."""
        legal = _FOREIGN.sub("_", name)[:_LONGEST] or "_"
        number = self._next.get(legal, 2)
        free = legal
        while free in self._taken:
            mark = f"_{number}"
            free, number = legal[: _LONGEST - len(mark)] + mark, number + 1
        self._next[legal] = number
        self._taken.add(free)
        return free


def _told(name: str, new: Mapping[str, str], schema: JsonObject) -> JsonObject:
    if name not in new:
        return schema
    return {
        **schema,
        "description": joined(schema.get("description"), f"Stands for {quoted(name)}"),
    }
