"""What is heard of one request before its answer, handed on in order and one at a time."""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

import anyio

from toolcrib.ports import Heard, Progress

_KEPT: Final = 256
"""Messages that wait for a slow listener; from then on the oldest is dropped for each new one."""

_LAST_WORDS: Final = 1.0
"""Seconds the listener has, once the answer is there, for what came before it."""


class Hearing:
    """Hands progress and log messages of one request to its listeners.

    The dispatcher's own way of doing it starts a task for each message, so that two may overtake
    each other and the last may come after the answer. Here one task runs beside the request.

    Args:
        progress: Takes progress, whose values must grow from one to the next.
        heard: Takes log messages.
        failed: Told of what a listener raises, which costs its message and nothing else.
    """

    def __init__(
        self, progress: Progress | None, heard: Heard | None, failed: Callable[[Exception], None]
    ) -> None:
        self._progress = progress
        self._heard = heard
        self._failed = failed
        self._reached = float("-inf")
        self._waiting: deque[Callable[[], Awaitable[None]]] = deque(maxlen=_KEPT)
        self._news = anyio.Event()
        self._answered = False
        self._done = anyio.Event()

    def progressed(self, params: Mapping[str, Any]) -> None:
        """Take progress, unless it is unreadable or does not go beyond what was told."""
        if self._progress is None:
            return
        reached, total = _number(params.get("progress")), _number(params.get("total"))
        if reached is None or not reached > self._reached:
            return
        self._reached = reached
        message = params.get("message")
        text = message if isinstance(message, str) else None
        self._keep(partial(self._progress, reached, total, text))

    def noted(self, method: str, params: Mapping[str, Any]) -> None:
        """Take a log message."""
        if self._heard is not None:
            self._keep(partial(self._heard, method, params))

    async def run(self) -> None:
        """Hand on what comes until the answer is there and nothing waits any more."""
        while self._waiting or not self._answered:
            if not self._waiting:
                self._news = anyio.Event()
                await self._news.wait()
                continue
            tell = self._waiting.popleft()
            try:
                await tell()
            except Exception as error:  # noqa: BLE001 - see the class
                self._failed(error)
        self._done.set()

    async def finish(self) -> None:
        """The answer is there: hand on what came before it, within bounds, and then nothing."""
        self._answered = True
        self._news.set()
        with anyio.move_on_after(_LAST_WORDS):
            await self._done.wait()

    def _keep(self, tell: Callable[[], Awaitable[None]]) -> None:
        if not self._answered:
            self._waiting.append(tell)
            self._news.set()


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
