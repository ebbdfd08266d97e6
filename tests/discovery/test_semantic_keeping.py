"""Vectors follow what is published, are made once for each text, and keep no search waiting."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from threading import get_ident

import anyio
import anyio.lowlevel
import pytest
from anyio import from_thread

from toolcrib.adapters.embedding.vectors import NumpyVectors
from toolcrib.adapters.sqlite.store import SqliteStore, open_store
from toolcrib.adapters.store.memory_vectors import MemoryVectors
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.search.segment import Doc, Segment
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.semantic import keeping
from toolcrib.discovery.semantic.keeping import MeaningIndex
from toolcrib.discovery.semantic.texts import TextVectors
from toolcrib.errors import StoreUnreachable, UpstreamUnreachable
from toolcrib.ports import VectorStore
from toolcrib.testing.fake_access import snapshot_of
from toolcrib.testing.hashed_embedder import HashedEmbedder
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.store_contract import SteppedClock

LEXICON = Lexicon(str)


def segment(server: str, tools: Mapping[str, str]) -> Segment:
    definitions = [
        {"name": name, "description": description, "inputSchema": {"type": "object"}}
        for name, description in tools.items()
    ]
    return Segment.build(server, snapshot_of(Kind.TOOLS, definitions), LEXICON)


def numbered(count: int, word: str = "tool") -> dict[str, str]:
    return {f"{word}_{number:04}": f"Does {word} {number}." for number in range(count)}


class Rig:
    """An index of meanings over an embedder that counts."""

    def __init__(
        self, embedder: HashedEmbedder | None = None, store: VectorStore | None = None
    ) -> None:
        self.embedder = embedder or HashedEmbedder()
        self.store = store or MemoryVectors(SteppedClock())
        self.texts = TextVectors(self.embedder, self.store)
        self.index = MeaningIndex(self.texts, NumpyVectors(self.embedder.dimensions))

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.index.run)
            yield
            tasks.cancel_scope.cancel()

    async def settled(self) -> None:
        await until(lambda: self.index.missing == 0)

    async def found(self, query: str) -> dict[tuple[str, str], float]:
        likeness = await self.index.alike(query, (), None)
        return {doc.tool: cosine for doc, cosine in likeness.items()}

    @property
    def made(self) -> int:
        return self.texts.embedded


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(5):
        while not holds():  # noqa: ASYNC110 - nobody tells of it
            await anyio.sleep(0.001)


async def test_what_was_published_is_found_by_its_meaning() -> None:
    rig = Rig(HashedEmbedder(alike={"mail": "email"}))
    rig.index.put(segment("post", {"send_email": "Sends.", "list_folders": "Lists."}))
    rig.index.put(segment("sky", {"get_weather": "Says how it is."}))
    async with rig.running():
        await rig.settled()
        cosines = await rig.found("send mail")
    assert cosines.keys() == {
        ("post", "send_email"),
        ("post", "list_folders"),
        ("sky", "get_weather"),
    }
    assert max(cosines, key=cosines.__getitem__) == ("post", "send_email")


async def test_an_unchanged_tool_is_never_embedded_again() -> None:
    rig = Rig()
    tools = numbered(40)
    async with rig.running():
        rig.index.put(segment("s", tools))
        await rig.settled()
        first = rig.made
        assert first == len(set(rig.embedder.texts)) == len(rig.embedder.texts)
        for _ in range(3):
            rig.index.put(segment("s", tools))
            await rig.settled()
        assert rig.made == first
        rig.index.put(segment("s", {**tools, "tool_0003": "Does something else."}))
        assert rig.index.missing == 1
        await rig.settled()
    assert rig.made == first + 1


async def test_a_tool_that_comes_back_is_not_embedded_again() -> None:
    rig = Rig()
    async with rig.running():
        rig.index.put(segment("s", numbered(5)))
        await rig.settled()
        first = rig.made
        rig.index.put(segment("s", {}))
        rig.index.drop("s")
        rig.index.put(segment("s", numbered(5)))
        await rig.settled()
    assert rig.made == first


async def test_the_same_tool_of_another_principal_is_not_embedded_again() -> None:
    store = MemoryVectors(SteppedClock())
    one, two = Rig(store=store), Rig(store=store)
    for rig in (one, two):
        rig.index.put(segment("s", numbered(50)))
        async with rig.running():
            await rig.settled()
    assert (one.made > 0, two.made) == (True, 0)
    assert await one.found("tool 7") == await two.found("tool 7")


async def test_two_indexes_at_once_embed_each_text_once() -> None:
    embedder = HashedEmbedder()
    texts = TextVectors(embedder, MemoryVectors(SteppedClock()))
    indexes = [MeaningIndex(texts, NumpyVectors(embedder.dimensions)) for _ in range(3)]
    async with anyio.create_task_group() as tasks:
        for index in indexes:
            index.put(segment("s", numbered(100)))
            tasks.start_soon(index.run)
        await until(lambda: all(index.missing == 0 for index in indexes))
        tasks.cancel_scope.cancel()
    assert len(embedder.texts) == len(set(embedder.texts))


async def test_vectors_outlive_the_process_and_serve_another(tmp_path: Path) -> None:
    counts: list[int] = []
    for _ in range(3):
        store = open_store(tmp_path / "store.db", SteppedClock(), Recorder())
        assert isinstance(store, SqliteStore)
        rig = Rig(store=store.vectors)
        rig.index.put(segment("s", numbered(30)))
        async with rig.running():
            await rig.settled()
        counts.append(rig.made)
        store.close()
    assert counts[0] > 0
    assert counts[1:] == [0, 0]


async def test_another_model_does_not_use_the_vectors_of_the_first() -> None:
    store = MemoryVectors(SteppedClock())
    for mark in ("one", "two"):
        rig = Rig(HashedEmbedder(mark), store)
        rig.index.put(segment("s", numbered(3)))
        async with rig.running():
            await rig.settled()
        assert rig.made > 0


class BrokenStore:
    """A store that cannot be used; it counts how often it was tried."""

    def __init__(self) -> None:
        self.tried = 0

    async def get(self, mark: str, keys: Sequence[str]) -> dict[str, bytes]:
        await anyio.lowlevel.checkpoint()
        self.tried += 1
        raise StoreUnreachable("the store is gone")

    async def put(self, mark: str, rows: Mapping[str, bytes]) -> None:
        await anyio.lowlevel.checkpoint()
        self.tried += 1
        raise StoreUnreachable("the store is gone")


async def test_a_broken_store_costs_only_embedding_anew() -> None:
    rig = Rig(store=BrokenStore())
    async with rig.running():
        rig.index.put(segment("s", numbered(10)))
        await rig.settled()
        first = rig.made
        rig.index.drop("s")
        rig.index.put(segment("s", numbered(10)))
        await rig.settled()
    assert rig.made == 2 * first
    assert rig.index.trouble == ""


class SpoiltStore(MemoryVectors):
    """Gives back what nobody of us wrote."""

    async def get(self, mark: str, keys: Sequence[str]) -> dict[str, bytes]:
        return dict.fromkeys(keys, b"nonsense")


async def test_a_kept_vector_of_another_size_is_made_anew() -> None:
    rig = Rig(store=SpoiltStore(SteppedClock()))
    rig.index.put(segment("s", numbered(10)))
    async with rig.running():
        await rig.settled()
        assert len(await rig.found("tool 3")) == 10
    assert rig.made > 0


async def test_before_its_turn_a_tool_is_not_compared_and_a_search_does_not_wait() -> None:
    rig = Rig()
    rig.index.put(segment("s", numbered(10)))
    assert await rig.found("tool 3") == {}
    assert rig.index.missing == 10


async def test_what_changed_or_is_gone_is_not_compared_from_that_moment_on() -> None:
    rig = Rig()
    async with rig.running():
        rig.index.put(segment("s", {"a": "one", "b": "two", "c": "three"}))
        await rig.settled()
    rig.index.put(segment("s", {"a": "one", "b": "changed"}))
    assert (await rig.found("one")).keys() == {("s", "a")}
    assert rig.index.missing == 1
    rig.index.drop("s")
    assert await rig.found("one") == {}
    assert rig.index.missing == 0


async def test_what_is_compared_is_always_what_was_published_last() -> None:
    """The tools of the answer are the very ones that the index of words holds."""
    rig = Rig()
    async with rig.running():
        rig.index.put(segment("s", numbered(3)))
        await rig.settled()
        newer = segment("s", numbered(3))
        rig.index.put(newer)
        docs: dict[Doc, float] = await rig.index.alike("tool 1", (), None)
        assert docs.keys() == set(newer.docs)
    assert rig.index.missing == 0


async def test_a_server_that_is_renamed_is_embedded_under_its_new_name() -> None:
    rig = Rig()
    async with rig.running():
        rig.index.put(segment("s", {"a": "one"}), "Old name")
        await rig.settled()
        rig.index.put(segment("s", {"a": "one"}), "New name")
        assert rig.index.missing == 1
        await rig.settled()
    assert any(text.startswith("New name:") for text in rig.embedder.texts)


async def test_only_servers_that_were_asked_for_are_compared() -> None:
    rig = Rig()
    for server in "abc":
        rig.index.put(segment(server, {"t": "one"}))
    async with rig.running():
        await rig.settled()
        likeness = await rig.index.alike("one", (), {"a", "c", "unknown"})
    assert {doc.server for doc in likeness} == {"a", "c"}


async def test_a_large_catalog_is_compared_while_the_rest_is_embedded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keeping, "_SHOWN_FIRST", 4)
    rig = Rig()
    rig.index.put(segment("s", numbered(60)))
    seen: set[int] = set()
    async with rig.running():
        with anyio.fail_after(5):
            while rig.index.missing:
                seen.add(60 - rig.index.missing)
                await anyio.lowlevel.checkpoint()
    assert seen >= {4, 12, 28}


async def test_a_catalog_that_changes_while_it_is_embedded_gives_way_to_the_newer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keeping, "_SHOWN_FIRST", 1)
    rig = Rig()
    rig.index.put(segment("s", numbered(500)))
    async with rig.running():
        await until(lambda: rig.index.missing < 500)
        rig.index.put(segment("s", {"only": "This one."}))
        await rig.settled()
        assert (await rig.found("only")).keys() == {("s", "only")}
    assert rig.made < 900, "the rest of the older one was not embedded"


async def test_a_server_dropped_while_it_is_embedded_stays_away() -> None:
    rig = Rig()
    rig.index.put(segment("s", numbered(300)))
    async with rig.running():
        await until(lambda: rig.made > 0)
        rig.index.drop("s")
        rig.index.put(segment("other", {"t": "one"}))
        await rig.settled()
        assert (await rig.found("one")).keys() == {("other", "t")}


async def test_a_model_that_fails_is_told_and_tried_again_with_the_next_change() -> None:
    rig = Rig()
    rig.embedder.broken = UpstreamUnreachable("the model is gone")
    rig.index.put(segment("s", numbered(3)))
    async with rig.running():
        await until(lambda: rig.index.trouble != "")
        assert "the model is gone" in rig.index.trouble
        assert rig.index.missing == 3
        rig.embedder.broken = None
        rig.index.put(segment("s", numbered(4)))
        await rig.settled()
        await until(lambda: rig.index.trouble == "")


async def test_a_query_is_embedded_once_and_never_kept() -> None:
    rig = Rig()
    for _ in range(3):
        await rig.index.alike("the same", ("a part",), None)
    assert rig.embedder.texts == ["the same", "a part"]
    assert await rig.texts.kept(["the same", "a part"]) == {}


async def test_few_queries_are_remembered() -> None:
    rig = Rig()
    for number in range(600):
        await rig.texts.of_query([f"query {number}"])
    await rig.texts.of_query(["query 599"])
    assert len(rig.embedder.texts) == 600
    await rig.texts.of_query(["query 0"])
    assert len(rig.embedder.texts) == 601


class Watched(NumpyVectors):
    """Says which threads worked, and lets a test change things before they are done."""

    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions)
        self.threads: dict[str, set[int]] = {"prepared": set(), "put": set(), "compared": set()}
        self.meanwhile: Callable[[], None] = lambda: None

    def prepared(
        self, group: str, rows: Sequence[bytes], names: Sequence[bytes] = ()
    ) -> Callable[[], None]:
        self.threads["prepared"].add(get_ident())
        put = super().prepared(group, rows, names)

        def noted() -> None:
            self.threads["put"].add(get_ident())
            put()

        return noted

    def comparison(
        self, query: bytes, parts: Sequence[bytes] = ()
    ) -> Callable[[], Mapping[str, list[float]]]:
        compare = super().comparison(query, parts)

        def noted() -> Mapping[str, list[float]]:
            self.threads["compared"].add(get_ident())
            self.meanwhile()
            return compare()

        return noted


@pytest.mark.parametrize("few", [0, 1_000])
async def test_vectors_of_many_tools_are_worked_out_off_the_loop_and_put_there_on_it(
    monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    for bound in ("_FEW", "AT_ONCE"):
        monkeypatch.setattr(keeping, bound, few)
    rig = Rig()
    watched = Watched(rig.embedder.dimensions)
    rig.index = MeaningIndex(rig.texts, watched)
    async with rig.running():
        rig.index.put(segment("s", numbered(40)))
        await rig.settled()
        assert len(await rig.found("tool 3")) == 40
    here = {get_ident()}
    assert watched.threads["put"] == here
    assert (watched.threads["prepared"] == here) is (few > 0)
    assert (watched.threads["compared"] == here) is (few > 0)


@pytest.mark.parametrize("way", ["changed", "dropped"])
async def test_what_changes_while_vectors_are_compared_has_no_likeness(
    monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(keeping, "AT_ONCE", 0)
    rig = Rig()
    watched = Watched(rig.embedder.dimensions)
    rig.index = MeaningIndex(rig.texts, watched)
    async with rig.running():
        rig.index.put(segment("s", numbered(3)))
        rig.index.put(segment("other", numbered(3)))
        await rig.settled()

    def change() -> None:
        if way == "changed":
            from_thread.run_sync(rig.index.put, segment("s", numbered(2)))
        else:
            from_thread.run_sync(rig.index.drop, "s")

    watched.meanwhile = change
    likeness = await rig.index.alike("tool 1", (), None)
    assert {doc.server for doc in likeness} == {"other"}
