"""Entries in a store file: garbage, locks, pruning, other processes, and a file given up."""

import contextlib
import sqlite3
from collections.abc import Awaitable, Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcrib.adapters.sqlite import schema as sqlite_schema
from toolcrib.adapters.sqlite.entries import SqliteEntries
from toolcrib.adapters.sqlite.file import RecordFile
from toolcrib.adapters.sqlite.store import SqliteStore, open_store
from toolcrib.adapters.store.entries import PRUNED_AT_ONCE
from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.errors import StoreUnreachable
from toolcrib.facts import StoreDegraded
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.store_contract import SteppedClock

LIFE = 60.0


class Bench:
    """One open store, and the hand of somebody else in its file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = SteppedClock()
        self.observer = Recorder()
        self.file = RecordFile(path, busy_timeout=0.0, keep_days=30)
        self.file.open(self.clock.now().wall)
        self.store = SqliteStore(self.file, self.clock, self.observer)

    @property
    def entries(self) -> SqliteEntries:
        return self.store.entries

    async def put(self, *keys: str, owner: str = "o", life: float = LIFE) -> None:
        values = dict.fromkeys(keys, b"v")
        await self.entries.put("s", owner, values, lifetime=life, most=1000)

    @contextlib.contextmanager
    def other(self) -> Generator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            yield connection

    def write(self, statement: str, *values: object) -> None:
        with self.other() as connection:
            connection.execute(statement, values)

    @property
    def count(self) -> int:
        with self.other() as connection:
            return connection.execute("SELECT count(*) FROM entries").fetchone()[0]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path / "store.db")
    yield bench
    bench.store.close()


GARBAGE = [
    *(("value", value) for value in ("'text'", "5", "1.5", "CAST(x'ff00' AS TEXT)")),
    *(("expires_at", value) for value in ("'x'", "x'78'", "9e999", "-9e999", "1e18", "-1")),
    *(("key", value) for value in ("'k'", "x'ff'", "5", "x'ed'")),
    *(("owner", value) for value in ("'o'", "5", "x'ff'")),
    ("space", "'s'"),
]


@pytest.mark.parametrize(("column", "value"), GARBAGE)
async def test_a_row_that_is_no_entry_is_seen_by_nobody_and_in_nobodys_way(
    column: str, value: str, bench: Bench
) -> None:
    await bench.put("k")
    await bench.put("other")
    bench.write(f"UPDATE entries SET {column} = {value} WHERE key = x'6b'")  # noqa: S608
    assert await bench.entries.get("s", "o", "k") is None
    assert await bench.entries.entries("s", "o") == {"other": b"v"}
    assert await bench.entries.take("s", "o", "k") is None
    assert await bench.entries.drop("s", "o", "k") == 0
    assert await bench.entries.add("s", "o", "k", b"w", lifetime=LIFE, most=9)
    assert await bench.entries.entries("s", "o") == {"other": b"v", "k": b"w"}
    assert bench.observer.facts == []


async def test_a_row_with_the_highest_number_leaves_room_for_later_ones(bench: Bench) -> None:
    """SQLite would draw numbers at random behind it, and their order would say nothing."""
    await bench.put("k", owner="another")
    bench.write("UPDATE entries SET number = 9223372036854775807")
    for key in "abcdef":
        await bench.entries.put("s", "o", {key: b"v"}, lifetime=LIFE, most=3)
    assert list(await bench.entries.entries("s", "o")) == ["d", "e", "f"]


SQL_VALUES = (
    st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
    | st.binary(max_size=5)
)
COLUMNS = ("number", "space", "owner", "key", "value", "expires_at")


@settings(
    max_examples=80,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.dictionaries(st.sampled_from(COLUMNS), SQL_VALUES, min_size=1))
async def test_no_row_whatever_it_holds_breaks_an_operation(
    bench: Bench, columns: dict[str, object]
) -> None:
    await bench.put("k", "l")
    assigned = ", ".join(f"{name} = ?" for name in columns)
    with contextlib.suppress(sqlite3.IntegrityError):  # a number that is none
        bench.write(f"UPDATE entries SET {assigned} WHERE key = x'6b'", *columns.values())  # noqa: S608
    await bench.entries.get("s", "o", "k")
    held = await bench.entries.entries("s", "o")
    assert held["l"] == b"v"
    assert all(isinstance(value, bytes) for value in held.values())
    await bench.entries.add("s", "o", "k", b"w", lifetime=LIFE, most=9)
    await bench.entries.take("s", "o", "k")
    assert await bench.entries.get("s", "o", "k") is None
    await bench.entries.drop("s", "o")
    await bench.put("k")
    assert await bench.entries.get("s", "o", "k") == b"v"


async def test_each_write_prunes_a_bounded_number_of_expired_rows(bench: Bench) -> None:
    """Of owners who never come back, too."""
    for number in range(3):
        await bench.put(*(f"k{n}" for n in range(PRUNED_AT_ONCE)), owner=str(number), life=1)
    bench.clock.advance(1)
    left: list[int] = []
    for _ in range(3):
        await bench.put("k", owner="other")
        left.append(bench.count)
    assert left == [2 * PRUNED_AT_ONCE + 1, PRUNED_AT_ONCE + 1, 1]


async def test_opening_prunes_a_bounded_number_of_expired_rows(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_schema, "_SWEEP_LIMIT", 3)
    await bench.put(*"abcde", life=1)
    await bench.put("stays")
    bench.clock.advance(1)
    left: list[int] = []
    for _ in range(3):
        bench.store.close()
        bench.file.open(bench.clock.now().wall)
        left.append(bench.count)
    assert left == [3, 1, 1]


async def test_an_older_file_gets_its_entries_and_keeps_the_rest(tmp_path: Path) -> None:
    """A store of the schema before entries existed."""
    path, clock = tmp_path / "store.db", SteppedClock()
    store = open_store(path, clock, Recorder())
    await store.write_note("k", b"v")
    store.close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE entries")
        connection.execute("DROP TABLE vectors")
        connection.execute("PRAGMA user_version = 1")
    store = open_store(path, clock, Recorder())
    assert isinstance(store, SqliteStore)
    assert await store.read_note("k") == b"v"
    assert await store.entries.add("s", "o", "k", b"v", lifetime=LIFE, most=9)
    store.close()


OPERATIONS: dict[str, Callable[[SqliteEntries], Awaitable[object]]] = {
    "put": lambda store: store.put("s", "o", {"k": b"w"}, lifetime=LIFE, most=9),
    "add": lambda store: store.add("s", "o", "new", b"w", lifetime=LIFE, most=9),
    "take": lambda store: store.take("s", "o", "k"),
    "drop": lambda store: store.drop("s", "o"),
}


@pytest.mark.parametrize("name", OPERATIONS)
async def test_a_locked_file_is_an_outage_that_changes_nothing_and_passes(
    name: str, bench: Bench
) -> None:
    await bench.put("k")
    with bench.other() as other:
        other.execute("BEGIN IMMEDIATE")
        for _ in range(2):
            with pytest.raises(StoreUnreachable, match="locked by another process"):
                await OPERATIONS[name](bench.entries)
        assert await bench.entries.get("s", "o", "k") == b"v", "looking waits for nobody"
        assert await bench.entries.take("s", "o", "zzz") is None, "nor does finding nothing"
    assert len(bench.observer.of(StoreDegraded)) == 1
    assert await bench.entries.entries("s", "o") == {"k": b"v"}
    await OPERATIONS[name](bench.entries)


async def test_what_expired_is_not_seen_while_another_process_holds_the_file(bench: Bench) -> None:
    await bench.put("k")
    bench.clock.advance(LIFE)
    with bench.other() as other:
        other.execute("BEGIN IMMEDIATE")
        assert await bench.entries.get("s", "o", "k") is None
        assert await bench.entries.entries("s", "o") == {}
    assert bench.observer.facts == []
    assert bench.count == 1, "nobody could remove it"
    assert await bench.entries.get("s", "o", "k") is None
    assert bench.count == 0


async def test_a_full_disk_keeps_none_of_several_values(bench: Bench) -> None:
    await bench.put("a")
    connection = bench.file._connection  # pyright: ignore[reportPrivateUsage] - a smaller disk
    assert connection is not None
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    values = {"a": b"changed", "b": b"x" * 100_000}
    with pytest.raises(StoreUnreachable, match="the disk is full"):
        await bench.entries.put("s", "o", values, lifetime=LIFE, most=9)
    assert await bench.entries.entries("s", "o") == {"a": b"v"}


async def test_a_file_of_a_newer_toolcrib_is_left_for_memory(bench: Bench) -> None:
    """One sentence for snapshots and entries together, and both go on."""
    await bench.put("k")
    bench.write(f"PRAGMA user_version = {sqlite_schema.SCHEMA_VERSION + 1}")
    assert await bench.entries.add("s", "o", "k", b"w", lifetime=LIFE, most=9)
    assert await bench.entries.get("s", "o", "k") == b"w"
    await bench.store.write_note("n", b"v")
    (fact,) = bench.observer.of(StoreDegraded)
    assert "in memory, alone" in fact.detail
    with bench.other() as other:
        assert other.execute("SELECT value FROM entries").fetchall() == [(b"v",)]


async def test_a_file_that_cannot_be_opened_means_entries_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"no database")
    observer = Recorder()
    store = open_store(path, SteppedClock(), observer)
    assert isinstance(store, MemoryStore)
    assert await store.entries.add("s", "o", "k", b"v", lifetime=LIFE, most=9)
    assert len(observer.of(StoreDegraded)) == 1


async def test_entries_of_one_process_are_those_of_the_next(tmp_path: Path) -> None:
    path, clock = tmp_path / "store.db", SteppedClock()
    for expected in (True, False):
        store = open_store(path, clock, Recorder())
        added = await store.entries.add("s", "o", "k", b"v", lifetime=LIFE, most=9)
        assert added is expected
        store.close()
