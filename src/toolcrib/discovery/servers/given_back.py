"""Servers that callers gave back: how long the connection of each is kept for who wants it again.

A server may hold the state of a conversation (a directory, an open page). Whoever disables one and
enables it again in the same conversation finds it as it was; when the conversation is over nobody
can come back to it.
"""

from typing import Final

_MOST: Final = 100
"""Callers that are remembered for one server; the first ones are forgotten."""


class GivenBack:
    """Remembers who gave back which server, each until a moment of the clock."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._until: dict[str, dict[str, float]] = {}
        """By server, and by the handle of whoever gave it back."""

    def add(self, server: str, handle: str, until: float) -> None:
        """A caller gave a server back; an empty handle is that of a whole principal."""
        callers = self._until.setdefault(server, {})
        callers.pop(handle, None)
        callers[handle] = until
        while len(callers) > _MOST:
            del callers[next(iter(callers))]

    def drop(self, server: str) -> None:
        """Somebody has it again, or it was closed."""
        self._until.pop(server, None)

    def forget(self, handle: str) -> None:
        """The conversation behind a handle is over."""
        for callers in self._until.values():
            callers.pop(handle, None)

    def left(self, server: str, now: float) -> float:
        """The seconds for which its connection is kept; 0 for none."""
        return max(0.0, max(self._until.get(server, {}).values(), default=now) - now)
