"""Names of arguments that a provider refuses, replaced by ones that it takes, and back."""

import re
from collections.abc import Mapping
from typing import Any, Final

from toolcrib.context.schemas.enum_words import joined
from toolcrib.core.jsontypes import JsonObject
from toolcrib.core.quoting import quoted

_FOREIGN: Final = re.compile(r"[^a-zA-Z0-9_.-]")
_LONGEST: Final = 64


def legal_names(copy: JsonObject, pattern: re.Pattern[str]) -> tuple[JsonObject, Mapping[str, str]]:
    """The copy of a root with legal names only, and the original names by the new ones."""
    properties: JsonObject = copy["properties"]
    new: dict[str, str] = {}
    taken = {name for name in properties if pattern.fullmatch(name)}
    for name in properties:
        if name not in taken and name not in new:
            new[name] = _free(name, {*taken, *new.values()})
    if not new:
        return copy, {}
    renamed = {new.get(name, name): _told(name, new, inner) for name, inner in properties.items()}
    required = [new.get(name, name) for name in copy.get("required", [])]
    copy = {**copy, "properties": renamed, **({"required": required} if required else {})}
    return copy, {legal: name for name, legal in new.items()}


def led_back(arguments: Mapping[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    """The arguments under the names that their tool gave them."""
    return {renamed.get(name, name): value for name, value in arguments.items()}


def _free(name: str, taken: set[str]) -> str:
    legal = _FOREIGN.sub("_", name)[:_LONGEST] or "_"
    number = 2
    free = legal
    while free in taken:
        mark = f"_{number}"
        free, number = legal[: _LONGEST - len(mark)] + mark, number + 1
    return free


def _told(name: str, new: Mapping[str, str], schema: JsonObject) -> JsonObject:
    if name not in new:
        return schema
    return {
        **schema,
        "description": joined(schema.get("description"), f"Stands for {quoted(name)}"),
    }
