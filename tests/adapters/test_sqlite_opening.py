"""A store file is made whole, recognised, or left alone: opening never fails and never destroys."""

import contextlib
import errno
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib.adapters.sqlite import opening as sqlite_open
from toolcrib.adapters.sqlite import schema as sqlite_schema
from toolcrib.adapters.sqlite.store import SqliteStore, open_store
from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.core.freshness.record import Caller
from toolcrib.facts import StoreDegraded
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.store_contract import SteppedClock
from toolcrib.testing.store_rig import PID, Replica, item_of, listing, snapshot_of

DAY = 86_400.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crib" / "store.db"


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


def opened(path: Path, clock: SteppedClock) -> SqliteStore:
    recorder = Recorder()
    store = open_store(path, clock, recorder)
    assert isinstance(store, SqliteStore), recorder.facts
    return store


def assert_alone_in_memory(path: Path, *words: str) -> None:
    """The store works all the same, one sentence says why it is not the file, and that stays."""
    before = content_of(path)
    recorder = Recorder()
    store = open_store(path, SteppedClock(), recorder, busy_timeout=0.0)
    assert isinstance(store, MemoryStore)
    (fact,) = recorder.of(StoreDegraded)
    assert len(recorder.facts) == 1
    for word in (str(path), "in memory, alone", *words):
        assert word in fact.detail
    assert anyio.run(store.begin, PID, Caller()).ticket is not None
    store.close()
    assert content_of(path) == before


def content_of(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def filled(path: Path, clock: SteppedClock) -> None:
    """A store file with something in it, closed."""
    opened(path, clock).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO notes VALUES (x'6b', x'76', ?)", (clock.now().wall,))
        connection.commit()


def test_a_new_store_is_for_this_user_alone_and_leaves_no_draft(
    path: Path, clock: SteppedClock
) -> None:
    before = os.umask(0)
    try:
        store = opened(path, clock)
    finally:
        os.umask(before)
    names = {"store.db", "store.db-wal", "store.db-shm"}
    assert {file.name for file in path.parent.iterdir()} == names
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    store.close()
    assert [file.name for file in path.parent.iterdir()] == ["store.db"]


def test_a_path_may_hold_anything_a_file_name_may(tmp_path: Path, clock: SteppedClock) -> None:
    for name in (":memory:", "a?mode=memory", "50% #1 é.db", "file:x"):
        opened(tmp_path / name, clock).close()
        assert (tmp_path / name).stat().st_size > 0


def test_a_link_stays_a_link_and_the_store_is_made_where_it_points(
    path: Path, tmp_path: Path, clock: SteppedClock
) -> None:
    link = tmp_path / "link"
    link.symlink_to(path)
    for _ in range(2):
        opened(link, clock).close()
    assert link.is_symlink()
    assert [file.name for file in path.parent.iterdir()] == ["store.db"]


def test_an_empty_file_becomes_a_store(path: Path, clock: SteppedClock) -> None:
    path.parent.mkdir()
    path.touch()
    opened(path, clock).close()
    assert path.stat().st_size > 0


def test_a_filesystem_without_hard_links_gets_a_store_too(
    path: Path, clock: SteppedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(_source: Path, _target: Path) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(os, "link", link)
    first = opened(path, clock)
    second = opened(path, clock)
    for store in (first, second):
        store.close()
    assert [file.name for file in path.parent.iterdir()] == ["store.db"]


async def test_whoever_is_second_to_make_the_file_uses_the_one_of_the_first(
    path: Path, clock: SteppedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other process wins between our look at the empty place and our link."""
    link = os.link
    others: list[SqliteStore] = []

    def late(source: Path, target: Path) -> None:
        monkeypatch.setattr(os, "link", link)
        filled(path, clock)
        others.append(opened(path, clock))
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    mine = opened(path, clock)
    (other,) = others
    assert await mine.read_note("k") == b"v", "what the first wrote meanwhile"
    await other.write_note("k", b"w")
    assert await mine.read_note("k") == b"w"
    mine.close()
    other.close()


def test_a_file_that_is_no_database_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    for content in (b"{}", b"\0" * 5000, os.urandom(10_000), b"SQLite format 3\0" + b"x" * 5000):
        path.write_bytes(content)
        assert_alone_in_memory(path, "is damaged or is no SQLite database", "move the file")


@pytest.mark.parametrize("keep", [20, 512, 4096, 5000, -4096])
def test_a_file_that_was_cut_off_is_left_alone(keep: int, path: Path, clock: SteppedClock) -> None:
    filled(path, clock)
    content = path.read_bytes()[:keep]
    path.write_bytes(content)
    assert_alone_in_memory(path, "is damaged")


def test_a_file_with_a_damaged_page_is_left_alone(path: Path, clock: SteppedClock) -> None:
    filled(path, clock)
    content = bytearray(path.read_bytes())
    content[4096:4196] = b"\xff" * 100
    path.write_bytes(content)
    assert_alone_in_memory(path, "is damaged")


def test_a_file_whose_content_contradicts_its_schema_is_left_alone(
    path: Path, clock: SteppedClock
) -> None:
    """SQLite reads it without complaint, and only its check tells."""
    filled(path, clock)
    strict, lax = "value BLOB NOT NULL", "value BLOB         "
    for before, after in ((strict, lax), (lax, strict)):
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute("UPDATE sqlite_master SET sql = replace(sql, ?, ?)", (before, after))
            connection.commit()
        with (
            contextlib.closing(sqlite3.connect(path)) as connection,
            contextlib.suppress(sqlite3.IntegrityError),
        ):
            connection.execute("UPDATE notes SET value = NULL")
            connection.commit()
    assert_alone_in_memory(path, "is damaged")


def test_a_store_that_lost_who_it_is_is_left_alone(path: Path, clock: SteppedClock) -> None:
    filled(path, clock)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM memory")
        connection.commit()
    assert_alone_in_memory(path, "is damaged")


def test_the_database_of_another_program_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE memory (server)")
        connection.commit()
    assert_alone_in_memory(path, "database of another program", "another path")


def test_a_store_of_a_newer_toolcrib_is_left_alone(path: Path, clock: SteppedClock) -> None:
    filled(path, clock)
    newer = sqlite_schema.SCHEMA_VERSION + 1
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {newer}")
    assert_alone_in_memory(path, f"newer toolcrib (schema {newer}", "upgrade this toolcrib")


def test_a_file_that_is_left_alone_is_let_go_of(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def kept(path: str, **options: Any) -> sqlite3.Connection:
        connections.append(connect(path, **options))
        return connections[-1]

    path.parent.mkdir()
    path.write_bytes(b"no database")
    monkeypatch.setattr(sqlite3, "connect", kept)
    assert_alone_in_memory(path)
    (connection,) = connections
    with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
        connection.execute("SELECT 1")


def in_a_file(path: Path) -> Path:
    path.touch()
    return path / "store.db"


def a_directory(path: Path) -> Path:
    path.mkdir()
    return path


def a_link_to_itself(path: Path) -> Path:
    path.symlink_to(path)
    return path


@pytest.mark.parametrize("place", [in_a_file, a_directory, a_link_to_itself])
def test_a_path_that_can_hold_no_file_means_memory(
    place: Callable[[Path], Path], tmp_path: Path
) -> None:
    assert_alone_in_memory(place(tmp_path / "x"), "a file this user may write")


def test_a_directory_that_cannot_be_made_means_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests may run as root, whom no permission stops: the refusal is planted."""

    def mkdir(_path: Path, **_options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", mkdir)
    assert_alone_in_memory(path, "Permission denied")


def test_a_file_that_cannot_be_written_means_memory(
    path: Path, clock: SteppedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As root every file can be written: the connection is opened read-only instead."""

    connect = sqlite3.connect

    def read_only(path: str, **options: Any) -> sqlite3.Connection:
        return connect(path.replace("mode=rw", "mode=ro"), **options)

    filled(path, clock)
    monkeypatch.setattr(sqlite3, "connect", read_only)
    assert_alone_in_memory(path, "cannot be written", "write access")


def test_a_full_disk_means_memory_and_leaves_no_draft(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    def on_a_small_disk(path: str, **options: Any) -> sqlite3.Connection:
        connection = connect(path, **options)
        connection.execute("PRAGMA max_page_count = 3")
        return connection

    monkeypatch.setattr(sqlite3, "connect", on_a_small_disk)
    assert_alone_in_memory(path, "the disk is full", "free some space")
    assert list(path.parent.iterdir()) == []


def test_a_filesystem_that_processes_cannot_share_means_memory(
    path: Path, clock: SteppedClock
) -> None:
    """There SQLite keeps another journal; so it does in a file that was told to."""
    filled(path, clock)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    assert_alone_in_memory(path, "processes cannot share", "local disk")


async def test_an_older_schema_is_brought_up_to_date_and_keeps_its_content(
    path: Path, clock: SteppedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when several steps lie between; each runs once."""
    filled(path, clock)

    def add_a(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE a (x)")

    def add_b(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE a ADD COLUMN y")

    steps = (*sqlite_schema.MIGRATIONS, add_a, add_b)
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", steps)
    monkeypatch.setattr(sqlite_schema, "SCHEMA_VERSION", len(steps))
    monkeypatch.setattr(sqlite_open, "SCHEMA_VERSION", len(steps))
    for _ in range(2):
        store = opened(path, clock)
        assert await store.read_note("k") == b"v"
        store.close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(steps),)
        connection.execute("SELECT x, y FROM a")


def test_a_migration_that_fails_changes_nothing(
    path: Path, clock: SteppedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(path, clock)

    def half(connection: sqlite3.Connection) -> None:
        connection.execute("DROP TABLE notes")
        connection.execute("no SQL")

    steps = (*sqlite_schema.MIGRATIONS, half)
    with monkeypatch.context() as patched:
        patched.setattr(sqlite_schema, "MIGRATIONS", steps)
        assert_alone_in_memory(path, "cannot be used", "syntax error")
    store = opened(path, clock)
    assert anyio.run(store.read_note, "k") == b"v"
    store.close()


async def test_what_nobody_wrote_for_long_is_dropped_when_the_store_is_opened(
    path: Path, clock: SteppedClock
) -> None:
    """Withdrawals stay for a year: the server may not know of them."""
    store = opened(path, clock)
    old, withdrawn, new = (
        Replica(lambda: store, clock, pid) for pid in ("old", "withdrawn", "new")
    )
    for replica in (old, withdrawn, new):
        await replica.walk(listing("v0"))
    await withdrawn.revoke()
    await store.write_note("old", b"x")
    clock.advance(29 * DAY)
    await new.invalidate()
    await store.write_note("new", b"x")
    clock.advance(2 * DAY)
    store.close()

    assert counts(path, clock) == {"records": 2, "bodies": 1, "hints": 1, "notes": 1}
    clock.advance(366 * DAY)
    assert counts(path, clock) == {"records": 0, "bodies": 0, "hints": 0, "notes": 0}


def counts(path: Path, clock: SteppedClock) -> dict[str, int]:
    """How many rows are left after the store was opened once more."""
    opened(path, clock).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
            for table in ("records", "bodies", "hints", "notes")
        }


async def test_opening_drops_only_so_many_rows_at_once(
    path: Path, clock: SteppedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_schema, "_SWEEP_LIMIT", 2)
    store = opened(path, clock)
    for number in range(5):
        await store.write_note(str(number), b"x")
        await Replica(lambda: store, clock, str(number)).walk(listing("v0"))
    store.close()
    clock.advance(31 * DAY)
    for left in (3, 1, 0):
        assert counts(path, clock) == dict.fromkeys(("records", "bodies", "hints", "notes"), left)


def test_a_large_file_is_not_read_whole_to_open_it(
    path: Path, clock: SteppedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(path, clock)
    monkeypatch.setattr(sqlite_open, "_CHECKED_SIZE", 10)
    statements = statements_of_new_connections(monkeypatch)
    opened(path, clock).close()
    assert statements
    assert not [one for one in statements if "quick_check" in one]


def statements_of_new_connections(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    statements: list[str] = []
    connect = sqlite3.connect

    def traced(path: str, **options: Any) -> sqlite3.Connection:
        connection = connect(path, **options)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    return statements


async def test_a_catalog_survives_its_process(path: Path, clock: SteppedClock) -> None:
    snapshot = snapshot_of(item_of({"name": "t", "x": 2**70, "y": "\ud800"}))
    store = opened(path, clock)
    await Replica(lambda: store, clock).walk(snapshot)
    store.close()
    clock.advance(3600)
    store = opened(path, clock)
    view = await Replica(lambda: store, clock).look()
    store.close()
    assert view.body is not None
    assert view.body.snapshot == snapshot
    assert (view.age, view.needs_walk) == (3600.0, True)
