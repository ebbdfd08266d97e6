"""The real search over the catalog of a data set."""

from array import array
from collections.abc import Callable, Mapping, Sequence

import pytest

from toolcrib.adapters.linear_patterns import linear_pattern
from toolcrib.adapters.stemming import EnglishStemmer
from toolcrib.adapters.store.memory_vectors import MemoryVectors
from toolcrib.context.tokens import HeuristicCounter
from toolcrib.discovery.evaluation.catalogs import SetCatalogs
from toolcrib.discovery.evaluation.ranking import ranked
from toolcrib.discovery.evaluation.searching import searching
from toolcrib.discovery.evaluation.tasks import DataSet, KnownTool, Task
from toolcrib.discovery.hits import Query
from toolcrib.discovery.instruments import Instruments, Meaning
from toolcrib.settings import SearchSettings
from toolcrib.testing.hashed_embedder import HashedEmbedder
from toolcrib.testing.virtual_clock import LoopClock

pytestmark = pytest.mark.virtual_time


class PlainVectors:
    """A `VectorIndex` without numpy."""

    def __init__(self) -> None:
        self._groups: dict[str, list[list[float]]] = {}

    def prepared(
        self, group: str, rows: Sequence[bytes], names: Sequence[bytes] = ()
    ) -> Callable[[], None]:
        return lambda: self._groups.update({group: [list(array("f", row)) for row in rows]})

    def drop(self, group: str) -> None:
        self._groups.pop(group, None)

    def comparison(
        self, query: bytes, parts: Sequence[bytes] = ()
    ) -> Callable[[], Mapping[str, Sequence[float]]]:
        asked = array("f", query)
        return lambda: {
            group: [sum(a * b for a, b in zip(asked, row, strict=True)) for row in rows]
            for group, rows in self._groups.items()
        }


def tool(server: str, name: str, said: str) -> KnownTool:
    return KnownTool(
        f"{server}::{name}", server, name, {"name": name, "description": said}, server, "A server."
    )


KNOWN = DataSet(
    "known",
    (
        tool("mail", "send_email", "Sends an email."),
        tool("mail", "list_inbox", "Lists messages."),
        tool("files", "read_file", "Reads a file."),
    ),
    (
        Task("q1", "sending emails", (frozenset({"mail::send_email"}),)),
        Task("q2", "dispatch", (frozenset({"mail::send_email"}),)),
    ),
)
WORDS = Instruments(EnglishStemmer(), linear_pattern, HeuristicCounter())


def meaning() -> Meaning:
    embedder = HashedEmbedder(alike={"dispatch": "email"})
    return Meaning(embedder, MemoryVectors(LoopClock()), PlainVectors)


async def test_tools_are_found_by_their_words() -> None:
    async with searching(SetCatalogs(KNOWN), WORDS, SearchSettings()) as ready:
        found = await ranked(ready.search, KNOWN, "auto", LoopClock().lots)
    assert found.name == "lexical"
    assert found.by_task["q1"][0] == "mail::send_email"


async def test_with_an_embedder_every_tool_has_its_vector_from_the_first_query_on() -> None:
    instruments = Instruments(EnglishStemmer(), linear_pattern, HeuristicCounter(), meaning())
    async with searching(SetCatalogs(KNOWN), instruments, SearchSettings()) as ready:
        found = await ranked(ready.search, KNOWN, "auto", LoopClock().lots)
    assert (found.name, found.notes) == ("hybrid", ())
    assert found.by_task["q2"][0] == "mail::send_email", "no word of it is in the tool"


async def test_what_was_replaced_is_found_as_it_is_now() -> None:
    catalogs = SetCatalogs(KNOWN)
    async with searching(catalogs, WORDS, SearchSettings()) as ready:
        catalogs.replace("mail", [tool("mail", "calibrate", "Calibrates a sextant.")])
        found = await ready.search.find(Query("sextant"))
        gone = await ready.search.find(Query("lists", servers=["mail"]))
    assert [hit.item.key for hit in found.hits] == ["calibrate"]
    assert gone.hits == ()
