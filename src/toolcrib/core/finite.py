"""Numbers that JSON has not: NaN and the infinities, which readers and writers of Python pass.

One rule holds at every wire. What is read from a host must be JSON, or it is a parse error. What a
server answers is judged where it is used: a definition is quarantined, a result is broken. Nothing
that is not finite is ever written, and nothing becomes null in silence.
"""

import math
from collections.abc import Iterator

from toolcrib.core.jsontypes import is_array, is_object


def place_not_finite(value: object) -> str | None:
    """Where the first number that is not finite stands, such as `content[0].n`; None without one.

    "" is the value itself.
    """
    stack: list[tuple[str, object]] = [("", value)]
    while stack:
        place, node = stack.pop()
        if isinstance(node, float) and not math.isfinite(node):
            return place
        stack += reversed(list(_inside(place, node)))
    return None


def _inside(place: str, node: object) -> Iterator[tuple[str, object]]:
    if is_object(node):
        for key, inner in node.items():
            yield f"{place}.{key}" if place else str(key), inner
    elif is_array(node):
        for index, inner in enumerate(node):
            yield f"{place}[{index}]", inner
