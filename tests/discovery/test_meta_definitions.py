"""What a model is told of the meta-tools: small, constant, and true about what they do."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from toolcrib.adapters.quicktok_counter import QuicktokCounter
from toolcrib.calls.call import Requester, Retry
from toolcrib.core.exposure import Wanted
from toolcrib.core.snapshot import Item
from toolcrib.discovery.meta.definitions import instructions, item_of
from toolcrib.discovery.meta.seams import Spoken
from toolcrib.discovery.seams import MetaToolSet, Shown
from toolcrib.discovery.servers.definitions import (
    disable_definition,
    enable_definition,
    search_servers_definition,
)
from toolcrib.errors import ToolcribBug
from toolcrib.ports import Progress
from toolcrib.settings import Limits
from toolcrib.testing.meta_rig import MetaRig
from toolcrib.testing.scripted import tool

FINDING = ["search_tools", "get_tool_details", "call_tool"]
EXPOSURES: list[Shown] = ["full", "search", "code"]


class Extra:
    """A meta-tool of another part."""

    def __init__(self, name: str) -> None:
        self.definition: Mapping[str, Any] = tool(name)
        self.calls: list[tuple[Mapping[str, Any], Requester]] = []

    @property
    def speaking(self) -> "Extra":
        return self

    def spoken(self, server: str, keys: Collection[str], servers: Iterable[str]) -> Spoken:
        del keys, servers
        return Spoken(server, {})

    async def call(
        self,
        arguments: Mapping[str, Any],
        requester: Requester,
        retry: Retry | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        del retry, progress
        self.calls.append((arguments, requester))
        return {"content": [{"type": "text", "text": "extra"}]}


def tokens(text: str) -> int:
    return QuicktokCounter().count(text)


def written(definitions: object) -> str:
    return json.dumps(definitions, separators=(",", ":"), ensure_ascii=False)


def names(items: tuple[Item, ...]) -> list[str]:
    return [item.key for item in items]


def test_all_definitions_together_cost_at_most_450_tokens() -> None:
    shown = MetaRig({}).tools().definitions("search")
    assert sum(tokens(written(definition)) for definition in shown) <= 450


def test_with_the_tools_that_enable_servers_a_quarter_of_a_thousand_tokens_is_left() -> None:
    definitions = [
        *MetaRig({}).tools().definitions("search"),
        search_servers_definition(),
        enable_definition(),
        disable_definition(),
    ]
    assert tokens(written(definitions)) + tokens(instructions("code")) <= 750


@pytest.mark.parametrize("exposure", ["auto", *EXPOSURES])
def test_the_instructions_are_three_sentences_at_most(exposure: Wanted) -> None:
    said = instructions(exposure)
    assert tokens(said) <= 80
    assert said.count(". ") + said.endswith(".") <= 3
    assert all(name in said for name in FINDING) is (exposure != "full")
    assert ("run_code" in said) is (exposure == "code")


@pytest.mark.duty("D4")
def test_definitions_are_the_same_bytes_whatever_the_catalog() -> None:
    rigs = [
        MetaRig({}),
        MetaRig({"s": [tool("a")]}),
        MetaRig({f"s{i}": [tool(f"t{j}") for j in range(20)] for i in range(20)}),
    ]
    rigs[1].introduced.words["s"] = "a server"
    forms = {written(rig.tools().definitions("search")) for rig in rigs for _ in range(3)}
    assert len(forms) == 1


def test_the_tools_are_in_one_order_under_every_exposure() -> None:
    rig = MetaRig({})
    rig.enabling.configured = True
    servers = [Extra("search_available_servers"), Extra("enable_server")]
    tools = rig.tools(servers=servers, programs=[Extra("run_code")])
    extras = ["search_available_servers", "enable_server"]
    assert names(tools.items("full")) == [*FINDING, *extras]
    assert names(tools.items("search")) == [*FINDING, *extras]
    assert names(tools.items("code")) == [*FINDING, *extras, "run_code"]
    assert set(tools.names()) == {*FINDING, *extras, "run_code"}


def test_tools_that_enable_servers_are_there_only_where_some_are_on_demand() -> None:
    tools = MetaRig({}).tools(servers=[Extra("enable_server")])
    assert tools.items("full") == ()
    assert names(tools.items("search")) == FINDING
    assert set(tools.names()) == set(FINDING)


@pytest.mark.parametrize("exposure", EXPOSURES)
def test_definitions_are_what_the_items_hold(exposure: Shown) -> None:
    tools: MetaToolSet = MetaRig({}).tools(programs=[Extra("run_code")])
    held = MetaRig({}).tools(programs=[Extra("run_code")]).items(exposure)
    assert tools.definitions(exposure) == tuple(item.definition for item in held)


def test_each_definition_is_clean_and_says_what_it_does_to_the_world() -> None:
    hints: dict[str, dict[str, bool]] = {}
    for item in MetaRig({}).tools().items("search"):
        assert item.notes == ()
        assert item.definition["title"]
        assert "outputSchema" not in item.definition
        hints[item.key] = item.definition["annotations"]
    assert hints["search_tools"]["readOnlyHint"] is True
    assert hints["get_tool_details"]["readOnlyHint"] is True
    assert hints["call_tool"] == {
        "readOnlyHint": False,
        "destructiveHint": True,
        "openWorldHint": True,
    }


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search_tools", {"query": "mail"}),
        ("search_tools", {"query": "", "server": "s", "detail": "full", "limit": 50}),
        ("get_tool_details", {"names": ["a", "b"]}),
        ("call_tool", {"name": "a"}),
        ("call_tool", {"name": "a", "args": {"x": [1]}}),
    ],
)
def test_what_the_texts_say_is_what_the_schemas_take(name: str, arguments: dict[str, Any]) -> None:
    schemas = {item.key: item.definition for item in MetaRig({}).tools().items("search")}
    schema = schemas[name]["inputSchema"]
    assert Draft202012Validator(schema).is_valid(arguments)
    assert not Draft202012Validator(schema).is_valid({})


def test_the_limits_of_the_schema_are_the_configured_ones() -> None:
    limits = Limits(search_hits=3, search_hits_most=7)
    (search, *_) = MetaRig({}, limits=limits).tools().definitions("search")
    limit = search["inputSchema"]["properties"]["limit"]
    assert limit["maximum"] == 7
    assert limit["description"] == "Default 3, with full 3"


async def test_an_extra_tool_answers_by_itself() -> None:
    rig = MetaRig({})
    extra = Extra("run_code")
    result = await rig.tools(programs=[extra]).call("run_code", {"code": "1"}, rig.who)
    assert result["content"][0]["text"] == "extra"
    assert extra.calls == [({"code": "1"}, rig.who)]


@pytest.mark.parametrize("name", ["call_tool", "unheard_of"])
async def test_what_does_not_answer_by_itself_is_a_bug_of_the_caller(name: str) -> None:
    rig = MetaRig({})
    with pytest.raises(ToolcribBug, match=name):
        await rig.tools().call(name, {}, rig.who)


def test_a_malformed_meta_tool_is_found_at_once() -> None:
    with pytest.raises(ToolcribBug, match="no_such is malformed: inputSchema is missing"):
        item_of({"name": "no_such"})
