"""Both stores of vectors pass the contract; a store file keeps them as it keeps the rest."""

import contextlib
import random
import sqlite3
from collections.abc import Generator, Iterator
from pathlib import Path

import anyio
import pytest

from toolcrib.adapters.sqlite import schema as sqlite_schema
from toolcrib.adapters.sqlite.file import RecordFile
from toolcrib.adapters.sqlite.store import SqliteStore, open_store
from toolcrib.adapters.sqlite.vectors import SqliteVectors
from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.adapters.store.memory_vectors import MemoryVectors
from toolcrib.discovery.semantic.texts import TextVectors
from toolcrib.errors import StoreUnreachable
from toolcrib.facts import StoreDegraded
from toolcrib.ports import VectorStore
from toolcrib.testing.hashed_embedder import HashedEmbedder
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.store_contract import SteppedClock
from toolcrib.testing.vector_contract import DAY, VectorContract, VectorRig

ROOM = 5
both_loops = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


class MemoryRig(VectorRig):
    """Within a process there is no second handle to be had."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryVectors(self.clock, most=ROOM)

    def vectors(self, replica: int) -> VectorStore:
        return self.store


class SqliteRig(VectorRig):
    """Each replica has its own connection, as in a process of its own."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.path = directory / "store.db"
        self._files = [self._open(), self._open()]

    def _open(self) -> tuple[SqliteStore, VectorStore]:
        file = RecordFile(self.path, busy_timeout=1.0, keep_days=30)
        file.open(self.clock.now().wall)
        store = SqliteStore(file, self.clock, Recorder())
        return store, SqliteVectors(file, store.vectors._ask, most=ROOM)  # pyright: ignore[reportPrivateUsage] - less room

    def vectors(self, replica: int) -> VectorStore:
        return self._files[replica][1]

    def close(self) -> None:
        for store, _ in self._files:
            store.close()


@both_loops
class TestMemoryVectors(VectorContract):
    @pytest.fixture
    def rig(self) -> MemoryRig:
        return MemoryRig()


@both_loops
class TestSqliteVectors(VectorContract):
    @pytest.fixture
    def rig(self, tmp_path: Path) -> Iterator[SqliteRig]:
        rig = SqliteRig(tmp_path)
        yield rig
        rig.close()


class Bench:
    """One open store, and the hand of somebody else in its file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = SteppedClock()
        self.observer = Recorder()
        self.file = RecordFile(path, busy_timeout=0.0, keep_days=30)
        self.file.open(self.clock.now().wall)
        self.store = SqliteStore(self.file, self.clock, self.observer)
        self.vectors = self.store.vectors

    @contextlib.contextmanager
    def other(self) -> Generator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            yield connection

    def write(self, statement: str, *values: object) -> None:
        with self.other() as connection:
            connection.execute(statement, values)

    def column(self, name: str) -> list[object]:
        with self.other() as connection:
            rows = connection.execute(f"SELECT {name} FROM vectors ORDER BY number").fetchall()  # noqa: S608
        return [row[0] for row in rows]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path / "store.db")
    yield bench
    bench.store.close()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("value", value) for value in ("'text'", "5", "1.5", "CAST(x'ff00' AS TEXT)")),
        *(("used_at", value) for value in ("'x'", "x'78'", "9e999", "-9e999")),
        *(("key", value) for value in ("'k'", "5", "x'ff'")),
        ("mark", "'m'"),
        ("number", "9223372036854775807"),
    ],
)
async def test_a_row_that_is_no_vector_is_in_nobodys_way(
    column: str, value: str, bench: Bench
) -> None:
    await bench.vectors.put("m", {"k": b"v", "other": b"v"})
    bench.write(f"UPDATE vectors SET {column} = {value} WHERE key = x'6b'")  # noqa: S608
    assert await bench.vectors.get("m", ["other"]) == {"other": b"v"}
    assert set((await bench.vectors.get("m", ["k"])).values()) <= {b"v"}
    await bench.vectors.put("m", {"k": b"w"})
    assert await bench.vectors.get("m", ["k", "other"]) == {"k": b"w", "other": b"v"}
    assert bench.observer.facts == []


async def test_reading_again_within_a_day_writes_nothing(bench: Bench) -> None:
    await bench.vectors.put("m", {"k": b"v"})
    (first,) = bench.column("used_at")
    bench.clock.advance(DAY - 1)
    await bench.vectors.get("m", ["k"])
    assert bench.column("used_at") == [first]
    bench.clock.advance(1)
    await bench.vectors.get("m", ["k"])
    assert bench.column("used_at") == [bench.clock.now().wall]


async def test_vectors_that_nobody_used_for_a_month_are_dropped_on_opening(bench: Bench) -> None:
    await bench.vectors.put("m", {"old": b"v"})
    bench.clock.advance(20 * DAY)
    await bench.vectors.put("m", {"young": b"v"})
    bench.clock.advance(11 * DAY)
    bench.store.close()
    bench.file.open(bench.clock.now().wall)
    assert bench.column("key") == [b"young"]


@pytest.mark.parametrize("version", [1, 2])
async def test_an_older_file_gets_its_vectors_and_keeps_the_rest(
    version: int, tmp_path: Path
) -> None:
    """A store of the schema before vectors existed, or entries."""
    path, clock = tmp_path / "store.db", SteppedClock()
    store = open_store(path, clock, Recorder())
    await store.write_note("k", b"v")
    store.close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE vectors")
        if version == 1:
            connection.execute("DROP TABLE entries")
        connection.execute(f"PRAGMA user_version = {version}")
    store = open_store(path, clock, Recorder())
    assert isinstance(store, SqliteStore)
    assert await store.read_note("k") == b"v"
    await store.vectors.put("m", {"k": b"v"})
    assert await store.vectors.get("m", ["k"]) == {"k": b"v"}
    store.close()


async def test_a_locked_file_is_an_outage_of_writing_that_passes(bench: Bench) -> None:
    await bench.vectors.put("m", {"k": b"v"})
    bench.clock.advance(2 * DAY)
    with bench.other() as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnreachable, match="locked by another process"):
            await bench.vectors.put("m", {"k": b"w"})
        assert await bench.vectors.get("m", ["k"]) == {"k": b"v"}, "looking waits for nobody"
    await bench.vectors.put("m", {"k": b"w"})
    assert await bench.vectors.get("m", ["k"]) == {"k": b"w"}


async def test_a_file_of_a_newer_toolcrib_is_left_for_memory(bench: Bench) -> None:
    bench.write(f"PRAGMA user_version = {sqlite_schema.SCHEMA_VERSION + 1}")
    await bench.vectors.put("m", {"k": b"v"})
    assert await bench.vectors.get("m", ["k"]) == {"k": b"v"}
    assert len(bench.observer.of(StoreDegraded)) == 1
    assert bench.column("key") == []


async def test_vectors_of_one_process_are_those_of_the_next(tmp_path: Path) -> None:
    path, clock = tmp_path / "store.db", SteppedClock()
    store = open_store(path, clock, Recorder())
    await store.vectors.put("m", {"k": b"v"})
    store.close()
    store = open_store(path, clock, Recorder())
    assert await store.vectors.get("m", ["k"]) == {"k": b"v"}
    store.close()


async def test_writers_of_one_file_never_mix_vectors(tmp_path: Path) -> None:
    texts = [f"text {n}" for n in range(200)]
    embedder = HashedEmbedder()
    expected = dict(zip(texts, embedder.embed(texts), strict=True))
    stores = [open_store(tmp_path / "store.db", SteppedClock(), Recorder()) for _ in range(3)]
    found: list[dict[str, bytes]] = []

    async def write(store: SqliteStore | MemoryStore, seed: int) -> None:
        lots = random.Random(seed)  # noqa: S311 - an order of writing, not a secret
        vectors = TextVectors(embedder, store.vectors)
        found.append(await vectors.made(lots.sample(texts, len(texts))))
        found.append(await vectors.kept(lots.sample(texts, len(texts))))

    async with anyio.create_task_group() as tasks:
        for seed, store in enumerate(stores):
            tasks.start_soon(write, store, seed)
    assert found == [expected] * 6
    for store in stores:
        store.close()


async def test_a_store_in_memory_keeps_vectors_too() -> None:
    store = MemoryStore(SteppedClock())
    await store.vectors.put("m", {"k": b"v"})
    assert await store.vectors.get("m", ["k"]) == {"k": b"v"}
