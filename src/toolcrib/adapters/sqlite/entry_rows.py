"""Small values with an expiry as rows of `entries`; each function runs on an open connection.

A row counts while it is what we write: a value of bytes, and an expiry that lies ahead. Whatever
else is in a row, it is no entry, it is in nobody's way, and it is pruned like an expired one. Rows
are numbered in the order in which they were written.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from toolcrib.adapters.sqlite.schema import PRUNE
from toolcrib.adapters.store.entries import PRUNED_AT_ONCE

_ALIVE = "expires_at > :now AND expires_at < 9e15 AND typeof(value) = 'blob'"
"""In the order of SQLite every text and every blob is larger than any number."""
_OWNED = "space = :space AND owner = :owner"
_HERE = f"{_OWNED} AND key = :key"

_WRITE = """
    INSERT OR REPLACE INTO entries (space, owner, key, value, expires_at)
    VALUES (:space, :owner, :key, :value, :expires_at)
"""
_KEEP_MOST = f"""
    DELETE FROM entries WHERE number IN (
        SELECT number FROM entries WHERE {_OWNED} ORDER BY number DESC LIMIT -1 OFFSET :most
    )
"""  # noqa: S608 - constants of ours


@dataclass(frozen=True, slots=True)
class Place:
    """Whose entries, in which space, and which of them."""

    space: str
    owner: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look found."""

    values: dict[str, bytes]
    """By key, the least recently written first."""
    expired: bool
    """Whether there are rows that count no more, and should be removed before a clock that is set
    back brings them to life."""


def look(connection: sqlite3.Connection, place: Place, now: float) -> Seen:
    """The entry at a place."""
    row = connection.execute(
        f"SELECT {_ALIVE}, value FROM entries WHERE {_HERE}",  # noqa: S608 - constants of ours
        _bound(place, now),
    ).fetchone()
    if row is None:
        return Seen({}, expired=False)
    alive, value = row
    return Seen({place.key: value} if alive else {}, expired=not alive)


def look_at_all(connection: sqlite3.Connection, place: Place, now: float) -> Seen:
    """All entries of an owner."""
    rows = connection.execute(
        f"SELECT {_ALIVE}, key, value FROM entries WHERE {_OWNED} ORDER BY number",  # noqa: S608
        _bound(place, now),
    ).fetchall()
    keyed = [(_key_of(key), value) for alive, key, value in rows if alive]
    return Seen(
        {key: value for key, value in keyed if key is not None},
        expired=not all(alive for alive, _, _ in rows),
    )


def write(
    connection: sqlite3.Connection,
    place: Place,
    values: Mapping[str, bytes],
    now: float,
    *,
    expires_at: float,
    most: int,
) -> None:
    """Keep values; the caller holds the write transaction."""
    connection.execute(PRUNE, {"now": now, "limit": PRUNED_AT_ONCE})
    for key, value in values.items():
        connection.execute(
            _WRITE,
            {
                **_bound(Place(place.space, place.owner, key), now),
                "value": value,
                "expires_at": expires_at,
            },
        )
    # After writing: what is written with no time to live must not come back with the clock either.
    remove_expired(connection, place, now)
    connection.execute(
        _KEEP_MOST,
        {**_bound(place, now), "most": most},
    )


def take(connection: sqlite3.Connection, place: Place, now: float) -> bytes | None:
    """Remove the entry at a place; the caller holds the write transaction."""
    found = look(connection, place, now)
    connection.execute(f"DELETE FROM entries WHERE {_HERE}", _bound(place, now))  # noqa: S608
    return found.values.get(place.key)


def drop(connection: sqlite3.Connection, place: Place, now: float, *, whole: bool) -> int:
    """Remove one entry, or the `whole` of an owner; the caller holds the write transaction."""
    where, bound = _OWNED if whole else _HERE, _bound(place, now)
    (count,) = connection.execute(
        f"SELECT count(*) FROM entries WHERE {where} AND {_ALIVE}",  # noqa: S608
        bound,
    ).fetchone()
    connection.execute(f"DELETE FROM entries WHERE {where}", bound)  # noqa: S608
    return count


def remove_expired(connection: sqlite3.Connection, place: Place, now: float) -> None:
    """Remove what counts no more of an owner; the caller holds the write transaction."""
    connection.execute(
        f"DELETE FROM entries WHERE {_OWNED} AND NOT ({_ALIVE})",  # noqa: S608
        _bound(place, now),
    )


def _bound(place: Place, now: float) -> dict[str, object]:
    return {
        "space": _raw(place.space),
        "owner": _raw(place.owner),
        "key": _raw(place.key),
        "now": now,
    }


def _raw(text: str) -> bytes:
    # Keys may hold names of tools, and those may hold what UTF-8 alone refuses.
    return text.encode("utf-8", "surrogatepass")


def _key_of(raw: object) -> str | None:
    try:
        return raw.decode("utf-8", "surrogatepass") if isinstance(raw, bytes) else None
    except UnicodeDecodeError:
        return None
