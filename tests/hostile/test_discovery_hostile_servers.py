"""What hostile servers show: search stays small in memory, bounded in time, and goes on."""

import random
import string
from typing import Any

import anyio
import pytest

from toolcrib.adapters.embedding.vectors import NumpyVectors
from toolcrib.core.search.fields import ServerTexts
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.search.segment import MOST_WORDS, Segment
from toolcrib.core.snapshot import Kind, Snapshot
from toolcrib.discovery.hits import Introduced
from toolcrib.discovery.index.keeping import ToolIndex
from toolcrib.testing.fake_access import FakeAccess, snapshot_of
from toolcrib.testing.scripted import tool


class Silent(Introduced):
    """Servers that say nothing of themselves."""

    def about(self, server: str) -> str:
        del server
        return ""


def made_up(count: int, words: int) -> list[dict[str, Any]]:
    chance = random.Random(7)  # noqa: S311 - nothing secret
    return [
        {
            "name": f"t{number}",
            "description": " ".join(
                "".join(chance.choices(string.ascii_lowercase, k=7)) for _ in range(words)
            ),
            "inputSchema": {"type": "object"},
        }
        for number in range(count)
    ]


def test_a_server_that_makes_up_words_fills_no_memory() -> None:
    asked: list[str] = []

    def stem(word: str) -> str:
        asked.append(word)
        return word

    lexicon = Lexicon(stem)
    asked.clear()
    snapshot = snapshot_of(Kind.TOOLS, made_up(600, 150))
    segment = Segment.build("evil", snapshot, lexicon)
    assert len(segment.postings) == MOST_WORDS
    assert len(asked) == MOST_WORDS
    assert len(segment) == 600


async def test_a_server_that_changes_without_end_keeps_no_search_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    access = FakeAccess()
    access.put("good", Kind.TOOLS, [tool("send_mail")])
    access.put("evil", Kind.TOOLS, [tool("v0")])
    index = ToolIndex(access, Lexicon(str), introduced=Silent())
    build, built = Segment.build, 0

    def changing(server: str, snapshot: Snapshot, lexicon: Lexicon, about: ServerTexts) -> Segment:
        nonlocal built
        built += 1
        if built < 20:  # just while it is indexed
            access.put("evil", Kind.TOOLS, [tool(f"v{built}")])
        return build(server, snapshot, lexicon, about)

    monkeypatch.setattr(Segment, "build", changing)
    with anyio.fail_after(5):
        await index.settled()
    assert built < 5
    assert [doc.tool for doc in index.scores("mail")] == [("good", "send_mail")]


async def test_tools_that_cannot_be_indexed_cost_no_other_server_its_search() -> None:
    def stem(word: str) -> str:
        if word == "poison":
            raise RuntimeError(word)
        return word

    access = FakeAccess()
    access.put("evil", Kind.TOOLS, [{**tool("odd"), "description": "poison mail"}])
    access.put("good", Kind.TOOLS, [tool("send_mail")])
    index = ToolIndex(access, Lexicon(stem), introduced=Silent())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(index.run)
        with anyio.fail_after(5):
            await index.settled()
            access.put("good", Kind.TOOLS, [tool("read_mail")])
            await index.settled()
        tasks.cancel_scope.cancel()
    assert [doc.tool for doc in index.scores("mail")] == [("good", "read_mail")]


def test_vectors_that_are_none_poison_no_other() -> None:
    np = pytest.importorskip("numpy")
    index = NumpyVectors(2)
    good = np.array([1, 0], "<f4").tobytes()
    rows = [np.array(row, "<f4").tobytes() for row in ([np.nan, 0], [np.inf, 1], [1e38, 1e38])]
    index.prepared("g", [good, *rows], [good, *rows])()
    assert index.comparison(good)()["g"][0] == pytest.approx(1)
    for odd in rows:
        assert index.comparison(odd, [odd])()["g"] == [0, 0, 0, 0]
