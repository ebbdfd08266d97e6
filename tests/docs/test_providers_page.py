"""What docs/providers.md claims of copies, providers and turns is so."""

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from toolcrib.context.providers import anthropic, gemini, openai_chat, openai_responses
from toolcrib.context.providers.tool_names import legal_name
from toolcrib.context.tokens import Costs, HeuristicCounter
from toolcrib.context.toolset import Toolset
from toolcrib.errors import ConfigError
from toolcrib.testing.fake_exhibits import FakeExhibits

PAGE = (Path(__file__).resolve().parents[2] / "docs/providers.md").read_text()
FLAT = " ".join(PAGE.split())


def tool(schema: dict[str, Any], description: str = "Does it.") -> dict[str, Any]:
    return {
        "name": "x",
        "description": description,
        "inputSchema": {"type": "object", **schema},
    }


def argument(schema: Any) -> dict[str, Any]:
    return tool({"properties": {"it": schema}})


def of_anthropic(definition: dict[str, Any]) -> dict[str, Any]:
    return anthropic.tool("x", definition)["input_schema"]


def of_gemini(schema: Any) -> Any:
    return gemini.declaration("x", argument(schema))["parameters"]["properties"]["it"]


async def started(fake: FakeExhibits, **options: Any) -> Toolset:
    return await Toolset.begin(fake, fake, Costs(HeuristicCounter()), **options)


def test_the_calls_of_the_table_are_those_of_the_toolset() -> None:
    for name in (it for it in dir(Toolset) if it.startswith(("for_", "result_for_"))):
        signature = inspect.signature(getattr(Toolset, name))
        shown = [
            it.name
            if it.default is it.empty
            else f"{it.name}={json.dumps(it.default).replace('false', 'False')}"
            for it in signature.parameters.values()
            if it.name != "self"
        ]
        assert f"`{name}({', '.join(shown)})`" in PAGE


def test_every_copy_keeps_to_the_common_rules() -> None:
    copy = of_anthropic(tool({"properties": {"a": True, "b": False, "c": {"type": "array"}}}))
    assert copy["properties"] == {"a": {}, "c": {"type": "array", "items": {}}}
    assert of_anthropic(tool({}))["properties"] == {}
    long = of_anthropic(argument({"enum": [f"v{n}" for n in range(41)]}))["properties"]["it"]
    assert long["description"].startswith("One of 41 values; the first 40: `v0`")
    gone = of_anthropic(argument({"$ref": "#/x"}))["properties"]["it"]
    assert gone.keys() == {"description"}
    assert "$defs" not in of_anthropic(tool({"$defs": {"unused": {}}}))
    order = of_anthropic(tool({"properties": {"c": {}, "b": {}, "a": {}}, "required": ["b"]}))
    assert list(order["properties"]) == ["b", "a", "c"]


def test_alternatives_at_the_root_are_told_as_the_page_says() -> None:
    either: dict[str, Any] = {
        "anyOf": [
            {"properties": {"content": {}}, "required": ["content"]},
            {"properties": {"url": {}}, "required": ["url"]},
        ]
    }
    made = anthropic.tool("x", tool(either))
    told = made["description"].partition("\n\n")[2]
    assert f'*"{told}"*' in FLAT
    assert made["input_schema"]["properties"].keys() == {"content", "url"}
    assert "anyOf" not in made["input_schema"]
    assert "Never give" in anthropic.tool("x", tool({"not": {"required": ["a"]}}))["description"]


def test_names_are_made_legal_the_same_way_for_all() -> None:
    names = {
        anthropic.tool("3.x", tool({}))["name"],
        openai_chat.tool("3.x", tool({}))["function"]["name"],
        gemini.declaration("3.x", tool({}))["name"],
    }
    assert names == {legal_name("3.x")}


async def test_a_renamed_argument_is_the_one_of_the_page() -> None:
    fake = FakeExhibits(a=[tool({"properties": {"filter[id]": {"type": "string"}}})])
    toolset = await started(fake)
    (member,) = toolset.for_anthropic()[0]["input_schema"]["properties"].items()
    assert member == ("filter_id_", {"type": "string", "description": "Stands for `filter[id]`"})
    await toolset.call("a__x", {"filter_id_": "7"})
    assert fake.calls[0][1] == {"filter[id]": "7"}


async def test_the_search_of_anthropic_is_the_one_of_the_page() -> None:
    fake = FakeExhibits("search", a=[tool({})])
    toolset = await started(fake)
    search, deferred = toolset.for_anthropic(native_search=True)
    point = search.pop("cache_control")
    assert json.dumps(search) in FLAT
    assert (point, deferred["defer_loading"]) == ({"type": "ephemeral"}, True)
    assert "cache_control" not in deferred
    assert len(toolset.for_anthropic()) == 3
    fake.servers["a"] = [{**tool({}), "name": f"t{n}"} for n in range(10_001)]
    await toolset.refresh("rewrite")
    with pytest.raises(ConfigError):
        toolset.for_anthropic(native_search=True)


async def test_the_search_of_openai_is_the_one_of_the_page() -> None:
    toolset = await started(FakeExhibits("search", a=[tool({})]))
    search, space = toolset.for_openai_responses(native_search=True)
    assert json.dumps(search) in PAGE
    assert space.keys() == {"type", "name", "description", "tools"}
    assert space["tools"][0]["defer_loading"] is True


def test_what_the_page_says_of_openai_is_so() -> None:
    made = openai_responses.tool("x", tool({"not": {"required": ["a"]}}, "w" * 2_000))
    assert len(made["description"]) == 1_024
    assert made["description"].endswith("Never give all of these together: `a`")
    assert made["strict"] is False
    closed = openai_responses.tool("x", argument({"type": "string"}), strict=True)
    assert closed["strict"] is True
    assert closed["parameters"]["properties"] == {"it": {"type": ["string", "null"]}}
    assert openai_responses.tool("x", argument({}), strict=True)["strict"] is False


async def test_null_stands_for_left_out() -> None:
    fake = FakeExhibits(a=[argument({"type": "string"})])
    await (await started(fake)).call("a__x", '{"it": null}')
    assert fake.calls[0][1] == {}


def test_what_the_page_says_of_gemini_is_so() -> None:
    assert of_gemini({"type": ["string", "null"]}) == {"type": "string", "nullable": True}
    assert "anyOf" in of_gemini({"type": ["string", "integer"]})
    assert "enum" not in of_gemini({"enum": ["a", ""]})
    for kind, formats in {"string": ["date-time"], "integer": ["int32", "int64"]}.items():
        for each in formats:
            assert of_gemini({"type": kind, "format": each})["format"] == each
    told = of_gemini({"type": "string", "format": "uri", "default": "x"})
    assert told == {"type": "string", "description": "(format `uri`; default `x`)"}
    assert of_gemini({"oneOf": [{"type": "string"}, {"type": "integer"}]}).keys() == {"anyOf"}
    assert "any names" in of_gemini({"additionalProperties": {"type": "string"}})["description"]
    assert "parameters" not in gemini.declaration("x", tool({}))
    referring = tool({"properties": {"it": {"$ref": "#/$defs/d"}}, "$defs": {"d": {"minimum": 1}}})
    whole = gemini.declaration("x", referring, json_schema=True)["parametersJsonSchema"]
    assert whole["properties"]["it"] == {"$ref": "#/$defs/d"}


async def test_what_the_page_says_of_turns_is_so() -> None:
    fake = FakeExhibits(a=[argument({"type": "string"}), {"name": "y"}])
    toolset = await started(fake)
    before = toolset.for_openai_chat()
    fake.servers = {"a": [argument({"type": "integer"})], "b": [{"name": "z"}]}
    await toolset.refresh()
    assert toolset.for_openai_chat()[: len(before)] == before
    refused = await toolset.call("a__x", {"it": 1})
    assert '"integer"' in json.dumps(refused["structuredContent"]["error"]["details"])
    delta = toolset.delta(conversation_tokens=100)
    assert (delta.added, delta.removed, delta.changed_names) == (("b__z",), ("a__y",), ("a__x",))
    assert '"type":"integer"' in delta.text
    assert delta.prefix_survives
    assert delta.cost_of_a_miss > 100
    await toolset.refresh("rewrite")
    assert not toolset.delta(delta.mark).prefix_survives


async def test_a_tool_is_pinned_by_its_third_use() -> None:
    toolset = await started(FakeExhibits("search", a=[tool({})]), pin_used=3)
    for shown in (3, 3, 4):
        await toolset.call("a__x")
        await toolset.refresh()
        assert len(toolset.for_json()) == shown
