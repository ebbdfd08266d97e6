"""How much the programs of everybody may take that wait: bounded, shared, and nobody pushed out."""

import os
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.adapters.sealing import AesSealer
from toolcrib.adapters.sqlite.file import RecordFile
from toolcrib.adapters.sqlite.store import SqliteStore
from toolcrib.adapters.store.memory_entries import MemoryEntries
from toolcrib.calls.call import Requester, Retry
from toolcrib.codemode.journal import Row
from toolcrib.codemode.progress import Progress
from toolcrib.codemode.put_aside import PutAside
from toolcrib.codemode.room import Room
from toolcrib.codemode.shelf import Shelf, Taken
from toolcrib.config.keys import InstallationKey
from toolcrib.core.partition import Principal
from toolcrib.errors import LimitExceeded, RetryRefused, StoreUnreachable
from toolcrib.ports import EntryStore
from toolcrib.settings import CodeSettings
from toolcrib.testing.program_rig import asking_result
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.store_rig import SteppedClock

pytestmark = pytest.mark.anyio

KIB = 1024
LEAST = 16 * KIB
"""Bytes that a program counts at least."""


def who(name: str) -> Requester:
    return Requester(Principal("https://issuer.test", name), handle="h" * 16)


class Replica:
    """One process on a store."""

    def __init__(self, entries: EntryStore, run: str, clock: SteppedClock, **settings: Any) -> None:
        self.clock = clock
        keys = InstallationKey(b"k" * 32)
        self._shelf = Shelf(
            entries,
            sealer=AesSealer(keys, clock),
            keys=keys,
            settings=CodeSettings(**settings),
            seconds=900.0,
            run=run,
        )

    async def put(self, name: str, size: int = 0) -> Retry:
        """A program of somebody that waits, with a snapshot of about this many bytes."""
        row = Row(1, "a", "t", {}, outcome="asking")
        progress = Progress(rows=(row,), snapshot=os.urandom(size), asked={1: asking_result()})
        program = PutAside("r", "python", "1", {}, None, "", progress)
        return Retry((await self._shelf.put(who(name), "m", program))["requestState"])

    async def take(self, name: str, retry: Retry) -> Taken:
        return await self._shelf.take(who(name), "m", retry)

    async def put_back(self, name: str, taken: Taken) -> None:
        await self._shelf.put_back(who(name), taken)

    async def fill(self, name: str) -> list[Retry]:
        """As many programs of somebody as there is room for."""
        kept: list[Retry] = []
        with suppress(LimitExceeded):
            for _ in range(200):
                kept.append(await self.put(name))  # noqa: PERF401 - up to the first refusal
        return kept


@pytest.fixture(params=["memory", "sqlite"])
def two(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Generator[Callable[..., tuple[Replica, Replica]]]:
    """Two processes on one store, with settings; each with a connection of its own to a file."""
    clock = SteppedClock()
    entries: list[EntryStore] = [MemoryEntries(clock)] * 2
    files: list[RecordFile] = []
    if request.param == "sqlite":
        files = [RecordFile(tmp_path / "s.db", busy_timeout=5.0, keep_days=30) for _ in range(2)]
        for file in files:
            file.open(clock.now().wall)
        entries = [SqliteStore(file, clock, Recorder()).entries for file in files]

    def made(**settings: Any) -> tuple[Replica, Replica]:
        one, other = (Replica(it, f"run-{n}", clock, **settings) for n, it in enumerate(entries))
        return one, other

    yield made
    for file in files:
        file.close()


Two = Callable[..., tuple[Replica, Replica]]


async def test_who_is_alone_has_half_of_the_room(two: Two) -> None:
    a, b = two(all_suspended_bytes=20 * LEAST)
    for replica in (a, b):
        kept = await replica.fill("alice")
        assert len(kept) == (10 if replica is a else 0)


async def test_nobody_can_fill_it_so_that_the_next_one_finds_no_room(two: Two) -> None:
    a, b = two(all_suspended_bytes=64 * LEAST, suspended=100)
    counts = [len(await it.fill(name)) for it, name in ((a, "a"), (b, "b"), (a, "c"), (b, "d"))]
    assert counts == [32, 16, 8, 4]


async def test_nobodys_program_is_pushed_out_by_another_ones(two: Two) -> None:
    a, b = two(all_suspended_bytes=20 * LEAST)
    hers = [await a.put("alice") for _ in range(3)]
    his = await b.fill("bob")
    with pytest.raises(LimitExceeded):
        await a.put("bob")
    for retry in hers:
        await b.take("alice", retry)
    for retry in his:
        await a.take("bob", retry)


async def test_who_is_refused_leaves_no_trace_and_has_room_once_another_is_answered(
    two: Two,
) -> None:
    a, b = two(all_suspended_bytes=8 * LEAST)
    kept = await a.fill("alice")
    for _ in range(5):
        with pytest.raises(LimitExceeded):
            await b.put("alice")
    await b.take("alice", kept[0])
    await a.put("alice")
    with pytest.raises(LimitExceeded):
        await b.put("alice")


async def test_it_is_the_size_that_counts(two: Two) -> None:
    a, b = two(all_suspended_bytes=20 * LEAST)
    await a.put("alice", 6 * LEAST)
    with pytest.raises(LimitExceeded, match=r"code\.all_suspended_bytes, 327,680\); answer"):
        await b.put("alice", 4 * LEAST)
    await b.put("alice", LEAST)
    await b.put("bob", 3 * LEAST)
    with pytest.raises(LimitExceeded):
        await b.put("carol", 4 * LEAST)


async def test_what_has_expired_takes_no_room(two: Two) -> None:
    a, b = two(all_suspended_bytes=4 * LEAST)
    await a.fill("alice")
    a.clock.advance(900)
    assert len(await b.fill("alice")) == 2


async def test_those_that_make_room_for_newer_ones_of_their_caller_take_none(two: Two) -> None:
    """As `code.suspended` has it: the oldest of one's own."""
    a, b = two(all_suspended_bytes=20 * LEAST, suspended=3)
    kept = [await (a, b)[n % 2].put("alice") for n in range(30)]
    others, _ = two(all_suspended_bytes=20 * LEAST, suspended=100)
    assert len(await others.fill("bob")) == 8
    for retry in kept[:-3]:
        with pytest.raises(RetryRefused):
            await a.take("alice", retry)
    for retry in kept[-3:]:
        await b.take("alice", retry)


async def test_who_has_all_of_its_share_may_replace_its_oldest_program(two: Two) -> None:
    a, b = two(suspended_bytes=1 << 20, all_suspended_bytes=6 * LEAST, suspended=3)
    kept = [await (a, b)[n % 2].put("alice") for n in range(8)]
    with pytest.raises(RetryRefused):
        await a.take("alice", kept[4])
    for retry in kept[5:]:
        await a.take("alice", retry)


async def test_what_is_put_back_has_its_place_again_and_is_never_refused(two: Two) -> None:
    a, b = two(all_suspended_bytes=8 * LEAST)
    first, *_ = await a.fill("alice")
    await b.put_back("alice", await a.take("alice", first))
    with pytest.raises(LimitExceeded):
        await a.put("alice")
    taken = await a.take("alice", first)
    await b.put("alice")
    await b.put_back("alice", taken)
    await a.take("alice", first)


async def test_of_many_who_come_at_once_no_more_are_taken_than_there_is_room_for(two: Two) -> None:
    a, b = two(all_suspended_bytes=20 * LEAST)
    kept: list[Retry] = []

    async def put(number: int) -> None:
        with suppress(LimitExceeded):
            kept.append(await (a, b)[number % 2].put("alice"))

    async with anyio.create_task_group() as tasks:
        for number in range(24):
            tasks.start_soon(put, number)
    assert len(kept) <= 10
    assert len(kept) + len(await a.fill("alice")) == 10


class Failing(MemoryEntries):
    """A store that fails at what a test says."""

    def __init__(self, clock: SteppedClock) -> None:
        super().__init__(clock)
        self.fails: set[tuple[str, str]] = set()
        """Operation and space."""

    def _check(self, operation: str, space: str) -> None:
        if (operation, space) in self.fails:
            raise StoreUnreachable("the store does not answer")

    async def put(self, space: str, *args: Any, **kwargs: Any) -> None:
        self._check("put", space)
        await super().put(space, *args, **kwargs)

    async def drop(self, space: str, *args: Any, **kwargs: Any) -> int:
        self._check("drop", space)
        return await super().drop(space, *args, **kwargs)

    async def entries(self, space: str, *args: Any, **kwargs: Any) -> dict[str, bytes]:
        self._check("entries", space)
        return await super().entries(space, *args, **kwargs)


PLACES = "places of programs"


@pytest.mark.parametrize(
    "fails", [("put", "programs"), ("put", PLACES), ("entries", PLACES)], ids=" ".join
)
async def test_a_program_that_cannot_be_kept_takes_no_room_for_good(fails: tuple[str, str]) -> None:
    clock = SteppedClock()
    store = Failing(clock)
    here = Replica(store, "run", clock, all_suspended_bytes=8 * LEAST)
    store.fails.add(fails)
    for _ in range(9):
        with pytest.raises(StoreUnreachable):
            await here.put("alice")
    store.fails.clear()
    assert len(await here.fill("alice")) == 4


async def test_a_place_that_cannot_be_given_back_costs_no_answer() -> None:
    clock = SteppedClock()
    store = Failing(clock)
    here = Replica(store, "run", clock, all_suspended_bytes=8 * LEAST)
    kept = await here.fill("alice")
    store.fails |= {("drop", PLACES), ("put", PLACES)}
    await here.put_back("alice", await here.take("alice", kept[0]))
    await here.take("alice", kept[0])
    store.fails.clear()
    with pytest.raises(LimitExceeded):
        await here.put("alice")
    clock.advance(900)
    assert len(await here.fill("alice")) == 4


@given(
    st.integers(4, 60),
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.booleans()), max_size=40),
)
def test_together_they_never_have_more_than_there_is_and_one_no_more_than_is_free(
    most: int, steps: list[tuple[str, int, bool]]
) -> None:
    async def walk() -> None:
        settings = CodeSettings(all_suspended_bytes=most * LEAST, suspended=1_000)
        room = Room(MemoryEntries(SteppedClock()), "all", settings, 900.0)
        held: dict[str, tuple[str, int]] = {}
        for number, (owner, size, leaves) in enumerate(steps):
            if leaves and held:
                key = min(held)
                await room.leave(key)
                del held[key]
                continue
            after = {**held, str(number): (owner, max(size, 1))}
            mine = sum(size for who_, size in after.values() if who_ == owner)
            fits = mine <= most - sum(size for _, size in after.values())
            try:
                await room.take(owner, str(number), size * LEAST)
            except LimitExceeded:
                assert not fits
            else:
                assert fits
                held = after

    anyio.run(walk)
