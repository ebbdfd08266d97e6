"""A bound on work that counts function calls, so that it is the same on every machine."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class TooManyCalls(AssertionError):
    """The block called more functions than it may."""


@contextmanager
def within_calls(most: int) -> Generator[None]:
    """Ends the block with `TooManyCalls` when it calls more than so many functions of Python.

    What would run for hours fails within seconds. Functions written in C are not counted.
    """
    called = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        del frame, argument
        nonlocal called
        if event == "call":
            called += 1
            if called > most:
                sys.setprofile(None)
                raise TooManyCalls(f"more than {most:,} functions were called")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)
