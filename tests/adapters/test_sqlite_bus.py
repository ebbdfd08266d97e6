"""Hints between processes: who hears what, when, and what it costs when nobody listens."""

# pyright: reportPrivateUsage=false
# How often the file is asked is only visible from inside.

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
import pytest

from toolcrib.adapters.sqlite import file as sqlite_file
from toolcrib.adapters.sqlite.bus import SqliteBus
from toolcrib.adapters.sqlite.store import SqliteStore, open_store
from toolcrib.adapters.store.memory_bus import MemoryBus
from toolcrib.errors import StoreUnreachable
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.store_contract import Replica, SteppedClock
from toolcrib.testing.store_rig import PID, listing

OTHER = "f" * 32


class Pair:
    """Two stores on one file, as in two processes, and what the second one hears."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = SteppedClock()
        self.recorder = Recorder()
        self.mine, self.theirs = (self._open() for _ in range(2))
        self.heard: list[str | None] = []
        self.unsubscribe = self.theirs.bus.subscribe(self.heard.append)

    def _open(self) -> SqliteStore:
        store = open_store(
            self.path, self.clock, self.recorder, busy_timeout=0.0, poll_interval=0.005
        )
        assert isinstance(store, SqliteStore)
        return store

    def replica(self, pid: str = PID) -> Replica:
        return Replica(lambda: self.mine, self.clock, pid)

    async def hints(self) -> list[str | None]:
        """What was heard since the last time, after one poll."""
        await self.theirs.bus.poll()
        heard = self.heard.copy()
        self.heard.clear()
        return heard

    def statements(self) -> list[str]:
        statements: list[str] = []
        connection = self.theirs._file._connection
        assert connection is not None
        connection.set_trace_callback(statements.append)
        return statements


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    pair = Pair(tmp_path / "store.db")
    yield pair
    pair.mine.close()
    pair.theirs.close()


async def test_a_change_in_one_process_reaches_the_watchers_of_another(pair: Pair) -> None:
    reached = anyio.Event()
    pair.theirs.bus.subscribe(lambda _pid: reached.set())
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(pair.theirs.watch)
            await pair.replica().walk(listing("v0"))
            await reached.wait()
            group.cancel_scope.cancel()
    assert set(pair.heard) == {PID}


async def test_only_the_catalogs_that_changed_are_hinted(pair: Pair) -> None:
    one, another = pair.replica(), pair.replica(OTHER)
    await one.walk(listing("v0"))
    await another.walk(listing("v0"))
    assert sorted(map(str, await pair.hints())) == [PID, OTHER]
    await another.walk(listing("v1"))
    assert await pair.hints() == [OTHER]
    assert await pair.hints() == []


async def test_our_own_change_is_heard_at_once_and_not_again(pair: Pair) -> None:
    heard: list[str | None] = []
    await pair.mine.bus.poll()
    pair.mine.bus.subscribe(heard.append)
    await pair.replica().walk(listing("v0"))
    assert heard == [PID]
    await pair.mine.bus.poll()
    assert heard == [PID]


async def test_asking_costs_one_statement_while_nobody_else_writes(pair: Pair) -> None:
    await pair.replica().walk(listing("v0"))
    await pair.hints()
    statements = pair.statements()
    for _ in range(3):
        assert await pair.hints() == []
    assert statements == ["PRAGMA data_version"] * 3


async def test_a_write_without_a_hint_gives_none(pair: Pair) -> None:
    replica = pair.replica()
    await replica.walk(listing("v0"))
    await pair.hints()
    await replica.renew(await replica.begin(force=True))
    await pair.mine.write_note("k", b"v")
    assert await pair.hints() == []


async def test_very_many_changes_are_one_hint_about_everything(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "_HINTS_AT_ONCE", 3)
    for number in range(4):
        await pair.mine.bus.publish(str(number))
    assert await pair.hints() == [None]
    for number in range(3):
        await pair.mine.bus.publish(str(number))
    assert sorted(map(str, await pair.hints())) == ["0", "1", "2"]


async def test_a_replaced_file_is_a_gap(pair: Pair) -> None:
    await pair.replica().walk(listing("v0"))
    await pair.hints()
    for suffix in ("", "-wal", "-shm"):
        Path(f"{pair.path}{suffix}").unlink(missing_ok=True)  # noqa: ASYNC240 - a test's own file
    assert await pair.hints() == [None]
    await pair.replica().walk(listing("v1"))
    assert await pair.hints() == [PID]


async def test_a_locked_file_delays_hints_and_loses_none(pair: Pair) -> None:
    """Publishing a hint fails quietly; the listeners of this process hear it all the same."""
    heard: list[str | None] = []
    pair.mine.bus.subscribe(heard.append)
    with contextlib.closing(sqlite3.connect(pair.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await pair.mine.bus.publish(PID)
    assert heard == [PID]
    await pair.mine.bus.publish(OTHER)
    assert await pair.hints() == [OTHER]


async def test_a_lock_held_too_long_is_no_gap(pair: Pair) -> None:
    """The connection is as good as before, so nothing can have been missed."""
    await pair.hints()
    with contextlib.closing(sqlite3.connect(pair.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnreachable):
            await pair.theirs.write_note("k", b"v")
    assert await pair.hints() == []


class Asked:
    """A file that counts how often it is asked, and may fail."""

    def __init__(self) -> None:
        self.times = 0
        self.fails = False
        self.bus = SqliteBus(MemoryBus(), self.leave, self.collect, 0.5)

    async def leave(self, pid: str) -> None:
        raise NotImplementedError

    async def collect(self) -> Sequence[str | None]:
        self.times += 1
        if self.fails:
            raise StoreUnreachable("away")
        return [f"hint {self.times}"]


@pytest.mark.virtual_time
async def test_the_file_is_asked_twice_a_second_and_only_while_somebody_listens() -> None:
    asked = Asked()
    heard: list[str | None] = []
    async with anyio.create_task_group() as group:
        group.start_soon(asked.bus.watch)
        await anyio.sleep(10.25)
        assert asked.times == 0
        unsubscribe = asked.bus.subscribe(heard.append)
        await anyio.sleep(10)
        assert (asked.times, len(heard)) == (20, 20)
        unsubscribe()
        await anyio.sleep(10)
        assert asked.times == 20
        group.cancel_scope.cancel()


@pytest.mark.virtual_time
async def test_watching_outlives_a_file_that_is_away_for_a_while() -> None:
    asked = Asked()
    heard: list[str | None] = []
    asked.bus.subscribe(heard.append)
    asked.fails = True
    async with anyio.create_task_group() as group:
        group.start_soon(asked.bus.watch)
        await anyio.sleep(10.25)
        assert heard == []
        asked.fails = False
        await anyio.sleep(0.5)
        assert heard == ["hint 21"]
        group.cancel_scope.cancel()
