"""Where a provider searches for deferred tools by itself: what its model saw stays in its place."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from toolcrib.context.exhibit import Exhibit
from toolcrib.context.tokens import Costs, HeuristicCounter
from toolcrib.context.toolset import Toolset
from toolcrib.core.exposure import Wanted
from toolcrib.errors import ConfigError
from toolcrib.testing.fake_exhibits import META, FakeExhibits

COSTS = Costs(HeuristicCounter())

Native = Callable[[Toolset], list[dict[str, Any]]]


def anthropic_form(toolset: Toolset) -> list[dict[str, Any]]:
    return toolset.for_anthropic(native_search=True)


def openai_form(toolset: Toolset) -> list[dict[str, Any]]:
    return toolset.for_openai_responses(native_search=True)


NATIVE: Final = [anthropic_form, openai_form]


def tool(name: str, description: str = "Does it.", /, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": description, "inputSchema": schema}


def cached(tools: list[dict[str, Any]]) -> list[str]:
    return [it["name"] for it in tools if "cache_control" in it]


async def started(fake: FakeExhibits, **options: Any) -> Toolset:
    return await Toolset.begin(fake, fake, COSTS, **options)


def seen_from_the_start(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a model sees before it searches: no deferred tool, and nothing inside a namespace."""
    return [
        {name: value for name, value in it.items() if name != "tools"}
        for it in tools
        if not it.get("defer_loading")
    ]


def searched(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The deferred tools."""
    inner = [each for it in tools for each in it.get("tools", ())]
    return inner or [it for it in tools if it.get("defer_loading")]


async def test_anthropic_searches_deferred_tools_in_place_of_our_meta_tools() -> None:
    fake = FakeExhibits("search", pinned=("a__x",), a=[tool("x"), tool("y")], b=[tool("z")])
    tools = (await started(fake)).for_anthropic(native_search=True)
    assert [it["name"] for it in tools] == ["tool_search_tool_bm25", "a__x", "a__y", "b__z"]
    assert [it.get("defer_loading", False) for it in tools] == [False, False, True, True]
    assert cached(tools) == ["a__x"]


async def test_openai_searches_deferred_tools_by_server() -> None:
    fake = FakeExhibits("search", pinned=("a__x",), a=[tool("x"), tool("y")], b=[tool("z")])
    search, pinned, *spaces = (await started(fake)).for_openai_responses(native_search=True)
    assert (search, pinned["name"]) == ({"type": "tool_search"}, "a__x")
    assert [(it["name"], it["description"]) for it in spaces] == [
        ("a", "About a"),
        ("b", "About b"),
    ]
    assert [it["name"] for it in spaces[1]["tools"]] == ["b__z"]
    assert spaces[1]["tools"][0]["defer_loading"] is True


async def test_where_nothing_is_deferred_nothing_searches() -> None:
    toolset = await started(FakeExhibits(a=[tool("x")]))
    assert [it["name"] for it in toolset.for_anthropic(native_search=True)] == ["a__x"]
    assert [it["name"] for it in toolset.for_openai_responses(native_search=True)] == ["a__x"]


async def test_meta_tools_that_do_something_else_stay_beside_the_search_of_a_provider() -> None:
    class Dynamic(FakeExhibits):
        async def current(self, exposure: Wanted) -> Exhibit:
            found = await super().current(exposure)
            enable = {"name": "enable_server", "description": "Enables one."}
            return Exhibit(
                found.exposure,
                found.visible,
                found.deferred,
                (*META, enable),
                meta_beside_native=(enable,),
            )

    tools = (await started(Dynamic("search", a=[tool("x")]))).for_anthropic(native_search=True)
    assert [it["name"] for it in tools] == ["tool_search_tool_bm25", "enable_server", "a__x"]
    assert cached(tools) == ["enable_server"]


@pytest.mark.parametrize("native", NATIVE)
async def test_what_a_provider_was_offered_stays_as_it_was_offered(native: Native) -> None:
    fake = FakeExhibits("search", b=[tool("x"), tool("y")])
    toolset = await started(fake)
    before = native(toolset)
    seen = fake.tools()["b__x"].item.contract
    fake.servers = {"a": [tool("w")], "b": [tool("a"), tool("x", q={"type": "string"}), tool("z")]}
    await toolset.refresh()
    after = native(toolset)
    front = seen_from_the_start(before)
    assert seen_from_the_start(after)[: len(front)] == front
    assert sorted(it["name"] for it in searched(after)) == ["a__w", "b__a", "b__x", "b__y", "b__z"]
    assert [it for it in searched(after) if it in searched(before)] == searched(before)
    told = toolset.delta()
    assert (told.removed, told.changed_names) == (("b__y",), ("b__x",))
    await toolset.call("b__x")
    assert fake.calls[-1][2] == fake.tools()["b__x"].item.contract != seen


async def test_a_server_that_comes_later_is_announced_behind_the_others() -> None:
    fake = FakeExhibits("search", mail=[tool("x")], zed=[tool("z")])
    toolset = await started(fake)
    before = toolset.for_openai_responses(native_search=True)
    fake.servers["aard"] = [tool("a")]
    await toolset.refresh()
    after = toolset.for_openai_responses(native_search=True)
    assert after[: len(before)] == before
    assert [it["name"] for it in after[1:]] == ["mail", "zed", "aard"]


async def test_tools_of_a_server_that_was_announced_come_behind_its_others() -> None:
    fake = FakeExhibits("search", a=[tool("x")], b=[tool("z")])
    toolset = await started(fake)
    toolset.for_openai_responses(native_search=True)
    fake.servers["a"] = [tool("new"), tool("x")]
    await toolset.refresh()
    _, first, _ = toolset.for_openai_responses(native_search=True)
    assert [it["name"] for it in first["tools"]] == ["a__x", "a__new"]


async def test_a_server_stays_announced_as_it_was() -> None:
    class Talking(FakeExhibits):
        words = "At first."

        async def current(self, exposure: Wanted) -> Exhibit:
            found = await super().current(exposure)
            return replace(found, about=dict.fromkeys(self.servers, self.words))

    fake = Talking("search", a=[tool("x")])
    toolset = await started(fake)
    before = toolset.for_openai_responses(native_search=True)
    fake.words = "Later."
    fake.servers["b"] = [tool("y")]
    await toolset.refresh()
    after = toolset.for_openai_responses(native_search=True)
    assert after[: len(before)] == before
    assert [it["description"] for it in after[1:]] == ["At first.", "Later."]


@pytest.mark.parametrize("native", NATIVE)
async def test_a_deferred_tool_that_is_used_stays_deferred_where_a_provider_searches(
    native: Native,
) -> None:
    fake = FakeExhibits("search", a=[tool("x"), tool("y")])
    toolset = await started(fake, pin_used=1)
    before = native(toolset)
    await toolset.call("a__x")
    await toolset.refresh()
    assert toolset.show("a__y") == ()
    assert native(toolset) == before
    assert not toolset.delta()


@pytest.mark.parametrize("native", NATIVE)
async def test_the_search_of_a_provider_comes_with_the_first_deferred_tool(native: Native) -> None:
    fake = FakeExhibits("search", pinned=("a__x",), a=[tool("x")])
    toolset = await started(fake)
    before = native(toolset)
    assert [it["name"] for it in before] == ["a__x"]
    fake.servers["a"] = [tool("a"), tool("x")]
    await toolset.refresh()
    after = native(toolset)
    assert after[:1] == before
    assert len(after) == 3
    assert toolset.delta().prefix_survives


@pytest.mark.parametrize("native", NATIVE)
async def test_a_tool_that_is_shown_later_stands_behind_what_a_provider_was_offered(
    native: Native,
) -> None:
    fake = FakeExhibits("search", pinned=("a__p", "a__q"), a=[tool("q"), tool("x")])
    toolset = await started(fake)
    before = seen_from_the_start(native(toolset))
    fake.servers["a"] = [tool("p"), tool("q"), tool("x")]
    await toolset.refresh()
    after = seen_from_the_start(native(toolset))
    assert after[: len(before)] == before
    assert [it["name"] for it in after[len(before) :]] == ["a__p"]
    assert toolset.delta().added == ("a__p",)


async def test_a_meta_tool_that_is_offered_no_more_stays_beside_the_search() -> None:
    class Dynamic(FakeExhibits):
        enabling: tuple[dict[str, Any], ...] = ({"name": "enable_server"},)

        async def current(self, exposure: Wanted) -> Exhibit:
            found = await super().current(exposure)
            meta = (*META, *self.enabling)
            return replace(found, meta=meta, meta_beside_native=self.enabling)

    fake = Dynamic("search", a=[tool("x")])
    toolset = await started(fake)
    before = toolset.for_openai_responses(native_search=True)
    fake.enabling = ()
    await toolset.refresh()
    assert toolset.for_openai_responses(native_search=True) == before


async def test_a_rewritten_list_offers_deferred_tools_as_they_are_now() -> None:
    fake = FakeExhibits("search", a=[tool("x")])
    toolset = await started(fake)
    toolset.for_anthropic(native_search=True)
    fake.servers["a"] = [tool("x", q={"type": "string"})]
    await toolset.refresh("rewrite")
    offered = toolset.for_anthropic(native_search=True)[-1]
    assert offered["input_schema"]["properties"] == {"q": {"type": "string"}}


async def test_more_tools_than_anthropic_searches_are_an_error_that_says_so() -> None:
    fake = FakeExhibits("search", a=[tool(f"t{n}") for n in range(10_001)])
    toolset = await started(fake)
    with pytest.raises(ConfigError, match="10,001 tools are deferred"):
        toolset.for_anthropic(native_search=True)
    assert toolset.show("a__t7") == ("a__t7",), "nobody searches by itself now"


# ---------------------------------------------------------------- what it costs


async def test_a_server_that_a_provider_is_told_of_costs_its_announcement() -> None:
    fake = FakeExhibits("search", b=[tool("x")])
    toolset = await started(fake)
    toolset.for_openai_responses(native_search=True)
    mark = toolset.mark
    fake.servers["a"] = [tool("y"), tool("z")]
    await toolset.refresh()
    space = toolset.for_openai_responses(native_search=True)[-1]
    announced = COSTS.of_definition({"description": space["description"]}, space["name"])
    assert toolset.delta(mark).cost_of_a_miss == announced
    assert toolset.delta(mark, conversation_tokens=500).cost_of_a_miss == announced + 500
    assert toolset.delta(mark).prefix_survives


@pytest.mark.parametrize("native", NATIVE)
async def test_a_tool_that_a_provider_finds_itself_costs_nothing_in_the_prefix(
    native: Native,
) -> None:
    fake = FakeExhibits("search", a=[tool("x")])
    toolset = await started(fake)
    native(toolset)
    fake.servers["a"] = [tool("x", q={}), tool("y")]
    await toolset.refresh()
    delta = toolset.delta(conversation_tokens=500)
    assert (delta.prefix_survives, delta.cost_of_a_miss) == (True, 0)


async def test_a_provider_that_is_told_of_no_servers_misses_nothing_with_a_new_one() -> None:
    fake = FakeExhibits("search", b=[tool("x")])
    toolset = await started(fake)
    anthropic_form(toolset)
    fake.servers["a"] = [tool("y")]
    await toolset.refresh()
    assert toolset.delta(conversation_tokens=500).cost_of_a_miss == 0


async def test_what_a_provider_was_offered_at_first_is_no_miss() -> None:
    fake = FakeExhibits("search", a=[tool("x")])
    toolset = await started(fake)
    openai_form(toolset)
    await toolset.refresh()
    assert toolset.delta(conversation_tokens=500).cost_of_a_miss == 0


async def test_a_rewritten_list_that_announces_servers_in_another_order_is_another_prefix() -> None:
    fake = FakeExhibits("search", b=[tool("x")])
    toolset = await started(fake)
    openai_form(toolset)
    fake.servers["a"] = [tool("y")]
    await toolset.refresh("rewrite")
    spaces = toolset.for_openai_responses(native_search=True)[-2:]
    assert [it["name"] for it in spaces] == ["a", "b"]
    delta = toolset.delta(conversation_tokens=500)
    assert not delta.prefix_survives
    assert delta.cost_of_a_miss > 500
