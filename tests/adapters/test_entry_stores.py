"""Both stores of entries pass the contract, and agree with each other on whatever is asked."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcrib.adapters.sqlite.store import SqliteStore, open_store
from toolcrib.adapters.store import memory_entries
from toolcrib.adapters.store.entries import PRUNED_AT_ONCE
from toolcrib.adapters.store.memory_entries import MemoryEntries
from toolcrib.ports import EntryStore
from toolcrib.testing.entry_contract import EntryContract, EntryRig
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.store_contract import SteppedClock

both_loops = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


class MemoryRig(EntryRig):
    """Within a process there is no second handle to be had."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryEntries(self.clock)

    def entries(self, replica: int) -> EntryStore:
        return self.store


class SqliteRig(EntryRig):
    """Each replica has its own connection, as in a process of its own."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.path = directory / "store.db"
        self._stores = [self._open(), self._open()]

    def _open(self) -> SqliteStore:
        store = open_store(self.path, self.clock, Recorder())
        assert isinstance(store, SqliteStore)
        return store

    def entries(self, replica: int) -> EntryStore:
        return self._stores[replica].entries

    def close(self) -> None:
        for store in self._stores:
            store.close()


@both_loops
class TestMemoryEntries(EntryContract):
    @pytest.fixture
    def rig(self) -> MemoryRig:
        return MemoryRig()


@both_loops
class TestSqliteEntries(EntryContract):
    @pytest.fixture
    def rig(self, tmp_path: Path) -> Iterator[SqliteRig]:
        rig = SqliteRig(tmp_path)
        yield rig
        rig.close()


KEYS = st.sampled_from(["a", "b", "c", "\ud800"])
OWNERS = st.sampled_from(["o", "p"])
VALUES = st.binary(max_size=3)
LIVES = st.sampled_from([0.0, 1.0, 5.0, 50.0])
MOST = st.integers(0, 4)
STEPS = st.one_of(
    st.tuples(st.just("get"), OWNERS, KEYS),
    st.tuples(st.just("entries"), OWNERS),
    st.tuples(st.just("put"), OWNERS, st.dictionaries(KEYS, VALUES, max_size=3), LIVES, MOST),
    st.tuples(st.just("add"), OWNERS, KEYS, VALUES, LIVES, MOST),
    st.tuples(st.just("take"), OWNERS, KEYS),
    st.tuples(st.just("drop"), OWNERS, KEYS | st.none()),
    st.tuples(st.just("pass"), st.sampled_from([1.0, 4.0, 60.0, -2.0])),
)


async def answered(store: EntryStore, step: tuple[object, ...]) -> object:
    match step:
        case ("put", str(owner), values, float(lifetime), int(most)):
            assert isinstance(values, dict)
            return await store.put("s", owner, values, lifetime=lifetime, most=most)  # pyright: ignore[reportUnknownArgumentType] - of STEPS
        case ("add", str(owner), str(key), bytes(value), float(lifetime), int(most)):
            return await store.add("s", owner, key, value, lifetime=lifetime, most=most)
        case ("get", str(owner), str(key)):
            return await store.get("s", owner, key)
        case ("take", str(owner), str(key)):
            return await store.take("s", owner, key)
        case ("drop", str(owner), (str() | None) as key):
            return await store.drop("s", owner, key)
        case ("entries", str(owner)):
            return list((await store.entries("s", owner)).items())
        case _:
            raise AssertionError(step)


@given(st.lists(STEPS, max_size=25))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_two_stores_give_the_same_answers(steps: list[tuple[object, ...]]) -> None:
    async def run(rig: SqliteRig) -> None:
        memory = MemoryEntries(rig.clock)
        for number, step in enumerate(steps):
            if step[0] == "pass":
                assert isinstance(step[1], float)
                rig.clock.advance(step[1])
                continue
            found = [await answered(one, step) for one in (memory, rig.entries(number % 2))]
            assert found[0] == found[1], step

    with tempfile.TemporaryDirectory() as directory:
        rig = SqliteRig(Path(directory))
        try:
            anyio.run(run, rig)
        finally:
            rig.close()


async def test_memory_gives_back_what_expired_a_bounded_number_at_a_time() -> None:
    """However many owners never come back."""
    clock = SteppedClock()
    store = MemoryEntries(clock)
    count = 3 * PRUNED_AT_ONCE
    for number in range(count):
        await store.put("s", str(number), {"k": b"v"}, lifetime=1, most=1)
    clock.advance(1)
    left: list[int] = []
    for _ in range(3):
        await store.put("s", "other", {"k": b"v"}, lifetime=9, most=1)
        left.append(len(store._owners))  # pyright: ignore[reportPrivateUsage] - what is not shown
    assert left == [count - PRUNED_AT_ONCE + 1, count - 2 * PRUNED_AT_ONCE + 1, 1]


async def test_memory_does_not_grow_with_what_is_written_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory_entries, "PRUNED_AT_ONCE", 5)
    clock = SteppedClock()
    store = MemoryEntries(clock)
    for number in range(100):
        await store.put("s", "o", {"k": b"v"}, lifetime=1000 - number, most=1)
    assert len(store._expiries) < 10  # pyright: ignore[reportPrivateUsage] - what is not shown
    clock.advance(901)
    assert await store.get("s", "o", "k") is None


async def test_what_is_kept_for_no_time_stays_away_when_the_clock_is_set_back(
    tmp_path: Path,
) -> None:
    rig = SqliteRig(tmp_path)
    for store in (MemoryEntries(rig.clock), rig.entries(0)):
        rig.clock.advance(10.0)
        await store.put("space", "o", {"a": b""}, lifetime=0.0, most=1)
        rig.clock.advance(-2.0)
        assert await store.get("space", "o", "a") is None
    rig.close()
