"""The definition of a tool as models read it in an answer: bounded, and long lists by their start.

No provider's rules hold here. What does not fit is left out step by step, the least needed first,
and what is left out is said.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from toolcrib.context.schemas.enum_words import SHOWN
from toolcrib.context.schemas.keywords import plain_text
from toolcrib.context.schemas.profiles import SHOWN_WHOLE, Profile
from toolcrib.context.schemas.schema_copy import TooManySchemas, copy_schema
from toolcrib.core.canonical import canonical
from toolcrib.core.jsontypes import JsonObject, is_object
from toolcrib.core.quoting import excerpt, has_surrogates
from toolcrib.core.schema import subschemas

ROOM: Final = 16_384
"""Bytes of one definition as compact JSON."""

_LEAST: Final = 512
_STEPS: Final = ((64, 2_000), (24, 400), (12, 160), (6, 80), (3, 60), (1, 40))
"""Levels and characters of each description, from a whole schema down to a list of its names."""

_SMALLEST: Final = 8
"""Bytes that one schema takes at least where it says anything; more of them need not be tried."""

_REFERRED: Final = frozenset({"$defs", "definitions"})

_HINTS: Final = ("destructiveHint", "idempotentHint", "openWorldHint", "readOnlyHint")


def shown_definition(
    definition: Mapping[str, Any], *, room: int = ROOM, values: int = SHOWN
) -> dict[str, Any]:
    """A tool as `get_tool_details` shows it: always the same bytes for the same definition.

    Args:
        definition: The `Tool` as declared (MCP 2026-07-28, tools: data types); never changed.
        room: Most bytes of the whole as compact JSON; at least 512.
        values: Values of each enumeration; longer ones are told by their beginning and number.

    Returns:
        `name`, and where it has them `title`, `description`, `inputSchema`, `outputSchema` and
        the hints among its `annotations`.
    """
    room = max(room, _LEAST)
    shown: dict[str, Any] = {"name": plain_text(str(definition.get("name", "")))[:128]}
    for member, most in (("title", 200), ("description", room // 4)):
        text = definition.get(member)
        if isinstance(text, str) and text:
            shown[member] = plain_text(excerpt(text, most))
    hints = definition.get("annotations")
    said = {hint: hints[hint] for hint in _HINTS if hint in hints} if is_object(hints) else {}
    if said:
        shown["annotations"] = said
    left = room - len(canonical(shown)) - 64
    for member, share in (("inputSchema", 1.0), ("outputSchema", 0.5)):
        schema = definition.get(member)
        if is_object(schema):
            copy = shown_schema(schema, room=int(left * share), values=values)
            size = len(canonical(copy))
            if member == "inputSchema" or size <= left:
                shown[member] = copy
                left -= size
    return shown


def shown_schema(schema: JsonObject, *, room: int = ROOM, values: int = SHOWN) -> JsonObject:
    """A schema within about `room` bytes: without its longer words first, then less deep."""
    most = room // _SMALLEST
    known = _down_to(schema, most)
    for depth, text in _STEPS:
        if known[min(depth + 1, len(known) - 1)] > most:
            continue
        try:
            copy = copy_schema(schema, _bounded(depth, text, values, most)).schema
        except TooManySchemas:
            continue
        if len(canonical(copy)) <= room:
            return copy
    members = schema.get("properties")
    names = sorted(members) if is_object(members) else []
    kept: list[str] = []
    for name in names:
        if has_surrogates(name):
            continue
        room -= len(canonical(name)) + 4
        if room < 200:  # noqa: PLR2004 - for the sentence below
            break
        kept.append(name)
    told = f"Too large to show: {len(kept):,} of its {len(names):,} properties by name"
    return {"type": "object", "properties": {name: {} for name in kept}, "description": told}


def _down_to(schema: JsonObject, most: int) -> list[int]:
    """How many schemas there are down to each level, without references, until there are more."""
    found = [1]
    level = [schema]
    while level and found[-1] <= most:
        level = [
            inner
            for node in level
            for step, inner in subschemas(node)
            if step[0] not in _REFERRED and is_object(inner)
        ]
        found.append(found[-1] + len(level))
    return found


def _bounded(depth: int, text: int, values: int, nodes: int) -> Profile:
    return replace(SHOWN_WHOLE, depth=depth, text=text, values=values, nodes=nodes)
