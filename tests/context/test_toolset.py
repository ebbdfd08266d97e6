"""One conversation: what is shown stays, what changes is told, and no call of a model raises."""

import json
from typing import Any

import pytest

from toolcrib.context.exhibit import Exposed
from toolcrib.context.front import Line
from toolcrib.context.providers import anthropic, gemini, openai_chat, openai_responses
from toolcrib.context.rendering import Rendering
from toolcrib.context.tokens import Costs, HeuristicCounter
from toolcrib.context.toolset import Toolset
from toolcrib.core.exposure import Wanted
from toolcrib.errors import UpstreamUnreachable
from toolcrib.testing.fake_exhibits import META, FakeExhibits

COSTS = Costs(HeuristicCounter())
META_NAMES = [str(it["name"]) for it in META]


def tool(name: str, description: str = "Does it.", /, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": description, "inputSchema": schema}


def names(toolset: Toolset) -> list[str]:
    return [it["name"] for it in toolset.for_json()]


def text(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


async def started(fake: FakeExhibits, **options: Any) -> Toolset:
    return await Toolset.begin(fake, fake, COSTS, **options)


# ---------------------------------------------------------------- what is shown


async def test_full_exposure_shows_all_tools_in_the_order_of_the_wire() -> None:
    toolset = await started(FakeExhibits(b=[tool("y"), tool("x")], a=[tool("z")]))
    assert names(toolset) == ["a__z", "b__x", "b__y"]
    assert toolset.exposure == "full"


async def test_search_exposure_shows_meta_tools_and_pinned_ones() -> None:
    fake = FakeExhibits("search", pinned=("a__x",), a=[tool("x"), tool("y")])
    assert names(await started(fake)) == [*META_NAMES, "a__x"]


async def test_the_exposure_is_decided_once() -> None:
    fake = FakeExhibits("search", a=[tool("x")])
    toolset = await started(fake)
    fake.exposure = "full"
    await toolset.refresh()
    assert names(toolset) == META_NAMES
    assert fake.asked == ["auto", "search"]
    await toolset.refresh("rewrite")
    assert names(toolset) == ["a__x"]


@pytest.mark.parametrize("exposure", ["search", "full"])
async def test_an_exposure_that_was_asked_for_holds(exposure: Wanted) -> None:
    fake = FakeExhibits("code", a=[tool("x")])
    toolset = await started(fake, exposure=exposure)
    await toolset.refresh("rewrite")
    assert fake.asked == [exposure, exposure]


@pytest.mark.duty("D4")
async def test_nothing_that_was_shown_is_moved_replaced_or_removed() -> None:
    fake = FakeExhibits(b=[tool("x"), tool("y")])
    toolset = await started(fake)
    before = json.dumps(toolset.for_anthropic())[:-1]
    fake.servers = {"a": [tool("new")], "b": [tool("y", "Other words", q={"type": "string"})]}
    await toolset.refresh()
    assert names(toolset) == ["b__x", "b__y", "a__new"]
    assert json.dumps(toolset.for_anthropic()).startswith(before)


async def test_a_rewritten_list_is_as_a_new_conversation_has_it() -> None:
    fake = FakeExhibits(b=[tool("x"), tool("y")])
    toolset = await started(fake)
    fake.servers = {"a": [tool("new")], "b": [tool("y", q={"type": "string"})]}
    await toolset.refresh()
    await toolset.refresh("rewrite")
    assert toolset.for_openai_chat() == (await started(fake)).for_openai_chat()


async def test_whoever_changes_what_was_handed_out_changes_nothing_else() -> None:
    toolset = await started(FakeExhibits(a=[tool("x", q={"type": "string"})]))
    first = toolset.for_json()
    first[0]["inputSchema"]["properties"].clear()
    assert toolset.for_json()[0]["inputSchema"]["properties"] == {"q": {"type": "string"}}


async def test_the_definition_of_the_server_is_left_alone() -> None:
    definition = {"name": "x", "inputSchema": {"type": "object", "anyOf": [{"required": ["a"]}]}}
    before = json.dumps(definition)
    toolset = await started(FakeExhibits(a=[definition]))
    toolset.for_anthropic()
    toolset.for_gemini()
    toolset.for_openai_chat(strict=True)
    assert json.dumps(definition) == before


async def test_every_form_passes_the_rules_of_its_provider() -> None:
    definition = {"name": "x", "inputSchema": {"type": "object", "anyOf": [{"required": ["a"]}]}}
    toolset = await started(FakeExhibits("search", pinned=("a__x",), a=[definition, tool("y")]))
    assert [anthropic.lint(it) for it in toolset.for_anthropic(native_search=True)] == [[]] * 3
    for it in toolset.for_openai_responses(native_search=True, strict=True):
        assert openai_responses.lint(it) == []
    assert [openai_chat.lint(it) for it in toolset.for_openai_chat()] == [[]] * 4
    (holder,) = toolset.for_gemini()
    assert [gemini.lint(it) for it in holder["functionDeclarations"]] == [[]] * 4


async def test_gemini_gets_no_empty_tool() -> None:
    assert (await started(FakeExhibits())).for_gemini() == []


# ---------------------------------------------------------------- cache points


def cached(tools: list[dict[str, Any]]) -> list[str]:
    return [it["name"] for it in tools if "cache_control" in it]


async def test_the_cache_point_stays_behind_what_the_conversation_began_with() -> None:
    fake = FakeExhibits(a=[tool("x"), tool("y")])
    toolset = await started(fake)
    assert cached(toolset.for_anthropic()) == ["a__y"]
    fake.servers["b"] = [tool("new")]
    await toolset.refresh()
    assert cached(toolset.for_anthropic()) == ["a__y"]
    assert cached(toolset.for_anthropic(cache=None)) == []
    assert toolset.for_anthropic(cache="1h")[1]["cache_control"] == {
        "type": "ephemeral",
        "ttl": "1h",
    }


async def test_without_tools_there_is_no_cache_point() -> None:
    assert (await started(FakeExhibits())).for_anthropic() == []


def test_each_form_of_a_definition_is_made_once() -> None:
    made: list[str] = []

    def make(name: str, _: Any) -> dict[str, Any]:
        made.append(name)
        return {"name": name}

    rendering, line = Rendering(), Line("x", {})
    for _ in range(3):
        assert rendering.of("one", [line], make) == [{"name": "x"}]
    assert made == ["x"]
    rendering.of("other", [line], make)
    rendering.of("one", [Line("x", {})], make)
    assert len(made) == 3


# ---------------------------------------------------------------- pinned by use


async def test_a_tool_that_is_used_is_shown_from_the_next_turn_on() -> None:
    fake = FakeExhibits("search", a=[tool("x"), tool("y")])
    toolset = await started(fake, pin_used=2)
    await toolset.call("a__x")
    await toolset.call("call_tool", {"name": "a__x", "args": {}})
    await toolset.call("a__y")
    assert names(toolset) == META_NAMES
    await toolset.refresh()
    assert names(toolset) == [*META_NAMES, "a__x"]
    assert toolset.delta().added == ("a__x",)


async def test_a_rewritten_list_shows_again_what_is_used_and_tells_no_news_of_it() -> None:
    fake = FakeExhibits("search", a=[tool("x"), tool("y")])
    toolset = await started(fake, pin_used=1)
    await toolset.call("a__x")
    await toolset.refresh()
    mark, before = toolset.mark, toolset.for_anthropic()
    await toolset.refresh("rewrite")
    assert not toolset.delta(since=mark)
    assert toolset.for_anthropic() == before


async def test_a_call_through_call_tool_carries_the_contract_that_the_model_saw() -> None:
    fake = FakeExhibits("search", pinned=("a__x",), a=[tool("x")])
    toolset = await started(fake)
    await toolset.call("call_tool", {"name": "a__x", "args": {}})
    assert fake.calls[-1][2] == fake.tools()["a__x"].item.contract


async def test_nothing_is_pinned_by_use_unless_asked_for() -> None:
    fake = FakeExhibits("search", a=[tool("x")])
    toolset = await started(fake)
    for _ in range(9):
        await toolset.call("a__x")
    await toolset.refresh()
    assert names(toolset) == META_NAMES


async def test_tools_are_shown_while_their_budget_lasts() -> None:
    fake = FakeExhibits("search", a=[tool(name) for name in "xyz"])
    one = COSTS.of("a__x", fake.tools()["a__x"].item)
    toolset = await started(fake, pinned_tokens=2 * one)
    assert toolset.show("a__x", "a__x", "a__none", "a__y", "a__z") == ("a__x", "a__y")
    assert toolset.show("a__z", "a__x") == ()
    assert names(toolset) == [*META_NAMES, "a__x", "a__y"]


async def test_the_cost_of_what_is_shown_is_known() -> None:
    fake = FakeExhibits(a=[tool("x"), tool("y")])
    toolset = await started(fake)
    assert toolset.tokens == sum(COSTS.of(it.name, it.item) for it in fake.tools().values()) > 0
    assert repr(toolset) == "<Toolset full: 2 shown, 2 callable>"


# ---------------------------------------------------------------- calls


async def test_a_call_carries_the_contract_that_the_model_saw() -> None:
    fake = FakeExhibits(a=[tool("x", q={"type": "string"})])
    toolset = await started(fake)
    contract = fake.tools()["a__x"].item.contract
    assert text(await toolset.call("a__x", {"q": "1"})) == "a__x ran"
    assert fake.calls == [("a__x", {"q": "1"}, contract)]


@pytest.mark.parametrize("nothing", [None, "", "  ", "{}", "null", {}], ids=repr)
async def test_no_arguments_are_the_empty_object(nothing: Any) -> None:
    fake = FakeExhibits(a=[tool("x")])
    await (await started(fake)).call("a__x", nothing)
    assert fake.calls[0][1] == {}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("{", "are no JSON"),
        ("[1]", "are an array"),
        ('"a"', "are a string"),
        ("[" * 9_999, "no JSON"),
    ],
    ids=["broken", "array", "string", "deep"],
)
async def test_arguments_that_are_no_object_are_told_and_not_sent(arguments: str, why: str) -> None:
    fake = FakeExhibits(a=[tool("x")])
    result = await (await started(fake)).call("a__x", arguments)
    assert why in text(result)
    assert result["structuredContent"]["error"]["code"] == "bad_arguments"
    assert fake.calls == []


async def test_a_name_that_nobody_has_is_answered_with_candidates() -> None:
    fake = FakeExhibits(a=[tool("create_issue"), tool("list_issues")])
    result = await (await started(fake)).call("a__create_isue")
    assert result["isError"] is True
    assert result["structuredContent"]["error"]["details"]["near"][0] == "a__create_issue"
    assert "`a__create_issue`" in text(result)
    assert fake.calls == []


async def test_a_deferred_tool_is_callable_by_its_name() -> None:
    fake = FakeExhibits("search", a=[tool("x")])
    assert text(await (await started(fake)).call("a__x")) == "a__x ran"
    assert fake.calls == [("a__x", {}, "")]


async def test_a_meta_tool_is_called_without_a_contract() -> None:
    fake = FakeExhibits("search", a=[tool("x")])
    await (await started(fake)).call("search_tools", {"query": "x"})
    assert fake.calls == [("search_tools", {"query": "x"}, "")]


async def test_a_changed_contract_is_refused_until_the_model_was_told() -> None:
    fake = FakeExhibits(a=[tool("x")])
    toolset = await started(fake)
    fake.servers["a"] = [tool("x", q={"type": "string"})]
    await toolset.refresh()
    assert toolset.delta().changed_names == ("a__x",)
    assert text(await toolset.call("a__x")) == "a__x ran"


async def test_a_change_that_nobody_told_is_refused_once_and_the_refusal_tells_it() -> None:
    fake = FakeExhibits(a=[tool("x")])
    toolset = await started(fake)
    old = fake.tools()["a__x"].item.contract
    fake.servers["a"] = [tool("x", q={"type": "string"})]
    await toolset.refresh()
    refused = await toolset.call("a__x")
    assert refused["structuredContent"]["error"]["code"] == "schema_changed"
    assert text(await toolset.call("a__x")) == "a__x ran"
    assert [seen for _, _, seen in fake.calls] == [old, ""]


async def test_a_tool_that_is_gone_is_told_to_be_gone() -> None:
    fake = FakeExhibits(a=[tool("x"), tool("y")])
    toolset = await started(fake)
    fake.servers["a"] = [tool("x")]
    await toolset.refresh()
    result = await toolset.call("a__y")
    assert result["structuredContent"]["error"]["code"] == "tool_gone"


async def test_a_server_that_is_down_is_told_and_raises_nothing() -> None:
    class Down(FakeExhibits):
        async def call(self, name: str, arguments: dict[str, Any], *, seen: str) -> dict[str, Any]:
            raise UpstreamUnreachable("the server is down", server="a")

    result = await (await started(Down(a=[tool("x")]))).call("a__x")
    assert result["structuredContent"]["error"]["code"] == "server_unavailable"


class UnderOwnNames(FakeExhibits):
    """Exposes tools by their own names, as style `plain` does."""

    def tools(self) -> dict[str, Exposed]:
        return {
            it.item.key: Exposed(it.item.key, it.server, it.item) for it in super().tools().values()
        }


async def test_names_and_arguments_that_a_provider_was_told_are_led_back() -> None:
    definition = tool("3.x", **{"filter[id]": {"type": "string"}, "q": {"type": "string"}})
    fake = UnderOwnNames(a=[definition])
    toolset = await started(fake)
    (shown,) = toolset.for_anthropic()
    assert shown["name"] != "3.x"
    await toolset.call(shown["name"], {"filter_id_": "1", "q": "2"})
    assert fake.calls[0][:2] == ("3.x", {"filter[id]": "1", "q": "2"})


async def test_null_for_what_may_be_left_out_is_left_out() -> None:
    definition = {
        "name": "x",
        "inputSchema": {
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "b": {"type": ["string", "null"]},
                "c": {"type": "string"},
                "d": {"type": "array", "items": {"$ref": "#/$defs/e"}},
                "u": {"anyOf": [{"$ref": "#/$defs/e"}, {"type": "string"}]},
            },
            "required": ["c"],
            "$defs": {"e": {"type": "object", "properties": {"f": {"type": "integer"}}}},
        },
    }
    fake = FakeExhibits(a=[definition])
    given = {"a": None, "b": None, "c": None, "d": [{"f": None}], "u": {"f": None}, "z": None}
    await (await started(fake)).call("a__x", given)
    assert fake.calls[0][1] == {"b": None, "c": None, "d": [{}], "u": {}, "z": None}
    assert given["a"] is None
