"""Vectors as rows of `vectors`; each function runs on an open connection.

A row counts while its value is bytes; whatever else is in it, it is no vector and in nobody's way:
it is written over by the next vector of its key, or dropped as the least recently used.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from toolcrib.adapters.store.vectors import is_new_use

_AT_ONCE: Final = 500
"""Keys of one statement: SQLite bounds how many values one may be given."""

_WRITE: Final = "INSERT OR REPLACE INTO vectors (mark, key, value, used_at) VALUES (?, ?, ?, ?)"
_KEEP_MOST: Final = """
    DELETE FROM vectors WHERE number IN (
        SELECT number FROM vectors ORDER BY used_at DESC, number DESC LIMIT -1 OFFSET ?
    )
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a look found."""

    values: dict[str, bytes]
    """By key."""
    used: tuple[int, ...]
    """Numbers of the rows whose use is worth remembering."""


def look(connection: sqlite3.Connection, mark: str, keys: Sequence[str], now: float) -> Kept:
    """The vectors of a model under these keys."""
    values: dict[str, bytes] = {}
    used: list[int] = []
    named = {_raw(key): key for key in keys}
    remaining = iter(named)
    while some := list(islice(remaining, _AT_ONCE)):
        marks = ", ".join("?" * len(some))
        rows = connection.execute(
            f"SELECT number, key, value, used_at FROM vectors WHERE mark = ? AND key IN ({marks})",  # noqa: S608 - question marks
            (_raw(mark), *some),
        )
        for number, key, value, used_at in rows:
            if not isinstance(value, bytes):
                continue
            values[named[key]] = value
            if not isinstance(used_at, float) or is_new_use(used_at, now):
                used.append(number)
    return Kept(values, tuple(used))


def touch(connection: sqlite3.Connection, numbers: Sequence[int], now: float) -> None:
    """Remember a use of these rows; the caller holds the write transaction."""
    connection.executemany(
        "UPDATE vectors SET used_at = ? WHERE number = ?", [(now, number) for number in numbers]
    )


def write(
    connection: sqlite3.Connection, mark: str, rows: Mapping[str, bytes], now: float, *, most: int
) -> None:
    """Keep vectors, and `most` of all models; the caller holds the write transaction."""
    connection.executemany(
        _WRITE, [(_raw(mark), _raw(key), value, now) for key, value in rows.items()]
    )
    connection.execute(_KEEP_MOST, (most,))


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
