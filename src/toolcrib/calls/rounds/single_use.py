"""What may be used once, among all processes that share a store."""

from collections.abc import Callable
from typing import Final

from toolcrib.calls.call import Requester
from toolcrib.errors import RetryRefused, StoreUnreachable
from toolcrib.ports import EntryStore
from toolcrib.settings import Limits

_CONSENTS: Final = "round-marks"
_ROUNDS: Final = "round-marks-plain"
"""Spaces of the entry store in which used marks are kept: those of what a person agreed to for once
have their own, so that no number of other rounds pushes them out."""

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

    async def spend(
        self, server: str, requester: Requester, mark: str, *, consent: bool = True
    ) -> None:
        """Use a mark up.

        Args:
            server: Named in the error.
            requester: Who brings it.
            mark: Of the state.
            consent: Whether a person agreed to this one call. Where nobody did, a store that cannot
                be used costs no call: its server has the last word on its own state.

        Raises:
            RetryRefused: It was used before.
            StoreUnreachable: Nobody knows whether it was, so it cannot be used.
        """
        owner, space = self._owner(requester), _CONSENTS if consent else _ROUNDS
        # A state may be opened in the last moment of its life, by a clock that is a little behind.
        lifetime = self._limits.state_seconds * 2
        try:
            fresh = await self._entries.add(space, owner, mark, b"1", lifetime=lifetime, most=_MOST)
        except StoreUnreachable:
            if consent:
                raise
            return
        if not fresh:
            raise RetryRefused(
                "this request state was used already: it was good for one request",
                server=server,
                remedy="send the request anew, without requestState and inputResponses",
            )
