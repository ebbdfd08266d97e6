"""One store file, as one thread at a time may use it: the blocking half of the SQLite store.

If the file under the path is another one than before (somebody deleted it, or put another in its
place), that one is opened: another memory, as after the loss of a server.
"""

import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from toolcrib.adapters.sqlite.decision import Decided, decide, leave_hint
from toolcrib.adapters.sqlite.faults import UnusableFile, trouble_of
from toolcrib.adapters.sqlite.opening import check_version, connect, make, transaction
from toolcrib.adapters.store.records import Operation

_HINTS_AT_ONCE = 256
"""More changed catalogs than this since the last poll are told as "anything may have changed"."""


class RecordFile:
    """Records, notes and hints in one SQLite file that other processes use too.

    Calls may come from any thread and take turns. Each raises `UnusableFile` for what does not
    pass by itself, and `sqlite3.Error` or `OSError` for what may; the next call then tries anew.
    """

    def __init__(self, path: Path, *, busy_timeout: float, keep_days: float) -> None:
        self.path = path
        self._busy_timeout = busy_timeout
        self._keep_days = keep_days
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._data_version = 0
        self._hints_seen = 0
        self._gap = False
        # The store waits for each of its threads, but a task cancelled by asyncio itself stops
        # waiting.
        self._turn = threading.Lock()

    def open(self, now: float) -> None:
        """Connect, making the file if there is none."""
        with self._turn, self._classified():
            self._connect(now)

    def close(self) -> None:
        """Disconnect; the next operation connects again, and hints may have been missed."""
        with self._turn:
            self._disconnect()

    @contextmanager
    def reading(self, now: float) -> Generator[sqlite3.Connection]:
        """The connection, for this thread alone."""
        with self._turn, self._classified():
            connection = self._connection
            if connection is None or _identity_of(self.path) != self._identity:
                self._disconnect()
                connection = self._connect(now)
            yield connection

    @contextmanager
    def writing(self, now: float) -> Generator[sqlite3.Connection]:
        """The connection, with a transaction that nobody writes beside."""
        with self.reading(now) as connection, transaction(connection):
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            check_version(version)
            yield connection

    def decide(self, pid: str, operation: Operation, now: float) -> Decided:
        """Run one operation on the record of `pid`, as `sqlite_decision.decide`."""
        with self.reading(now) as connection:
            return decide(connection, pid, operation, now)

    def read_note(self, key: str, now: float) -> bytes | None:
        """The note under this key."""
        with self.reading(now) as connection:
            row = connection.execute(
                "SELECT value FROM notes WHERE key = ?", (_note_key(key),)
            ).fetchone()
        return row[0] if row is not None and isinstance(row[0], bytes) else None

    def write_note(self, key: str, value: bytes | None, now: float) -> None:
        """Keep a note, or delete it."""
        with self.writing(now) as connection:
            if value is None:
                connection.execute("DELETE FROM notes WHERE key = ?", (_note_key(key),))
            else:
                connection.execute(
                    "INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (_note_key(key), value, now)
                )

    def leave_hint(self, pid: str, now: float) -> None:
        """Tell the other processes that the record of this PID may have changed."""
        with self.writing(now) as connection:
            leave_hint(connection, pid, now)

    def hints(self, now: float) -> list[str | None]:
        """The PIDs of which somebody left hints since the last call; None for "any of them".

        Empty, and cheap, while no other process wrote; our own hints are repeated when one did.
        """
        with self.reading(now) as connection:
            if self._gap:
                self._gap = False
                return [None]
            version = _data_version(connection)
            if version == self._data_version:
                return []
            seen, self._data_version = self._hints_seen, version
            # The count first: a hint that comes in between is told twice, never missed.
            self._hints_seen = _hint_count(connection)
            rows = connection.execute(
                "SELECT pid FROM hints WHERE number > ? LIMIT ?", (seen, _HINTS_AT_ONCE + 1)
            ).fetchall()
        if len(rows) > _HINTS_AT_ONCE:
            return [None]
        return [pid if isinstance(pid, str) else None for (pid,) in rows]

    def _connect(self, now: float) -> sqlite3.Connection:
        make(self.path)
        # Read before connecting: whoever replaces the file in between is noticed by the next
        # operation.
        self._identity = _identity_of(self.path)
        connection = connect(
            self.path, now, busy_timeout=self._busy_timeout, keep_days=self._keep_days
        )
        self._connection = connection
        self._data_version = _data_version(connection)
        self._hints_seen = _hint_count(connection)
        return connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._gap = True

    @contextmanager
    def _classified(self) -> Generator[None]:
        """Tell what passes from what does not; drop the connection unless only a lock was held."""
        try:
            yield
        except UnusableFile:
            self._disconnect()
            raise
        except sqlite3.Error as error:
            trouble = trouble_of(error)
            if not trouble.locked:
                self._disconnect()
            if not trouble.passes:
                raise UnusableFile(trouble) from error
            raise


def _identity_of(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _note_key(key: str) -> bytes:
    # Keys may hold names from configuration files, and those may hold what UTF-8 alone refuses.
    return key.encode("utf-8", "surrogatepass")


def _data_version(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA data_version").fetchone()[0]


def _hint_count(connection: sqlite3.Connection) -> int:
    return connection.execute("SELECT hints FROM memory").fetchone()[0]
