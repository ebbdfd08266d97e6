"""Earlier definitions are remembered as long as they help, and no longer."""

# pyright: reportPrivateUsage=false
# What is kept and never shown is looked at here.

from collections.abc import Mapping
from typing import Any

import pytest

from toolcrib.calls.ledger.history import History
from toolcrib.calls.seams import Past
from toolcrib.catalog.access import PublishedChange
from toolcrib.core.canonical import canonical
from toolcrib.core.diff import Changed
from toolcrib.core.fingerprint import contract, fingerprint
from toolcrib.core.snapshot import Item, Kind, Snapshot
from toolcrib.testing.store_rig import snapshot_of


def tool(name: str, properties: Mapping[str, Any], description: str = "") -> Item:
    definition = {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties},
    }
    return Item(name, definition, fingerprint(definition), contract(definition))


class Server:
    """A server's catalog that changes, and the history that listens."""

    def __init__(self, history: History, name: str = "s") -> None:
        self.history = history
        self.name = name
        self.held: Snapshot | None = None

    def publish(self, *tools: Item, kind: Kind = Kind.TOOLS) -> None:
        before, self.held = self.held, snapshot_of(*tools, kind=kind)
        self.history.published(PublishedChange(self.name, kind, before, self.held, 1))

    def withdraw(self) -> None:
        before, self.held = self.held, None
        self.history.published(PublishedChange(self.name, Kind.TOOLS, before, None, 1))


@pytest.fixture
def server() -> Server:
    return Server(History())


def past(history: History) -> Past:
    """The history is what the pipeline asks for."""
    return history


A1, A2, A3 = (tool("a", {name: {}}) for name in ("x", "y", "z"))
B1 = tool("b", {"q": {}})


def test_a_changed_tool_can_be_told_from_what_it_was(server: Server) -> None:
    server.publish(A1, B1)
    assert past(server.history).item("s", "a") is None
    server.publish(A2, B1)
    assert server.history.item("s", "a", A1.contract) == A1
    assert server.history.item("s", "a") == A1
    assert server.history.item("s", "a", A2.contract) is None, "that is the current one"
    assert server.history.item("s", "b") is None
    assert server.history.item("other", "a") is None
    before = server.history.item("s", "a", A1.contract)
    assert before is not None
    assert any("`y`" in sentence for sentence in Changed(before, A2).in_words())


def test_the_newest_earlier_one_is_told_where_nobody_says_which(server: Server) -> None:
    for version in (A1, A2, A3):
        server.publish(version)
    assert server.history.item("s", "a") == A2
    assert server.history.item("s", "a", A1.contract) == A1
    server.publish(A1)
    server.publish(A2)
    assert server.history.item("s", "a") == A1, "it was there later than the others"


def test_a_removed_tool_is_remembered(server: Server) -> None:
    server.publish(A1, B1)
    server.publish(B1)
    assert server.history.item("s", "a") == A1
    assert server.history.successor("s", "a") is None


def test_a_change_of_words_alone_is_none(server: Server) -> None:
    server.publish(tool("a", {"x": {}}, "old"))
    server.publish(tool("a", {"x": {}}, "new"))
    assert server.history.item("s", "a") is None
    server.publish(A2)
    earlier = server.history.item("s", "a")
    assert earlier is not None
    assert earlier.definition["description"] == "new"


def test_kinds_without_contracts_are_not_remembered(server: Server) -> None:
    server.publish(A1, kind=Kind.PROMPTS)
    server.publish(A2, kind=Kind.PROMPTS)
    assert server.history.item("s", "a") is None


def test_who_may_not_see_a_server_any_more_is_not_told_of_its_tools(server: Server) -> None:
    other = Server(server.history, "t")
    for one in (server, other):
        one.publish(A1, tool("old", {"p": {}}))
        one.publish(A2, tool("new", {"p": {}}))
    server.withdraw()
    assert server.history.item("s", "a") is None
    assert server.history.successor("s", "old") is None
    assert server.history.item("t", "a") == A1
    assert server.history.successor("t", "old") == "new"


def test_a_tool_has_a_few_earlier_contracts(server: Server) -> None:
    versions = [tool("a", {f"p{number}": {}}) for number in range(8)]
    for version in versions:
        server.publish(version)
    known = [server.history.item("s", "a", it.contract) for it in versions]
    assert known == [None, None, None, *versions[3:7], None]


def test_all_tools_together_have_a_bounded_number() -> None:
    """The oldest go first; a catalog that loses everything at once is no exception."""
    history = History(most=5)
    server = Server(history)
    server.publish(*(tool(f"t{number}", {"x": {}}) for number in range(10)))
    server.publish(B1)
    assert sum(history.item("s", f"t{number}") is not None for number in range(10)) == 5
    for version in (A1, A2, A3):
        server.publish(version)
    assert history.item("s", "a") == A2
    assert len(history._kept) == 5


def test_a_tool_that_changes_to_and_fro_is_counted_once() -> None:
    history = History()
    server = Server(history)
    for _ in range(20):
        server.publish(A1)
        server.publish(A2)
    assert [history.item("s", "a", it.contract) for it in (A1, A2)] == [A1, A2]
    sizes = [len(canonical(it.definition)) for it in (A1, A2)]
    assert history._size == sum(sizes)


def test_all_tools_together_have_bounded_bytes() -> None:
    history = History(most_bytes=5_000)
    server = Server(history)
    for number in range(10):
        server.publish(tool("a", {f"p{number}": {"const": "x" * 1_000}}))
        server.publish(tool(f"b{number}", {f"p{number}": {"const": "x" * 1_000}}))
    assert 3 <= len(history._kept) <= 4
    assert history._size <= 5_000
    server.publish(tool("huge", {"x": {"const": "x" * 10_000}}))
    server.publish()
    assert history._kept == {}
    assert history._size == 0


def test_a_renamed_tool_is_guessed_through_several_names(server: Server) -> None:
    server.publish(tool("one", {"x": {}}))
    server.publish(tool("two", {"x": {}}))
    assert past(server.history).successor("s", "one") == "two"
    server.publish(tool("three", {"x": {}}))
    assert server.history.successor("s", "one") == "three"
    assert server.history.successor("s", "two") == "three"
    assert server.history.successor("s", "three") is None
    assert server.history.successor("other", "one") is None


def test_a_name_that_leads_nowhere_has_no_successor(server: Server) -> None:
    """Neither has one that leads to such a name."""
    for name in ("one", "two", "three"):
        server.publish(tool(name, {"x": {}}), B1)
    server.publish(B1)
    assert [server.history.successor("s", name) for name in ("one", "two", "three")] == [None] * 3


def test_a_name_that_is_back_has_no_successor(server: Server) -> None:
    server.publish(tool("one", {"x": {}}))
    server.publish(tool("two", {"x": {}}))
    server.publish(tool("one", {"x": {}}))
    assert server.history.successor("s", "one") is None
    assert server.history.successor("s", "two") == "one"
    server.publish(tool("one", {"x": {}}), tool("two", {"y": {}}))
    assert server.history.successor("s", "two") is None


def test_guesses_are_bounded() -> None:
    history = History(most=3)
    server = Server(history)
    for number in range(10):
        server.publish(*(tool(f"{name}{number}", {name: {}}) for name in "ab"))
    assert len(history._successors) == 3
    assert history.successor("s", "a8") == "a9"
