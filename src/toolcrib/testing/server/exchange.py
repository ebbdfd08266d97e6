"""One request on its wire, as whoever serves it sees it."""

from collections.abc import Mapping
from typing import Any, Protocol

from toolcrib.testing.server.actions import Cut, Drop, Exit, Forget, Garble, Refuse
from toolcrib.testing.server.revision import Rejection
from toolcrib.testing.server.tally import Heard

__all__ = ["Broken", "Exchange"]

Broken = Refuse | Garble | Cut | Drop | Forget | Exit
"""Endings that are the wire's own matter."""


class Exchange(Protocol):
    """One request on its wire."""

    @property
    def peer(self) -> object:
        """Whose request it is: cancellations by the same peer concern it."""
        ...

    @property
    def heard(self) -> Heard:
        """The request as it came."""
        ...

    def reject(self, request: Mapping[str, Any], *, modern: bool) -> Rejection | None:
        """What is wrong with it on this wire."""
        ...

    async def accept(self) -> None:
        """It will not be refused by the wire."""
        ...

    async def open(self) -> None:
        """Begin the stream of messages that belong to the request, where it has its own."""
        ...

    async def say(self, message: Mapping[str, Any], count: int = 1) -> None:
        """Send a message that belongs to the request, before its answer."""
        ...

    async def answer(self, message: Mapping[str, Any], status: int) -> None:
        """Send the answer."""
        ...

    async def make_noise(self, line: str, to: str) -> None:
        """Write a line that is no message."""
        ...

    async def hang_up(self) -> None:
        """End the stream of messages that belong to the request, without an answer."""
        ...

    async def end(self, how: Broken, message: Mapping[str, Any]) -> None:
        """End it in a way that is none; the message is what the answer would have been."""
        ...
