"""The facade over the real indexes: from what is published to hits."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest

from toolcrib.adapters.embedding.vectors import NumpyVectors
from toolcrib.adapters.linear_patterns import linear_pattern
from toolcrib.adapters.store.memory_vectors import MemoryVectors
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.hits import Found, Query
from toolcrib.discovery.index.keeping import ToolIndex
from toolcrib.discovery.index.ranking import WordSearch
from toolcrib.discovery.rankers import rankers
from toolcrib.discovery.search import Searching
from toolcrib.discovery.semantic.hybrid import MeaningRanking
from toolcrib.discovery.semantic.keeping import MeaningIndex
from toolcrib.discovery.semantic.texts import TextVectors
from toolcrib.errors import BadArguments
from toolcrib.settings import Limits, SearchMethod, SearchSettings
from toolcrib.testing.fake_access import FakeAccess
from toolcrib.testing.hashed_embedder import HashedEmbedder
from toolcrib.testing.scripted import tool
from toolcrib.testing.virtual_clock import LoopClock

pytestmark = pytest.mark.virtual_time


class Quiet:
    """Servers that say nothing of themselves."""

    def about(self, server: str) -> str:
        return ""


class Shop:
    """A search over the real indexes."""

    def __init__(self, embedder: HashedEmbedder | None = None) -> None:
        self.access = FakeAccess()
        self.meaning: MeaningIndex | None = None
        if embedder is not None:
            texts = TextVectors(embedder, MemoryVectors(LoopClock()))
            self.meaning = MeaningIndex(texts, NumpyVectors(embedder.dimensions))
        followers = [self.meaning] if self.meaning is not None else []
        self.index = ToolIndex(self.access, Lexicon(str), introduced=Quiet(), followers=followers)
        words = WordSearch(self.index, linear_pattern)
        ranking = MeaningRanking(self.meaning, self.index) if self.meaning is not None else None
        self.search = Searching(
            self.access, SearchSettings(), rankers(self.index, words, ranking), limits=Limits()
        )

    def put(self, server: str, texts: Mapping[str, str]) -> None:
        definitions = [{**tool(name), "description": text} for name, text in texts.items()]
        self.access.put(server, Kind.TOOLS, definitions)

    async def find(self, text: str, method: SearchMethod = "auto", limit: int = 10) -> Found:
        return await self.search.find(Query(text, method=method, limit=limit))

    async def names(self, text: str, method: SearchMethod = "auto", limit: int = 10) -> list[str]:
        return [hit.name for hit in (await self.find(text, method, limit)).hits]


class Unable(HashedEmbedder):
    """An embedder that is broken."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        raise RuntimeError("no")


@asynccontextmanager
async def shop(embedder: HashedEmbedder | None = None) -> AsyncGenerator[Shop]:
    opened = Shop(embedder)
    opened.put("mail", {"send_message": "Sends a letter.", "list_inbox": "Shows what came."})
    opened.put("disk", {"readFile": "Reads a file.", "delete_file": "Deletes a file."})
    try:
        yield opened
    finally:
        opened.index.close()


async def test_words_find_tools() -> None:
    async with shop() as it:
        found = await it.find("send a letter")
        assert found.hits[0].name == "mail__send_message"
        assert (found.method, found.notes, found.near) == ("lexical", (), ())


async def test_a_pattern_finds_tools() -> None:
    async with shop() as it:
        assert set(await it.names("file", "regex")) == {"disk__readFile", "disk__delete_file"}
        assert await it.names("^send_.*$", "regex") == ["mail__send_message"]


async def test_a_pattern_that_is_refused_says_why() -> None:
    async with shop() as it:
        with pytest.raises(BadArguments, match="the pattern is refused: "):
            await it.find("(unclosed", "regex")


async def test_what_was_published_before_the_search_is_found_without_any_waiting() -> None:
    async with shop() as it:
        assert await it.names("invoice") == []
        it.put("shop", {"pay": "Pays an invoice."})
        assert await it.names("invoice") == ["shop__pay"]
        it.put("shop", {"pay": "Wraps a parcel."})
        assert await it.names("invoice") == []
        assert await it.names("parcel") == ["shop__pay"]


async def test_what_a_refresh_inside_the_search_brings_is_found() -> None:
    async with shop() as it:

        async def publish(_: Kind) -> None:
            await anyio.sleep(1)
            it.put("shop", {"pay": "Pays an invoice."})

        it.access.on_read = publish
        assert await it.names("invoice") == ["shop__pay"]


async def test_a_withdrawn_server_is_not_found() -> None:
    async with shop() as it:
        assert await it.names("letter")
        it.access.fail("mail", Kind.TOOLS, "the right to see it is gone")
        assert await it.names("letter") == []
        it.access.remove("mail")
        assert await it.names("letter") == []


async def test_nothing_found_tells_of_names_that_look_like_it() -> None:
    async with shop() as it:
        found = await it.find("deletefiel")
        assert found.hits == ()
        assert found.near[0] == "disk__delete_file"


async def test_one_server_with_many_copies_leaves_room_in_an_answer_of_the_asked_length() -> None:
    async with shop() as it:
        it.put("spam", {f"copy{n}": "Sends a letter." for n in range(60)})
        names = await it.names("send a letter", limit=6)
        assert len(names) == 6
        assert "mail__send_message" in names


# ---------------------------------------------------------------- with meaning


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_with_an_embedder_auto_is_hybrid_and_finds_what_was_published_before() -> None:
    with anyio.fail_after(5):
        async with shop(HashedEmbedder()) as it:
            found = await it.find("send a letter")
            assert found.method == "hybrid"
            assert found.hits[0].name == "mail__send_message"
            it.put("shop", {"pay": "Wraps a parcel."})
            assert (await it.names("parcel"))[0] == "shop__pay", "before it has a vector"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("method", ["semantic", "hybrid"])
async def test_an_embedder_that_is_broken_costs_no_search(method: SearchMethod) -> None:
    with anyio.fail_after(5):
        async with shop(Unable()) as it:
            found = await it.find("send a letter", method)
            assert found.method == "lexical"
            assert found.hits[0].name == "mail__send_message"
            assert found.notes


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_semantic_search_finds_what_has_a_vector() -> None:
    with anyio.fail_after(5):
        async with shop(HashedEmbedder()) as it, anyio.create_task_group() as tasks:
            assert it.meaning is not None
            await it.index.settled()
            tasks.start_soon(it.meaning.run)
            while it.meaning.missing:  # noqa: ASYNC110 - nobody is told when vectors are there
                await anyio.sleep(0.01)
            found = await it.find("Sends a letter.", "semantic")
            assert found.method == "semantic"
            assert found.hits[0].name == "mail__send_message"
            tasks.cancel_scope.cancel()
