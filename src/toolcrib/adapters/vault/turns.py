"""One at a time among processes: a lock on a file, which the system frees when its holder dies."""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio

__all__ = ["take_turn"]

_EVERY: Final = 0.05
_SECONDS: Final = 15.0
"""Longer than a refresh takes. Then whoever waits goes on: two at once are better than none."""


@asynccontextmanager
async def take_turn(path: Path) -> AsyncGenerator[None]:
    """The turn at that file as long as the context; waits for it, but not for ever.

    A file that cannot be made gives no turns: everybody goes on.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError:
        yield
        return
    try:
        with anyio.move_on_after(_SECONDS):
            while not _locked(descriptor):  # noqa: ASYNC110 - no event reaches other processes
                await anyio.sleep(_EVERY)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Try once; closing the file gives the lock back."""
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 - there is none elsewhere

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415 - there is none on Windows

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
