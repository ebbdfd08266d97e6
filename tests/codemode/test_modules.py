"""The modules of a program: what its text names, of the servers that its caller has."""

from typing import Any

import pytest

from toolcrib.calls.call import Requester
from toolcrib.codemode.modules import CalleesOf, Modules, View, modules_again
from toolcrib.core.snapshot import Item, Kind
from toolcrib.errors import NotAllowed, ToolGone
from toolcrib.settings import Language
from toolcrib.testing.fake_access import FakeAccess
from toolcrib.testing.meta_rig import FakeEnabling
from toolcrib.testing.scripted import tool

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

WHO = Requester()


class Seen:
    """What callers saw, by server and tool."""

    def __init__(self, **contracts: str) -> None:
        self.contracts = contracts

    async def contract(
        self, requester: Requester, server: str, key: str, *, now: str = ""
    ) -> str | None:
        del requester, now
        return self.contracts.get(f"{server}_{key}")

    async def saw(self, requester: Requester, server: str, items: Any) -> None:
        del requester, server, items


@pytest.fixture
def access() -> FakeAccess:
    access = FakeAccess()
    access.put("git", Kind.TOOLS, [tool("read"), tool("make-it", **{"from": {}}), tool("list")])
    access.put("my-server", Kind.TOOLS, [tool("one")])
    access.put("my_server", Kind.TOOLS, [tool("two")])
    access.put("json", Kind.TOOLS, [tool("dump")])
    access.put("toolcrib", Kind.TOOLS, [tool("call")])
    return access


async def view(access: FakeAccess, source: str, language: Language = "python", **seen: str) -> View:
    return await Modules(access, Seen(**seen)).view(source, language, access.server_ids(), WHO)


def contract(access: FakeAccess, server: str, key: str) -> str:
    snapshot = access.peek(server, Kind.TOOLS).snapshot
    item = None if snapshot is None else snapshot.get(key)
    assert isinstance(item, Item)
    return item.contract


async def test_a_program_gets_the_functions_that_its_text_names_and_no_other(
    access: FakeAccess,
) -> None:
    found = await view(access, "from git import read, make_it as m\nawait m(from_=1)")
    assert set(found.modules) == {"toolcrib", "git"}
    assert found.modules["git"].functions == {"read", "make_it"}
    assert "list_" not in found.modules["git"].declarations
    made = found.callees["git.make_it"]
    assert (made.server, made.tool, made.originals) == ("git", "make-it", {"from_": "from"})
    assert set(found.names["git"]) == {"read", "make_it", "list_"}


async def test_modules_of_servers_take_no_name_that_means_something_else(
    access: FakeAccess,
) -> None:
    found = await view(access, "import json, toolcrib, my_server, json_, toolcrib_")
    assert found.modules["toolcrib"].functions == {"call"}
    assert set(found.modules) == {"toolcrib", "my_server", "json_", "toolcrib_"}
    (other,) = set(found.names) - {"toolcrib", "toolcrib_", "git", "my_server", "json_"}
    assert other.startswith("my_server_")
    assert found.renamed == {"json": "json_", "toolcrib": "toolcrib_"}
    named = await view(access, f"from {other} import one\nfrom my_server import two")
    assert {name: it.server for name, it in named.callees.items()} == {
        f"{other}.one": "my-server",
        "my_server.two": "my_server",
    }


@pytest.mark.parametrize("language", ["python", "typescript"])
async def test_the_names_that_are_spoken_of_are_those_that_programs_use(
    access: FakeAccess, language: Language
) -> None:
    modules = Modules(access, Seen())
    for server in access.server_ids():
        snapshot = access.peek(server, Kind.TOOLS).snapshot
        assert snapshot is not None
        keys = [item.key for item in snapshot.items]
        spoken = modules.spoken(server, [*keys, "gone"], access.server_ids())
        assert list(spoken.functions) == keys
        text = f"import {spoken.module}\n{' '.join(spoken.functions.values())}"
        found = await view(access, text, language)
        for key, function in spoken.functions.items():
            callee = found.callees[f"{spoken.module}.{function}"]
            assert (callee.server, callee.tool) == (server, key)


async def test_a_tool_is_called_under_the_contract_that_its_caller_saw(access: FakeAccess) -> None:
    text = "from git import read, make_it"
    found = await view(access, text, git_read="older")
    assert found.callees["git.read"].contract == "older"
    assert found.callees["git.make_it"].contract == contract(access, "git", "make-it")


async def test_a_server_that_cannot_be_read_is_told_and_the_others_are_there(
    access: FakeAccess,
) -> None:
    access.fail("far", Kind.TOOLS, "no route")
    found = await view(access, "import git, far")
    assert set(found.modules) == {"toolcrib", "git"}
    assert found.away == {"far": "the tools of the server `far` cannot be read now: no route"}
    assert (await view(access, "import git")).away == {}


async def test_a_catalog_that_may_be_old_is_named_once_and_read_anew(access: FakeAccess) -> None:
    access.age("git", Kind.TOOLS, 100)
    modules = Modules(access, Seen())
    everywhere = access.server_ids()
    found = await modules.view("import git, my_server", "python", everywhere, WHO)
    assert found.stale == {"git"}
    again = await modules.view("import git", "python", everywhere, WHO, renew=found.stale)
    assert again.stale == set()
    assert dict(access.renewals) == {"git": 1}


async def test_nothing_is_spoken_of_a_server_that_is_gone(access: FakeAccess) -> None:
    spoken = Modules(access, Seen()).spoken("left", ["x"], access.server_ids())
    assert (spoken.module, dict(spoken.functions)) == ("left", {})


async def test_a_program_that_goes_on_has_what_it_had_whatever_there_is_now() -> None:
    made = modules_again(["toolcrib", "git", "empty"], ["git.read", "git.make_it"], "python")
    assert {name: set(it.functions) for name, it in made.items()} == {
        "toolcrib": {"call"},
        "git": {"read", "make_it"},
        "empty": set(),
    }
    assert made["toolcrib"].source


async def test_a_server_has_to_be_there_and_enabled_when_it_is_called(access: FakeAccess) -> None:
    enabling = FakeEnabling(access)
    callees = CalleesOf({}, access, enabling, ["git", "json"])
    await callees.reach("git", WHO)
    with pytest.raises(ToolGone, match="there is no server `gti`; did you mean `git`"):
        await callees.reach("gti", WHO)
    enabling.on_demand.add("git")
    with pytest.raises(NotAllowed):
        await callees.reach("git", WHO)


async def test_a_missing_tool_is_told_with_the_names_that_programs_call_by(
    access: FakeAccess,
) -> None:
    callees = CalleesOf({}, access, FakeEnabling(access), ["git"])
    told = callees.in_own_names(ToolGone("similar: `git__read`"), "git", "raed")
    assert told.message == "`git` has no tool `raed`; did you mean `read`?"
    renamed = ToolGone("it is `git__x` now", details={"inputSchema": {}})
    assert callees.in_own_names(renamed, "git", "raed") is renamed
