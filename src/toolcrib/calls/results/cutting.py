"""Cutting text and JSON to a number of bytes without lying about what is left."""

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

from toolcrib.calls.results.encoding import encode
from toolcrib.core.json_floor import json_floor
from toolcrib.core.jsontypes import is_array, is_object

_NUMERIC: Final = frozenset("0123456789.eE+-")
_WORD: Final = re.compile(r"\s")
_SMALL: Final = 256
"""Bytes of a member that is kept before larger ones are."""

_WORTHWHILE: Final = 64
"""Bytes that a part has to have at least to be cut rather than left out."""

_DEEPEST: Final = 32

_LEAST_MEMBER: Final = 5
"""Bytes of the shortest member, with its comma."""

_LEAST_VALUE: Final = 1

_LOOKS: Final = 16
"""Parts that are looked at for each byte of room."""


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


def cut_json(value: object, room: int) -> Any:
    """A JSON value of the same kind that fits into `room` bytes; None where none does.

    Elements are left out at the end of arrays, large members of objects before small ones, and
    strings are cut as text. Numbers, `true`, `false` and `null` are whole or not there. However
    large the value is, only so much of it is looked at as `room` can hold, some times over.
    """
    cutting = _Cutting(_LOOKS * room)
    return value if cutting.size(value, room) is not None else cutting.cut(value, room, 0)


def written(value: object) -> int:
    """Bytes of a value as JSON."""
    return len(encode(value))


def written_within(value: object, most: int) -> int | None:
    """Bytes of a value as JSON where they are at most `most`; a larger one is not written."""
    return _Cutting(most + 1).size(value, most)


class _Cutting:
    """One value on its way to fewer bytes, of which at most `looks` parts are looked at.

    Each level measures what is below it: without an end to that, a server could nest large things
    in many members and have all of them walked again and again.
    """

    def __init__(self, looks: int) -> None:
        self._looks = looks

    def size(self, value: object, most: int) -> int | None:
        """Bytes of a value as JSON; None for more than `most`, or where nobody looks any more."""
        if self._looks <= 0:
            return None
        least, looked_at = json_floor(value, most)
        self._looks -= looked_at
        if least > most:
            return None
        size = written(value)
        return size if size <= most else None

    def cut(self, value: object, room: int, depth: int) -> Any:
        """What `cut_json` says of a value that is too large."""
        if room < _WORTHWHILE or depth >= _DEEPEST or self._looks <= 0:
            return None
        if isinstance(value, str):
            return cut_text(value, room)
        if is_array(value):
            return self._array(value, room - 2, depth)
        return self._object(value, room - 2, depth) if is_object(value) else None

    def _array(self, values: list[Any], room: int, depth: int) -> list[Any]:
        kept: list[Any] = []
        for value in values:
            size = self.size(value, room - 1)
            if size is None:
                rest = self.cut(value, room - 1, depth + 1)
                return kept if rest is None else [*kept, rest]
            kept.append(value)
            room -= size + 1
        return kept

    def _object(self, members: dict[str, Any], room: int, depth: int) -> dict[str, Any]:
        """Small members first, so that one large one does not cost them; in their own order."""
        kept: dict[str, Any] = {}
        heads: dict[str, int] = {}
        """Of every member that was looked at: the bytes of its name, colon and comma."""
        for name, value in islice(members.items(), room // _LEAST_MEMBER + 1):
            if room < _LEAST_MEMBER or self._looks <= 0:
                break
            head = heads[name] = written(name) + 2
            size = self.size(value, min(_SMALL, room) - head)
            if size is not None:
                kept[name] = value
                room -= head + size
        for name, head in heads.items():
            if name in kept or room - head < _LEAST_VALUE:
                continue
            size = self.size(members[name], room - head)
            if size is not None:
                kept[name] = members[name]
                room -= head + size
                continue
            rest = self.cut(members[name], room - head, depth + 1)
            if rest is not None:
                kept[name] = rest
                room -= head + written(rest)
        return {name: kept[name] for name in heads if name in kept}


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
