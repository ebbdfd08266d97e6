"""The tables of a store file, and the way from each older schema to the newest.

`memory` has one row: who this memory is (`server`, drawn once per file, so that another file is
another memory) and how many hints it gave. `records` holds one row per catalog without its body,
`bodies` the bodies: a row that every page of a walk rewrites must not drag the catalog along.
`hints` says which PIDs changed since when. `entries` holds small values with an expiry, numbered in
the order in which they were written. `vectors` holds what texts were embedded to, by model and key.
"""

import secrets
import sqlite3
from collections.abc import Callable

from toolcrib.adapters.sqlite.faults import DAMAGED, UnusableFile

APPLICATION_ID = 0x74637262
"""Marks the file as a store of toolcrib (`tcrb`)."""

_TABLES = (
    """
    CREATE TABLE memory (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        server TEXT NOT NULL,
        hints INTEGER NOT NULL,
        opened_at REAL NOT NULL
    )
    """,
    """
    CREATE TABLE records (
        pid TEXT PRIMARY KEY,
        server TEXT NOT NULL,
        inc TEXT NOT NULL,
        gen INTEGER NOT NULL,
        floor INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        snap_epoch INTEGER,
        walk_epoch INTEGER,
        fence INTEGER NOT NULL,
        lease_until REAL NOT NULL,
        rev INTEGER NOT NULL,
        withdrawn INTEGER NOT NULL,
        dirty INTEGER NOT NULL,
        dirty_digest TEXT,
        kind TEXT,
        digest TEXT,
        ttl REAL,
        pages INTEGER,
        read_at REAL,
        expires_at REAL,
        body_mark BLOB,
        touched_at REAL NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE TABLE bodies (pid TEXT PRIMARY KEY, body BLOB NOT NULL)",
    """
    CREATE TABLE hints (pid TEXT PRIMARY KEY, number INTEGER NOT NULL, touched_at REAL NOT NULL)
    WITHOUT ROWID
    """,
    "CREATE INDEX hints_by_number ON hints (number)",
    """
    CREATE TABLE notes (key BLOB PRIMARY KEY, value BLOB NOT NULL, touched_at REAL NOT NULL)
    WITHOUT ROWID
    """,
)


def _create_tables(connection: sqlite3.Connection) -> None:
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute(
        "INSERT INTO memory VALUES (1, ?, 0, 0)", (f"sqlite-{secrets.token_hex(8)}",)
    )


_ENTRIES = (
    """
    CREATE TABLE entries (
        number INTEGER PRIMARY KEY,
        space BLOB NOT NULL,
        owner BLOB NOT NULL,
        key BLOB NOT NULL,
        value BLOB NOT NULL,
        expires_at REAL NOT NULL,
        UNIQUE (space, owner, key)
    )
    """,
    "CREATE INDEX entries_by_owner ON entries (space, owner)",  # and by number, as every index
    "CREATE INDEX entries_by_expiry ON entries (expires_at)",
)


def _create_entries(connection: sqlite3.Connection) -> None:
    for statement in _ENTRIES:
        connection.execute(statement)


_VECTORS = (
    """
    CREATE TABLE vectors (
        number INTEGER PRIMARY KEY,
        mark BLOB NOT NULL,
        key BLOB NOT NULL,
        value BLOB NOT NULL,
        used_at REAL NOT NULL,
        UNIQUE (mark, key)
    )
    """,
    "CREATE INDEX vectors_by_use ON vectors (used_at)",  # and by number, as every index
)


def _create_vectors(connection: sqlite3.Connection) -> None:
    for statement in _VECTORS:
        connection.execute(statement)


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    _create_tables,
    _create_entries,
    _create_vectors,
)
"""The n-th leads from schema n to schema n + 1; each runs inside one transaction with all that
follow."""

SCHEMA_VERSION = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the schema up to date; the caller holds the write transaction."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    for step in MIGRATIONS[version:]:
        step(connection)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


_DAY = 86_400.0
_WITHDRAWN_KEEP = 365 * _DAY
"""Seconds a withdrawal is remembered: it may be a decision of ours that the server does not know
of."""
_SWEEP_LIMIT = 500
"""Rows of each table that one sweep drops at most, so that opening stays quick."""

PRUNE = """
    DELETE FROM entries WHERE number IN (
        SELECT number FROM entries
        WHERE expires_at <= :now OR expires_at >= 9e15 OR number >= 1 << 62
        LIMIT :limit
    )
"""
"""Drops entries that expired before `now`, and what is none: an expiry in no future that we know, a
number after which no higher one would be left; `limit` rows at most."""

_SWEEPS = (
    PRUNE,
    """
    DELETE FROM records WHERE pid IN (
        SELECT pid FROM records
        WHERE touched_at < :keep AND (NOT withdrawn OR touched_at < :keep_withdrawn)
        LIMIT :limit
    )
    """,
    "DELETE FROM bodies WHERE pid NOT IN (SELECT pid FROM records)",
    """
    DELETE FROM hints WHERE pid IN (SELECT pid FROM hints WHERE touched_at < :keep LIMIT :limit)
    """,
    """
    DELETE FROM notes WHERE key IN (SELECT key FROM notes WHERE touched_at < :keep LIMIT :limit)
    """,
    """
    DELETE FROM vectors WHERE number IN (
        SELECT number FROM vectors WHERE used_at < :keep LIMIT :limit
    )
    """,
)


def sweep(connection: sqlite3.Connection, now: float, keep_days: float) -> None:
    """Drop what nobody wrote for `keep_days`, and what expired.

    The caller holds the write transaction.

    Writes in any case, so that a file that cannot be written is found out here and not in mid-life.

    Raises:
        UnusableFile: The file does not say who it is.
    """
    if connection.execute("UPDATE memory SET opened_at = ?", (now,)).rowcount != 1:
        raise UnusableFile(DAMAGED)
    bounds = {
        "now": now,
        "keep": now - keep_days * _DAY,
        "keep_withdrawn": now - max(keep_days * _DAY, _WITHDRAWN_KEEP),
        "limit": _SWEEP_LIMIT,
    }
    for statement in _SWEEPS:
        connection.execute(statement, bounds)
