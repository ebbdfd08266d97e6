"""Whose enabling is whose, for how long, and what other processes know of it."""

from collections.abc import Mapping

import anyio
import pytest

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.calls.call import Requester
from toolcrib.config.keys import InstallationKey
from toolcrib.core.partition import ANONYMOUS, LOCAL, Principal
from toolcrib.discovery.servers.enabled import LOOK_AGAIN, EnabledSets
from toolcrib.errors import NotAllowed, StoreUnreachable
from toolcrib.ports import EntryStore
from toolcrib.testing.virtual_clock import LoopClock

pytestmark = pytest.mark.virtual_time

ANNA = Principal("https://login", "anna")
BEN = Principal("https://login", "ben")
LIFETIME = 1_000.0


def sets(entries: EntryStore, *, callers: int = 100, lifetime: float = LIFETIME) -> EnabledSets:
    """What one process has for one principal."""
    keys = InstallationKey(b"k" * 32)
    return EnabledSets(entries, keys=keys, clock=LoopClock(), lifetime=lifetime, callers=callers)


def entries() -> EntryStore:
    return MemoryStore(LoopClock()).entries


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        (Requester(LOCAL), Requester(LOCAL), True),
        (Requester(LOCAL, "c1", durable=False), Requester(LOCAL), True),
        (Requester(LOCAL, "c1", durable=False), Requester(LOCAL, "c2", durable=False), True),
        (Requester(ANNA), Requester(ANNA, "h"), False),
        (Requester(ANNA, "h"), Requester(ANNA, "h"), True),
        (Requester(ANNA, "h"), Requester(ANNA, "i"), False),
        (Requester(ANONYMOUS, "h"), Requester(ANONYMOUS, "h"), True),
        (Requester(ANONYMOUS, "h"), Requester(ANONYMOUS, "i"), False),
        (Requester(ANONYMOUS, "h"), Requester(ANONYMOUS), False),
        (Requester(ANONYMOUS, "s", durable=False), Requester(ANONYMOUS, "t", durable=False), False),
        (Requester(ANONYMOUS, "s", durable=False), Requester(ANONYMOUS, "s"), False),
    ],
)
async def test_an_enabling_belongs_to_the_handle_or_else_to_the_principal(
    one: Requester, other: Requester, *, shared: bool
) -> None:
    store = entries()
    mine = sets(store)
    await mine.add(one, ["a"])
    assert await mine.of(one) == {"a"}
    assert await mine.of(other) == ({"a"} if shared else set())
    elsewhere = await sets(store).of(other)
    if not one.durable and one.principal == ANONYMOUS:
        assert elsewhere == set()
    else:
        assert elsewhere == ({"a"} if shared else set())


async def test_principals_have_nothing_in_common() -> None:
    store = entries()
    await sets(store).add(Requester(ANNA, "h"), ["a"])
    assert await sets(store).of(Requester(BEN, "h")) == set()


async def test_an_anonymous_caller_without_a_handle_can_enable_nothing() -> None:
    mine = sets(entries())
    with pytest.raises(NotAllowed, match="without an identity") as refused:
        await mine.add(Requester(ANONYMOUS), ["a"])
    assert "dev.toolcrib/handle" in (refused.value.remedy or "")
    assert await mine.of(Requester(ANONYMOUS)) == set()
    assert not await mine.use(Requester(ANONYMOUS), "a")
    assert not await mine.drop(Requester(ANONYMOUS), "a")


async def test_what_another_process_did_is_known_soon() -> None:
    store = entries()
    here, there = sets(store), sets(store)
    who = Requester(ANNA)
    assert await here.of(who) == set()
    await there.add(who, ["a", "b"])
    assert await here.of(who) == set()
    assert await here.of(who, newest=True) == {"a", "b"}
    await there.drop(who, "a")
    await anyio.sleep(LOOK_AGAIN)
    assert await here.of(who) == {"b"}


async def test_a_use_finds_what_was_enabled_elsewhere_a_moment_ago() -> None:
    store = entries()
    here, there = sets(store), sets(store)
    assert await here.of(Requester(ANNA)) == set()
    await there.add(Requester(ANNA), ["a"])
    assert await here.use(Requester(ANNA), "a")


async def test_it_ends_some_time_after_the_last_use() -> None:
    store = entries()
    here, who = sets(store), Requester(ANNA)
    await here.add(who, ["used", "unused"])
    for _ in range(5):
        await anyio.sleep(LIFETIME / 2)
        assert await here.use(who, "used")
    assert await here.of(who) == {"used"}
    assert await sets(store).of(who) == {"used"}
    await anyio.sleep(LIFETIME)
    assert await here.of(who) == set()
    assert here.everybody() == set()
    assert not await here.use(who, "used")


async def test_a_use_soon_after_another_writes_nothing() -> None:
    counting = Counting(entries())
    here, who = sets(counting), Requester(ANNA)
    await here.add(who, ["a"])
    puts = counting.puts
    for _ in range(20):
        assert await here.use(who, "a")
        await anyio.sleep(LIFETIME / 400)
    assert counting.puts == puts


async def test_a_use_does_not_bring_back_what_was_taken_back_elsewhere() -> None:
    store = entries()
    here, there, who = sets(store), sets(store), Requester(ANNA)
    await here.add(who, ["a"])
    await anyio.sleep(LIFETIME / 2)
    await here.of(who)
    await there.drop(who, "a")
    assert not await here.use(who, "a")
    assert await there.of(who, newest=True) == set()


async def test_taking_back_says_whether_there_was_something() -> None:
    here, who = sets(entries()), Requester(ANNA)
    await here.add(who, ["a"])
    assert await here.drop(who, "a")
    assert not await here.drop(who, "a")
    assert await here.of(who) == set()


async def test_what_two_processes_enable_at_once_is_all_there() -> None:
    store = entries()
    processes, who = [sets(store) for _ in range(4)], Requester(ANNA)
    async with anyio.create_task_group() as tasks:
        for number, process in enumerate(processes):
            tasks.start_soon(process.add, who, [f"s{number}"])
            tasks.start_soon(process.add, who, [f"t{number}"])
    names = {f"{letter}{number}" for letter in "st" for number in range(4)}
    assert await sets(store).of(who) == names


async def test_the_least_recent_handles_of_a_principal_make_room() -> None:
    store = entries()
    here = sets(store, callers=3)
    for number in range(6):
        await here.add(Requester(ANONYMOUS, f"h{number}"), ["a"])
    fresh = sets(store, callers=3)
    found = [bool(await fresh.of(Requester(ANONYMOUS, f"h{number}"))) for number in range(6)]
    assert found == [False, False, False, True, True, True]
    assert await here.of(Requester(ANONYMOUS, "h0")) == set()


async def test_a_handle_that_is_not_durable_ends_with_its_connection() -> None:
    here = sets(entries())
    session, handle = Requester(ANONYMOUS, "x", durable=False), Requester(ANONYMOUS, "x")
    await here.add(session, ["a"])
    await here.add(handle, ["b"])
    here.forget(handle)
    assert here.everybody() == {"a", "b"}
    here.forget(session)
    assert here.everybody() == {"b"}
    assert await here.of(session) == set()


async def test_everybody_is_every_caller_of_this_process() -> None:
    here = sets(entries())
    await here.add(Requester(ANNA, "h"), ["a", "b"])
    await here.add(Requester(ANNA, "i"), ["b", "c"])
    assert here.everybody() == {"a", "b", "c"}
    await here.drop(Requester(ANNA, "h"), "b")
    assert here.everybody() == {"a", "b", "c"}
    await here.drop(Requester(ANNA, "i"), "b")
    assert here.everybody() == {"a", "c"}


# ---- a store that cannot be used ----


class Counting:
    """An entry store that can be away, and counts what is written."""

    def __init__(self, inner: EntryStore) -> None:
        self._inner = inner
        self.away = False
        self.puts = 0
        self.owners: dict[str, str] = {}
        """Whose rows were written last, by space."""

    def _check(self) -> None:
        if self.away:
            raise StoreUnreachable("locked")

    async def get(self, space: str, owner: str, key: str) -> bytes | None:
        self._check()
        return await self._inner.get(space, owner, key)

    async def entries(self, space: str, owner: str) -> dict[str, bytes]:
        self._check()
        return await self._inner.entries(space, owner)

    async def put(
        self,
        space: str,
        owner: str,
        values: Mapping[str, bytes],
        *,
        lifetime: float,
        most: int,
    ) -> None:
        self._check()
        self.puts += 1
        self.owners[space] = owner
        await self._inner.put(space, owner, values, lifetime=lifetime, most=most)

    async def add(
        self, space: str, owner: str, key: str, value: bytes, *, lifetime: float, most: int
    ) -> bool:
        self._check()
        return await self._inner.add(space, owner, key, value, lifetime=lifetime, most=most)

    async def take(self, space: str, owner: str, key: str) -> bytes | None:
        self._check()
        return await self._inner.take(space, owner, key)

    async def drop(self, space: str, owner: str, key: str | None = None) -> int:
        self._check()
        return await self._inner.drop(space, owner, key)


async def test_without_a_store_it_lives_in_memory_and_is_kept_when_the_store_is_back() -> None:
    counting = Counting(entries())
    here, who = sets(counting), Requester(ANNA)
    await here.add(who, ["before", "gone"])
    counting.away = True
    await here.add(who, ["during"])
    await here.drop(who, "gone")
    assert await here.of(who, newest=True) == {"before", "during"}
    await anyio.sleep(60)
    assert await here.use(who, "during")
    counting.away = False
    await anyio.sleep(60)
    assert await here.of(who) == {"before", "during"}
    assert await sets(counting).of(who) == {"before", "during"}


async def test_a_row_of_another_version_counts_as_used_long_ago() -> None:
    store = Counting(entries())
    here, who = sets(store), Requester(ANNA)
    await here.add(who, ["a"])
    await store.put("enabled", store.owners["enabled"], {"a": b"{}"}, lifetime=99, most=9)
    await anyio.sleep(LOOK_AGAIN)
    assert await here.of(who) == set()
