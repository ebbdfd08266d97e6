"""The worker processes of programs that this process holds."""

from contextlib import suppress
from typing import Final

import anyio
import psutil

_NAMES: Final = frozenset({"bwrap", "deno", "monty"})


def workers() -> list[psutil.Process]:
    """Workers of this process that live, and jails that hold one; other children do not matter."""
    found: list[psutil.Process] = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if child.name() in _NAMES and child.status() != psutil.STATUS_ZOMBIE:
                found.append(child)
    return found


async def all_gone() -> None:
    """Wait until no worker lives; a killed one takes a moment to go. TimeoutError after 5 s."""
    with anyio.fail_after(5):
        while workers():  # noqa: ASYNC110 - nobody tells of their end
            await anyio.sleep(0.01)
