"""JSON as it is shown to a person who decides over it: all of it visible, none of it acting.

What hides, turns the direction of writing or breaks a line is escaped. Where not everything has
room, long texts are clipped one by one to their beginning and end, with how much there is between:
so a long argument never pushes the next one out of sight, nor its beginning its own end.
"""

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from toolcrib.core.canonical import canonical
from toolcrib.core.invisible import escaped
from toolcrib.core.json_floor import json_floor
from toolcrib.core.jsontypes import is_array, is_object

_TEXT: Final = 500
"""Characters of one text, where not all of every text has room."""
_ROOM: Final = 6_000
"""Characters in all."""
_DEPTH: Final = 32
"""Levels that are laid out line by line; what is deeper is written on one line."""
_MEMBERS: Final = 150
"""Arguments that are looked at; more have no room."""
_FEWEST: Final = 50
"""Values inside of each argument that are looked at, at least."""


def in_plain_sight(arguments: Mapping[str, Any], *, room: int = _ROOM) -> str:
    """The arguments of a call, member by member, in about `room` characters at most.

    What is left out is said, with how much there is in all. A member is `name: value`.
    """
    if not arguments:
        return "(none)"
    least, _ = json_floor(arguments, room)
    if least <= room:
        text = "\n".join(_lines(arguments, room, room))
        if len(text) <= room:
            return text
    lines = _lines(arguments, room, _TEXT)
    text = "\n".join(lines)
    if len(text) <= room:
        return text
    share = max(40, room // len(lines) - 40)  # what is left out is counted in words
    return _ends("\n".join(_ends(line, share) for line in lines), room)


def _lines(arguments: Mapping[str, Any], room: int, longest: int) -> list[str]:
    """Each argument, with at most so many characters of each text."""
    most = max(_FEWEST, room // min(len(arguments), _MEMBERS))
    lines = [
        f"{_name(name)}: {_value(value, most, longest)}"
        for name, value in islice(arguments.items(), _MEMBERS)
    ]
    if len(arguments) > _MEMBERS:
        lines.insert(0, f"({len(arguments):,} arguments in all, of which the first are shown)")
    return lines


def _ends(text: str, longest: int) -> str:
    """The text as it is, or its beginning and end, and how many characters stand between them.

    What does harm may stand at either end: a shell runs the last command, too.
    """
    if len(text) <= longest:
        return text
    tail = longest // 2
    between = len(text) - longest
    return f"{text[: longest - tail]} … ({between:,} characters left out) … {text[-tail:]}"


def _name(name: str) -> str:
    """A name that cannot be taken for more than a name."""
    name = escaped(_ends(name, 80))
    return name if name.isidentifier() else json.dumps(name, ensure_ascii=False)


def _value(value: object, most: int, longest: int) -> str:
    """A value, of which at most so many values inside are looked at."""
    try:
        clipped = _Clipping(most, longest).of(value)
    except _TooDeep:
        return _ends(_compact(value), longest)
    text = json.dumps(clipped, ensure_ascii=False, indent=2)
    return "\n".join(escaped(line) for line in text.split("\n"))


def _compact(value: object) -> str:
    try:
        return escaped(canonical(value).decode())
    except (TypeError, ValueError):
        return "(no JSON)"


class _TooDeep(Exception):
    """A value is nested deeper than it can be laid out."""


class _Clipping:
    """Copies a value with every long text clipped, and every long row."""

    def __init__(self, most: int, longest: int) -> None:
        self._left = most
        self._longest = longest

    def of(self, value: object, depth: int = 1) -> object:
        """The copy; what is left out of it is said in its place. Raises `_TooDeep`."""
        self._left -= 1
        if depth > _DEPTH and (is_array(value) or is_object(value)):
            raise _TooDeep
        if isinstance(value, str):
            return _ends(value, self._longest)
        if is_array(value):
            shown: list[object] = []
            for inner in value:
                if self._left <= 0:
                    return [*shown, f"… ({len(value):,} elements in all)"]
                shown.append(self.of(inner, depth + 1))
            return shown
        return self._members(value, depth) if is_object(value) else value

    def _members(self, value: Mapping[str, object], depth: int) -> dict[str, object]:
        shown: dict[str, object] = {}
        for key, inner in value.items():
            name = _ends(key, self._longest)
            if self._left <= 0:
                name, inner = "…", f"({len(value):,} members in all)"  # noqa: PLW2901 - the last
            # Names that look alike once they are clipped must not hide each other's values.
            while name in shown:
                name += "\u2019"
            shown[name] = self.of(inner, depth + 1)
            if self._left < 0:
                break
        return shown
