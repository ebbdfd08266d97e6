"""The word index of a principal follows what is published, and is never ahead or behind."""

# pyright: reportPrivateUsage=false
# What is built, and how often, shows from inside only.

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from toolcrib.adapters.linear_patterns import linear_pattern
from toolcrib.catalog.access import ServerStatus
from toolcrib.core.search.fields import ServerTexts
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.search.segment import Segment
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.index.building import AT_ONCE
from toolcrib.discovery.index.keeping import ToolIndex
from toolcrib.discovery.index.ranking import WordSearch
from toolcrib.discovery.index.shared import SegmentKey, SharedSegments
from toolcrib.errors import BadArguments
from toolcrib.testing.fake_access import FakeAccess
from toolcrib.testing.store_rig import item_of, snapshot_of

LEXICON = Lexicon(str)


class Words:
    """Says what a test lets servers say of themselves."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def about(self, server: str) -> str:
        return self.texts.get(server, "")


def tools(*names: str, text: str = "") -> list[Mapping[str, Any]]:
    schema = {"type": "object"}
    return [{"name": name, "description": text, "inputSchema": schema} for name in names]


class Unmet(FakeAccess):
    """Catalogs whose servers may not have connected yet."""

    met = True

    def status(self, server: str) -> ServerStatus:
        status = super().status(server)
        return status if self.met else replace(status, facts=None)


class Rig:
    """One principal's catalogs and the index over them."""

    def __init__(
        self,
        access: Unmet | None = None,
        *,
        partition: str = "p",
        shared: SharedSegments | None = None,
    ) -> None:
        self.access = Unmet() if access is None else access
        self.words = Words()
        self.index = ToolIndex(
            self.access, LEXICON, introduced=self.words, partition=partition, shared=shared
        )
        self.search = WordSearch(self.index, linear_pattern)

    def put(self, server: str, *names: str, text: str = "") -> None:
        self.access.put(server, Kind.TOOLS, tools(*names, text=text))

    async def found(self, query: str, servers: Collection[str] | None = None) -> list[str]:
        ranking = await self.search.lexical(query, servers, 10)
        return [f"{server}/{key}" for (server, key), _ in ranking.tools]


class Builds:
    """Counts the segments that are built."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.servers: list[str] = []
        build = Segment.build

        def counted(server: str, *rest: Any) -> Segment:
            self.servers.append(server)
            return build(server, *rest)

        monkeypatch.setattr(Segment, "build", counted)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> Builds:
    return Builds(monkeypatch)


@pytest.mark.duty("D2")
async def test_what_is_published_before_a_search_is_found_by_it() -> None:
    rig = Rig()
    assert await rig.found("copy") == []
    rig.put("files", "copy_file")
    assert await rig.found("copy") == ["files/copy_file"]
    rig.put("files", "move_file")
    assert await rig.found("copy") == []
    assert await rig.found("move") == ["files/move_file"]


@pytest.mark.parametrize("way", ["withdrawn", "removed", "emptied"])
async def test_a_server_whose_tools_went_away_leaves_nothing(way: str) -> None:
    rig = Rig()
    rig.put("goes", "secret_tool", text="classified")
    rig.put("stays", "copy_file")
    assert await rig.found("secret") == ["goes/secret_tool"]
    match way:
        case "withdrawn":
            rig.access.fail("goes", Kind.TOOLS, "the right to see it is gone")
        case "removed":
            rig.access.remove("goes")
        case _:
            rig.put("goes")
    assert await rig.found("secret classified goes") == []
    assert rig.index.scores("secret") == {}
    assert (await rig.index.settled()).servers() == ("stays",)


async def test_only_the_changed_server_is_built_again(builds: Builds) -> None:
    rig = Rig()
    for server in ("a", "b", "c"):
        rig.put(server, "copy_file")
    await rig.index.settled()
    await rig.index.settled()
    assert builds.servers == ["a", "b", "c"]
    rig.put("b", "copy_file", "move_file")
    assert await rig.found("move") == ["b/move_file"]
    assert builds.servers == ["a", "b", "c", "b"]


async def test_another_kind_of_list_builds_nothing(builds: Builds) -> None:
    rig = Rig()
    rig.put("a", "copy_file")
    await rig.index.settled()
    rig.access.put("a", Kind.PROMPTS, [{"name": "copy"}])
    await rig.index.settled()
    assert builds.servers == ["a"]


async def test_what_is_said_of_a_server_finds_its_tools_and_can_be_read_again() -> None:
    rig = Rig()
    rig.words.texts["acme"] = "parcels of all kinds"
    rig.put("acme", "track")
    assert await rig.found("parcels") == ["acme/track"]
    rig.words.texts["acme"] = "pallets"
    rig.index.reread("acme")
    assert await rig.found("parcels") == []
    assert await rig.found("pallets") == ["acme/track"]
    rig.index.reread("unknown")
    assert await rig.found("pallets") == ["acme/track"]


async def test_a_server_that_says_who_it_is_after_its_tools_are_held_is_read_again() -> None:
    rig = Rig()
    rig.put("s", "track")
    rig.access.met = False
    assert await rig.found("parcels") == []
    rig.words.texts["s"] = "parcels"
    assert await rig.found("parcels") == []
    rig.access.met = True
    assert await rig.found("parcels") == ["s/track"]


async def test_a_server_that_goes_while_it_is_indexed_is_not_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig()
    rig.put("goes", *(f"copy_{n}" for n in range(AT_ONCE + 1)))
    rig.put("stays", "copy")
    build = rig.index._building._all

    def removing(work: Any) -> Any:
        built = build(work)
        if "goes" in rig.access.server_ids():
            rig.access.remove("goes")
        return built

    monkeypatch.setattr(rig.index._building, "_all", removing)
    with anyio.fail_after(5):
        assert await rig.found("copy") == ["stays/copy"]


async def test_searches_at_the_same_time_build_once(builds: Builds) -> None:
    rig = Rig()
    rig.put("big", *(f"copy_{n}" for n in range(AT_ONCE + 1)))
    answers: list[list[str]] = []

    async def search() -> None:
        answers.append(await rig.found("copy", None))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(search)
    assert builds.servers == ["big"]
    assert len(answers) == 5
    assert all(answer == answers[0] for answer in answers)


async def test_a_search_that_is_called_off_costs_no_other_search_anything() -> None:
    rig = Rig()
    rig.put("big", *(f"copy_{n}" for n in range(AT_ONCE + 1)))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(rig.found, "copy")
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        assert len(await rig.found("copy")) == 10


async def test_a_change_during_the_building_is_in_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig()
    rig.put("big", *(f"copy_{n}" for n in range(AT_ONCE + 1)))
    build = rig.index._building._all

    def changing(work: Any) -> Any:
        if len(rig.access.server_ids()) == 1:
            rig.put("late", "copy_late")
        return build(work)

    monkeypatch.setattr(rig.index._building, "_all", changing)
    with anyio.fail_after(5):
        assert "late/copy_late" in await rig.found("copy late")


async def test_beside_the_requests_the_index_follows_by_itself(builds: Builds) -> None:
    rig = Rig()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(rig.index.run)
            rig.index.wake()
            for name in ("copy_file", "move_file"):
                rig.put("s", name)
                while name not in [doc.item.key for doc in rig.index.scores("file")]:
                    await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
    assert builds.servers == ["s", "s"]


async def test_nothing_is_indexed_where_nobody_searches(builds: Builds) -> None:
    rig = Rig()
    async with anyio.create_task_group() as group:
        group.start_soon(rig.index.run)
        rig.put("s", "copy_file")
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        assert builds.servers == []
        assert await rig.found("copy") == ["s/copy_file"]
        group.cancel_scope.cancel()


async def test_principals_of_one_partition_share_what_is_built(builds: Builds) -> None:
    shared, access = SharedSegments(), Unmet()
    one, other = (Rig(access, partition="same", shared=shared) for _ in range(2))
    one.put("s", "copy_file")
    assert await one.found("copy") == await other.found("copy") == ["s/copy_file"]
    assert builds.servers == ["s"]


async def test_nothing_is_shared_between_partitions(builds: Builds) -> None:
    shared, access = SharedSegments(), Unmet()
    one, other = (Rig(access, partition=it, shared=shared) for it in ("one", "other"))
    one.put("s", "copy_file")
    await one.found("copy")
    await other.found("copy")
    assert builds.servers == ["s", "s"]
    docs = [next(iter((await rig.index.settled()).docs())) for rig in (one, other)]
    assert docs[0] is not docs[1]


async def test_only_wanted_servers_are_searched() -> None:
    rig = Rig()
    rig.put("a", "copy_file")
    rig.put("b", "copy_file")
    assert await rig.found("copy", ["b", "unknown"]) == ["b/copy_file"]
    assert await rig.found("copy", []) == []
    assert [doc.tool for doc in rig.index.scores("copy", {"a"})] == [("a", "copy_file")]


async def test_a_pattern_finds_names_and_texts_in_any_case_of_letters() -> None:
    rig = Rig()
    rig.put("a", "getHTTPStatus", "other", text="Says the STATUS.")
    rig.put("b", "nothing")
    found = await rig.search.regex("status$", None, 10)
    assert [key for (_, key), _ in found.tools] == ["getHTTPStatus"]
    found = await rig.search.regex("http|status", None, 10)
    assert [key for (_, key), _ in found.tools] == ["getHTTPStatus", "other"]
    assert (await rig.search.regex("http", ["b"], 10)).tools == ()


async def test_a_pattern_over_many_tools_is_tried_off_the_loop() -> None:
    rig = Rig()
    rig.put("s", *(f"copy_{n}" for n in range(600)))
    with anyio.fail_after(5):
        found = await rig.search.regex("_5[0-9]{2}$", None, 500)
    assert len(found.tools) == 100


async def test_a_refused_pattern_is_the_askers_mistake() -> None:
    with pytest.raises(BadArguments, match=r"the pattern is refused: .*brackets"):
        await Rig().search.regex("(", None, 10)


def segment(size: int) -> Segment:
    items = [{"name": f"tool_{n}"} for n in range(size)]
    return Segment.build("s", snapshot_of(*map(item_of, items)), LEXICON)


def key(name: str) -> SegmentKey:
    return SegmentKey("p", name, "d", ServerTexts())


def test_shared_segments_are_bounded_and_the_least_recently_used_go_first() -> None:
    shared = SharedSegments(most_tools=10)
    for name in ("a", "b"):
        shared.keep(key(name), segment(4))
    assert shared.get(key("a")) is not None
    shared.keep(key("c"), segment(4))
    held = [name for name in "abc" if shared.get(key(name)) is not None]
    assert held == ["a", "c"]
    shared.keep(key("c"), segment(5))
    assert shared.get(key("a")) is not None
    shared.keep(key("huge"), segment(99))
    assert [name for name in ("a", "c", "huge") if shared.get(key(name))] == ["huge"]
