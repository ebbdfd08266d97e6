"""Signals that end a command: what it started is ended first, however often it is told."""

import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypeVar

import anyio

_log = logging.getLogger("toolcrib.cli")

_ENDING: Final = ("SIGINT", "SIGTERM")
_HANG_UP: Final = "SIGHUP"

T = TypeVar("T")


async def until_signalled(work: Callable[[], Awaitable[T]], otherwise: T) -> T:
    """What `work` returns; `otherwise`, where a signal ended it.

    The first SIGINT, SIGTERM or SIGHUP cancels the work, which then ends its servers within bounds
    of its own. Until that is done further signals are taken and change nothing: the default of the
    second Ctrl-C would leave processes behind.
    """
    result = otherwise
    with anyio.open_signal_receiver(*_signals()) as received:
        async with anyio.create_task_group() as listening:
            scope = anyio.CancelScope()
            listening.start_soon(_cancel_at_signal, received, scope)
            with scope:
                result = await work()
            listening.cancel_scope.cancel()
    return result


def _signals() -> list[signal.Signals]:
    """Those of this system; a hang-up only where nobody (`nohup`) asked to outlive the terminal."""
    wanted = [signal.Signals[name] for name in _ENDING]
    hang_up = getattr(signal, _HANG_UP, None)
    if hang_up is not None and signal.getsignal(hang_up) is signal.SIG_DFL:
        wanted.append(hang_up)
    return wanted


async def _cancel_at_signal(
    received: AsyncIterator[signal.Signals], scope: anyio.CancelScope
) -> None:
    async for one in received:
        if not scope.cancel_called:
            _log.info("ending: %s", signal.Signals(one).name)
        scope.cancel()
