"""Numbers that JSON has not: NaN and the infinities, which readers and writers of Python pass.

Integers of more than 4,300 digits are none of them, but no reader and no writer of Python passes
them.

One rule holds at every wire. What is read from a host must be JSON, or it is a parse error. What a
server answers is judged where it is used: a definition is quarantined, a result is broken. Nothing
that is not finite is ever written, and nothing becomes null in silence.
"""

import math
from collections.abc import Iterator
from typing import Final

from toolcrib.core.jsontypes import is_array, is_object

_MOST_BITS: Final = 14_000
"""An integer of so many is short enough, whatever its digits are."""
_TOO_LONG: Final = 10**4_300


def is_too_long(integer: int) -> bool:
    """Whether an integer has more digits than Python reads and writes."""
    return integer.bit_length() > _MOST_BITS and abs(integer) >= _TOO_LONG


def place_not_finite(value: object, *, most: int | None = None) -> str | None:
    """Where the first number that is not finite stands, such as `content[0].n`; None without one.

    "" is the value itself. With `most`, for a value that is known to hold one: "…" where it is not
    among so many values.
    """
    stack: list[tuple[str, object]] = [("", value)]
    looked_at = 0
    while stack:
        place, node = stack.pop()
        looked_at += 1
        if most is not None and (looked_at > most or _length(node) > most):
            return "…"
        if isinstance(node, float) and not math.isfinite(node):
            return place
        stack += reversed(list(_inside(place, node)))
    return None


def _length(node: object) -> int:
    return len(node) if is_object(node) or is_array(node) else 0


def _inside(place: str, node: object) -> Iterator[tuple[str, object]]:
    if is_object(node):
        for key, inner in node.items():
            yield f"{place}.{key}" if place else str(key), inner
    elif is_array(node):
        for index, inner in enumerate(node):
            yield f"{place}[{index}]", inner
