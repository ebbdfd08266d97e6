"""The entries of a store file: small values with an expiry, shared by every process on it."""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress

from toolcrib.adapters.sqlite import entry_rows
from toolcrib.adapters.sqlite.asking import Asking
from toolcrib.adapters.sqlite.entry_rows import Place, Seen
from toolcrib.adapters.sqlite.file import RecordFile
from toolcrib.adapters.store.entries import check_value, expiry
from toolcrib.adapters.store.memory_entries import MemoryEntries


class SqliteEntries:
    """Implements `EntryStore` over a file; each operation that changes it is one transaction.

    Each raises `StoreUnreachable` where the file cannot be used now. A file that is given up for
    good is replaced by memory.
    """

    def __init__(self, file: RecordFile, ask: Asking[MemoryEntries]) -> None:
        self._file = file
        self._ask = ask

    async def get(self, space: str, owner: str, key: str) -> bytes | None:
        """The value under a key; None when there is none."""
        place = Place(space, owner, key)
        return await self._ask(
            lambda now: self._seen(entry_rows.look, place, now).values.get(key),
            lambda spare: spare.get(space, owner, key),
        )

    async def entries(self, space: str, owner: str) -> dict[str, bytes]:
        """Everything of an owner, by key, the least recently written first."""
        place = Place(space, owner)
        return await self._ask(
            lambda now: self._seen(entry_rows.look_at_all, place, now).values,
            lambda spare: spare.entries(space, owner),
        )

    async def put(
        self,
        space: str,
        owner: str,
        values: Mapping[str, bytes],
        *,
        lifetime: float,
        most: int,
    ) -> None:
        """Keep values for `lifetime` seconds, and at most `most` of this owner.

        Raises:
            LimitExceeded: A value has more than 16 MiB; nothing was changed.
        """
        for key, value in values.items():
            check_value(key, value)
        place = Place(space, owner)

        def put(now: float) -> None:
            with self._file.writing(now) as connection:
                entry_rows.write(
                    connection, place, values, now, expires_at=expiry(now, lifetime), most=most
                )

        await self._ask(
            put, lambda spare: spare.put(space, owner, values, lifetime=lifetime, most=most)
        )

    async def add(
        self, space: str, owner: str, key: str, value: bytes, *, lifetime: float, most: int
    ) -> bool:
        """Keep a value where the key is free, as one step; whether it was.

        Raises:
            LimitExceeded: The value has more than 16 MiB; nothing was changed.
        """
        check_value(key, value)
        place = Place(space, owner, key)

        def add(now: float) -> bool:
            with self._file.writing(now) as connection:
                if entry_rows.look(connection, place, now).values:
                    return False
                entry_rows.write(
                    connection,
                    place,
                    {key: value},
                    now,
                    expires_at=expiry(now, lifetime),
                    most=most,
                )
                return True

        return await self._ask(
            add, lambda spare: spare.add(space, owner, key, value, lifetime=lifetime, most=most)
        )

    async def take(self, space: str, owner: str, key: str) -> bytes | None:
        """The value, and nobody gets it again: of those who take at once, one gets it."""
        place = Place(space, owner, key)

        def take(now: float) -> bytes | None:
            # Whoever only asks whether there is something keeps nobody from writing.
            if not self._seen(entry_rows.look, place, now).values:
                return None
            with self._file.writing(now) as connection:
                return entry_rows.take(connection, place, now)

        return await self._ask(take, lambda spare: spare.take(space, owner, key))

    async def drop(self, space: str, owner: str, key: str | None = None) -> int:
        """Forget a key, or everything of an owner; how many there were."""
        place = Place(space, owner, key or "")

        def drop(now: float) -> int:
            with self._file.writing(now) as connection:
                return entry_rows.drop(connection, place, now, whole=key is None)

        return await self._ask(drop, lambda spare: spare.drop(space, owner, key))

    def _seen(
        self,
        look: Callable[[sqlite3.Connection, Place, float], Seen],
        place: Place,
        now: float,
    ) -> Seen:
        with self._file.reading(now) as connection:
            seen = look(connection, place, now)
        if seen.expired:
            # Somebody else may hold the lock: then this is left to whoever looks or writes next.
            with suppress(sqlite3.OperationalError), self._file.writing(now) as connection:
                entry_rows.remove_expired(connection, place, now)
        return seen
