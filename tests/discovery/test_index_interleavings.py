"""However changes, searches and cancellations interleave, the indexes end as ones built anew.

Work for threads runs on the event loop here, after a drawn number of switches: so every
interleaving can be played again.
"""

from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.adapters.embedding import vectors
from toolcrib.adapters.embedding.vectors import NumpyVectors
from toolcrib.adapters.linear_patterns import linear_pattern
from toolcrib.adapters.store.memory_vectors import MemoryVectors
from toolcrib.catalog.access import ServerStatus
from toolcrib.core.search import merged
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.index import building
from toolcrib.discovery.index.keeping import ToolIndex
from toolcrib.discovery.index.ranking import WordSearch
from toolcrib.discovery.semantic import hybrid, keeping
from toolcrib.discovery.semantic.hybrid import MeaningRanking
from toolcrib.discovery.semantic.keeping import MeaningIndex
from toolcrib.discovery.semantic.texts import TextVectors
from toolcrib.testing.fake_access import FakeAccess
from toolcrib.testing.hashed_embedder import HashedEmbedder
from toolcrib.testing.store_contract import SteppedClock

# pyright: reportUnknownArgumentType=false
# numpy and pytest.approx are typed in part.

T = TypeVar("T")

LEXICON = Lexicon(str)
MOST = 1_000
SETTLED = 2_000
"""Switches of the event loop after which everything is done that anybody began."""

TINY = (
    (building, "AT_ONCE", 0),
    (building, "TOGETHER", 1),
    (merged, "_LARGE", 0),
    (keeping, "AT_ONCE", 0),
    (keeping, "_FEW", 0),
    (hybrid, "AT_ONCE", 0),
    (vectors, "_LARGE", 2),
)
"""Bounds under which all work goes to threads, in the smallest pieces."""

SEEN: Counter[str] = Counter()
WANTED = {
    "searches",
    "searches beside a change",
    "searches called off",
    "servers dropped",
    "texts embedded",
    "tools found by meaning",
}
"""What has to come about, or little was proved."""

QUERIES = ("alpha?", "beta gamma?", "everywhere alpha?", "delta parcels?")
"""No text of a tool ends like these, so that what was embedded for a query can be told apart."""

# ---------------------------------------------------------------- what is done

Tools = Mapping[str, str]


@dataclass(frozen=True)
class Put:
    server: str
    tools: Tools


@dataclass(frozen=True)
class Withdraw:
    server: str


@dataclass(frozen=True)
class Remove:
    server: str


@dataclass(frozen=True)
class Describe:
    server: str
    text: str


@dataclass(frozen=True)
class Rename:
    """The server calls itself something else, which is noticed when it is read again."""

    server: str
    title: str


@dataclass(frozen=True)
class Search:
    query: int
    hybrid: bool


@dataclass(frozen=True)
class CallOff:
    """The search that was begun last is cancelled."""


@dataclass(frozen=True)
class Switch:
    times: int


Step = Put | Withdraw | Remove | Describe | Rename | Search | CallOff | Switch

SERVERS = st.sampled_from(["s", "t", "u"])
WORDS = st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta"]), max_size=3).map(" ".join)
TOOLS = st.dictionaries(
    st.sampled_from(["one", "twoAlpha", "three_beta"]), WORDS, min_size=1, max_size=3
)
SWITCHES = st.builds(Switch, st.integers(1, 12))
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.builds(Put, SERVERS, TOOLS),
    st.builds(Put, SERVERS, TOOLS | st.just({})),
    st.builds(Search, st.integers(0, len(QUERIES) - 1), st.booleans()),
    SWITCHES,
    st.one_of(
        st.builds(Withdraw, SERVERS),
        st.builds(Remove, SERVERS),
        st.builds(Describe, SERVERS, st.sampled_from(["", "parcels", "alpha"])),
        st.builds(Rename, SERVERS, st.sampled_from(["", "Parcels", "Beta"])),
        st.just(CallOff()),
    ),
)


@contextmanager
def threads_on_the_loop(delays: list[int]) -> Generator[None]:
    """Whatever would go to a thread is done on the loop, so many switches later."""
    turn = iter(range(10**9))

    async def run_sync(func: Callable[..., T], *args: Any, **_options: Any) -> T:
        for _ in range(delays[next(turn) % len(delays)]):
            await anyio.lowlevel.checkpoint()
        done = func(*args)
        await anyio.lowlevel.checkpoint()
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anyio.to_thread, "run_sync", run_sync)
        yield


# ---------------------------------------------------------------- one world


class Named(FakeAccess):
    """Catalogs whose servers call themselves what a test says."""

    def __init__(self) -> None:
        super().__init__()
        self.titles: dict[str, str] = {}

    def status(self, server: str) -> ServerStatus:
        status = super().status(server)
        if status.facts is None:
            return status
        return replace(status, facts=replace(status.facts, name=self.titles.get(server, "")))


class Said:
    """What servers say of themselves."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def about(self, server: str) -> str:
        return self.texts.get(server, "")


class Indexes:
    """Both indexes over some catalogs."""

    def __init__(
        self, access: Named, said: Said, embedder: HashedEmbedder, vectors: MemoryVectors
    ) -> None:
        self.texts = TextVectors(embedder, vectors)
        self.meaning = MeaningIndex(self.texts, NumpyVectors(embedder.dimensions))
        self.index = ToolIndex(access, LEXICON, introduced=said, followers=[self.meaning])
        self.words = WordSearch(self.index, linear_pattern)
        self.ranking = MeaningRanking(self.meaning, self.index)

    async def settled(self) -> None:
        """Everything is in both."""
        await self.index.settled()
        for _ in range(SETTLED):
            if not self.meaning.missing:
                break
            await anyio.lowlevel.checkpoint()
        assert self.meaning.missing == 0
        assert self.meaning.trouble == ""

    async def found(self, query: str, *, hybrid: bool) -> dict[tuple[str, str], float]:
        if hybrid:
            await self.index.settled()
            return dict((await self.ranking.hybrid(query, None, MOST)).tools)
        return dict((await self.words.lexical(query, None, MOST)).tools)

    async def likeness(self, query: str) -> dict[tuple[str, str], float]:
        """By meaning alone."""
        await self.index.settled()
        alike = await self.meaning.alike(query, (), None)
        return {doc.tool: cosine for doc, cosine in alike.items()}


class World:
    """The catalogs, what they were, and the searches under way."""

    def __init__(self) -> None:
        self.access, self.said = Named(), Said()
        self.embedder = HashedEmbedder()
        self.vectors = MemoryVectors(SteppedClock())
        self.indexes = self.fresh()
        none = frozenset[str]()
        self.history = {it: [none] for it in ("s", "t", "u")}
        """The names that each server had, in order."""
        self.searches: list[anyio.CancelScope] = []

    def fresh(self) -> Indexes:
        return Indexes(self.access, self.said, self.embedder, self.vectors)

    def put(self, server: str, tools: Tools) -> None:
        definitions = [
            {
                "name": name,
                "description": f"Everywhere. {text}",
                "inputSchema": {"type": "object"},
            }
            for name, text in tools.items()
        ]
        self.access.put(server, Kind.TOOLS, definitions)
        self.history[server].append(frozenset(tools))

    def gone(self, server: str) -> None:
        self.history[server].append(frozenset())
        SEEN["servers dropped"] += 1

    async def search(self, step: Search, scope: anyio.CancelScope) -> None:
        begun = {server: len(had) - 1 for server, had in self.history.items()}
        with scope:
            query = f"everywhere {QUERIES[step.query]}"
            found = await self.indexes.found(query, hybrid=step.hybrid)
            SEEN["searches"] += 1
            for server, had in self.history.items():
                names = frozenset(key for of, key in found if of == server)
                SEEN["searches beside a change"] += len(had) - 1 > begun[server]
                assert names in had[begun[server] :], f"{server} never had {set(names)} meanwhile"
            return
        SEEN["searches called off"] += 1

    def play(self, step: Step, start: Callable[[Search, anyio.CancelScope], object]) -> None:
        there = self.access.server_ids()
        match step:
            case Put(server, tools):
                self.put(server, tools)
            case Withdraw(server) if server in there:
                self.access.fail(server, Kind.TOOLS, "the right to see it is gone")
                self.gone(server)
            case Remove(server) if server in there:
                self.access.remove(server)
                self.gone(server)
            case Describe(server, text):
                self.said.texts[server] = text
                self.indexes.index.reread(server)
            case Rename(server, title):
                self.access.titles[server] = title
                self.indexes.index.reread(server)
            case Search():
                self.searches.append(anyio.CancelScope())
                start(step, self.searches[-1])
            case CallOff() if self.searches:
                self.searches[-1].cancel()
            case _:
                pass


async def play(steps: list[Step]) -> None:
    world = World()
    async with anyio.create_task_group() as running:
        running.start_soon(world.indexes.index.run)
        running.start_soon(world.indexes.meaning.run)
        async with anyio.create_task_group() as searching:
            for step in steps:
                world.play(step, partial(searching.start_soon, world.search))
                for _ in range(step.times if isinstance(step, Switch) else 0):
                    await anyio.lowlevel.checkpoint()
        await world.indexes.settled()
        of_tools = Counter(it for it in world.embedder.texts if not it.endswith("?"))
        assert all(count == 1 for count in of_tools.values()), "a text was embedded twice"
        SEEN["texts embedded"] += len(of_tools)
        fresh = world.fresh()
        running.start_soon(fresh.meaning.run)
        await fresh.settled()
        assert fresh.texts.embedded == 0, "a vector was not kept"
        await compare(world.indexes, fresh)
        running.cancel_scope.cancel()


async def compare(one: Indexes, other: Indexes) -> None:
    assert (await one.index.settled()).servers() == (await other.index.settled()).servers()
    for query in QUERIES:
        expected = await other.found(query, hybrid=False)
        assert await one.found(query, hybrid=False) == expected
        expected = await other.found(query, hybrid=True)
        assert await one.found(query, hybrid=True) == pytest.approx(expected, abs=1e-5)
        expected = await other.likeness(query)
        assert await one.likeness(query) == pytest.approx(expected, abs=1e-5)
        SEEN["tools found by meaning"] += len(expected)


@settings(max_examples=400)
@given(
    steps=st.lists(STEPS, min_size=8, max_size=20),
    delays=st.lists(st.integers(0, 9), min_size=1, max_size=4),
    tiny=st.booleans(),
)
def generated(steps: list[Step], delays: list[int], tiny: bool) -> None:  # noqa: FBT001 - drawn
    with threads_on_the_loop(delays), pytest.MonkeyPatch.context() as patch:
        for module, bound, value in TINY if tiny else ():
            patch.setattr(module, bound, value)
        anyio.run(play, steps)


@pytest.mark.hypothesis
def test_after_any_interleaving_both_indexes_are_as_built_anew_and_nothing_is_embedded_twice() -> (
    None
):
    SEEN.clear()
    generated()
    assert {name for name, count in SEEN.items() if count} >= WANTED, SEEN
