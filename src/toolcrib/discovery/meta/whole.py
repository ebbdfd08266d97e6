"""One whole definition for a model: what it is called with, as JSON on one line."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from toolcrib.context.shown_schema import ROOM, shown_definition
from toolcrib.core.snapshot import Item
from toolcrib.discovery.meta.grouped import size
from toolcrib.discovery.meta.one_line import json_line
from toolcrib.discovery.meta.signature import signature

_MEMBERS: Final = ("title", "description", "inputSchema", "outputSchema", "annotations")
"""What a model needs, in this order; the name stands before it."""

_SMALLEST: Final = 512
"""Bytes of a definition below which its parameters alone say more."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A definition as it is shown."""

    text: str
    """On one line."""
    seen: bool
    """Whether its input schema is shown, so that the model has seen what a call depends on."""


def whole(item: Item, room: int, *, cut: bool) -> Whole | None:
    """The definition in at most `room` bytes; None where it does not fit.

    Args:
        item: The tool; its name is not part of the text.
        room: Bytes of the text within a result.
        cut: Whether a part of it is better than nothing.
    """
    for text in _ever_shorter(item) if cut else (_text(item, ROOM),):
        if size(text) <= room:
            return Whole(text, seen=True)
    if not cut:
        return None
    parameters = signature(item.definition.get("inputSchema"))
    return Whole(f"{parameters} (there is no room for its definition)", seen=False)


def _ever_shorter(item: Item) -> Iterator[str]:
    room = ROOM
    while room >= _SMALLEST:
        yield _text(item, room)
        room //= 2


def _text(item: Item, room: int) -> str:
    shown = shown_definition(item.definition, room=room)
    return json_line({key: shown[key] for key in _MEMBERS if key in shown})
