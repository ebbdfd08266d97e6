"""The decision of one principal: kept, shared by replicas, counted no more than it takes."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.catalog.reading import Reading
from toolcrib.config.keys import InstallationKey
from toolcrib.context.tokens import Costs, counted_text
from toolcrib.core.exposure import Shown, Wanted
from toolcrib.core.partition import ANONYMOUS, LOCAL, Principal
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.exposing import exposing as module
from toolcrib.discovery.exposing.exposing import OFF_LOOP, Choice, Exposing
from toolcrib.discovery.exposing.memory import KEPT, RENEWED, ExposureMemory
from toolcrib.discovery.exposing.offer import Offer, offer_of
from toolcrib.errors import StoreUnreachable
from toolcrib.facts import ExposureChanged, Finding
from toolcrib.ports import EntryStore
from toolcrib.settings import ExposureSettings
from toolcrib.testing.fake_access import snapshot_of
from toolcrib.testing.fake_discovery import CharacterCounter, FakeMetaTools
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import tool
from toolcrib.testing.virtual_clock import LoopClock

pytestmark = pytest.mark.virtual_time

SIX = ExposureSettings()
"""Up at 6,000 tokens, down below 4,000."""


def sized(name: str, tokens: int) -> dict[str, Any]:
    """A tool that costs this under the name `a__` and its own."""
    bare = len(counted_text(f"a__{name}", {**tool(name), "description": ""}))
    return {**tool(name), "description": "x" * (4 * tokens - bare)}


def offer(*costs: int, missing: int = 0, **more: Any) -> Offer:
    """Tools of a server `a` at these costs; servers whose catalogs are missing."""
    tools = [sized(f"t{number}", cost) for number, cost in enumerate(costs)]
    readings = [Reading("a", Kind.TOOLS, snapshot_of(Kind.TOOLS, tools), 1, fresh=True)]
    readings += [Reading(f"m{it}", Kind.TOOLS, None, trouble="away") for it in range(missing)]
    listed = {reading.server for reading in readings}
    return offer_of(readings, style="qualified", limit=48, listed=listed, **more)


class Entries:
    """A store in front of another one that counts, and fails when a test says so."""

    def __init__(self, inner: EntryStore) -> None:
        self.inner = inner
        self.broken = False
        self.owners: set[str] = set()
        self.gets = 0
        self.puts: list[Mapping[str, bytes]] = []

    async def get(self, space: str, owner: str, key: str) -> bytes | None:
        self._check()
        self.gets += 1
        return await self.inner.get(space, owner, key)

    async def put(
        self, space: str, owner: str, values: Mapping[str, bytes], *, lifetime: float, most: int
    ) -> None:
        self._check()
        self.puts.append(values)
        self.owners.add(owner)
        await self.inner.put(space, owner, values, lifetime=lifetime, most=most)

    def _check(self) -> None:
        if self.broken:
            raise StoreUnreachable("locked")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Replica:
    """One process: its own memory over a store that may be shared."""

    def __init__(
        self,
        store: MemoryStore,
        wanted: Wanted = "auto",
        settings: ExposureSettings = SIX,
        principal: Principal = LOCAL,
        scope: str = "",
        servers: str = "",
    ) -> None:
        self.entries = Entries(store.entries)
        self.recorder = Recorder()
        self.counter = CharacterCounter()
        memory = ExposureMemory(
            self.entries,  # pyright: ignore[reportArgumentType] - the rest is passed through
            keys=InstallationKey(b"k" * 32),
            principal=principal,
            scope=scope,
            servers=servers,
            clock=LoopClock(),
        )
        self.exposing = Exposing(
            wanted, settings, costs=Costs(self.counter), memory=memory, observer=self.recorder
        )

    async def shown(self, of: Offer, *, look: bool = False) -> Shown:
        return (await self.exposing.choose(of, look=look)).exposure

    @property
    def flips(self) -> list[str]:
        return [fact.exposure for fact in self.recorder.of(ExposureChanged)]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(LoopClock())


# ---- one replica ----


async def test_the_cost_decides_and_a_change_is_told_and_kept_once(store: MemoryStore) -> None:
    one = Replica(store)
    assert await one.shown(offer(3_000, 2_999)) == "full"
    assert one.flips == []
    assert one.entries.puts == []
    large = offer(3_000, 3_000)
    assert [await one.shown(large, look=True) for _ in range(5)] == ["search"] * 5
    assert await one.shown(offer(2_000, 2_000)) == "search"
    assert await one.shown(offer(2_000, 1_999)) == "full"
    assert one.flips == ["search", "full"]
    assert len(one.entries.puts) == 2
    told = one.recorder.of(ExposureChanged)[0]
    assert (told.before, told.tokens) == ("full", 6_000)
    assert "6,000 tokens (0.03 of 200,000 tokens)" in told.reason


async def test_a_restart_goes_on_with_what_was_shown_and_writes_nothing(
    store: MemoryStore,
) -> None:
    await Replica(store).shown(offer(6_000))
    for between in (offer(5_000), offer(9_000), offer(4_000)):
        again = Replica(store)
        assert await again.shown(between) == "search"
        assert again.flips == []
        assert again.entries.puts == []


async def test_servers_that_are_not_back_yet_change_nothing_after_a_restart(
    store: MemoryStore,
) -> None:
    await Replica(store).shown(offer(6_000))
    again = Replica(store)
    assert await again.shown(offer(missing=3)) == "search"
    assert await again.shown(offer(1_000, missing=2)) == "search"
    assert await again.shown(offer(6_000)) == "search"
    assert again.flips == []
    assert await again.shown(offer(1_000)) == "full"


async def test_a_catalog_that_may_not_be_seen_any_more_is_not_waited_for(
    store: MemoryStore,
) -> None:
    one = Replica(store)
    await one.shown(offer(6_000))
    withdrawn = Reading("a", Kind.TOOLS, None, withdrawn=True)
    gone = offer_of([withdrawn], style="qualified", limit=48, listed={"a"})
    assert await one.shown(gone) == "full"


async def test_what_is_configured_needs_neither_count_nor_store(store: MemoryStore) -> None:
    for wanted in ("full", "search"):
        one = Replica(store, wanted)
        assert await one.shown(offer(9_000), look=True) == wanted
        assert one.counter.asked == 0
        assert (one.entries.gets, one.entries.puts, one.flips) == (0, [], [])


async def test_an_unchanged_offer_is_counted_once_and_the_store_asked_only_in_doubt(
    store: MemoryStore,
) -> None:
    one = Replica(store)
    for tokens, gets in ((3_000, 1), (5_000, 6), (7_000, 6)):
        same = offer(tokens)
        before = one.counter.asked
        for _ in range(5):
            await one.shown(same, look=True)
            await one.shown(same)
        assert one.counter.asked == before + 1
        assert one.entries.gets == gets


async def test_counting_ends_where_the_share_is_reached(store: MemoryStore) -> None:
    one = Replica(store)
    many = offer(*[100] * 400)
    assert await one.shown(many) == "search"
    assert one.counter.asked == 60


async def test_a_tool_is_counted_once_however_often_its_neighbours_change(
    store: MemoryStore,
) -> None:
    one = Replica(store)
    await one.shown(offer(100, 200, 300))
    await one.shown(offer(100, 200, 300, 400))
    await one.shown(offer(100, 200, 301, 400))
    assert one.counter.asked == 5


async def test_many_tools_are_counted_and_pinned_in_a_thread(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere: list[object] = []

    async def run(work: Any) -> Any:
        elsewhere.append(work)
        return work()

    monkeypatch.setattr(module.to_thread, "run_sync", run)
    await Replica(store).shown(offer(*[10] * OFF_LOOP))
    assert elsewhere == []
    await Replica(store).shown(offer(*[10] * (OFF_LOOP + 1)))
    assert len(elsewhere) == 2


async def test_principals_and_configurations_do_not_follow_each_other(
    store: MemoryStore,
) -> None:
    await Replica(store).shown(offer(6_000))
    between = offer(5_000)
    assert await Replica(store).shown(between) == "search"
    assert await Replica(store, principal=ANONYMOUS).shown(between) == "full"
    assert await Replica(store, scope="another").shown(between) == "full"


AKIN, STRANGE = ("abcd", "abcde", "abc", "abcdefgh", "ab"), ("abcdefghi", "a", "xyz", "abwxyz")


@pytest.mark.parametrize("servers", [*AKIN, *STRANGE])
async def test_a_configuration_goes_on_from_the_one_it_came_from_and_from_no_other(
    store: MemoryStore, servers: str
) -> None:
    assert await Replica(store, servers="abcd").shown(offer(6_000)) == "search"
    shown = "search" if servers in AKIN else "full"
    assert await Replica(store, servers=servers).shown(offer(5_000)) == shown
    assert await Replica(store, servers=servers, scope="another").shown(offer(5_000)) == "full"


async def test_the_nearest_configuration_is_followed_and_then_none(store: MemoryStore) -> None:
    await Replica(store, servers="abcd").shown(offer(6_000))
    nearest = Replica(store, servers="abcdx")
    await nearest.shown(offer(6_000))
    await nearest.shown(offer(1_000))
    one = Replica(store, servers="abcdxy")
    assert await one.shown(offer(5_000)) == "full"
    assert await one.shown(offer(6_000)) == "search"
    assert await Replica(store, servers="abcdxy").shown(offer(5_000)) == "search"
    assert await Replica(store, servers="abcdx").shown(offer(5_000)) == "full"


# ---- replicas ----


async def test_a_replica_that_saw_only_the_end_follows_the_one_that_saw_it_all(
    store: MemoryStore,
) -> None:
    one, two = Replica(store), Replica(store)
    await two.shown(offer(1_000))
    for tokens in (6_100, 5_000):
        assert await one.shown(offer(tokens)) == "search"
    assert await two.shown(offer(5_000)) == "search"
    assert two.flips == ["search"]
    assert two.entries.puts == []


async def test_a_replica_that_decided_too_early_follows_when_a_host_lists(
    store: MemoryStore,
) -> None:
    one, two, between = Replica(store), Replica(store), offer(5_000)
    assert await two.shown(between) == "full"
    assert await one.shown(offer(6_100)) == "search"
    assert await one.shown(offer(5_000)) == "search"
    assert await two.shown(between) == "full"
    assert await two.shown(between, look=True) == "search"
    assert await two.shown(between) == "search"


@pytest.mark.parametrize("last", ["search", "full"])
async def test_replicas_that_change_over_at_one_moment_in_two_ways_agree_on_the_last_word(
    store: MemoryStore, last: Shown
) -> None:
    up, down = Replica(store), Replica(store)
    assert await up.shown(offer(1_000)) == "full"
    assert await down.shown(offer(6_100)) == "search"
    turns = [(up, 6_100), (down, 3_900)] if last == "full" else [(down, 3_900), (up, 6_100)]
    for replica, tokens in turns:
        await replica.shown(offer(tokens))
    assert (up.flips[-1], down.flips[-1]) == ("search", "full")
    for replica in (up, down, Replica(store)):
        assert await replica.shown(offer(5_000)) == last


async def test_outside_of_the_doubt_no_store_is_needed_to_agree(store: MemoryStore) -> None:
    one, two = Replica(store), Replica(store)
    one.entries.broken = two.entries.broken = True
    for tokens in (1_000, 6_000, 8_000, 3_000, 6_500):
        assert await one.shown(offer(tokens)) == await two.shown(offer(tokens))


# ---- a store that cannot be used ----


async def test_without_a_store_the_decision_stands_in_memory(store: MemoryStore) -> None:
    one = Replica(store)
    one.entries.broken = True
    assert await one.shown(offer(6_000)) == "search"
    assert await one.shown(offer(5_000), look=True) == "search"
    assert one.flips == ["search"]


async def test_what_could_not_be_written_is_written_when_the_store_is_back(
    store: MemoryStore,
) -> None:
    one = Replica(store)
    await one.shown(offer(6_000))
    await one.shown(offer(1_000))
    one.entries.broken = True
    await one.shown(offer(6_000))
    one.entries.broken = False
    await anyio.sleep(60)
    assert await one.shown(offer(5_000), look=True) == "search"
    assert await Replica(store).shown(offer(5_000)) == "search"


async def test_a_store_that_lost_its_memory_is_told_again(store: MemoryStore) -> None:
    one = Replica(store)
    await one.shown(offer(6_000))
    one.entries.inner = MemoryStore(LoopClock()).entries
    assert await one.shown(offer(5_000), look=True) == "search"
    assert len(one.entries.puts) == 2


@pytest.mark.parametrize(
    "row", [b"", b"\xff", b"[]", b"{}", b'{"shown": "later"}', b'{"shown": 3}', b'{"shown": []}']
)
async def test_a_row_that_says_nothing_is_nothing(store: MemoryStore, row: bytes) -> None:
    one = Replica(store)
    await one.shown(offer(6_000))
    ((key, _),) = one.entries.puts[0].items()
    (owner,) = one.entries.owners
    await store.entries.put("exposure", owner, {key: row}, lifetime=60, most=9)
    assert await Replica(store).shown(offer(5_000)) == "full"


async def test_no_name_of_a_principal_is_in_the_store(store: MemoryStore) -> None:
    one = Replica(store, principal=Principal("issuer", "subject-7"), scope="/home/somebody")
    await one.shown(offer(6_000))
    kept = repr((one.entries.owners, one.entries.puts))
    assert "subject-7" not in kept
    assert "somebody" not in kept


async def test_what_is_still_true_is_written_again_once_a_month(store: MemoryStore) -> None:
    one = Replica(store)
    await one.shown(offer(6_000))
    between = offer(5_000)
    for _ in range(8):
        await anyio.sleep(RENEWED / 4 + 1)
        assert await one.shown(between, look=True) == "search"
    assert len(one.entries.puts) == 3
    await anyio.sleep(KEPT - RENEWED / 2)
    assert await Replica(store).shown(between) == "search"
    await anyio.sleep(2 * KEPT)
    assert await Replica(store).shown(between) == "full"


# ---- pinned tools ----

PINNED = ExposureSettings(pinned=("a__t0", "a__t2"), pinned_tokens=500)


async def test_pinned_tools_are_chosen_only_where_not_all_are_shown(store: MemoryStore) -> None:
    one = Replica(store, settings=PINNED)
    assert await one.exposing.choose(offer(200, 200, 200)) == Choice("full")
    found = await one.exposing.choose(offer(200, 5_900, 200))
    assert (found.exposure, found.pinned, found.findings) == ("search", ("a__t0", "a__t2"), ())


async def test_what_exceeds_the_budget_of_pinned_tools_is_a_finding(store: MemoryStore) -> None:
    one = Replica(store, "search", PINNED)
    found = await one.exposing.choose(offer(400, 10, 101))
    assert found.pinned == ("a__t0",)
    (finding,) = found.findings
    assert isinstance(finding, Finding)
    assert (finding.server, finding.code) == ("a", "pinned_beyond_budget")
    assert "pinned_tokens (500)" in finding.detail
    assert "a__t2" in finding.detail


# ---- the report ----


async def test_the_report_says_what_is_shown_and_what_all_would_cost(store: MemoryStore) -> None:
    one = Replica(store, settings=PINNED)
    meta = FakeMetaTools()
    report = await one.exposing.report(offer(300, 6_000, 300, missing=1), meta)
    assert (report.wanted, report.exposure) == ("auto", "search")
    assert (report.full, report.full_tokens) == ({"a": 6_600}, 6_600)
    assert report.exposed == {"a": 300}
    assert report.exposed_tokens == 300 + report.meta
    assert report.meta == sum(
        CharacterCounter().count(counted_text(it["name"], it)) for it in meta.definitions("search")
    )
    assert report.pinned.beyond == ("a__t2",)
    assert (report.counter, report.exact) == ("characters", False)
    assert report.why == "all definitions reach 6,000 tokens (0.03 of 200,000 tokens)"


async def test_under_full_the_report_shows_all_at_its_cost(store: MemoryStore) -> None:
    report = await Replica(store, settings=PINNED).exposing.report(offer(40, 50), FakeMetaTools())
    assert (report.exposure, report.exposed, report.meta) == ("full", {"a": 90}, 0)
    assert report.why == "all definitions cost 90 tokens, less than 6,000 (0.03 of 200,000 tokens)"


async def test_a_report_changes_nothing_and_follows_what_was_decided(store: MemoryStore) -> None:
    looking = Replica(store)
    assert (await looking.exposing.report(offer(7_000), FakeMetaTools())).exposure == "search"
    assert (looking.entries.puts, looking.flips) == ([], [])
    await Replica(store).shown(offer(6_000))
    report = await Replica(store).exposing.report(offer(5_000), FakeMetaTools())
    assert report.exposure == "search"
    assert report.why.endswith("they cost less than 4,000")


async def test_the_report_says_what_was_configured(store: MemoryStore) -> None:
    report = await Replica(store, "search").exposing.report(offer(10), FakeMetaTools())
    assert report.why == "configured as search"
