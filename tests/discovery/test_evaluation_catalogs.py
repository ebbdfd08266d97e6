"""The catalog of a data set, as searches know catalogs."""

import pytest

from toolcrib.catalog.access import CatalogAccess, PublishedChange
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.evaluation.catalogs import SetCatalogs
from toolcrib.discovery.evaluation.tasks import DataSet, KnownTool
from toolcrib.errors import UpstreamUnreachable


def tool(server: str, name: str, said: str = "") -> KnownTool:
    schema = {"type": "dict"}  # kept as it is, though no call could be checked with it
    definition = {"name": name, "description": said, "inputSchema": schema}
    return KnownTool(f"{server}::{name}", server, name, definition, "Files", "All of them.")


@pytest.fixture
def catalogs() -> SetCatalogs:
    tools = (tool("files", "write"), tool("a", "x"), tool("files", "read"))
    return SetCatalogs(DataSet("known", tools))


async def test_every_server_of_the_set_has_its_snapshot(catalogs: SetCatalogs) -> None:
    access: CatalogAccess = catalogs
    assert access.server_ids() == ("a", "files")
    _, files = await access.read(Kind.TOOLS)
    assert files.snapshot is not None
    assert [item.key for item in files.snapshot.items] == ["read", "write"]
    assert files.fresh
    assert await access.renewed("files", Kind.TOOLS) == files
    assert await access.read_one("files", Kind.TOOLS) == files


def test_a_server_says_of_itself_what_the_set_says(catalogs: SetCatalogs) -> None:
    status = catalogs.status("files")
    assert status.state == "ready"
    assert status.facts is not None
    assert (status.facts.name, status.facts.instructions) == ("Files", "All of them.")


def test_replaced_tools_are_published_like_those_of_any_server(catalogs: SetCatalogs) -> None:
    heard: list[PublishedChange] = []
    leave = catalogs.on_published(heard.append)
    catalogs.replace("files", [tool("files", "read", "anew")])
    leave()
    catalogs.replace("files", [])
    (change,) = heard
    assert (change.server, change.kind, change.generation) == ("files", Kind.TOOLS, 2)
    assert change.before is not None
    assert change.after is not None
    assert (len(change.before), len(change.after)) == (2, 1)
    assert change.before.digest != change.after.digest
    after = catalogs.peek("files", Kind.TOOLS).snapshot
    assert after is not None
    assert len(after) == 0


async def test_there_is_nothing_but_tools_and_nobody_to_call(catalogs: SetCatalogs) -> None:
    prompts = catalogs.peek("files", Kind.PROMPTS).snapshot
    assert prompts is not None
    assert len(prompts) == 0
    assert catalogs.held_back(Kind.TOOLS) == {}
    with pytest.raises(UpstreamUnreachable):
        await catalogs.request("files", "tools/call", {"name": "read"})
