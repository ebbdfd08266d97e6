"""JSON as it is shown to a person who decides over it: all of it visible, none of it acting.

What hides, turns the direction of writing or breaks a line is escaped. Long texts are clipped one
by one, each with its length, so that a long argument never pushes the next one out of sight.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from toolcrib.core.canonical import canonical
from toolcrib.core.invisible import escaped
from toolcrib.core.jsontypes import is_array, is_object, nests_deeper
from toolcrib.core.quoting import excerpt

_TEXT: Final = 500
"""Characters of one text."""
_ROOM: Final = 6_000
"""Characters in all."""
_DEPTH: Final = 32
"""Levels that are laid out line by line; what is deeper is written on one line."""


def in_plain_sight(arguments: Mapping[str, Any], *, room: int = _ROOM) -> str:
    """The arguments of a call, member by member, in about `room` characters at most.

    What is left out is said, with how much there is in all. A member is `name: value`.
    """
    if not arguments:
        return "(none)"
    lines = [f"{_name(name)}: {_value(value)}" for name, value in arguments.items()]
    text = "\n".join(lines)
    if len(text) <= room:
        return text
    share = max(40, room // len(lines) - 40)  # an excerpt says how long the whole is
    text = "\n".join(excerpt(line, share) for line in lines)
    return excerpt(text, room)


def _name(name: str) -> str:
    """A name that cannot be taken for more than a name."""
    name = escaped(excerpt(name, 80))
    return name if name.isidentifier() else json.dumps(name, ensure_ascii=False)


def _value(value: object) -> str:
    if nests_deeper(value, _DEPTH):
        return excerpt(_compact(value), _TEXT)
    text = json.dumps(_clipped(value), ensure_ascii=False, indent=2)
    return "\n".join(escaped(line) for line in text.split("\n"))


def _compact(value: object) -> str:
    try:
        return escaped(canonical(value).decode())
    except (TypeError, ValueError):
        return "(no JSON)"


def _clipped(value: object) -> object:
    """A value of moderate depth with every long text clipped."""
    if isinstance(value, str):
        return excerpt(value, _TEXT)
    if is_array(value):
        return [_clipped(inner) for inner in value]
    if is_object(value):
        shown = {excerpt(key, _TEXT): _clipped(inner) for key, inner in value.items()}
        # Long names that look alike once they are clipped must not hide each other's values.
        return shown if len(shown) == len(value) else {k: _clipped(v) for k, v in value.items()}
    return value
