"""Values kept once, and states packed into one number."""

from collections.abc import Callable
from typing import Generic, TypeVar

BITS = 22
"""Enough for four million different values of each part."""
NOBODY = (1 << BITS) - 1
"""In place of the second replica where there is only one."""

Parts = tuple[int, int, int, int, int]
"""Numbers of the surroundings, the store, the old store of a split (0 is none), both replicas."""

T = TypeVar("T")


class Kept(Generic[T]):
    """Values kept once, each under its number; number 0 is no value."""

    def __init__(self, admit: Callable[[T], T] = lambda value: value) -> None:
        self._numbers: dict[T, int] = {}
        self._values: list[T | None] = [None]
        self._admit = admit

    def __len__(self) -> int:
        return len(self._values) - 1

    def __getitem__(self, number: int) -> T:
        value = self._values[number]
        if value is None:
            raise AssertionError(f"nothing has number {number}")
        return value

    def number(self, value: T) -> int:
        """The number of a value; a new one is admitted first, which may change it."""
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = len(self._values)
            if found >= NOBODY:
                raise AssertionError("more different values than a state has room for")
            self._values.append(self._admit(value))
        return found


def packed(parts: Parts) -> int:
    """The state as one number, the same in whichever order the replicas are."""
    around, store, old, a, b = parts
    if a > b:
        a, b = b, a
    return (((around << BITS | store) << BITS | old) << BITS | a) << BITS | b


def unpacked(state: int) -> Parts:
    """The parts of a state."""
    rest, b = state >> BITS, state & NOBODY
    rest, a = rest >> BITS, rest & NOBODY
    rest, old = rest >> BITS, rest & NOBODY
    return rest >> BITS, rest & NOBODY, old, a, b
