"""Tool objects of every provider, and the rules that they are held to."""

import json
from typing import Any

import pytest
from hypothesis import given

from toolcrib.context.providers import anthropic, gemini, openai_chat, openai_responses, plain
from toolcrib.context.providers.tool_names import LEGAL, legal_name
from toolcrib.testing.odd_schemas import DEFINITIONS, NAMES

SIMPLE: dict[str, Any] = {
    "name": "forecast",
    "description": "Tells the weather.",
    "inputSchema": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
}
SCHEMA = SIMPLE["inputSchema"]
BARE: dict[str, Any] = {"name": "list_regions", "inputSchema": {"type": "object"}}


def test_each_provider_gets_its_form() -> None:
    name = "weather__forecast"
    words = "Tells the weather."
    function = {"name": name, "description": words, "parameters": SCHEMA}
    assert anthropic.tool(name, SIMPLE) == {
        "name": name,
        "description": words,
        "input_schema": SCHEMA,
    }
    assert openai_chat.tool(name, SIMPLE) == {"type": "function", "function": function}
    assert openai_responses.tool(name, SIMPLE) == {
        "type": "function",
        **function,
        "strict": False,
    }
    assert gemini.declaration(name, SIMPLE) == {
        "name": name,
        "description": words,
        "parameters": SCHEMA,
    }
    assert gemini.declaration(name, SIMPLE, json_schema=True) == {
        "name": name,
        "description": words,
        "parametersJsonSchema": SCHEMA,
    }
    assert plain.tool(name, SIMPLE) == {"name": name, "description": words, "inputSchema": SCHEMA}


def test_a_tool_that_is_loaded_later_says_so() -> None:
    assert anthropic.tool("x", SIMPLE, deferred=True)["defer_loading"] is True
    assert openai_responses.tool("x", SIMPLE, deferred=True)["defer_loading"] is True


def test_a_tool_without_parameters_has_an_empty_object_or_none_for_gemini() -> None:
    empty: dict[str, Any] = {"type": "object", "properties": {}}
    assert anthropic.tool("x", BARE)["input_schema"] == empty
    assert openai_chat.tool("x", BARE)["function"]["parameters"] == empty
    assert gemini.declaration("x", BARE) == {"name": "x", "description": "list_regions"}


def test_what_a_schema_cannot_say_stands_in_the_description() -> None:
    either = {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    definition = {"name": "x", "description": "Does it.", "inputSchema": either}
    said = anthropic.tool("x", definition)["description"]
    assert said.startswith("Does it.\n\nThe arguments must be given in at least one of these ways")


def test_openai_cuts_the_words_of_the_server_and_not_ours() -> None:
    either = {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    definition = {"name": "x", "description": "word " * 500, "inputSchema": either}
    said = openai_chat.tool("x", definition)["function"]["description"]
    assert len(said) <= 1_024
    assert said.endswith("(1) `a`, (2) `b`")
    assert "…\n\n" in said


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ({"name": "n", "title": "T"}, "T"),
        ({"name": "n"}, "n"),
        ({"name": "n", "description": " "}, "n"),
    ],
    ids=["title", "name", "blank"],
)
def test_a_tool_without_a_description_is_described_by_its_names(
    definition: dict[str, Any], said: str
) -> None:
    assert gemini.declaration("x", definition)["description"] == said


# ---------------------------------------------------------------- names


@given(name=NAMES)
def test_every_name_has_a_legal_form_of_its_own(name: str) -> None:
    legal = legal_name(name)
    assert LEGAL.fullmatch(legal)
    assert (legal_name(legal) == legal) == (legal == name), "none is taken for another one's"
    assert (legal == name) == bool(LEGAL.fullmatch(name))


def test_names_that_look_alike_stay_apart() -> None:
    names = ["a.b", "a b", "a/b", "3d", "3D", "\u540d", "\u524d", "n" * 90, "n" * 91, ""]
    assert len({legal_name(name) for name in names}) == len(names)


# ---------------------------------------------------------------- strict functions


def test_a_strict_function_requires_all_and_takes_null_for_what_may_be_left_out() -> None:
    function = openai_chat.tool("x", SIMPLE, strict=True)["function"]
    assert function["strict"] is True
    assert function["parameters"] == {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": ["integer", "null"]}},
        "required": ["city", "days"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("schema", "optional"),
    [
        (
            {"type": "string", "enum": ["a"]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
        ),
        ({"const": "a"}, {"anyOf": [{"type": "string", "const": "a"}, {"type": "null"}]}),
        (
            {"enum": ["a", 1, None]},
            {"type": ["null", "number", "string"], "enum": ["a", 1, None]},
        ),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "D"},
            {
                "description": "D",
                "anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}],
            },
        ),
        (
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            {"type": ["array", "null"], "items": {"type": "string"}},
        ),
        ({"type": "string", "format": "uri", "maxLength": 9}, {"type": ["string", "null"]}),
    ],
    ids=["enum", "const", "values", "nullable", "union", "array", "format"],
)
def test_what_may_be_left_out_may_be_null(schema: Any, optional: Any) -> None:
    definition = {"name": "x", "inputSchema": {"type": "object", "properties": {"it": schema}}}
    function = openai_chat.tool("x", definition, strict=True)["function"]
    assert function["parameters"]["properties"]["it"] == optional


@pytest.mark.parametrize(
    "member",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
        {"type": "object", "patternProperties": {"^a": {"type": "string"}}},
        {"type": "array"},
        {"type": ["object", "string"]},
        {"not": {"type": "string"}, "type": "string"},
        {"enum": ["a", {"b": 1}]},
        {"$ref": "#"},
        {"type": "integer", "enum": list(range(40))},
    ],
    ids=lambda it: json.dumps(it)[:30],
)
def test_a_function_that_cannot_be_strict_is_not(member: Any) -> None:
    many = 30 if "enum" in member else 1
    properties = {f"p{n}": member for n in range(many)}
    definition = {"name": "x", "inputSchema": {"type": "object", "properties": properties}}
    function = openai_chat.tool("x", definition, strict=True)["function"]
    assert "strict" not in function
    assert openai_chat.tool("x", definition)["function"] == function


def test_a_schema_that_is_too_deep_for_strict_is_not_strict() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
    for _ in range(10):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    definition = {"name": "x", "inputSchema": schema}
    assert "strict" not in openai_chat.tool("x", definition, strict=True)["function"]


# ---------------------------------------------------------------- rules


@given(definition=DEFINITIONS)
def test_no_provider_would_refuse_a_copy_of_anything(definition: dict[str, Any]) -> None:
    before = json.dumps(definition)
    name = definition["name"]
    assert anthropic.lint(anthropic.tool(name, definition)) == []
    for strict in (False, True):
        assert openai_chat.lint(openai_chat.tool(name, definition, strict=strict)) == []
        function = openai_responses.tool(name, definition, strict=strict, deferred=True)
        assert openai_responses.lint(function) == []
        space = openai_responses.namespace(name, "About", [function])
        assert openai_responses.lint(space) == []
    for json_schema in (False, True):
        assert gemini.lint(gemini.declaration(name, definition, json_schema=json_schema)) == []
    assert json.dumps(definition) == before


def ruled(schema: Any) -> dict[str, Any]:
    return {"name": "x", "description": "d", "input_schema": schema}


@pytest.mark.parametrize(
    ("tool", "finding"),
    [
        (ruled({"type": "object", "properties": {}, "anyOf": [{}]}), "anyOf stands at the root"),
        (ruled({"properties": {}}), 'no "type": "object"'),
        (ruled({"type": "object"}), "no properties"),
        (ruled({"type": "object", "properties": {"a[b]": {}}}), "name of the argument"),
        (ruled({"type": "object", "properties": {"a": True}}), "is a boolean"),
        (ruled({"type": "object", "properties": {"a": {"type": "array"}}}), "has no items"),
        (ruled({"type": "object", "properties": {"a": {"$ref": "#/x"}}}), "leads nowhere"),
        (ruled({"type": "object", "properties": {"a": {"items": [{}]}}}), "items is an array"),
        (ruled({"type": "object", "properties": {"a": {"exclusiveMinimum": True}}}), "bound"),
        ({**ruled({"type": "object", "properties": {}}), "name": "a b"}, "does not match"),
        (
            {**ruled({"type": "object", "properties": {}}), "description": "\ud800"},
            "cannot be sent",
        ),
        (
            {
                **ruled({"type": "object", "properties": {}}),
                "defer_loading": True,
                "cache_control": {"type": "ephemeral"},
            },
            "loaded later",
        ),
        ({"type": "tool_search_tool_bm25_20251119", "name": "search"}, "no server tool"),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_the_rules_of_anthropic_are_checked(tool: dict[str, Any], finding: str) -> None:
    assert any(finding in said for said in anthropic.lint(tool))


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"description": "d" * 1_025}, "at most 1,024"),
        ({"strict": None}, "whether it is strict"),
        ({"strict": True}, "an object is not closed"),
        ({"name": "a.b"}, "does not match"),
        ({"parameters": {"type": "object", "properties": {}, "not": {}}}, "not stands at the root"),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_the_rules_of_openai_are_checked(change: dict[str, Any], finding: str) -> None:
    function = {**openai_chat.tool("x", SIMPLE)["function"], **change}
    assert any(finding in it for it in openai_chat.lint({"type": "function", "function": function}))
    assert any(finding in it for it in openai_responses.lint({"type": "function", **function}))


REFUSED_BY_GEMINI: list[tuple[dict[str, Any], str]] = [
    ({"type": ["string", "null"]}, "is not one of the known"),
    ({"type": "string", "format": "uri"}, "the format uri is refused"),
    ({"type": "integer", "enum": ["1"]}, "another type than string"),
    ({"type": "string", "enum": [1]}, "something but texts"),
    ({"type": "string", "enum": [""]}, "holds something but texts"),
    ({"type": "array"}, "an array has no items"),
    ({"anyOf": [{}], "description": "d"}, "beside anyOf"),
    ({"$ref": "#"}, "$ref is not known"),
    ({"type": "object", "additionalProperties": False}, "additionalProperties is not known"),
    ({"type": "object", "properties": {}, "required": ["a"]}, "is no property"),
]


@pytest.mark.parametrize(
    ("schema", "finding"),
    REFUSED_BY_GEMINI,
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_the_rules_of_gemini_are_checked(schema: Any, finding: str) -> None:
    parameters = {"type": "object", "properties": {"it": schema}}
    declaration = {"name": "x", "description": "d", "parameters": parameters}
    assert any(finding in said for said in gemini.lint(declaration))


def test_the_search_tools_of_providers_pass_their_rules() -> None:
    assert anthropic.lint(anthropic.SEARCH_TOOL) == []
    assert openai_responses.lint(openai_responses.SEARCH_TOOL) == []
    assert openai_responses.lint({"type": "web"}) == ["'web' is no kind of tool that is known here"]
    assert openai_chat.lint({"type": "tool_search"}) == ["it is no function"]
