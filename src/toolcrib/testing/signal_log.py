"""A `Signals` that keeps what it hears, in order, and answers what it is asked."""

from collections.abc import Mapping
from typing import Any

import anyio

from toolcrib.errors import UpstreamRefused


class SignalLog:
    """Notes stream changes as the words `opened`, `lost` and `refused`, notifications by method."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        """Everything, in the order in which it was told."""
        self.params: list[Mapping[str, Any]] = []
        """The parameters of the notifications alone."""
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        """What the server asked, as (method, params)."""
        self.answers: dict[str, dict[str, Any] | Exception] = {}
        """Method -> the result to give, or what to raise; others are refused with -32601."""
        self.fault: Exception | None = None
        """Raised by every method once it has noted its call."""
        self._changed = anyio.Event()

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Notes a notification."""
        self.params.append(params)
        self._note(method)

    def stream_opened(self) -> None:
        """Notes `opened`."""
        self._note("opened")

    def stream_lost(self) -> None:
        """Notes `lost`."""
        self._note("lost")

    def stream_refused(self) -> None:
        """Notes `refused`."""
        self._note("refused")

    async def requested(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Answers as `answers` says."""
        self.asked.append((method, params))
        answer = self.answers.get(method)
        if answer is None:
            raise UpstreamRefused(f"{method} is not supported", rpc_code=-32601)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def wait_for(self, word: str, times: int = 1) -> None:
        """Wait until a word was noted so many times."""
        while self.heard.count(word) < times:
            await self._changed.wait()

    def _note(self, word: str) -> None:
        self.heard.append(word)
        self._changed.set()
        self._changed = anyio.Event()
        if self.fault is not None:
            raise self.fault
