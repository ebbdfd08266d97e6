"""The account of one caller in the ledger, and how it bears with a store that cannot be used."""

import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final

import anyio

from toolcrib.calls.ledger.shown import Shown
from toolcrib.calls.ledger.sights import Sight, Sights, Tool
from toolcrib.calls.ledger.store import RENEWED, LedgerStore, Owner
from toolcrib.core.snapshot import Item
from toolcrib.errors import StoreUnreachable
from toolcrib.ports import Clock

_log = logging.getLogger(__name__)

PAUSE: Final = 5.0
"""Seconds for which a store that could not be used is left alone: asking it may take long."""


WAIT: Final = 2.0
"""Seconds after which a store that does not answer counts as one that cannot be used."""


class Patience:
    """Waits for a store so long and no longer, and leaves it alone for a while after that."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._resumes = float("-inf")
        self.failing = False
        """Whether the store could not be used when it was last asked."""

    @property
    def over(self) -> bool:
        """Whether the store may be asked."""
        return self._clock.now().mono >= self._resumes

    async def ask(self, question: Callable[[], Awaitable[None]]) -> bool:
        """Ask the store; whether it could be used.

        What is asked is cancelled where the store does not answer in time, so it may be half done:
        whoever asks has to ask all of it again.
        """
        if not self.over:
            return False
        answered = False
        with anyio.move_on_after(WAIT) as waiting, suppress(StoreUnreachable):
            await question()
            answered = True
        if waiting.cancelled_caught and not self.failing:
            _log.warning("the store gave no answer in %g s: what is known has to do", WAIT)
        self.failing = not answered
        if not answered:
            self._resumes = self._clock.now().mono + PAUSE
        return answered


class Account:
    """What one caller saw, in memory, and in the store where other processes may meet it.

    Args:
        store: Where it is kept; None: it lives in this process alone.
        owner: Whose it is, there.
    """

    def __init__(
        self,
        store: LedgerStore | None,
        owner: Owner,
        *,
        clock: Clock,
        patience: Patience,
        most: int,
    ) -> None:
        self._store = store
        self._owner = owner
        self._clock = clock
        self._patience = patience
        self._most = most
        self._shown = Shown(most)
        self._loaded = False
        self._turn = anyio.Lock()

    async def listed(self, sights: Sights) -> None:
        """The caller was shown a listing: it replaces what was seen of the same names before."""
        fitting = sights.within(self._most)
        if self._store is not None:
            fitting = self._store.shared(fitting)
        self._shown.list(fitting, self._clock.now().wall)
        await self._save()

    async def saw(self, server: str, items: Iterable[Item]) -> None:
        """The caller was shown single tools."""
        now = self._clock.now().wall
        for item in items:
            self._shown.see((server, item.key), item.contract, now, renew=RENEWED)
        await self._save()

    async def contract(self, tool: Tool, now: str) -> str | None:
        """What the caller saw last of a tool; the store is asked where that contradicts `now`."""
        known = self._loaded
        await self._load()
        seen = self._shown.contract(tool)
        store = self._store
        if store is None or not known or now in {"", seen} or not self._patience.over:
            return seen
        async with self._turn:
            await self._patience.ask(lambda: store.load_one(self._owner, self._shown, tool))
        return self._shown.contract(tool)

    async def sight(self, name: str) -> Sight | None:
        """What the newest listing that had this exposed name showed under it."""
        await self._load()
        return self._shown.sight(name)

    async def _load(self) -> None:
        """Take in what the store holds, until that succeeded once."""
        if self._loaded or self._store is None or not self._patience.over:
            return
        store = self._store
        async with self._turn:
            if not self._loaded:
                self._loaded = await self._patience.ask(
                    lambda: store.load(self._owner, self._shown)
                )

    async def _save(self) -> None:
        await self._load()
        if not self._loaded or self._store is None or not self._patience.over:
            return
        store = self._store
        async with self._turn:
            await self._patience.ask(
                lambda: store.save(self._owner, self._shown, self._clock.now().wall)
            )
