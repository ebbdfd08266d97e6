"""One pass over a JSON value before anything else touches it: how large, how deep, what is odd.

What Python passes for JSON and is none (NaN, keys that are no strings, integers that no encoder
writes) is a fault by itself, whatever the schema says. Nothing here recurses.
"""

import math
from dataclasses import dataclass
from typing import Any, Final, cast

from toolcrib.core.finite import is_too_long
from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.core.quoting import clipped, has_surrogates

TEXT_UNIT: Final = 64
"""Characters of a text that weigh as much as one value."""

_MOST_NODES: Final = 8_000_000
_MOST_LEVELS: Final = 1_000_000
"""More than any accepted message holds: a value that contains itself ends here."""

_FIRST_SURROGATE, _SURROGATES, _STAND_INS = 0xD800, 0x800, 0x10F000
_READABLE = {_FIRST_SURROGATE + n: _STAND_INS + n for n in range(_SURROGATES)}
"""Unpaired surrogates, and characters of the last private plane that stand in for them."""

_UNREADABLE = dict.fromkeys(_READABLE.values(), "\ufffd")

_PLACE_ROOM = 120

Path = tuple["Path", str | int] | None
"""Steps from the root, the last one first, so that deep places cost nothing until shown."""


@dataclass(slots=True)
class Survey:
    """What a value is made of."""

    nodes: int = 0
    """Values in it, itself and the members of objects included."""
    units: int = 0
    """Nodes, and one more for each `TEXT_UNIT` characters of texts and keys."""
    depth: int = 0
    """Levels of arrays and objects, the empty ones at the end not counted."""
    surrogates: bool = False
    """Whether some text or key holds surrogates on their own."""
    odd: bool = False
    """Whether something in it is no JSON; `oddity` says what and where."""
    endless: bool = False
    """Whether it was left in the middle: it contains itself, or is beyond every limit."""


def survey(value: object, most: int = _MOST_NODES) -> Survey:
    """Look at every value once, unless there are more than `most`."""
    found = Survey()
    level: list[object] = [value]
    while level:
        found.nodes += len(level)
        if found.nodes > most or found.depth > _MOST_LEVELS:
            found.endless = True
            break
        inner: list[object] = []
        for node in level:
            kind = type(node)
            if kind is str:
                _take_text(found, cast("str", node))
            elif kind is dict:
                members = cast("dict[Any, Any]", node)
                _take_keys(found, members)
                inner += members.values()
            elif kind is list:
                inner += cast("list[Any]", node)
            elif not (node is None or kind is bool or _is_sound_number(node)):
                found.odd = True
        found.depth += bool(inner)
        level = inner
    found.units += found.nodes
    return found


def _take_text(found: Survey, text: str) -> None:
    found.units += len(text) // TEXT_UNIT
    if not text.isascii() and has_surrogates(text):
        found.surrogates = True


def _take_keys(found: Survey, members: dict[Any, Any]) -> None:
    for key in members:
        if type(key) is not str:
            found.odd = True
        elif len(key) >= TEXT_UNIT or not key.isascii():
            _take_text(found, key)


def _is_sound_number(node: object) -> bool:
    if type(node) is int:
        return not is_too_long(node)
    return type(node) is float and math.isfinite(node)


def oddity(value: object) -> tuple[str, str]:
    """Where the first thing stands that is no JSON, and what is wrong with it, as a predicate."""
    stack: list[tuple[Path, object]] = [(None, value)]
    while stack:
        path, node = stack.pop()
        wrong = _wrong(node)
        if wrong:
            return place(path), wrong
        if is_object(node):
            stack += [((path, key), inner) for key, inner in reversed(node.items())]
        elif is_array(node):
            stack += [((path, at), node[at]) for at in range(len(node) - 1, -1, -1)]
    return "", "is no JSON value"


def _wrong(node: object) -> str:
    kind = type(node)
    if kind is dict:
        keys = [type(key).__name__ for key in cast("dict[Any, Any]", node) if type(key) is not str]
        return f"has a key of type {keys[0]}, but keys must be strings" if keys else ""
    if kind is float and not math.isfinite(cast("float", node)):
        return f"is {node!r}, which is no number in JSON"
    if kind is int and not _is_sound_number(node):
        return "is an integer of more than 4,300 digits, which no JSON encoder writes"
    if node is None or kind in (bool, int, float, str, list):
        return ""
    return f"is of type {kind.__name__}, which is no JSON value"


def place(path: Path) -> str:
    """A path as `filter.tags[2]`, the end of it where it is long."""
    steps: list[str] = []
    room = _PLACE_ROOM
    while path is not None and room > 0:
        path, step = path
        steps.append(f"[{step}]" if isinstance(step, int) else f".{clipped(step) or '``'}")
        room -= len(steps[-1])
    text = "".join(reversed(steps)).removeprefix(".")
    return text if path is None else f"…{text}"


def readable(value: object) -> object:
    """A copy in which other characters stand in for unpaired surrogates, one for one."""
    root: list[Any] = [value]
    stack: list[list[Any] | dict[str, Any]] = [root]
    while stack:
        holder = stack.pop()
        places = list(holder) if isinstance(holder, dict) else range(len(holder))
        for at in cast("Any", places):
            node = cast("Any", holder)[at]
            if isinstance(node, str):
                node = node.translate(_READABLE)
            elif is_object(node):
                node = {key.translate(_READABLE): inner for key, inner in node.items()}
                stack.append(node)
            elif is_array(node):
                node = list(node)
                stack.append(node)
            cast("Any", holder)[at] = node
    return root[0]


def legible(text: str) -> str:
    """A text for people, in which what stands in for surrogates is the replacement character."""
    return text if text.isascii() else text.translate(_UNREADABLE)
