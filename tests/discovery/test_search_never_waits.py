"""A search answers from what is indexed, in bounded time, and says what is missing from it."""

# pyright: reportPrivateUsage=false
# What is under way shows from inside only.

from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from operator import length_hint
from threading import Event
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from toolcrib.adapters.linear_patterns import linear_pattern
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.search.segment import Draft, Segment
from toolcrib.core.snapshot import Kind
from toolcrib.crib import Crib
from toolcrib.discovery.hits import Query
from toolcrib.discovery.index import building
from toolcrib.discovery.index.keeping import ToolIndex
from toolcrib.discovery.index.ranking import WordRanking, WordSearch
from toolcrib.discovery.rankers import rankers
from toolcrib.discovery.search import Searching
from toolcrib.settings import GatewaySettings, Limits, SearchSettings
from toolcrib.testing.fake_access import FakeAccess
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib
from toolcrib.testing.scripted_gateway import scripted_gateway

LEXICON = Lexicon(str)
BIG = building.TOGETHER * 3 + 1
NOTE = "Tools of 1 server are still"


class Said:
    """Servers say nothing of themselves."""

    def about(self, server: str) -> str:
        return ""


class Rig:
    """An index that `run` keeps, whose threads get on only when the test lets them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, wait: float = 0.0) -> None:
        self.access = FakeAccess()
        self.index = ToolIndex(self.access, LEXICON, introduced=Said(), wait=wait)
        self.words = WordSearch(self.index, linear_pattern)
        self.free = Event()
        self.began = 0
        go_on = Draft.go_on

        def held(draft: Draft, tools: int) -> bool:
            if length_hint(draft._left) > building.AT_ONCE:
                self.began += 1
                assert self.free.wait(5)
            return go_on(draft, tools)

        monkeypatch.setattr(Draft, "go_on", held)

    def put(self, server: str, count: int, word: str = "copy") -> None:
        tools = [
            {"name": f"{word}_{number}", "inputSchema": {"type": "object"}}
            for number in range(count)
        ]
        self.access.put(server, Kind.TOOLS, tools)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.index.run)
                await anyio.lowlevel.checkpoint()
                try:
                    yield
                finally:
                    self.free.set()
                    tasks.cancel_scope.cancel()

    async def search(self, text: str = "copy", servers: Sequence[str] | None = None) -> WordRanking:
        return await self.words.lexical(text, servers, 2_000)


def servers_of(ranking: WordRanking) -> set[str]:
    return {server for (server, _), _ in ranking.tools}


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - nobody tells of it
        await anyio.sleep(0.001)


@pytest.mark.parametrize("count", [building.AT_ONCE + 1, building.TOGETHER + 1, BIG])
async def test_a_search_answers_while_an_index_is_built_and_says_whose(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    rig = Rig(monkeypatch)
    rig.put("small", 2)
    rig.put("big", count)
    async with rig.running():
        found = await rig.search()
        assert servers_of(found) == {"small"}
        assert found.notes == (
            "Tools of 1 server are still being read into the index: `big`. Search again soon.",
        )
        rig.free.set()
        await until(lambda: not rig.index.missing())
        found = await rig.search()
        assert servers_of(found) == {"small", "big"}
        assert len(found.tools) == count + 2
        assert found.notes == ()


async def test_what_is_built_in_pieces_is_what_is_built_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig(monkeypatch)
    rig.free.set()
    rig.put("big", BIG, "copyFiles")
    async with rig.running():
        merged = await rig.index.settled()
    snapshot = rig.access.peek("big", Kind.TOOLS).snapshot
    assert snapshot is not None
    whole = Segment.build("big", snapshot, LEXICON, rig.index._held["big"].texts)
    made = merged._segments["big"]
    assert rig.began > 3
    assert [doc.tool for doc in made.docs] == [doc.tool for doc in whole.docs]
    assert {word: posting.impacts for word, posting in made.postings.items()} == {
        word: posting.impacts for word, posting in whole.postings.items()
    }


async def test_a_search_waits_for_what_is_built_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch, wait=5.0)
    rig.put("big", building.TOGETHER)
    async with rig.running(), anyio.create_task_group() as tasks:
        answers: list[WordRanking] = []

        async def search() -> None:
            answers.append(await rig.search())

        tasks.start_soon(search)
        await until(lambda: rig.began > 0)
        assert answers == []
        rig.free.set()
        await until(lambda: bool(answers))
        assert len(answers[0].tools) == building.TOGETHER
        assert answers[0].notes == ()


async def test_a_search_waits_for_no_server_that_it_does_not_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig(monkeypatch, wait=60.0)
    rig.put("small", 2)
    rig.put("big", BIG)
    async with rig.running():
        found = await rig.search(servers=["small"])
        assert servers_of(found) == {"small"}
        assert found.notes == ()


async def test_the_wait_is_counted_from_when_the_change_was_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig(monkeypatch, wait=0.02)
    rig.put("big", BIG)
    async with rig.running():
        assert (await rig.search()).notes
        noticed = rig.index._owed["big"].since
        rig.put("big", BIG, "move")
        await rig.search()
        assert rig.index._owed["big"].since == noticed


async def test_small_servers_are_found_while_a_large_one_is_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig(monkeypatch)
    rig.free.set()
    rig.put("big", BIG)
    async with rig.running():
        rig.index.wake()
        await until(lambda: rig.began > 1)
        rig.put("later", building.AT_ONCE + 1)
        await until(lambda: len(rig.index._held) == 2)
    assert list(rig.index._held) == ["later", "big"]


async def test_the_earlier_tools_of_a_server_are_searched_until_the_newer_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig(monkeypatch)
    rig.free.set()
    rig.put("big", BIG)
    async with rig.running():
        await rig.index.settled()
        rig.free.clear()
        rig.put("big", BIG + 1)
        found = await rig.search()
        assert len(found.tools) == BIG
        assert found.notes


@pytest.mark.parametrize("count", [1, BIG])
async def test_what_went_away_is_gone_for_the_next_search_whatever_is_built(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    rig = Rig(monkeypatch)
    rig.free.set()
    rig.put("goes", count)
    async with rig.running():
        await rig.index.settled()
        rig.free.clear()
        rig.put("big", BIG)
        await rig.search()
        rig.access.fail("goes", Kind.TOOLS, "the right to see it is gone")
        assert servers_of(await rig.search()) == set()
        rig.put("other", BIG)
        rig.access.remove("big")
        found = await rig.search()
        assert found.notes == (
            "Tools of 1 server are still being read into the index: `other`. Search again soon.",
        )
        rig.free.set()
        await until(lambda: not rig.index.missing())
        assert servers_of(await rig.search()) == {"other"}
        assert rig.index._building._drafts == {}


async def test_a_server_that_changes_without_end_is_found_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig(monkeypatch)
    rig.free.set()
    async with rig.running():
        rig.index.wake()
        for number in range(2_000):
            rig.put("big", BIG + number % 2)
            await anyio.sleep(0.001)
            if rig.index._held:
                break
        assert servers_of(await rig.search()) == {"big"}


async def test_a_small_server_that_changes_without_end_keeps_no_large_one_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig(monkeypatch)
    rig.free.set()
    look = rig.index._look
    looks = iter(range(10_000))

    def changing() -> None:
        if rig.index._woken.is_set() and "big" not in rig.index._held:
            rig.put("evil", 1, f"v{next(looks)}x")
        look()

    rig.put("big", BIG)
    monkeypatch.setattr(rig.index, "_look", changing)
    async with rig.running():
        await rig.index.settled()
        assert servers_of(await rig.search()) == {"big"}


async def test_the_note_reaches_whoever_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch)
    for number in range(30):
        rig.put(f"server{number:02}", building.AT_ONCE + 1)
    search = Searching(rig.access, SearchSettings(), rankers(rig.index, rig.words), limits=Limits())
    async with rig.running():
        found = await search.find(Query("copy"))
        assert found.hits == ()
        assert len(found.notes) == 1
        assert found.notes[0].startswith(
            "Tools of 30 servers are still being read into the index: `server00`, `server01`"
        )
        assert found.notes[0].endswith(" more. Search again soon.")
        assert len(found.notes[0]) <= 200


async def test_a_pattern_is_searched_in_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch)
    rig.put("small", 2)
    rig.put("big", BIG)
    async with rig.running():
        found = await rig.words.regex("copy", None, 10)
        assert servers_of(found) == {"small"}
        assert found.notes


# ---- the very first request of a process, before anything of its principal runs ----


@contextmanager
def threads_that_stand_still(monkeypatch: pytest.MonkeyPatch) -> Generator[Event]:
    """What is built in pieces gets on only when the event is set."""
    free, go_on = Event(), Draft.go_on

    def held(draft: Draft, tools: int) -> bool:
        assert length_hint(draft._left) <= building.AT_ONCE or free.wait(5)
        return go_on(draft, tools)

    monkeypatch.setattr(Draft, "go_on", held)
    try:
        yield free
    finally:
        free.set()


def many() -> ScriptedUpstream:
    """Nothing is asked again meanwhile: that alone would let others run."""
    return fresh([f"copy_{number}" for number in range(BIG)])


def fresh(names: Sequence[str]) -> ScriptedUpstream:
    return ScriptedUpstream([tool(name) for name in names], ttl_ms=3_600_000)


async def test_a_search_that_is_the_first_request_of_a_crib_waits_for_no_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    servers = {"big": many(), "small": fresh(["copy"])}
    settings = SearchSettings(index_wait_seconds=0)
    with threads_that_stand_still(monkeypatch) as free, anyio.fail_after(5):
        async with scripted_crib(servers, search=settings) as (crib, _):
            await until_published(crib)
            found = await crib.discovery().search.find(Query("copy"))
            assert found.notes[0].startswith(NOTE)
            assert [hit.name for hit in found.hits] == ["small__copy"]
            free.set()
            await until(lambda: not crib.discovery().searcher.index.missing())
            found = await crib.discovery().search.find(Query("copy", servers=["big"]))
            assert found.notes == ()
            assert found.hits


@pytest.mark.virtual_time
async def test_a_host_whose_first_request_is_a_search_waits_as_long_as_is_configured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings, seen = SearchSettings(), GatewaySettings(exposure="search")
    with threads_that_stand_still(monkeypatch):
        async with scripted_gateway({"big": many()}, gateway=seen, search=settings) as gateway:
            await until_published(gateway.crib)
            began = anyio.current_time()
            answer = await gateway.call("search_tools", query="copy")
            assert anyio.current_time() - began == pytest.approx(settings.index_wait_seconds)
            assert NOTE in answer["content"][0]["text"]


async def until_published(crib: Crib) -> None:
    catalogs = crib.catalogs()
    await catalogs.reach()
    ids = catalogs.server_ids()
    await until(lambda: all(catalogs.peek(it, Kind.TOOLS).snapshot for it in ids))


def failing(*_: Any) -> Segment:
    raise RuntimeError("odd")


async def test_a_server_that_cannot_be_indexed_in_pieces_costs_no_other_anything(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig(monkeypatch)
    rig.free.set()
    monkeypatch.setattr(Draft, "done", failing)
    rig.put("big", BIG)
    async with rig.running():
        await rig.index.settled()
        assert (await rig.search()).notes == ()
    assert "cannot be found by words: RuntimeError" in caplog.text
