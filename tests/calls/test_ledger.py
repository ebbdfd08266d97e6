"""What callers saw: the later counts, others find it, and it costs little to keep."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.adapters.sqlite.store import open_store
from toolcrib.adapters.store.memory_entries import MemoryEntries
from toolcrib.calls.call import Requester
from toolcrib.calls.ledger import ledger as ledger_module
from toolcrib.calls.ledger.account import PAUSE
from toolcrib.calls.ledger.ledger import Ledger
from toolcrib.calls.ledger.shown import Shown, Single
from toolcrib.calls.ledger.sights import Sight, Sights
from toolcrib.calls.ledger.store import KEPT, RENEWED
from toolcrib.calls.seams import Sights as SightsSeam
from toolcrib.config.keys import InstallationKey
from toolcrib.core.partition import ANONYMOUS, LOCAL, Principal
from toolcrib.core.snapshot import Item
from toolcrib.errors import LimitExceeded, StoreUnreachable
from toolcrib.settings import Limits
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.store_contract import SteppedClock

ANN = Requester(Principal("https://issuer", "ann"))
BOB = Requester(Principal("https://issuer", "bob"))
DAY = 86_400.0


class Watched:
    """A store that counts what it is asked and may be out of order."""

    def __init__(self, clock: SteppedClock) -> None:
        self.inner = MemoryEntries(clock)
        self.asked: Counter[str] = Counter()
        self.written: list[tuple[str, str, str, bytes]] = []
        self.broken = False
        self.too_large = False

    async def ask(self, what: str) -> None:
        self.asked[what] += 1
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        if self.broken:
            raise StoreUnreachable("out of order")

    async def get(self, space: str, owner: str, key: str) -> bytes | None:
        await self.ask("get")
        return await self.inner.get(space, owner, key)

    async def entries(self, space: str, owner: str) -> dict[str, bytes]:
        await self.ask("entries")
        return await self.inner.entries(space, owner)

    async def put(
        self, space: str, owner: str, values: Mapping[str, bytes], *, lifetime: float, most: int
    ) -> None:
        await self.ask("put")
        if self.too_large and space == "ledger.listing":
            raise LimitExceeded("too large")
        self.written += [(space, owner, key, value) for key, value in values.items()]
        await self.inner.put(space, owner, values, lifetime=lifetime, most=most)

    async def add(
        self, space: str, owner: str, key: str, value: bytes, *, lifetime: float, most: int
    ) -> bool:
        raise AssertionError("a ledger does not ask for this")

    async def take(self, space: str, owner: str, key: str) -> bytes | None:
        raise AssertionError("a ledger does not ask for this")

    async def drop(self, space: str, owner: str, key: str | None = None) -> int:
        await self.ask("drop")
        return await self.inner.drop(space, owner, key)


@dataclass
class World:
    """One store, and as many processes on it as a test wants."""

    limits: Limits = field(default_factory=Limits)
    clock: SteppedClock = field(default_factory=SteppedClock)
    store: Watched = field(init=False)

    def __post_init__(self) -> None:
        self.store = Watched(self.clock)

    def process(self, key: bytes = b"k" * 32) -> Ledger:
        keys = InstallationKey(key)
        return Ledger(self.store, keys=keys, clock=self.clock, limits=self.limits)


@pytest.fixture
def world() -> World:
    return World()


def sights(contracts: Mapping[str, str], server: str = "s") -> Sights:
    """A listing in which tools are exposed as `server__key`."""
    return Sights({f"{server}__{key}": Sight(server, key, it) for key, it in contracts.items()})


def item(key: str, contract: str) -> Item:
    return Item(key, {"name": key}, contract, contract)


def seam(ledger: Ledger) -> SightsSeam:
    """The ledger is what the pipeline asks for."""
    return ledger


async def test_what_was_listed_was_seen_by_whoever_was_shown_it(world: World) -> None:
    ledger = world.process()
    await ledger.listed(ANN, sights({"a": "1", "b": "1"}))
    assert await seam(ledger).contract(ANN, "s", "a") == "1"
    assert await ledger.contract(ANN, "s", "zzz") is None
    assert await ledger.contract(ANN, "other", "a") is None
    for stranger in (BOB, replace(ANN, handle="h"), Requester(), replace(BOB, handle="h")):
        assert await ledger.contract(stranger, "s", "a") is None


async def test_a_refusal_that_showed_the_new_schema_counts_as_seen(world: World) -> None:
    ledger = world.process()
    await ledger.listed(ANN, sights({"a": "1", "b": "1"}))
    await seam(ledger).saw(ANN, "s", [item("a", "2")])
    assert await ledger.contract(ANN, "s", "a") == "2"
    assert await ledger.contract(ANN, "s", "b") == "1"


async def test_the_later_counts_also_where_the_clock_stands_still_or_goes_back(
    world: World,
) -> None:
    ledger = world.process()
    for round_ in range(3):
        await ledger.listed(ANN, sights({"a": "1"}))
        assert await ledger.contract(ANN, "s", "a") == "1"
        await ledger.saw(ANN, "s", [item("a", "2")])
        assert await ledger.contract(ANN, "s", "a") == "2"
        world.clock.jump(-100 * round_)
    other = world.process()
    assert await other.contract(ANN, "s", "a") == "2"
    await ledger.listed(ANN, sights({"a": "1"}))
    assert await world.process().contract(ANN, "s", "a") == "1", "others hear that it is so again"


async def test_a_tool_that_is_listed_no_more_is_remembered(world: World) -> None:
    """Whoever calls it can be told that it is gone, and under which name it was shown."""
    ledger = world.process()
    await ledger.listed(ANN, sights({"a": "1", "b": "1"}))
    await ledger.listed(ANN, sights({"b": "2"}))
    for process in (ledger, world.process()):
        assert await process.contract(ANN, "s", "a") == "1"
        assert await process.contract(ANN, "s", "b") == "2"
        assert await process.sight(ANN, "s__a") == Sight("s", "a", "1")
        assert await process.sight(ANN, "s__b") == Sight("s", "b", "2")
        assert await process.sight(ANN, "s__c") is None
        assert await process.sight(BOB, "s__a") is None


async def test_old_listings_are_forgotten(world: World) -> None:
    ledger = world.process()
    for number in range(5):
        await ledger.listed(ANN, sights({f"t{number}": "1"}))
    known = [n for n in range(5) if await ledger.contract(ANN, "s", f"t{n}") == "1"]
    assert known == [2, 3, 4]


async def test_another_process_finds_what_a_named_caller_saw(world: World) -> None:
    first = world.process()
    await first.listed(ANN, sights({"a": "1", "\ud800\udc00": "1", "c": "1"}))
    await first.saw(ANN, "s", [item("c", "2"), item("d\ud800", "3")])
    second = world.process()
    found = [await second.contract(ANN, "s", key) for key in ("a", "\ud800\udc00", "c", "d\ud800")]
    assert found == ["1", "1", "2", "3"]
    assert await second.contract(BOB, "s", "a") is None
    assert await world.process(b"x" * 32).contract(ANN, "s", "a") is None, "another key"


async def test_two_stores_on_one_file_are_one_ledger(world: World, tmp_path: Path) -> None:
    """With names that no UTF-8 can carry."""
    stores = [open_store(tmp_path / "s.db", world.clock, Recorder()) for _ in range(2)]
    keys = InstallationKey(b"k" * 32)
    first, second = (
        Ledger(store.entries, keys=keys, clock=world.clock, limits=world.limits) for store in stores
    )
    await first.listed(ANN, sights({"a": "1", "\ud800": "1"}))
    await first.saw(ANN, "s", [item("b\ud800", "2")])
    found = [await second.contract(ANN, "s", key) for key in ("a", "\ud800", "b\ud800")]
    assert found == ["1", "1", "2"]
    for store in stores:
        store.close()


async def test_a_process_that_knows_a_caller_learns_what_another_showed_it(world: World) -> None:
    """Asked only where memory contradicts what holds now: the other replica may be ahead."""
    first, second = world.process(), world.process()
    await first.listed(ANN, sights({"a": "1", "b": "1"}))
    assert await second.contract(ANN, "s", "a", now="1") == "1"
    await first.saw(ANN, "s", [item("a", "2")])
    world.clock.advance(1)
    await first.listed(ANN, sights({"a": "1", "b": "3"}))
    world.clock.advance(1)
    await first.saw(ANN, "s", [item("a", "4")])
    assert await second.contract(ANN, "s", "a", now="1") == "1"
    assert await second.contract(ANN, "s", "b") == "1"
    assert await second.contract(ANN, "s", "b", now="3") == "3", "of a listing"
    assert await second.contract(ANN, "s", "a", now="4") == "4", "of a refusal"
    assert await second.contract(ANN, "s", "a", now="5") == "4", "nobody showed that one"


async def test_after_the_first_time_nothing_is_asked_of_the_store(world: World) -> None:
    writer = world.process()
    await writer.listed(ANN, sights({"a": "1"}))
    reader = world.process()
    await reader.contract(ANN, "s", "a")
    before = world.store.asked.total()
    for _ in range(10):
        assert await reader.contract(ANN, "s", "a", now="1") == "1"
        assert await reader.contract(ANN, "s", "zzz") is None
        assert await reader.sight(ANN, "s__a")
    assert world.store.asked.total() == before


async def test_a_large_listing_is_written_once_for_all_and_not_again(world: World) -> None:
    """Thousands of tools: one blob, one small row for each caller, nothing while it is the same."""
    large = {f"tool_{n:04}": f"{n:064x}" for n in range(5_000)}
    first, second = world.process(), world.process()
    await first.listed(ANN, sights(large))
    sizes = [len(value) for _, _, _, value in world.store.written]
    assert len(sizes) == 2
    assert max(sizes) < 400_000
    await first.listed(BOB, sights(large))
    assert len(world.store.written) == 3
    assert len(world.store.written[-1][3]) < 200
    for _ in range(10):
        world.clock.advance(60)
        await first.listed(ANN, sights(large))
        await first.saw(ANN, "s", [item("tool_0001", f"{1:064x}")])
    assert len(world.store.written) == 3
    assert await second.contract(BOB, "s", "tool_4999") == f"{4999:064x}"
    changed = {**large, "tool_0000": "changed"}
    await first.listed(ANN, sights(changed))
    assert len(world.store.written) == 5


async def test_one_listing_is_one_object_in_memory(world: World) -> None:
    ledger = world.process()
    for requester in (ANN, BOB):
        await ledger.listed(requester, sights({"a": "1"}))
    held = {
        id(account._shown.listings[0].sights)  # pyright: ignore[reportPrivateUsage]
        for callers in ledger._accounts.values()  # pyright: ignore[reportPrivateUsage]
        for account in callers.values()
    }
    assert len(held) == 1


async def test_a_connection_is_remembered_without_the_store_until_it_ends(world: World) -> None:
    """And its memory is not that of a durable caller."""
    ledger = world.process()
    pipe = Requester(LOCAL, "connection 1", durable=False)
    await ledger.listed(pipe, sights({"a": "1"}))
    await ledger.saw(pipe, "s", [item("b", "1")])
    assert await ledger.contract(pipe, "s", "a", now="2") == "1"
    assert await ledger.contract(pipe, "s", "b") == "1"
    assert world.store.asked == {}
    ledger.forget(pipe)
    ledger.forget(pipe)
    assert await ledger.contract(pipe, "s", "a") is None
    await ledger.listed(ANN, sights({"a": "1"}))
    ledger.forget(ANN)
    assert await ledger.contract(ANN, "s", "a") == "1"


async def test_of_callers_who_cannot_be_told_apart_nothing_is_remembered(world: World) -> None:
    ledger = world.process()
    nobody = Requester(ANONYMOUS)
    await ledger.listed(nobody, sights({"a": "1"}))
    await ledger.saw(nobody, "s", [item("a", "1")])
    assert await ledger.contract(nobody, "s", "a", now="2") is None
    assert await ledger.sight(nobody, "s__a") is None
    assert world.store.asked == {}
    somebody = Requester(ANONYMOUS, "handle")
    await ledger.listed(somebody, sights({"a": "1"}))
    assert await world.process().contract(somebody, "s", "a") == "1"


async def test_no_name_of_a_caller_is_an_owner_or_a_key(world: World) -> None:
    ledger = world.process()
    who = Requester(Principal("https://issuer", "subject-canary", tenant="canary"), "canary")
    await ledger.listed(who, sights({"a": "1"}))
    await ledger.saw(who, "s", [item("a", "2")])
    assert world.store.written
    for row in world.store.written:
        assert "canary" not in repr(row)
        assert len(row[1]) == 32


# --------------------------------------------------------------------------- a store that fails


async def test_a_store_out_of_order_costs_nothing_but_its_memory(world: World) -> None:
    """Everything works on in this process, and is kept when the store is back."""
    ledger = world.process()
    world.store.broken = True
    await ledger.listed(ANN, sights({"a": "1"}))
    await ledger.saw(ANN, "s", [item("b", "1")])
    assert await ledger.contract(ANN, "s", "a", now="2") == "1"
    assert await ledger.contract(ANN, "s", "b", now="2") == "1"
    assert (await ledger.sight(ANN, "s__a")) == Sight("s", "a", "1")
    assert world.store.asked.total() == 1, "and it is left alone for a while"
    world.store.broken = False
    world.clock.advance(PAUSE)
    await ledger.saw(ANN, "s", [item("c", "1")])
    other = world.process()
    assert [await other.contract(ANN, "s", key) for key in "abc"] == ["1", "1", "1"]


@pytest.mark.parametrize("after", range(8))
async def test_an_outage_at_any_point_loses_nothing_for_good(after: int, world: World) -> None:
    """Also between the two writes of a listing."""
    ledger = world.process()
    await ledger.listed(BOB, sights({"z": "1"}))
    allowed = world.store.asked.total() + after

    class Failing(Watched):
        async def ask(self, what: str) -> None:
            self.asked[what] += 1
            if self.broken and self.asked.total() > allowed:
                raise StoreUnreachable("out of order")

    world.store.__class__ = Failing
    world.store.broken = True
    await ledger.listed(ANN, sights({"a": "1"}))
    await ledger.saw(ANN, "s", [item("b", "1")])
    assert await ledger.contract(ANN, "s", "a") == "1"
    world.store.broken = False
    world.clock.advance(PAUSE)
    await ledger.saw(ANN, "s", [item("c", "1")])
    other = world.process()
    assert [await other.contract(ANN, "s", key) for key in "abc"] == ["1", "1", "1"]


async def test_what_was_kept_before_an_outage_is_taken_in_after_it(world: World) -> None:
    await world.process().listed(ANN, sights({"a": "1"}))
    ledger = world.process()
    world.store.broken = True
    assert await ledger.contract(ANN, "s", "a") is None
    await ledger.listed(ANN, sights({"b": "1"}))
    world.store.broken = False
    world.clock.advance(PAUSE)
    assert await ledger.contract(ANN, "s", "a") == "1"
    assert await ledger.contract(ANN, "s", "b") == "1"


async def test_a_listing_too_large_for_the_store_is_remembered_here(world: World) -> None:
    ledger = world.process()
    world.store.too_large = True
    await ledger.listed(ANN, sights({"a": "1"}))
    assert await ledger.contract(ANN, "s", "a") == "1"


GARBAGE = [
    *(b"", b"x", b"null", b"[]", b"[[]]", b'["1", "2"]', b"[1e999, 5]", b"\xff", b"[" * 99_999),
    *(b"[[1, 2]]", b'[[null, "d"], [1, 2, 3], 7]', b'[-9, "d"]', b'[%d, "d"]' % 10**400),
    *(b'[1e13, "d"]', b'[NaN, "d"]', b'[true, "d"]', b'{"0": 1, "1": "d"}'),
]


@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda it: repr(it[:20]))
async def test_garbage_in_the_store_is_forgotten(garbage: bytes, world: World) -> None:
    ledger = world.process()
    await ledger.listed(ANN, sights({"a": "1"}))
    await ledger.saw(ANN, "s", [item("b", "1")])
    for space, owner, key, _ in world.store.written:
        await world.store.inner.put(space, owner, {key: garbage}, lifetime=9, most=9)
    for space, owner, _, _ in tuple(world.store.written):
        await world.store.inner.put(space, owner, {"zzz": garbage}, lifetime=9, most=9)
    other = world.process()
    assert await other.contract(ANN, "s", "a", now="1") is None
    await other.listed(ANN, sights({"a": "2"}))
    await other.saw(ANN, "s", [item("b", "2")])
    last = world.process()
    assert [await last.contract(ANN, "s", key) for key in "ab"] == ["2", "2"]


async def test_a_row_from_the_future_does_not_outlast_what_is_shown_now(world: World) -> None:
    ahead = world.process()
    world.clock.jump(DAY)
    await ahead.saw(ANN, "s", [item("a", "1")])
    world.clock.jump(-DAY)
    ledger = world.process()
    assert await ledger.contract(ANN, "s", "a") == "1"
    await ledger.saw(ANN, "s", [item("a", "2")])
    assert await ledger.contract(ANN, "s", "a") == "2"


# --------------------------------------------------------------------------- bounds and time


async def test_a_caller_is_remembered_no_more_tools_than_the_limit() -> None:
    world = World(Limits(ledger_entries=3))
    ledger = world.process()
    await ledger.saw(ANN, "s", [item(key, "1") for key in "abcde"])
    for process in (ledger, world.process()):
        known = [key for key in "abcde" if await process.contract(ANN, "s", key)]
        assert known == ["c", "d", "e"]
    await ledger.listed(BOB, sights(dict.fromkeys("abcde", "1")))
    for process in (ledger, world.process()):
        known = [key for key in "abcde" if await process.contract(BOB, "s", key)]
        assert known == ["a", "b", "c"]


async def test_a_principal_has_no_more_handles_than_the_limit() -> None:
    """The least recent is forgotten whole, in memory and in the store."""
    world = World(Limits(handles=2))
    ledger = world.process()
    callers = [replace(ANN, handle=str(number)) for number in range(4)]
    for caller in callers:
        await ledger.listed(caller, sights({"a": "1"}))
        await ledger.saw(caller, "s", [item("b", "1")])
        world.clock.advance(1)
    await ledger.listed(BOB, sights({"a": "1"}))
    for process in (ledger, world.process()):
        for key in "ab":
            known = [c.handle for c in callers if await process.contract(c, "s", key)]
            assert known == ["2", "3"], key
    assert await ledger.contract(BOB, "s", "a") == "1"


async def test_memory_holds_a_bounded_number_of_principals(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is dropped is found in the store again."""
    monkeypatch.setattr(ledger_module, "_PRINCIPALS", 2)
    ledger = world.process()
    callers = [Requester(Principal("i", str(number))) for number in range(4)]
    for caller in callers:
        await ledger.listed(caller, sights({"a": "1"}))
    assert len(ledger._accounts) == 2  # pyright: ignore[reportPrivateUsage] - what is not shown
    assert [await ledger.contract(caller, "s", "a") for caller in callers] == ["1"] * 4


async def test_what_a_daily_caller_saw_never_expires(world: World) -> None:
    """Its listing, though it never changes, and singles; also for a process that comes later."""
    ledger = world.process()
    for _ in range(100):
        await ledger.listed(ANN, sights({"a": "1"}))
        await ledger.saw(ANN, "s", [item("b", "1")])
        world.clock.advance(RENEWED)
    other = world.process()
    assert [await other.contract(ANN, "s", key) for key in "ab"] == ["1", "1"]


async def test_a_listing_outlives_every_row_that_speaks_of_it(world: World) -> None:
    """Somebody may be shown it long after it was written."""
    ledger = world.process()
    await ledger.listed(ANN, sights({"a": "1"}))
    world.clock.advance(KEPT - 1)
    await ledger.listed(BOB, sights({"a": "1"}))
    world.clock.advance(KEPT - 1)
    other = world.process()
    assert await other.contract(BOB, "s", "a") == "1"
    assert await other.contract(ANN, "s", "a") is None, "who did not come back is forgotten"


async def test_callers_at_once_keep_what_each_was_shown(world: World) -> None:
    """Interleaved at every await of the store, over two processes and one caller."""
    processes = [world.process(), world.process()]

    async def show(number: int) -> None:
        ledger = processes[number % 2]
        await ledger.saw(ANN, "s", [item(f"t{number}", "1")])
        await ledger.listed(ANN, sights({"a": "1"}))

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(show, number)
    last = world.process()
    known = [await last.contract(ANN, "s", f"t{number}") for number in range(20)]
    assert known == ["1"] * 20
    assert await last.contract(ANN, "s", "a") == "1"


async def test_a_listing_that_stays_the_same_is_kept_again_in_time(world: World) -> None:
    """Also where nothing else happens to its caller."""
    ledger = world.process()
    for _ in range(100):
        await ledger.listed(ANN, sights({"a": "1"}))
        world.clock.advance(RENEWED)
    assert await world.process().contract(ANN, "s", "a") == "1"


@pytest.mark.parametrize("delay", range(0, 18, 2))
async def test_what_is_shown_while_something_is_kept_is_kept_too(delay: int, world: World) -> None:
    """Of listings the last, and of one tool the last definition, whenever it comes."""
    ledger = world.process()
    await ledger.contract(ANN, "s", "a")

    async def show(contract: str, delay: int) -> None:
        for _ in range(delay):
            await anyio.lowlevel.checkpoint()
        await ledger.listed(ANN, sights({"a": contract}))

    async def refuse(contract: str, delay: int) -> None:
        for _ in range(delay):
            await anyio.lowlevel.checkpoint()
        await ledger.saw(ANN, "s", [item("b", contract)])

    for showing in (show, refuse):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(showing, "1", 0)
            tasks.start_soon(showing, "2", delay)
    for key in "ab":
        last = await ledger.contract(ANN, "s", key)
        assert last is not None
        assert await world.process().contract(ANN, "s", key) == last


async def test_those_who_wait_for_a_store_out_of_order_do_not_ask_it_again(world: World) -> None:
    ledger = world.process()
    world.store.broken = True
    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(ledger.saw, ANN, "s", [item(f"t{number}", "1")])
    assert world.store.asked.total() == 1


async def test_two_processes_keep_what_both_showed(world: World) -> None:
    """Neither forgets, for those who come later, what the other listed."""
    first, second = world.process(), world.process()
    for process in (first, second):
        await process.contract(ANN, "s", "a")
    await first.listed(ANN, sights({"a": "1"}))
    world.clock.advance(1)
    await second.listed(ANN, sights({"b": "1"}))
    third = world.process()
    assert [await third.contract(ANN, "s", key) for key in "ab"] == ["1", "1"]


def test_nothing_is_remembered_of_tools_that_made_room_for_others() -> None:
    shown = Shown(most=2)
    for key in "abcde":
        shown.see(("s", key), "1", 1.0, renew=RENEWED)
    assert list(shown.singles) == [("s", "d"), ("s", "e")]
    assert shown.unsaved == {("s", "d"), ("s", "e")}


def test_an_older_definition_from_elsewhere_changes_nothing() -> None:
    shown = Shown(most=2)
    shown.merge_single(("s", "a"), Single(2.0, "new"))
    shown.merge_single(("s", "a"), Single(1.0, "old"))
    assert shown.contract(("s", "a")) == "new"


# --------------------------------------------------------------------------- listings as values

NAMES = st.text(max_size=5)
LISTINGS = st.dictionaries(NAMES, st.builds(Sight, NAMES, NAMES, NAMES), max_size=20)


@given(LISTINGS)
def test_a_listing_comes_back_as_it_was(entries: dict[str, Sight]) -> None:
    one = Sights(entries)
    again = Sights.decoded(one.encoded(), one.digest)
    assert again is not None
    assert dict(again) == entries
    assert again.digest == one.digest
    shuffled = Sights(dict(reversed(entries.items())))
    assert shuffled.digest == one.digest


@given(LISTINGS, LISTINGS)
def test_listings_have_one_digest_if_they_are_equal(
    one: dict[str, Sight], other: dict[str, Sight]
) -> None:
    assert (Sights(one).digest == Sights(other).digest) == (one == other)


@given(LISTINGS, st.binary(max_size=50))
def test_a_damaged_listing_is_none(entries: dict[str, Sight], garbage: bytes) -> None:
    one = Sights(entries)
    assert Sights.decoded(garbage, one.digest) is None
    assert Sights.decoded(one.encoded(), "0" * 64) is None
    cut = Sights.decoded(one.encoded()[:-6], one.digest)
    assert cut is None or dict(cut) == entries, "a checksum alone is no loss"
