"""The SQLite store passes the contract: two handles on one file, and files that take its place."""

import contextlib
import itertools
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings

from toolcrib.adapters.sqlite.store import SqliteStore, open_store
from toolcrib.ports import InvalidationBus, SnapshotStore
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.store_contract import BusContract, StoreContract, StoreRig
from toolcrib.testing.store_differential import SCRIPTS, Step, compare

both_loops = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


class SqliteRig(StoreRig):
    """Each replica has its own connection, as in a process of its own."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.observer = Recorder()
        self.path = directory / "store.db"
        self._directory = directory
        self._numbers = itertools.count()
        self._opened: list[SqliteStore] = []
        self._stores = [self.open(self.path) for _ in range(2)]

    def open(self, path: Path) -> SqliteStore:
        store = open_store(path, self.clock, self.observer)
        assert isinstance(store, SqliteStore), self.observer.facts
        self._opened.append(store)
        return store

    def close(self) -> None:
        for store in self._opened:
            store.close()

    @property
    def server(self) -> str:
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            return connection.execute("SELECT server FROM memory").fetchone()[0]

    def store(self, replica: int) -> SnapshotStore:
        return self._stores[replica]

    def bus(self, replica: int) -> InvalidationBus:
        return self._stores[replica].bus

    async def deliver(self) -> None:
        for store in self._stores:
            await store.bus.poll()

    async def standby(self) -> Path:
        number = next(self._numbers)
        copy = self._directory / f"standby{number}.db"
        with (
            contextlib.closing(sqlite3.connect(self.path)) as source,
            contextlib.closing(sqlite3.connect(copy)) as target,
        ):
            source.backup(target)
            target.execute("UPDATE memory SET server = ?", (f"standby{number}",))
            target.commit()
        return copy

    async def fail_over(self, standby: object | None) -> None:
        self._replace(standby)
        await self._stores[0].read_note("whoever comes first makes a new file")

    def _replace(self, standby: object | None) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        if isinstance(standby, Path):
            os.link(standby, self.path)

    async def promote(self, standby: object) -> SnapshotStore:
        assert isinstance(standby, Path)
        return self.open(standby)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[SqliteRig]:
    rig = SqliteRig(tmp_path)
    yield rig
    rig.close()


@both_loops
class TestSqliteStore(StoreContract):
    pass


@both_loops
class TestSqliteBus(BusContract):
    pass


@given(script=SCRIPTS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_sqlite_store_answers_as_the_pure_operations_do(script: list[Step]) -> None:
    async def run() -> None:
        await compare(rig, script, may_lose=True)

    with tempfile.TemporaryDirectory() as directory:
        rig = SqliteRig(Path(directory))
        try:
            anyio.run(run)
        finally:
            rig.close()
