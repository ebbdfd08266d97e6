"""What is remembered of servers that are not connected, and what is not."""

from collections.abc import Mapping

import anyio
import pytest

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.adapters.store.memory_entries import MemoryEntries
from toolcrib.config.keys import InstallationKey
from toolcrib.core.partition import LOCAL, Principal
from toolcrib.discovery.servers.known import INSTRUCTIONS, LOOK_AGAIN, NAMES, Known, KnownServers
from toolcrib.errors import StoreUnreachable
from toolcrib.ports import EntryStore
from toolcrib.testing.virtual_clock import LoopClock

pytestmark = pytest.mark.virtual_time

ANNA = Principal("https://login", "anna")
MAIL = Known("Electronic mail.", 2, ("read", "send"))


def known(entries: EntryStore, principal: Principal = LOCAL, launch: str = "one") -> KnownServers:
    keys = InstallationKey(b"k" * 32)
    return KnownServers(
        entries, keys=keys, clock=LoopClock(), principal=principal, launch=lambda _: launch
    )


def entries() -> EntryStore:
    return MemoryStore(LoopClock()).entries


class Noting(MemoryEntries):
    """Notes whose rows were written, and can be away."""

    owner = ""
    away = False

    async def put(
        self, space: str, owner: str, values: Mapping[str, bytes], *, lifetime: float, most: int
    ) -> None:
        if self.away:
            raise StoreUnreachable("locked")
        self.owner = owner
        await super().put(space, owner, values, lifetime=lifetime, most=most)


async def test_a_store_that_is_away_costs_only_what_others_would_know() -> None:
    store = Noting(LoopClock())
    store.away = True
    here = known(store)
    await here.learn("mail", MAIL)
    assert here.get("mail") == MAIL


async def test_what_was_learned_is_found_by_others_of_the_principal() -> None:
    store = entries()
    await known(store).learn("mail", MAIL)
    later = known(store)
    assert later.get("mail") is None
    await later.look()
    assert later.get("mail") == MAIL


async def test_another_principal_or_another_launch_knows_nothing_of_it() -> None:
    store = entries()
    await known(store).learn("mail", MAIL)
    for other in (known(store, ANNA), known(store, launch="two")):
        await other.look()
        assert other.get("mail") is None


async def test_what_may_not_be_seen_any_more_is_forgotten_by_everybody() -> None:
    store = entries()
    await known(store).learn("mail", MAIL)
    await known(store).learn("mail", None)
    later = known(store)
    await later.look()
    assert later.get("mail") is None


async def test_the_store_is_asked_once_in_a_while() -> None:
    store = entries()
    here = known(store)
    await here.look()
    await known(store).learn("mail", MAIL)
    await here.look()
    assert here.get("mail") is None
    await anyio.sleep(LOOK_AGAIN)
    await here.look()
    assert here.get("mail") == MAIL


async def test_a_row_of_another_version_is_passed_over() -> None:
    store = Noting(LoopClock())
    here = known(store)
    await here.learn("mail", MAIL)
    owner = store.owner
    for row in (b"{}", b"[", b'["x", "2", []]', b"[1,2,3,4]"):
        await store.put("servers.known", owner, {"x": row}, lifetime=9, most=9)
        later = known(store)
        await later.look()
        assert later.get("mail") == MAIL


def test_no_more_is_remembered_than_helps() -> None:
    names = [f"a_rather_long_name_{number}" for number in range(10_000)]
    found = Known.of("x" * 10_000, names)
    assert len(found.instructions) == INSTRUCTIONS
    assert found.tools == 10_000
    assert sum(map(len, found.names)) <= NAMES
    assert found.names == tuple(names[: len(found.names)])
