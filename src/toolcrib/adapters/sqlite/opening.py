"""Opening a store file: made whole or not at all, recognised before it is touched.

A new file is built beside its place and linked in, so that nobody ever opens half a store and two
processes that start together agree on one. A file of another program, or of a newer toolcrib, is
only read.
"""

import os
import secrets
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from toolcrib.adapters.sqlite.faults import DAMAGED, Trouble, UnusableFile
from toolcrib.adapters.sqlite.schema import APPLICATION_ID, SCHEMA_VERSION, migrate, sweep

_CHECKED_SIZE = 64 * 1024 * 1024
"""Bytes up to which a file is checked whole when it is opened."""


def make(path: Path) -> None:
    """Put an empty store at `path` if there is nothing, in a directory for this user alone.

    Raises:
        sqlite3.Error: The disk is full, or the filesystem cannot hold a database.
        OSError: The directory or the file cannot be made.
    """
    if _is_blank(path):
        place = path.resolve()  # a link stays a link
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _create(place)


def connect(path: Path, now: float, *, busy_timeout: float, keep_days: float) -> sqlite3.Connection:
    """A connection to the store at `path`, proved to be readable and writable.

    Raises:
        UnusableFile: The file is damaged, foreign, newer, or its filesystem cannot share it.
        sqlite3.Error: It is locked, cannot be written, or the disk is full.
        OSError: It cannot be reached.
    """
    connection = _connection(path, busy_timeout)
    try:
        _recognise(connection)
        _check(connection, path)
        connection.execute("PRAGMA synchronous = NORMAL")
        with transaction(connection):
            migrate(connection)
            sweep(connection, now, keep_days)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Hold the write lock of the file; keep all that was written, or nothing.

    Raises:
        sqlite3.OperationalError: Another process kept the lock beyond the busy timeout.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # Some failures, a full disk among them, have already rolled back.
        if connection.in_transaction:
            connection.rollback()
        raise


def check_version(version: int) -> None:
    """Refuse a schema that a newer toolcrib made.

    Raises:
        UnusableFile: The version is newer than the newest this program knows.
    """
    if version > SCHEMA_VERSION:
        raise UnusableFile(
            Trouble(
                f"was written by a newer toolcrib (schema {version}, and this one knows up to "
                f"{SCHEMA_VERSION})",
                "upgrade this toolcrib, or give it a path of its own",
                passes=False,
            )
        )


def _connection(path: Path, busy_timeout: float) -> sqlite3.Connection:
    # A URI, because a plain name may be special to SQLite (`:memory:`), and because `rw` never
    # creates.
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=busy_timeout,
        isolation_level=None,
        check_same_thread=False,
    )
    # Text that is no UTF-8 is damage to one value, which its reader finds; not an error of SQL.
    connection.text_factory = _text_of
    return connection


def _text_of(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _is_blank(path: Path) -> bool:
    try:
        return path.stat().st_size == 0
    except FileNotFoundError:
        return True


def _create(path: Path) -> None:
    draft = path.with_name(f"{path.name}.new-{secrets.token_hex(8)}")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        with closing(_connection(draft, 0.0)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            with transaction(connection):
                migrate(connection)
        _move_in(draft, path)
    finally:
        for leftover in ("", "-wal", "-shm", "-journal"):
            Path(f"{draft}{leftover}").unlink(missing_ok=True)


def _move_in(draft: Path, path: Path) -> None:
    """Give a finished file its name, unless a finished one has it."""
    try:
        os.link(draft, path)
    except OSError:
        # An empty file is in the way, or the filesystem has no hard links. Two processes may then
        # replace each other's new file: whoever lost notices that the file under its path is
        # another one, and opens that.
        if _is_blank(path):
            draft.replace(path)


def _recognise(connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise UnusableFile(
            Trouble(
                "is a database of another program", "set another path for the store", passes=False
            )
        )
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    check_version(version)
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":
        raise UnusableFile(
            Trouble(
                "is on a filesystem where processes cannot share it",
                "put it on a local disk",
                passes=False,
            )
        )


def _check(connection: sqlite3.Connection, path: Path) -> None:
    if path.stat().st_size > _CHECKED_SIZE:
        return
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise UnusableFile(DAMAGED)
