"""The table of names is put together from those of single servers, and is that of all of them."""

# pyright: reportPrivateUsage=false
# What a table is made of shows from inside only.

from collections.abc import Iterable
from threading import get_ident
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.adapters.store.memory_entries import MemoryEntries
from toolcrib.calls import names as names_module
from toolcrib.calls.call import Requester
from toolcrib.calls.ledger.ledger import Ledger
from toolcrib.calls.names import Names
from toolcrib.config.keys import InstallationKey
from toolcrib.core.naming import NameTable, Style
from toolcrib.core.snapshot import Kind
from toolcrib.settings import Limits
from toolcrib.testing.fake_access import FakeAccess
from toolcrib.testing.store_contract import SteppedClock

STYLES: tuple[Style, ...] = ("qualified", "plain")


def names_of(access: FakeAccess, style: Style = "qualified") -> Names:
    clock = SteppedClock()
    keys = InstallationKey(b"k" * 32)
    ledger = Ledger(MemoryEntries(clock), keys=keys, clock=clock, limits=Limits())
    return Names(access, ledger, style=style, limit=48)


def put(access: FakeAccess, server: str, tools: Iterable[str]) -> None:
    definitions = [{"name": name, "inputSchema": {"type": "object"}} for name in tools]
    access.put(server, Kind.TOOLS, definitions)


class Builds:
    """Counts the servers whose names are worked out, and the threads that do it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.servers: list[list[str]] = []
        self.threads: set[int] = set()
        build = NameTable.build

        def counted(catalogs: Any, **options: Any) -> NameTable:
            self.servers.append(sorted(catalogs))
            self.threads.add(get_ident())
            return build(catalogs, **options)

        monkeypatch.setattr(NameTable, "build", counted)


TOOLS = st.sets(st.sampled_from(["a", "b__c", "c", "_d", "e" * 60]), max_size=4)
CHANGES = st.lists(
    st.tuples(st.sampled_from(["s", "t", "u__v"]), st.none() | TOOLS), min_size=1, max_size=8
)


@given(CHANGES, st.sampled_from(STYLES))
def test_after_any_changes_the_table_is_that_of_all_catalogs_together(
    changes: list[tuple[str, set[str] | None]], style: Style
) -> None:
    access = FakeAccess()
    names = names_of(access, style)
    for server, tools in changes:
        if tools is not None:
            put(access, server, tools)
        elif server in access.server_ids():
            access.remove(server)
        table = names._current()
        held = {it: access.peek(it, Kind.TOOLS).snapshot for it in access.server_ids()}
        catalogs = {it: shown.items for it, shown in held.items() if shown is not None}
        whole = NameTable.build(catalogs, style=style, limit=48)
        assert list(table.entries.items()) == list(whole.entries.items())
        assert table.collided == whole.collided


async def test_names_are_worked_out_of_the_changed_server_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    access = FakeAccess()
    for server in ("a", "b", "c"):
        put(access, server, ["copy"])
    names = names_of(access)
    builds = Builds(monkeypatch)
    assert await names.find("b__copy", Requester()) == ("b", "copy")
    assert builds.servers == [["a"], ["b"], ["c"]]
    put(access, "b", ["copy", "move"])
    assert await names.find("b__move", Requester()) == ("b", "move")
    assert builds.servers[3:] == [["b"]]


@pytest.mark.parametrize("least", [1, 2])
async def test_names_of_a_large_server_are_worked_out_off_the_loop(
    monkeypatch: pytest.MonkeyPatch, least: int
) -> None:
    monkeypatch.setattr(names_module, "_LARGE", least)
    access = FakeAccess()
    names = names_of(access)
    builds = Builds(monkeypatch)
    put(access, "s", ["copy", "move"])
    assert await names.find("s__move", Requester()) == ("s", "move")
    assert builds.servers == [["s"]]
    assert (get_ident() in builds.threads) is (least == 2)
