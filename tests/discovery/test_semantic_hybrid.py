"""Hybrid search over the index of words: in part, whole, broken, and with the real model."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager

import anyio
import pytest

from toolcrib.adapters.embedding.sentence_encoder import SentenceEncoder
from toolcrib.adapters.embedding.vectors import NumpyVectors
from toolcrib.adapters.store.memory_vectors import MemoryVectors
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.index.keeping import ToolIndex
from toolcrib.discovery.semantic.hybrid import MeaningRanking, Ranked
from toolcrib.discovery.semantic.keeping import MeaningIndex
from toolcrib.discovery.semantic.texts import TextVectors
from toolcrib.errors import UpstreamUnreachable
from toolcrib.ports import Embedder, VectorStore
from toolcrib.testing.fake_access import FakeAccess
from toolcrib.testing.hashed_embedder import HashedEmbedder
from toolcrib.testing.store_contract import SteppedClock

Catalogs = Mapping[str, Mapping[str, str]]


class Silent:
    """Servers that say nothing of themselves."""

    def about(self, server: str) -> str:
        return ""


class Rig:
    """An index of words that the index of meanings follows."""

    def __init__(
        self, catalogs: Catalogs, embedder: Embedder, store: VectorStore | None = None
    ) -> None:
        self.access = FakeAccess()
        self.texts = TextVectors(embedder, store or MemoryVectors(SteppedClock()))
        self.meaning = MeaningIndex(self.texts, NumpyVectors(embedder.dimensions))
        self.index = ToolIndex(
            self.access, Lexicon(str), introduced=Silent(), followers=[self.meaning]
        )
        self.ranking = MeaningRanking(self.meaning, self.index)
        for server, tools in catalogs.items():
            self.publish(server, tools)

    def publish(self, server: str, tools: Mapping[str, str]) -> None:
        definitions = [
            {"name": name, "description": text, "inputSchema": {"type": "object"}}
            for name, text in tools.items()
        ]
        self.access.put(server, Kind.TOOLS, definitions)

    async def settled(self) -> None:
        """Everything is in both indexes."""
        async with self.running():
            await self.index.settled()
            await until(lambda: not self.meaning.missing)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.meaning.run)
            yield
            tasks.cancel_scope.cancel()

    async def hybrid(self, query: str, most: int = 5) -> Ranked:
        await self.index.settled()
        return await self.ranking.hybrid(query, None, most)


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not holds():  # noqa: ASYNC110 - nobody tells of it
            await anyio.sleep(0.001)


def names(ranked: Ranked) -> list[str]:
    return [key for (_, key), _ in ranked.tools]


POST: Catalogs = {
    "post": {
        "send_email": "Sends an email to somebody.",
        "list_folders": "Lists all folders of a mailbox.",
    },
    "sky": {"get_forecast": "Says how the weather will be."},
}


async def test_what_words_miss_is_found_by_meaning() -> None:
    rig = Rig(POST, HashedEmbedder(alike={"courier": "email", "dispatch": "sends"}))
    await rig.settled()
    assert names(await rig.hybrid("dispatch courier", 1)) == ["send_email"]
    assert await rig.hybrid("zzz") == Ranked(())


async def test_before_there_are_vectors_the_order_is_that_of_the_words_and_it_says_so() -> None:
    rig = Rig(POST, HashedEmbedder())
    found = await rig.hybrid("folders of a mailbox")
    assert names(found)[0] == "list_folders"
    assert found.by_meaning
    assert found.notes == ("3 tools are found by their words only, until they are embedded.",)
    await rig.settled()
    assert (await rig.hybrid("folders of a mailbox")).notes == ()


async def test_a_tool_that_was_published_a_moment_ago_is_found_among_embedded_ones() -> None:
    rig = Rig(POST, HashedEmbedder())
    await rig.settled()
    rig.publish("new", {"archive_mailbox": "Archives a mailbox."})
    found = await rig.hybrid("archive a mailbox")
    assert names(found)[0] == "archive_mailbox"
    assert found.notes == ("1 tools are found by their words only, until they are embedded.",)
    rig.publish("post", {"list_folders": "Lists all folders of a mailbox."})
    assert "send_email" not in names(await rig.hybrid("send email")), "gone from that moment on"
    await rig.settled()
    assert (await rig.hybrid("archive a mailbox")).notes == ()


async def test_a_model_that_fails_leaves_the_search_to_words() -> None:
    embedder = HashedEmbedder()
    rig = Rig(POST, embedder)
    await rig.settled()
    embedder.broken = UpstreamUnreachable("the model is gone")
    found = await rig.hybrid("send email")
    assert names(found)[0] == "send_email"
    assert not found.by_meaning
    assert "the model is gone" in found.notes[0]


async def test_an_error_that_nobody_wrote_for_people_is_named_and_not_told() -> None:
    embedder = HashedEmbedder()
    rig = Rig(POST, embedder)
    embedder.broken = OSError("/home/somebody/secret/weights.npz")
    async with rig.running():
        found = await rig.hybrid("send email")
        await until(lambda: rig.meaning.trouble != "")
    assert names(found)[0] == "send_email"
    assert "OSError" in found.notes[0]
    assert "OSError" in rig.meaning.trouble
    assert "secret" not in found.notes[0] + rig.meaning.trouble


async def test_only_servers_that_were_asked_for_are_found() -> None:
    rig = Rig(POST, HashedEmbedder())
    await rig.settled()
    for rank in (rig.ranking.hybrid, rig.ranking.semantic):
        found = await rank("send an email, list the weather", {"sky"}, 9)
        assert {server for (server, _), _ in found.tools} <= {"sky"}
    assert (await rig.ranking.hybrid("email", set(), 9)).tools == ()


async def test_each_step_of_a_task_finds_its_tool() -> None:
    embedder = HashedEmbedder(dimensions=256)
    rig = Rig(POST, embedder)
    await rig.settled()
    embedder.texts.clear()
    steps = ("List all folders of it.", "Say how the weather will be.")
    for rank in (rig.ranking.hybrid, rig.ranking.semantic):
        found = await rank(" ".join(steps), None, 2)
        assert set(names(found)) == {"list_folders", "get_forecast"}
        assert embedder.texts == [" ".join(steps), *steps]


async def test_a_server_with_many_copies_leaves_room_for_others() -> None:
    copies = {f"send_email_{number:02}": "Sends an email to somebody." for number in range(30)}
    rig = Rig({"stuffed": copies, **POST}, HashedEmbedder())
    await rig.settled()
    found = await rig.ranking.hybrid("send an email", None, 10)
    assert ("post", "send_email") in [tool for tool, _ in found.tools]


async def test_the_same_question_has_the_same_answer() -> None:
    rig, other = (
        Rig(POST, HashedEmbedder()),
        Rig(dict(reversed(list(POST.items()))), HashedEmbedder()),
    )
    await rig.settled()
    await other.settled()
    first = await rig.hybrid("send an email about the weather")
    assert first == await rig.hybrid("send an email about the weather")
    assert names(first) == names(await other.hybrid("send an email about the weather"))


REAL: Catalogs = {
    "mail": {
        "send_email": "Send an email to one or more recipients.",
        "list_folders": "List the folders of the mailbox.",
    },
    "weather-cn": {"tianqi": "根据城市名称查询天气预报", "kongqi": "查询城市的空气质量"},
    "charts": {
        "generate_pie_chart": "Generate a pie chart from a list of values.",
        "generate_mind_map": "Generate a mind map from a topic.",
    },
    "files": {"delete_file": "Delete a file.", "move_file": "Move or rename a file."},
    "trips": {"searchFlights": "Search for flights between two airports."},
}


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    return SentenceEncoder()


@pytest.fixture(scope="module")
def kept() -> MemoryVectors:
    """Vectors of the tools, embedded once for all questions."""
    return MemoryVectors(SteppedClock())


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("给同事发一封电子邮件", "send_email"),
        ("画一张饼图", "generate_pie_chart"),
        ("查找两个城市之间的机票", "searchFlights"),
        ("what will the weather be like tomorrow", "tianqi"),
        ("how polluted is the air in the city", "kongqi"),
        ("plane ticket", "searchFlights"),
        ("erase a document from disk", "delete_file"),
        ("enviar un correo a Ana", "send_email"),
    ],
)
async def test_with_the_model_a_question_finds_its_tool_in_either_language(
    query: str, tool: str, encoder: SentenceEncoder, kept: MemoryVectors
) -> None:
    rig = Rig(REAL, encoder, kept)
    await rig.settled()
    for rank in (rig.ranking.hybrid, rig.ranking.semantic):
        found = await rank(query, None, 3)
        assert tool in names(found)
    assert names(await rig.hybrid(query))[0] == tool
