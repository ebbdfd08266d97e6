"""Cutting text and JSON to a number of bytes without lying about what is left."""

import re
from collections.abc import Iterable
from typing import Any, Final

from toolcrib.calls.encoding import encode
from toolcrib.core.jsontypes import is_array, is_object

_NUMERIC: Final = frozenset("0123456789.eE+-")
_WORD: Final = re.compile(r"\s")
_SMALL: Final = 256
"""Bytes of a member that is kept before larger ones are."""

_WORTHWHILE: Final = 64
"""Bytes that a part has to have at least to be cut rather than left out."""

_DEEPEST: Final = 32


def cut_text(text: str, room: int) -> str:
    """As much of the text as fits into `room` bytes of JSON.

    The end is put before a number rather than inside it, between words where one ends near by, and
    never between the halves of a surrogate pair.
    """
    if written(text) <= room:
        return text
    end = _fitting(text, room)
    if 0 < end < len(text):
        end = _before_number(text, end)
    if 0 < end < len(text):
        end = _between_words(text, end)
    if 0 < end < len(text) and _is_high(text[end - 1]):
        end -= 1
    return text[:end]


def cut_json(value: object, room: int, depth: int = 0) -> Any:
    """A JSON value of the same kind that fits into `room` bytes; None where none does.

    Elements are left out at the end of arrays, large members of objects before small ones, and
    strings are cut as text. Numbers, `true`, `false` and `null` are whole or not there.
    """
    if written(value) <= room:
        return value
    if room < _WORTHWHILE or depth >= _DEEPEST:
        return None
    if isinstance(value, str):
        return cut_text(value, room)
    if is_array(value):
        return _cut_array(value, room - 2, depth)
    return _cut_object(value, room - 2, depth) if is_object(value) else None


def written(value: object) -> int:
    """Bytes of a value as JSON."""
    return len(encode(value))


def _cut_array(values: list[Any], room: int, depth: int) -> list[Any]:
    kept: list[Any] = []
    for value in values:
        size = written(value) + 1
        if size > room:
            rest = cut_json(value, room - 1, depth + 1)
            return kept if rest is None else [*kept, rest]
        kept.append(value)
        room -= size
    return kept


def _cut_object(members: dict[str, Any], room: int, depth: int) -> dict[str, Any]:
    """Small members first, so that one large one does not cost them; in their own order."""
    sizes = {name: written(name) + written(value) + 2 for name, value in members.items()}
    kept: dict[str, Any] = {}
    for name in sorted(sizes, key=lambda name: sizes[name] > _SMALL):
        if sizes[name] <= room:
            kept[name] = members[name]
            room -= sizes[name]
            continue
        head = written(name) + 2
        rest = cut_json(members[name], room - head, depth + 1)
        if rest is not None:
            kept[name] = rest
            room -= head + written(rest)
    return {name: kept[name] for name in members if name in kept}


def _fitting(text: str, room: int) -> int:
    """The greatest length whose JSON fits, found by halving."""
    low, high = 0, min(len(text), max(0, room))
    while low < high:
        middle = (low + high + 1) // 2
        if written(text[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _before_number(text: str, end: int) -> int:
    if not (text[end - 1] in _NUMERIC and text[end] in _NUMERIC):
        return end
    start = end
    while start > 0 and text[start - 1] in _NUMERIC:
        start -= 1
    return start if any(c.isdigit() for c in _around(text, start, end)) else end


def _around(text: str, start: int, end: int) -> Iterable[str]:
    return text[start : end + 1]


def _between_words(text: str, end: int) -> int:
    """After the last white space near the end, if there is some."""
    if text[end].isspace() or text[end - 1].isspace():
        return end
    near = max(0, end - 80)
    found = list(_WORD.finditer(text, near, end))
    return found[-1].end() if found else end


def _is_high(character: str) -> bool:
    return "\ud800" <= character <= "\udbff"
