"""What hostile hosts, models, stores and endpoints send: answers or errors, never the end."""

import json
from collections.abc import Sequence
from threading import Event
from typing import Any

import anyio
import pytest

from toolcrib.adapters.embedding.vectors import NumpyVectors
from toolcrib.adapters.store.memory_entries import MemoryEntries
from toolcrib.adapters.store.memory_vectors import MemoryVectors
from toolcrib.calls.call import Requester
from toolcrib.core.partition import ANONYMOUS
from toolcrib.core.quoting import literal
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.search.segment import Segment
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.hits import Found, Query
from toolcrib.discovery.search import Searching
from toolcrib.discovery.semantic import keeping, texts
from toolcrib.discovery.semantic.keeping import MeaningIndex
from toolcrib.discovery.semantic.texts import TextVectors
from toolcrib.discovery.subagent import answer
from toolcrib.discovery.subagent.asking import Asking, Unanswered
from toolcrib.discovery.subagent.prompt import Candidate
from toolcrib.errors import RequestTimedOut, ResultInvalid
from toolcrib.settings import GatewaySettings, SubagentSettings
from toolcrib.testing.fake_access import snapshot_of
from toolcrib.testing.hashed_embedder import HashedEmbedder
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_gateway import scripted_gateway
from toolcrib.testing.store_contract import SteppedClock

HUGE = 10**5_000


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    "arguments",
    [{"limit": HUGE}, {"limit": -HUGE}, {"limit": [HUGE]}, {"detail": HUGE}],
    ids=["huge", "negative", "inside", "detail"],
)
async def test_numbers_that_nobody_can_write_are_refused_or_taken(
    arguments: dict[str, Any],
) -> None:
    server = ScriptedUpstream([tool("send")])
    settings = GatewaySettings(exposure="search")
    async with scripted_gateway({"mail": server}, gateway=settings) as served:
        result = await served.call("search_tools", query="send", **arguments)
        assert result["content"][0]["text"]


def test_a_value_that_cannot_be_written_is_still_named() -> None:
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    assert literal(HUGE)
    assert literal(deep)


@pytest.mark.virtual_time
async def test_names_without_end_are_counted_and_not_gone_through() -> None:
    server = ScriptedUpstream([tool("send")])
    settings = GatewaySettings(exposure="search")
    async with scripted_gateway({"mail": server}, gateway=settings) as served:
        names = [f"n{number}" for number in range(100_000)]
        result = await served.call("get_tool_details", names=names)
        text = result["content"][0]["text"]
        assert "99,930 more names" in text
        assert len(text) < 8_000


@pytest.mark.virtual_time
@pytest.mark.parametrize("row", [b"[" * 100_000, b'{"a":' * 100_000, b"\xff", b"", b"[1]", b"NaN"])
async def test_damaged_rows_are_passed_over(row: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    async def damaged(self: MemoryEntries, space: str, owner: str) -> dict[str, bytes]:
        del self, owner
        return {"k": row} if space in {"exposure", "servers.known"} else {}

    monkeypatch.setattr(MemoryEntries, "entries", damaged)
    async with scripted_gateway(
        {"mail": ScriptedUpstream([tool("read")])},
        gateway=GatewaySettings(exposure="auto"),
        settings={"mail": server_settings("mail", on_demand=True)},
    ) as served:
        assert "search_tools" in await served.names()
        found = await served.call("search_available_servers")
        assert "mail" in found["content"][0]["text"]


def test_thoughts_are_passed_over_in_one_pass() -> None:
    assert answer.read_answer("1 <think>2</think> 3 </THINKING> [4]", list("abcdef")).chosen == (3,)


class Raising:
    """A model whose adapter lets anything out."""

    async def complete(
        self, instructions: str, question: str, *, most_tokens: int, timeout: float
    ) -> str:
        raise RuntimeError("sk-secret")


async def test_what_a_model_raises_ends_no_search_and_is_not_told() -> None:
    told = Recorder()
    settings = SubagentSettings(url="http://127.0.0.1/v1", model="m")
    asking = Asking(Raising(), settings, clock=SteppedClock(), observer=told)
    found = await asking.ask("q", [Candidate("a", "", "1"), Candidate("b", "", "2")])
    assert found == Unanswered("broken")
    assert "sk-secret" not in repr(told.facts)


async def answered(vectors: TextVectors) -> list[bytes] | None:
    try:
        return await vectors.of_query(["q"])
    except RequestTimedOut:
        return None


class Hanging(HashedEmbedder):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = Event()
        self.asked = 0

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.asked += 1
        self.let.wait()
        return super().embed(texts)


async def test_an_embedder_that_hangs_holds_no_search_and_gathers_no_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(texts, "PATIENCE", 0.01)
    embedder = Hanging()
    vectors = TextVectors(embedder, MemoryVectors(SteppedClock()))
    for number in range(10):
        with anyio.fail_after(5), pytest.raises(RequestTimedOut):
            await vectors.of_query([f"q{number}"])
    assert embedder.asked == 2
    embedder.let.set()
    monkeypatch.setattr(texts, "PATIENCE", 5)
    with anyio.fail_after(5):
        while (found := await answered(vectors)) is None:  # noqa: ASYNC110 - threads tell nobody
            await anyio.sleep(0.001)
    assert len(found) == 1


class Short(HashedEmbedder):
    """Gives vectors of another length than it says."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [b"\0\0\0\0" for _ in texts]


async def test_vectors_of_another_length_are_refused_and_not_kept() -> None:
    store = MemoryVectors(SteppedClock())
    vectors = TextVectors(Short(), store)
    with pytest.raises(ResultInvalid):
        await vectors.of_query(["q"])
    with pytest.raises(ResultInvalid):
        await vectors.made(["t"])
    assert await vectors.kept(["t"]) == {}


class BrokenForOne(HashedEmbedder):
    """Fails for the tools of one server, for as long as it is broken."""

    def __init__(self) -> None:
        super().__init__()
        self.fails = True

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        if self.fails and any("first" in text for text in texts):
            raise RuntimeError("secret")
        return super().embed(texts)


async def test_vectors_that_failed_are_made_later_and_told_of_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keeping, "RETRY", 0.01)
    embedder = BrokenForOne()
    vectors = TextVectors(embedder, MemoryVectors(SteppedClock()))
    index = MeaningIndex(vectors, NumpyVectors(embedder.dimensions))
    for name in ("first", "second"):
        index.put(Segment.build(name, snapshot_of(Kind.TOOLS, [tool(name)]), Lexicon(str)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(index.run)
        with anyio.fail_after(5):
            while index.missing != 1:  # noqa: ASYNC110 - nobody tells of it
                await anyio.sleep(0.001)
            await index.caught_up()
            assert index.trouble == "Some tools are not found by meaning: RuntimeError."
            embedder.fails = False
            while index.missing:  # noqa: ASYNC110 - nobody tells of it
                await anyio.sleep(0.01)
            assert index.trouble == ""
        tasks.cancel_scope.cancel()


@pytest.mark.virtual_time
async def test_arguments_as_text_are_held_to_what_json_is() -> None:
    server = ScriptedUpstream([{**tool("echo"), "inputSchema": {"type": "object"}}])
    settings = GatewaySettings(exposure="search")
    async with scripted_gateway({"mail": server}, gateway=settings) as served:
        for args in ('{"a":NaN}', '{"a":1e999}', "{" * 100_000, '{"a":' * 900, "[1]"):
            result = await served.call("call_tool", name="mail__echo", args=args)
            assert result["structuredContent"]["error"]["code"] == "bad_arguments", args
            json.dumps(result, allow_nan=False)
    assert server.calls == []


@pytest.mark.virtual_time
async def test_what_another_caller_enabled_is_not_among_similar_names() -> None:
    scripts = {"mail": ScriptedUpstream([tool("read")]), "bank": ScriptedUpstream([tool("payout")])}
    async with scripted_gateway(
        scripts,
        gateway=GatewaySettings(exposure="search"),
        settings={"bank": server_settings("bank", on_demand=True)},
    ) as served:
        meta = served.crib.discovery(ANONYMOUS).meta

        async def call(handle: str, tool_name: str, **arguments: Any) -> str:
            return json.dumps(await meta.call(tool_name, arguments, Requester(ANONYMOUS, handle)))

        assert "payout" in await call("one", "enable_server", server="bank")
        assert "bank__payout" in await call("one", "search_tools", query="payout")
        for name in ("bank_payout", "payout", "mail__payout"):
            assert "bank__payout" not in await call("two", "get_tool_details", names=[name])
        assert "bank__payout" not in await call("two", "search_tools", query="payuot")


@pytest.mark.virtual_time
async def test_few_of_many_unknown_names_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    server, searched = ScriptedUpstream([tool("send")]), 0
    settings = GatewaySettings(exposure="search")
    async with scripted_gateway({"mail": server}, gateway=settings) as served:
        find = Searching.find

        async def counted(search: Searching, query: Query) -> Found:
            nonlocal searched
            searched += 1
            return await find(search, query)

        monkeypatch.setattr(Searching, "find", counted)
        await served.call("get_tool_details", names=[f"n{number}" for number in range(20)])
    assert searched == 5
