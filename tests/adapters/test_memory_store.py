"""The store of one process passes the contract, and says what it is."""

# pyright: reportPrivateUsage=false
# A memory cannot be lost or copied from outside, so its rig reaches inside.

import anyio
import pytest
from hypothesis import HealthCheck, given, settings

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.adapters.store.memory_bus import MemoryBus
from toolcrib.core.freshness.record import Caller, Record
from toolcrib.ports import InvalidationBus, SnapshotStore
from toolcrib.testing.store_contract import BusContract, SteppedClock, StoreContract, StoreRig
from toolcrib.testing.store_differential import SCRIPTS, Step, compare
from toolcrib.testing.store_rig import PID, listing

both_loops = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


class MemoryRig(StoreRig):
    """One store for both replicas: within a process there is no second handle to be had."""

    def __init__(self) -> None:
        super().__init__()
        self._bus = MemoryBus()
        self._lives = 0
        self._store = self._born({})

    def _born(self, records: dict[str, Record]) -> MemoryStore:
        self._lives += 1
        store = MemoryStore(self.clock, self._bus, server=f"m{self._lives}")
        store._records.update(records)
        return store

    @property
    def server(self) -> str:
        return f"m{self._lives}"

    def store(self, replica: int) -> SnapshotStore:
        return self._store

    def bus(self, replica: int) -> InvalidationBus:
        return self._bus

    async def deliver(self) -> None:
        """Hints are delivered before they are given."""

    async def standby(self) -> dict[str, Record]:
        return dict(self._store._records)

    async def fail_over(self, standby: object | None) -> None:
        self._store = self._born(records_of(standby))

    async def promote(self, standby: object) -> SnapshotStore:
        return self._born(records_of(standby))


def records_of(standby: object | None) -> dict[str, Record]:
    if standby is None:
        return {}
    assert isinstance(standby, dict)
    return standby  # pyright: ignore[reportUnknownVariableType] - what `standby` returned


@pytest.fixture
def rig() -> MemoryRig:
    return MemoryRig()


@both_loops
class TestMemoryStore(StoreContract):
    pass


@both_loops
class TestMemoryBus(BusContract):
    pass


@given(script=SCRIPTS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_memory_store_answers_as_the_pure_operations_do(script: list[Step]) -> None:
    async def run() -> None:
        await compare(MemoryRig(), script, may_lose=True)

    anyio.run(run)


async def test_two_stores_are_two_memories() -> None:
    clock = SteppedClock()
    views = [(await MemoryStore(clock).look(PID, Caller())).view for _ in range(2)]
    assert views[0].inc != views[1].inc


async def test_looking_at_a_memory_costs_no_round_trip() -> None:
    assert not MemoryStore(SteppedClock()).remote


async def test_nobody_has_to_watch_a_memory(rig: MemoryRig) -> None:
    with anyio.fail_after(5):
        await MemoryStore(rig.clock).watch()


async def test_a_hint_arrives_before_the_answer(rig: MemoryRig) -> None:
    order: list[str] = []
    rig.bus(1).subscribe(lambda pid: order.append(f"hint {pid}"))
    await rig.replica(0).walk(listing("v0"))
    order.append("answer")
    assert order == [f"hint {PID}", "answer"]
