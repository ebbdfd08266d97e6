"""How much all programs that wait may take, of whomever, in all processes on one store.

Each has a place in the store that says whose it is and how large. It is written first and looked at
then, together with all others: of those who come at once each sees the others, so that together
they never have more than there is, and near the end of the room all of them may be refused. Nobody
is pushed out. One principal may take as much as it leaves free, so that however much some have, and
however many they are, whoever comes next finds room.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from toolcrib.errors import LimitExceeded, StoreUnreachable
from toolcrib.ports import EntryStore
from toolcrib.settings import CodeSettings

_SPACE: Final = "places of programs"
_LEAST: Final = 16 * 1024
"""Bytes that a program counts at least: it costs more than what it consists of."""
_ALL: Final = 2**31 - 1
"""Places that a store keeps: no fewer than there are, as none may give way to another."""


@dataclass(frozen=True, slots=True)
class _Place:
    owner: str
    size: int

    def to_bytes(self) -> bytes:
        return f"{self.size} {self.owner}".encode()

    @staticmethod
    def from_bytes(value: bytes) -> "_Place":
        size, _, owner = value.decode("utf-8", "replace").partition(" ")
        return _Place(owner, int(size) if size.isdecimal() else 0)


class Room:
    """Gives places to programs that wait.

    Args:
        entries: Where places are kept; shared with other processes.
        of_all: Under which owner they are kept, the same one in all processes.
        settings: How much room there is, and how many programs one principal may have.
        seconds: How long they wait.
    """

    def __init__(
        self, entries: EntryStore, of_all: str, settings: CodeSettings, seconds: float
    ) -> None:
        self._entries = entries
        self._of_all = of_all
        self._settings = settings
        self._seconds = seconds

    async def take(self, owner: str, key: str, size: int) -> None:
        """Take a place for an entry of this many bytes.

        Of one owner, those beyond `code.suspended` lose theirs, the oldest first: so they do in the
        store.

        Raises:
            LimitExceeded: There is none; nothing was changed.
            StoreUnreachable: Nobody knows.
        """
        await self.take_back(owner, key, size)
        try:
            held = await self._entries.entries(_SPACE, self._of_all)
        except StoreUnreachable:
            with suppress(StoreUnreachable):
                await self.leave(key)
            raise
        places = {name: _Place.from_bytes(value) for name, value in held.items() if name != key}
        own = [name for name, place in places.items() if place.owner == owner]
        spent = own[: max(0, len(own) + 1 - self._settings.suspended)]
        for name in spent:
            del places[name]
        mine = max(size, _LEAST) + sum(it.size for it in places.values() if it.owner == owner)
        others = sum(it.size for it in places.values() if it.owner != owner)
        most = self._settings.all_suspended_bytes
        if mine > most - others - mine:
            await self.leave(key)
            raise LimitExceeded(
                "the program cannot wait for a person: those of yours that wait would take more "
                f"room than they leave to others (code.all_suspended_bytes, {most:,}); answer "
                "what is asked, or wait until it expires"
            )
        for name in spent:
            await self.leave(name)

    async def take_back(self, owner: str, key: str, size: int) -> None:
        """Take the place of a program again that had one a moment ago: it is never refused.

        Raises:
            StoreUnreachable: It cannot be taken.
        """
        place = _Place(owner, max(size, _LEAST))
        await self._entries.put(
            _SPACE,
            self._of_all,
            {key: place.to_bytes()},
            lifetime=self._seconds,
            most=_ALL,
        )

    async def leave(self, key: str) -> None:
        """Give a place back.

        Raises:
            StoreUnreachable: It stays taken until it expires.
        """
        await self._entries.drop(_SPACE, self._of_all, key)
