"""Values that come out of a sandbox, copied as JSON within bounds.

    plain(value, ARGUMENTS)     # strict: raises NotPlain for anything that JSON has not

Two lines of a program make a value that no memory holds once it is written out, because what is
shared in it is written as often as it stands there. So a value may weigh no more than so much; what
is shared stays shared, and weighs what it weighs each time: the work goes by what the sandbox
holds, and not by what would be written.
"""

import math
from collections.abc import Sequence
from typing import Any, Final, cast

from toolcrib.core.finite import is_too_long
from toolcrib.core.quoting import clipped
from toolcrib.ports import Unawaited

ARGUMENTS: Final = 8 * 1024 * 1024
"""What the arguments of one call may weigh."""
NODE: Final = 8
"""What each value weighs, beside the characters of texts."""
UNAWAITED: Final = "a call that it did not wait for"
_DEEPEST: Final = 64
"""Levels of a value that are followed."""
_CONTAINER: Final = 24
"""What an array or an object weighs on top of that: it takes several times as long."""
_STEP: Final = 40
"""Characters of a key that are repeated."""
_PLACE: Final = 200
"""Characters of a place."""


class NotPlain(ValueError):
    """A value is no JSON; the text says where and what stands there."""

    def __init__(self, found: str, *, there: bool = True) -> None:
        super().__init__(found)
        self.found = found
        self.there = there
        """Whether the place matters."""
        self.steps: list[str | int] = []
        """Keys and indices, the innermost first."""

    def __str__(self) -> str:
        return f"{place(self.steps[::-1])} is {self.found}"


def place(steps: Sequence[str | int]) -> str:
    """Where in a value something stands: `items[3].name`."""
    told = ""
    for step in steps[:_PLACE]:
        key = f"[{step}]" if isinstance(step, int) else clipped(step, _STEP)
        told = f"{told}.{key}" if told and isinstance(step, str) else told + key
    return clipped(told, _PLACE) or "the value"


def plain(value: object, most: int) -> Any:
    """A value that came out of a sandbox as JSON: copied, tuples as arrays.

    Raises:
        NotPlain: It holds something that JSON has not, is nested too deep, or weighs more than
            `most`.
    """
    return Copying(most).of(value, 0)


class Copying:
    """One value on its way out of a sandbox.

    Args:
        most: What it may weigh.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._left: int = most
        self._lowest = 0
        """The deepest level of what is copied now."""
        self._known: dict[int, tuple[Any, int, int]] = {}
        """Copy, weight and height of arrays and objects, by the identity of what was copied."""

    def of(self, value: object, depth: int) -> Any:
        """A copy of a part of it."""
        if not isinstance(value, list | tuple | dict):
            return self._other(value, depth)
        known = self._known.get(id(cast("object", value)))
        if depth + (0 if known is None else known[2]) >= _DEEPEST:
            raise NotPlain(f"nested deeper than {_DEEPEST} levels")
        if known is not None:
            self._take(known[1])
            self._lowest = max(self._lowest, depth + known[2])
            return known[0]
        return self._anew(cast("list[object] | dict[object, object]", value), depth)

    def _other(self, value: object, depth: int) -> Any:
        """A copy of what is neither array nor object."""
        del depth
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            self._take(len(value))
            return value
        if isinstance(value, int):
            if is_too_long(value):
                raise NotPlain("an integer of more digits than readers of JSON take")
            return value
        if isinstance(value, float):
            if not math.isfinite(value):
                raise NotPlain(f"{value}, which JSON has not")
            return value
        if isinstance(value, Unawaited):
            raise NotPlain(f"{UNAWAITED}: write `await` before it")
        raise NotPlain(f"a {type(value).__name__}, which JSON has not")

    def _anew(self, value: list[object] | dict[object, object], depth: int) -> Any:
        left, lowest = self._left, self._lowest
        self._lowest = depth
        self._take(_CONTAINER)
        of_dict = isinstance(value, dict)
        copy = self._object(value, depth) if of_dict else self._array(value, depth)
        self._known[id(value)] = (copy, left - self._left, self._lowest - depth)
        self._lowest = max(lowest, self._lowest)
        return copy

    def _object(self, value: dict[object, object], depth: int) -> dict[str, Any]:
        self._take(NODE * len(value))
        return {self._key(key): self._inner(it, key, depth) for key, it in value.items()}

    def _array(self, value: list[object], depth: int) -> list[Any]:
        self._take(NODE * len(value))
        return [self._inner(it, at, depth) for at, it in enumerate(value)]

    def _inner(self, value: object, step: Any, depth: int) -> Any:
        try:
            return self.of(value, depth + 1)
        except NotPlain as broken:
            if broken.there:
                broken.steps.append(step)
            raise

    def _key(self, key: object) -> str:
        if not isinstance(key, str):
            raise NotPlain("a dict with keys that are no strings")
        self._take(len(key))
        return key

    def _take(self, weight: int) -> None:
        self._left -= weight
        if self._left < 0:
            raise self._too_much()

    def _too_much(self) -> NotPlain:
        most = self._most // (1024 * 1024)
        what = f"more than a program can hand out at a time ({most} MiB)"
        return NotPlain(what, there=False)
