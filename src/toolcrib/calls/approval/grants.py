"""What a person said about calls, for as long as it is good.

A word about one call binds everything in it: server (as it is launched), tool, contract and
arguments. A yes that is remembered leaves the arguments out, but keeps the rule that asked. Both
are void as soon as the contract, the launch or the rule is another one, because their keys are made
of these.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

from toolcrib.calls.call import Requester
from toolcrib.core.partition import ANONYMOUS
from toolcrib.errors import StoreUnreachable
from toolcrib.ports import EntryStore

GRANTS: Final = "grants"
"""The space of an `EntryStore` that they are kept in."""
_MOST: Final = 1_000
"""Of one owner in the store, and of all owners in memory."""
RUN_LIFE: Final = 7 * 86_400.0
"""Seconds that a yes for a run, given from another process, waits to be found by that run."""

Word = Literal["yes", "no"]
Whose = Callable[[Requester], str]
"""The owner of what is kept for a caller, a keyed digest."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One call that a person is asked about, as far as an answer depends on it."""

    owner: str
    """Whose calls the answer is about; a keyed digest, as the next two are."""
    call: str
    """Marks this call alone."""
    kind: str
    """Marks all calls of the tool that the same rule asks about, under the same contract."""


def may_remember(requester: Requester) -> bool:
    """Whether a caller can be told from others: an anonymous one without a handle cannot."""
    return bool(requester.handle) or requester.principal != ANONYMOUS


def grantee(requester: Requester) -> Requester:
    """Whom an answer is about: a principal on all its connections; of the anonymous, a handle."""
    handle = requester.handle if requester.principal == ANONYMOUS else ""
    return Requester(requester.principal, handle)


class Grants:
    """Keeps answers: those for a run in memory, all others in the store.

    Args:
        store: Where they are kept.
        run: Marks this run of the process, so that other processes can answer for it.
    """

    def __init__(self, store: EntryStore, *, run: str) -> None:
        self._store = store
        self.run = run
        self._of_run: dict[tuple[str, str], None] = {}

    async def stands(self, asked: Asked) -> bool:
        """Whether a remembered yes covers the call.

        A store that cannot be used remembers nothing: then a person is asked once more.
        """
        if (asked.owner, asked.kind) in self._of_run:
            return True
        with suppress(StoreUnreachable):
            if await self._store.get(GRANTS, asked.owner, asked.kind) is not None:
                return True
            for_run = await self._store.get(GRANTS, asked.owner, _run_key(asked.kind, self.run))
            if for_run is not None:
                self.remember_for_run(asked)
                return True
        return False

    async def word(self, asked: Asked) -> Word | None:
        """What was said about this one call; a yes is taken, so it is good once."""
        with suppress(StoreUnreachable):
            said = await self._store.get(GRANTS, asked.owner, asked.call)
            if said == b"no":
                return "no"
            if said is not None and await self._store.take(GRANTS, asked.owner, asked.call):
                return "yes"
        return None

    def remember_for_run(self, asked: Asked) -> None:
        """Keep a yes until this process ends."""
        self._of_run[asked.owner, asked.kind] = None
        if len(self._of_run) > _MOST:
            self._of_run.pop(next(iter(self._of_run)))

    async def remember(self, asked: Asked, seconds: float) -> None:
        """Keep a yes for so long, for every process on the store.

        Raises:
            StoreUnreachable: It is not kept.
        """
        await self._put(asked.owner, asked.kind, b"yes", seconds)

    async def say(self, asked: Asked, word: Word, seconds: float) -> None:
        """Keep a word about one call that waits to be made again."""
        await self._put(asked.owner, asked.call, word.encode(), seconds)

    async def say_for_run(self, asked: Asked, run: str) -> None:
        """Keep a yes for the run of another process."""
        await self._put(asked.owner, _run_key(asked.kind, run), b"yes", RUN_LIFE)

    async def _put(self, owner: str, key: str, value: bytes, lifetime: float) -> None:
        await self._store.put(GRANTS, owner, {key: value}, lifetime=lifetime, most=_MOST)


def _run_key(kind: str, run: str) -> str:
    return f"{kind}/{run}"
