"""What may be used once, among all processes that share a store."""

from collections.abc import Callable
from typing import Final

from toolcrib.calls.call import Requester
from toolcrib.errors import RetryRefused
from toolcrib.ports import EntryStore
from toolcrib.settings import Limits

SPACE: Final = "round-marks"
"""The space of the entry store in which used marks are kept."""

_MOST: Final = 10_000
"""Marks of one owner that are remembered, for as long as their states could come back."""


class SingleUse:
    """Remembers the marks of states that were used."""

    def __init__(
        self, entries: EntryStore, *, owner: Callable[[Requester], str], limits: Limits
    ) -> None:
        self._entries = entries
        self._owner = owner
        self._limits = limits

    async def spend(self, server: str, requester: Requester, mark: str) -> None:
        """Use a mark up.

        Raises:
            RetryRefused: It was used before.
            StoreUnreachable: Nobody knows whether it was, so it cannot be used.
        """
        owner, lifetime = self._owner(requester), self._limits.state_seconds
        # A state may be opened in the last moment of its life, by a clock that is a little behind.
        fresh = await self._entries.add(SPACE, owner, mark, b"1", lifetime=lifetime * 2, most=_MOST)
        if not fresh:
            raise RetryRefused(
                "this answer of a person was used already: it was good for one call",
                server=server,
                remedy="send the request anew, without requestState and inputResponses",
            )
