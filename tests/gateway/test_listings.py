"""Listings as hosts get them: compiled once per content, stamped for this moment."""

import threading
from dataclasses import replace

import anyio
import anyio.lowlevel
import pytest

from toolcrib.catalog.access import PublishedChange
from toolcrib.core.snapshot import Kind, Scope
from toolcrib.facts import Finding, Listed, ServedStale
from toolcrib.gateway import listings as module
from toolcrib.gateway.listing import Listing, Naming, compile_listing
from toolcrib.gateway.listings import OFF_LOOP, Listings
from toolcrib.gateway.target import Target
from toolcrib.testing.fake_access import FakeAccess
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import tool
from toolcrib.testing.virtual_clock import LoopClock

TOOLS = Kind.TOOLS


class Rig:
    def __init__(self) -> None:
        self.access = FakeAccess()
        self.recorder = Recorder()
        naming = Naming("qualified", 48)
        self.listings = Listings(self.access, naming, LoopClock(), self.recorder)

        def published(change: PublishedChange) -> None:
            self.listings.changed(change.kind)

        self.access.on_published(published)

    async def stamps(self) -> tuple[int, str]:
        _, answer = await self.listings.answer(TOOLS, modern=True)
        return answer.members["ttlMs"], answer.members["cacheScope"]


@pytest.fixture
def rig() -> Rig:
    return Rig()


class Compilations:
    """Counts compilations, and in which threads they ran."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.threads: list[int] = []
        monkeypatch.setattr(module, "compile_listing", self.compile)

    def compile(self, *arguments: object) -> Listing:
        self.threads.append(threading.get_ident())
        return compile_listing(*arguments)  # pyright: ignore[reportArgumentType]

    def __len__(self) -> int:
        return len(self.threads)


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> Compilations:
    return Compilations(monkeypatch)


# ---- stamps ----


@pytest.mark.duty(6, 7)
async def test_the_smallest_remaining_time_and_the_strictest_scope_are_stamped(rig: Rig) -> None:
    rig.access.put("a", TOOLS, [tool("t")], ttl=60.0)
    rig.access.put("b", TOOLS, [tool("t")], ttl=1.5)
    assert await rig.stamps() == (1_500, "public")
    rig.access.put("c", TOOLS, [tool("t")], ttl=30.0, scope=Scope.PRIVATE)
    assert await rig.stamps() == (1_500, "private")


@pytest.mark.duty(7)
async def test_a_stale_or_missing_catalog_makes_the_whole_listing_stale(rig: Rig) -> None:
    rig.access.put("a", TOOLS, [tool("t")])
    rig.access.put("b", TOOLS, [tool("t")])
    rig.access.age("b", TOOLS, 10.0)
    assert (await rig.stamps())[0] == 0
    assert rig.recorder.of(ServedStale) == [ServedStale("b", "tools", 10.0)]
    rig.access.fail("b", TOOLS, "no connection")
    assert await rig.stamps() == (0, "private")


async def test_one_server_that_fails_costs_only_its_own_tools(rig: Rig) -> None:
    rig.access.put("a", TOOLS, [tool("a")])
    rig.access.fail("b", TOOLS, "error with text")
    listing, answer = await rig.listings.answer(TOOLS, modern=True)
    assert list(listing.entries) == ["a__a"]
    assert [shown["name"] for shown in answer.items] == ["a__a"]
    assert rig.access.status("b").detail == "error with text"


async def test_a_server_without_the_kind_spoils_neither_time_nor_scope(rig: Rig) -> None:
    rig.access.put("a", TOOLS, [tool("t")], ttl=60.0)
    rig.access.put("b", Kind.PROMPTS, [{"name": "p"}])
    assert await rig.stamps() == (60_000, "public")


@pytest.mark.duty(6)
async def test_no_servers_are_private_and_stale(rig: Rig) -> None:
    assert await rig.stamps() == (0, "private")


@pytest.mark.duty(7)
async def test_a_negative_rest_of_time_is_none(rig: Rig) -> None:
    rig.access.put("a", TOOLS, [tool("t")], ttl=-5.0)
    assert (await rig.stamps())[0] == 0


async def test_each_listing_is_a_fact(rig: Rig) -> None:
    rig.access.put("a", TOOLS, [tool("t"), tool("u")])
    _, answer = await rig.listings.answer(TOOLS, modern=True)
    (fact,) = rig.recorder.of(Listed)
    assert replace(fact, seconds=0.0) == Listed(
        "tools", 2, len(answer.encoded), fresh=True, seconds=0
    )


# ---- compiling ----


async def test_unchanged_content_is_compiled_once_for_all_hosts_and_eras(
    rig: Rig, compilations: Compilations
) -> None:
    rig.access.put("a", TOOLS, [tool("t")])
    answers = [
        (await rig.listings.answer(TOOLS, modern=bool(turn % 2)))[1].encoded for turn in range(6)
    ]
    await rig.listings.held(TOOLS)
    assert len(compilations) == 1
    assert len({id(encoded) for encoded in answers}) == 1


async def test_freshness_alone_compiles_nothing(rig: Rig, compilations: Compilations) -> None:
    rig.access.put("a", TOOLS, [tool("t")])
    await rig.stamps()
    rig.access.age("a", TOOLS, 5.0)
    await rig.stamps()
    rig.access.put("a", TOOLS, [tool("t")], ttl=5.0)
    await rig.stamps()
    assert len(compilations) == 1


async def test_simultaneous_listings_compile_once(rig: Rig, compilations: Compilations) -> None:
    rig.access.put("a", TOOLS, [tool(f"t{i}") for i in range(OFF_LOOP + 1)])
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(rig.stamps)
    assert len(compilations) == 1


@pytest.mark.parametrize(("items", "elsewhere"), [(OFF_LOOP, False), (OFF_LOOP + 1, True)])
async def test_large_listings_are_compiled_off_the_event_loop(
    rig: Rig, compilations: Compilations, items: int, *, elsewhere: bool
) -> None:
    rig.access.put("a", TOOLS, [tool(f"t{i}") for i in range(items)])
    _, answer = await rig.listings.answer(TOOLS, modern=True)
    assert len(answer.items) == items
    assert (compilations.threads != [threading.get_ident()]) is elsewhere


async def test_what_is_held_follows_every_publication(rig: Rig) -> None:
    rig.access.put("a", TOOLS, [tool("t")])
    assert list((await rig.listings.held(TOOLS)).entries) == ["a__t"]
    rig.access.put("a", TOOLS, [tool("u")])
    assert list((await rig.listings.held(TOOLS)).entries) == ["a__u"]
    rig.access.remove("a")
    assert list((await rig.listings.held(TOOLS)).entries) == []
    assert rig.access.reads[TOOLS] == 0


async def test_an_older_reading_that_is_answered_later_does_not_come_back(rig: Rig) -> None:
    rig.access.put("a", TOOLS, [tool("old")])
    go = anyio.Event()
    slow: list[list[str]] = []

    async def answer_slowly() -> None:
        readings = await rig.access.read(TOOLS)
        await go.wait()
        rig.access.on_read = None
        listing = await rig.listings._compile(TOOLS, readings)  # pyright: ignore[reportPrivateUsage]
        slow.append(list(listing.entries))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answer_slowly)
            await anyio.wait_all_tasks_blocked()
            rig.access.put("a", TOOLS, [tool("new")])
            assert list((await rig.listings.held(TOOLS)).entries) == ["a__new"]
            go.set()
    assert slow == [["a__old"]]
    assert list((await rig.listings.held(TOOLS)).entries) == ["a__new"]


async def test_a_change_while_a_large_listing_is_compiled_is_not_lost(rig: Rig) -> None:
    many = [tool(f"t{i}") for i in range(OFF_LOOP + 1)]
    rig.access.put("a", TOOLS, many)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(rig.listings.held, TOOLS)
            await anyio.lowlevel.checkpoint()
            rig.access.put("a", TOOLS, [*many, tool("late")])
        assert "a__late" in (await rig.listings.held(TOOLS)).entries


# ---- what was there once ----


async def test_names_that_vanished_are_remembered_with_their_server(rig: Rig) -> None:
    rig.access.put("a", TOOLS, [tool("t"), tool("u")])
    await rig.listings.held(TOOLS)
    rig.access.put("a", TOOLS, [tool("u")])
    await rig.listings.held(TOOLS)
    assert rig.listings.gone(TOOLS, "a__t") == Target("a", "t")
    assert rig.listings.gone(TOOLS, "a__never") is None
    assert rig.listings.gone(Kind.PROMPTS, "a__t") is None


async def test_the_memory_of_vanished_names_is_bounded(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 3)
    for turn in range(10):
        rig.access.put("a", TOOLS, [tool(f"t{turn}")])
        await rig.listings.held(TOOLS)
    assert rig.listings.gone(TOOLS, "a__t0") is None
    assert rig.listings.gone(TOOLS, "a__t8") == Target("a", "t8")


async def test_a_collision_is_reported_once_and_not_with_every_listing(rig: Rig) -> None:
    listings = Listings(rig.access, Naming("plain", 48), LoopClock(), rig.recorder)
    rig.access.put("a", TOOLS, [tool("same")])
    rig.access.put("b", TOOLS, [tool("same")])
    for turn in range(3):
        await listings.answer(TOOLS, modern=True)
        rig.access.put("c", TOOLS, [tool(f"other{turn}")])
    findings = rig.recorder.of(Finding)
    assert sorted((finding.server, finding.code) for finding in findings) == [
        ("a", "name_collision"),
        ("b", "name_collision"),
    ]
