"""The vectors of a store file: what texts were embedded to, shared by every process on it."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress

from toolcrib.adapters.sqlite import vector_rows
from toolcrib.adapters.sqlite.asking import Asking
from toolcrib.adapters.sqlite.file import RecordFile
from toolcrib.adapters.store.memory_vectors import MemoryVectors
from toolcrib.adapters.store.vectors import MOST_VECTORS


class SqliteVectors:
    """Implements `VectorStore` over a file.

    Each operation raises `StoreUnreachable` where the file cannot be used now. A file that is given
    up for good is replaced by memory.

    Args:
        file: The store file.
        ask: Puts a question to it.
        most: Vectors that are kept.
    """

    def __init__(
        self, file: RecordFile, ask: Asking[MemoryVectors], *, most: int = MOST_VECTORS
    ) -> None:
        self._file = file
        self._ask = ask
        self._most = most

    async def get(self, mark: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Those of the vectors that are kept, by key."""

        def get(now: float) -> dict[str, bytes]:
            with self._file.reading(now) as connection:
                kept = vector_rows.look(connection, mark, keys, now)
            if kept.used:
                # Somebody else may hold the lock: then these count as used a little later.
                with suppress(sqlite3.OperationalError), self._file.writing(now) as connection:
                    vector_rows.touch(connection, kept.used, now)
            return kept.values

        return await self._ask(get, lambda spare: spare.get(mark, keys))

    async def put(self, mark: str, rows: Mapping[str, bytes]) -> None:
        """Keep vectors; beyond the bound the ones that were used least recently are dropped."""

        def put(now: float) -> None:
            with self._file.writing(now) as connection:
                vector_rows.write(connection, mark, rows, now, most=self._most)

        await self._ask(put, lambda spare: spare.put(mark, rows))
