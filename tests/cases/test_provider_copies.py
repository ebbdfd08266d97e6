"""Copies of schemas for model APIs, and what still validates: the whole way through a crib."""

import json
import os
import random
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio.testing

from toolcrib.context.providers import anthropic, gemini, openai_chat, openai_responses
from toolcrib.context.toolset import Toolset
from toolcrib.core.jsontypes import JsonObject, is_array, is_object
from toolcrib.core.snapshot import Kind
from toolcrib.settings import ExposureSettings, GatewaySettings
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib
from toolcrib.testing.scripted_gateway import scripted_gateway

Schema = dict[str, Any]
Copies = dict[str, Schema]
"""What one provider is sent of each tool, by its original name."""

STRING: Schema = {"type": "string"}


def defined(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "description": "Does it.", "inputSchema": {"type": "object", **schema}}


def _schemas(tools: list[dict[str, Any]], within: str, member: str) -> Copies:
    found = [it[within] if within else it for it in tools]
    return {it["name"].removeprefix("s__"): it.get(member, {}) for it in found}


FORMS: Mapping[str, Callable[[Toolset], Copies]] = {
    "anthropic": lambda it: _schemas(it.for_anthropic(), "", "input_schema"),
    "openai chat": lambda it: _schemas(it.for_openai_chat(), "function", "parameters"),
    "openai responses": lambda it: _schemas(it.for_openai_responses(), "", "parameters"),
    "gemini": lambda it: _schemas(it.for_gemini()[0]["functionDeclarations"], "", "parameters"),
    "gemini json": lambda it: _schemas(
        it.for_gemini(json_schema=True)[0]["functionDeclarations"], "", "parametersJsonSchema"
    ),
}
every_form = pytest.mark.parametrize("form", FORMS)


@asynccontextmanager
async def conversation(
    *tools: dict[str, Any], **server: Any
) -> AsyncGenerator[tuple[Toolset, ScriptedUpstream]]:
    """A conversation in which all tools of one server are shown; no copy changes the original."""
    script = ScriptedUpstream(tools, **server)
    async with scripted_crib({"s": script}) as (crib, _):
        await crib.catalogs().reach()
        yield await crib.toolset(exposure="full"), script
        held = crib.catalogs().peek("s", Kind.TOOLS).snapshot
        assert held is not None
        assert {it.key: it.definition for it in held.items} == {it["name"]: it for it in tools}


async def sent(toolset: Toolset, script: ScriptedUpstream, name: str, arguments: Any) -> Any:
    """The arguments that reach the server; None where it was refused before."""
    before = len(script.calls)
    result = await toolset.call(f"s__{name}", arguments)
    if result.get("isError"):
        assert result["structuredContent"]["error"]["code"] == "bad_arguments"
        assert len(script.calls) == before
        return None
    (call,) = script.calls[before:]
    assert call[1]["name"] == name
    return call[1]["arguments"]


def objects(value: object) -> Iterator[JsonObject]:
    """All objects in a JSON value."""
    if is_object(value):
        yield value
    members = value.values() if is_object(value) else value if is_array(value) else ()
    for member in members:
        yield from objects(member)


# ---- true and false where a schema is expected ----


FLAGS: Mapping[str, tuple[Schema, Schema, Any, Any]] = {
    "an argument": (
        {"properties": {"note": True, "banned": False}},
        {"properties": {"note": {}}},
        {"note": [1]},
        {"banned": 1},
    ),
    "inside of an argument": (
        {"properties": {"to": {"type": "object", "properties": {"a": True, "b": False}}}},
        {"properties": {"to": {"type": "object", "properties": {"a": {}}}}},
        {"to": {"a": None}},
        {"to": {"b": None}},
    ),
    "the items of a list": (
        {"properties": {"rows": {"type": "array", "items": True}, "x": STRING}, "required": ["x"]},
        {"properties": {"rows": {"type": "array", "items": {}}, "x": STRING}, "required": ["x"]},
        {"rows": [1, "a"], "x": ""},
        {"rows": [1, "a"]},
    ),
}


@every_form
@pytest.mark.parametrize("case", FLAGS)
async def test_true_is_written_as_an_empty_schema_and_what_is_forbidden_is_left_out(
    case: str, form: str
) -> None:
    schema, copy, good, bad = FLAGS[case]
    async with conversation(defined("annotate", **schema)) as (toolset, script):
        assert FORMS[form](toolset)["annotate"] == {"type": "object", **copy}
        assert await sent(toolset, script, "annotate", good) == good
        assert await sent(toolset, script, "annotate", bad) is None


# ---- alternatives at the root ----


EITHER: Mapping[str, tuple[Schema, str, list[Any], list[Any]]] = {
    "any of two shapes": (
        {
            "anyOf": [
                {"type": "object", "properties": {"path": STRING}, "required": ["path"]},
                {"type": "object", "properties": {"link": STRING}, "required": ["link"]},
            ]
        },
        "at least one",
        [{"path": "a"}, {"link": "b"}, {"path": "a", "link": "b"}],
        [{}, {"path": 1}, {"other": "a"}],
    ),
    "one of two requirements": (
        {
            "properties": {"id": {"type": "integer"}, "title": STRING},
            "oneOf": [{"required": ["id"]}, {"required": ["title"]}],
        },
        "exactly one",
        [{"id": 7}, {"title": "t"}],
        [{}, {"id": 7, "title": "t"}],
    ),
    "parts that all hold": (
        {
            "allOf": [
                {"properties": {"id": {"type": "integer"}}},
                {"properties": {"title": STRING}, "required": ["title"]},
            ]
        },
        "",
        [{"title": "t"}, {"id": 7, "title": "t"}],
        [{}, {"id": 7}, {"id": "7", "title": "t"}],
    ),
}


@every_form
@pytest.mark.parametrize("case", EITHER)
async def test_alternatives_at_the_root_are_merged_and_the_original_still_decides(
    case: str, form: str
) -> None:
    schema, words, good, bad = EITHER[case]
    async with conversation(defined("attach", **schema)) as (toolset, script):
        copy = FORMS[form](toolset)["attach"]
        assert copy["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf"} & copy.keys()
        assert len(copy["properties"]) == 2
        assert copy.get("required", []) == ([] if words else ["title"])
        (shown,) = toolset.for_anthropic()
        assert words in shown["description"]
        for arguments in good:
            assert await sent(toolset, script, "attach", arguments) == arguments
        for arguments in bad:
            assert await sent(toolset, script, "attach", arguments) is None


# ---- one type for each place ----


NULLABLE: Mapping[str, tuple[Schema, Schema, list[Any], list[Any]]] = {
    "a list or nothing": (
        {"type": ["null", "array"], "items": {"type": "integer"}},
        {"type": "array", "items": {"type": "integer"}, "nullable": True},
        [None, [], [1]],
        ["a", ["a"]],
    ),
    "a list without items": (
        {"type": ["array", "null"]},
        {"type": "array", "items": {}, "nullable": True},
        [None, ["a", 1]],
        [1],
    ),
    "a word or nothing": (
        {"type": ["string", "null"]},
        {"type": "string", "nullable": True},
        [None, ""],
        [1],
    ),
    "rows that may be nothing": (
        {"type": "array", "items": {"type": ["object", "null"]}},
        {"type": "array", "items": {"type": "object", "nullable": True}},
        [[None, {}]],
        [None, [1]],
    ),
    "two types": (
        {"type": ["string", "integer"]},
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        ["a", 1],
        [None, []],
    ),
}


@pytest.mark.parametrize("case", NULLABLE)
async def test_where_a_provider_takes_one_type_null_is_told_beside_it(case: str) -> None:
    member, copy, good, bad = NULLABLE[case]
    definition = defined("q", properties={"x": member}, required=["x"])
    async with conversation(definition) as (toolset, script):
        copied = FORMS["gemini"](toolset)["q"]
        assert copied["properties"]["x"] == copy
        assert not [it for it in objects(copied) if isinstance(it.get("type"), list)]
        for value in good:
            assert await sent(toolset, script, "q", {"x": value}) == {"x": value}
        for value in bad:
            assert await sent(toolset, script, "q", {"x": value}) is None


# ---- no parameters ----


BARE: Mapping[str, Schema] = {
    "a type and nothing else": {},
    "without properties": {"properties": {}},
    "closed": {"properties": {}, "additionalProperties": False},
}
NOTHING: list[Any] = [None, {}, "", "{}", "null"]


@pytest.mark.parametrize("era", ["modern", "handshake"])
@pytest.mark.parametrize("case", BARE)
@every_form
async def test_a_tool_without_parameters_has_an_object_for_them_and_is_sent_an_empty_one(
    form: str, case: str, era: str
) -> None:
    async with conversation(defined("list_regions", **BARE[case]), era=era) as (toolset, script):
        copy = FORMS[form](toolset)["list_regions"]
        # Gemini takes no object without members: there the whole member is left out.
        assert copy.get("properties", {}) == {}
        if not form.startswith("gemini"):
            assert (copy["type"], copy["properties"]) == ("object", {})
        for arguments in NOTHING:
            assert await sent(toolset, script, "list_regions", arguments) == {}


@pytest.mark.virtual_time
@pytest.mark.parametrize("through", ["call_tool", "its name"])
async def test_through_the_gateway_no_null_reaches_a_tool_without_parameters(through: str) -> None:
    script = ScriptedUpstream([defined("list_regions")])
    async with scripted_gateway({"s": script}, gateway=GatewaySettings(exposure="search")) as it:
        name = "s__list_regions"
        empty: dict[str, Any] = {}
        for given in (empty, {"args" if through == "call_tool" else "arguments": empty}):
            asked: dict[str, Any] = {"name": name, **given}
            if through == "call_tool":
                asked = {"name": "call_tool", "arguments": asked}
            assert not (await it.ask("tools/call", asked)).get("isError")
    assert [call.get("arguments", {}) for _, call in script.calls] == [{}, {}]


# ---- enumerations without end ----


VALUES = [f"region-{number}" for number in range(5_000)]
MANY = defined("move", properties={"to": {"enum": VALUES}, "x": STRING}, required=["to"])


@every_form
async def test_a_copy_tells_the_first_values_and_all_of_them_validate(form: str) -> None:
    async with conversation(MANY) as (toolset, script):
        told = json.dumps(FORMS[form](toolset)["move"])
        assert len(told) < 4_000
        assert "5,000 values" in told
        assert VALUES[39] in told
        assert VALUES[41] not in told
        assert await sent(toolset, script, "move", {"to": VALUES[-1]}) == {"to": VALUES[-1]}
        assert await sent(toolset, script, "move", {"to": "region-5000"}) is None


@pytest.mark.virtual_time
@pytest.mark.parametrize("ask", ["get_tool_details", "search_tools"])
async def test_details_show_the_first_values_with_their_number_and_all_of_them_validate(
    ask: str,
) -> None:
    script = ScriptedUpstream([MANY])
    asked: dict[str, Any] = {"names": ["s__move"]}
    if ask == "search_tools":
        asked = {"query": "move", "detail": "full"}
    async with scripted_gateway({"s": script}, gateway=GatewaySettings(exposure="search")) as it:
        text = (await it.call(ask, **asked))["content"][0]["text"]
        assert len(text) < 4_000
        assert "5,000" in text
        assert VALUES[39] in text
        assert VALUES[41] not in text
        last = {"name": "s__move", "args": {"to": VALUES[-1]}}
        assert not (await it.call("call_tool", **last)).get("isError")
        told = await it.call("call_tool", name="s__move", args={"to": "region-5000"})
        assert told["structuredContent"]["error"]["code"] == "bad_arguments"
        assert len(json.dumps(told)) < 12_000
        assert len(script.calls) == 1


@pytest.mark.virtual_time
@pytest.mark.parametrize("values", [5, 5_000])
async def test_a_long_enumeration_counts_towards_showing_less(values: int) -> None:
    script = ScriptedUpstream([defined("move", properties={"to": {"enum": VALUES[:values]}})])
    auto = GatewaySettings(exposure="auto")
    settings = ExposureSettings(window=200_000, share=0.03)
    async with scripted_gateway({"s": script}, gateway=auto, exposure=settings) as gateway:
        assert ("s__move" in await gateway.names()) is (values == 5)


# ---- one string of bytes ----


SERVERS = {
    server: [tool(f"{server}_{number}", b=STRING, a={"enum": [*"xyz"]}) for number in range(7)]
    for server in ("gamma", "alpha", "beta")
}


async def _rendered(chance: random.Random) -> Iterator[str]:
    """What hosts and models are sent where servers settle in any order."""
    scripts = {
        server: ScriptedUpstream(chance.sample(tools, len(tools)), latency=chance.random())
        for server, tools in SERVERS.items()
    }
    order = {server: scripts[server] for server in chance.sample(list(scripts), len(scripts))}
    found: list[str] = []
    for exposure in ("full", "search"):
        pinned = ExposureSettings(pinned=("beta__*",))
        made = scripted_gateway(order, gateway=GatewaySettings(exposure=exposure), exposure=pinned)
        async with made as gateway:
            await anyio.sleep(5)
            found.append(json.dumps((await gateway.ask("tools/list"))["tools"]))
            toolset = await gateway.crib.toolset()
            found += [json.dumps(form(toolset)) for form in FORMS.values()]
            found += [json.dumps(toolset.for_anthropic(native_search=True))]
    return iter(found)


async def _render_often(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a test that repeats
    runs = {tuple(await _rendered(chance)) for _ in range(17)}
    print(json.dumps(sorted(runs)))  # noqa: T201 - what the parent reads


def render(seed: int) -> None:
    """What a process of its own runs: it prints what differed in 17 renderings."""
    options = {"clock": trio.testing.MockClock(autojump_threshold=0)}
    anyio.run(_render_often, seed, backend="trio", backend_options=options)


def test_whatever_settles_first_and_however_hashes_fall_models_are_sent_the_same_bytes() -> None:
    here = Path(__file__)
    code = f"import sys; sys.path.insert(0, {str(here.parent)!r}); import {here.stem}; "
    answers = {
        subprocess.run(
            [sys.executable, "-c", f"{code}{here.stem}.render({seed})"],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        for seed in (0, 1, 4_242)
    }
    (answer,) = answers
    (run,) = json.loads(answer)
    assert len(run) == 2 * (1 + len(FORMS) + 1)
    assert all(run)


# ---- every provider takes all of it ----


async def test_no_copy_of_these_breaks_a_rule_of_its_provider() -> None:
    tools = [
        *(defined(f"flag{n}", **it[0]) for n, it in enumerate(FLAGS.values())),
        *(defined(f"either{n}", **it[0]) for n, it in enumerate(EITHER.values())),
        *(defined(f"null{n}", properties={"x": it[0]}) for n, it in enumerate(NULLABLE.values())),
        *(defined(f"bare{n}", **it) for n, it in enumerate(BARE.values())),
        MANY,
    ]
    async with conversation(*tools) as (toolset, script):
        assert len(toolset.for_json()) == len(tools) == len(script.items[Kind.TOOLS])
        findings = [anthropic.lint(it) for it in toolset.for_anthropic()]
        for either in (True, False):
            findings += [openai_chat.lint(it) for it in toolset.for_openai_chat(strict=either)]
            responses = toolset.for_openai_responses(strict=either)
            findings += [openai_responses.lint(it) for it in responses]
            (holder,) = toolset.for_gemini(json_schema=either)
            findings += [gemini.lint(it) for it in holder["functionDeclarations"]]
        assert findings == [[]] * len(tools) * 7
