"""Schemas that are made to be copied for ever, or into something that nobody can send."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.context.providers import anthropic, gemini, openai_chat, openai_responses
from toolcrib.context.schemas.argument_names import led_back
from toolcrib.context.schemas.profiles import ANTHROPIC, INLINED, LOOSE
from toolcrib.context.schemas.schema_copy import copy_schema
from toolcrib.context.shown_schema import ROOM, shown_definition, shown_schema
from toolcrib.core.canonical import canonical
from toolcrib.testing.call_budget import TooManyCalls, within_calls

CALLS = 1_500_000
SIZE = 4 * 1024 * 1024


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def text(words: str = "w") -> dict[str, Any]:
    return {"type": "string", "description": words}


def many(count: int, schema: Any, name: str = "p") -> dict[str, Any]:
    return {f"{name}{number}": schema for number in range(count)}


def nested(levels: int, around: Callable[[Any], Any]) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(levels):
        schema = around(schema)
    return schema


def spelled(number: int, pointer: str = "$defs/bigbigbi") -> str:
    """One of the many ways to write one pointer: each character may be escaped."""
    signs = zip(pointer, f"{number:0{len(pointer)}b}", strict=True)
    return "#/" + "".join(f"%{ord(sign):02x}" if bit == "1" else sign for sign, bit in signs)


SELF = {"$ref": "#/$defs/a"}
TWICE = {
    f"d{n}": of(left={"$ref": f"#/$defs/d{n + 1}"}, right={"$ref": f"#/$defs/d{n + 1}"})
    for n in range(25)
}
WIDE = of(**many(2_000, {"type": "string"}))

ENDLESS: dict[str, dict[str, Any]] = {
    "alternatives of themselves": {"anyOf": [SELF] * 10, "$defs": {"a": {"anyOf": [SELF] * 10}}},
    "parts of themselves": {"allOf": [SELF] * 10, "$defs": {"a": {"allOf": [SELF] * 10}}},
    "properties of the root": of(**many(30, {"$ref": "#"})),
    "each definition twice in the one before": {
        **of(x={"$ref": "#/$defs/d0"}),
        "$defs": {**TWICE, "d25": text()},
    },
    "parts in parts": {
        **of(x={"$ref": "#/$defs/d0"}),
        "$defs": {
            **{f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)},
            "d60": text(),
        },
    },
    "arrays of arrays": of(x=nested(60, lambda it: {"type": "array", "items": it})),
    "deeper than is copied": of(x=nested(300, lambda it: {"type": "array", "items": it})),
    "objects in objects": of(x=nested(300, lambda it: of(a=it))),
    "alternatives in alternatives": of(x=nested(300, lambda it: {"anyOf": [it]})),
    "something beside alternatives at each level": of(
        x=nested(28, lambda it: {**of(a=it), "anyOf": [{"title": "a"}, {"title": "b"}]})
    ),
    "much beside many alternatives": of(
        x={**WIDE, "anyOf": [{"title": f"t{n}"} for n in range(2_000)]}
    ),
    "a long text beside many alternatives": of(
        x={**of(z=text("w " * 50_000)), "anyOf": [{"title": f"t{n}"} for n in range(2_000)]}
    ),
    "one long text in many places": {
        **of(**many(2_000, {"$ref": "#/properties/long"}), long=text("w " * 50_000)),
    },
    "one long definition in many places": {
        **of(**many(2_000, {"$ref": "#/$defs/long"})),
        "$defs": {"long": text("w " * 50_000)},
    },
    "one pointer in many spellings, as parts": {
        **of(x={"allOf": [{"$ref": spelled(number)} for number in range(300)]}),
        "$defs": {"bigbigbi": WIDE},
    },
    "one pointer in many spellings, as alternatives": {
        "anyOf": [{"$ref": spelled(number)} for number in range(300)],
        "$defs": {"bigbigbi": WIDE},
    },
    "many times the same wide part": {
        "allOf": [{"$ref": "#/$defs/b"}] * 600,
        "$defs": {"b": {**WIDE, "required": list(WIDE["properties"])}},
    },
    "many times the same wide alternative": {
        "anyOf": [{"$ref": "#/$defs/b"}] * 600,
        "$defs": {"b": {**WIDE, "required": list(WIDE["properties"])}},
    },
    "a long text in each alternative": {
        "anyOf": [{"$ref": "#/$defs/b", **of(z={"title": f"w{n}"})} for n in range(300)],
        "$defs": {"b": of(z=text("w " * 50_000))},
    },
    "a chain of definitions": {
        **of(x={"$ref": "#/$defs/d0"}),
        "$defs": {f"d{n}": {"$ref": f"#/$defs/d{(n + 1) % 1_500}"} for n in range(1_500)},
    },
    "names of one sign that nobody takes": of(**{chr(0x4E00 + n): {} for n in range(3_000)}),
    "names with a space": {**of(**{f"a {n}": {} for n in range(3_000)}), "required": ["a 1"]},
    "many properties": {**of(**many(9_000, {"type": "string"})), "required": ["p1"]},
    "many values": of(x={"enum": list(range(30_000))}),
    "many constants": of(x={"anyOf": [{"const": f"c{n}"} for n in range(3_000)]}),
    "many alternatives": {"anyOf": [{**of(**{f"a{n}": {}})} for n in range(2_000)]},
    "many patterns": {
        "type": "object",
        "patternProperties": {f"^a{n}": {} for n in range(2_000)},
        "dependentRequired": {f"a{n}": ["b"] for n in range(2_000)},
    },
    "pointers through everything": of(x={"$ref": "#" + "/properties/x" * 5_000}),
    "names that languages know": {
        **of(**dict.fromkeys(["__proto__", "constructor", "", "*", "$ref", "type"], text())),
        "required": ["__proto__", "", "*"],
    },
    "names that no message carries": {
        **of(**{it: {} for it in ("\ud800", "\u540d\u524d", "a\nb", "a`b", "\u202e", "k" * 9_000)}),
        "required": ["\ud800", "\u540d\u524d"],
    },
    "numbers that are none": of(
        x={"minimum": float("nan"), "default": float("inf"), "enum": [float("nan")]}
    ),
    "pointers with odd names": {
        **of(a={"$ref": "#/$defs/__proto__"}, b={"$ref": "#/$defs/"}, c={"$ref": "#/$defs/%25"}),
        "$defs": {"__proto__": text(), "": text(), "%": text()},
    },
}

Check = Callable[[dict[str, Any]], tuple[Any, list[str]]]


def linted(make: Callable[..., Any], lint: Callable[..., list[str]], **options: Any) -> Check:
    def check(definition: dict[str, Any]) -> tuple[Any, list[str]]:
        with within_calls(CALLS):
            made = make("x", definition, **options)
        return made, lint(made)

    return check


FORMS: dict[str, Check] = {
    "anthropic": linted(anthropic.tool, anthropic.lint),
    "chat": linted(openai_chat.tool, openai_chat.lint),
    "strict": linted(openai_responses.tool, openai_responses.lint, strict=True),
    "gemini": linted(gemini.declaration, gemini.lint),
    "gemini json": linted(gemini.declaration, gemini.lint, json_schema=True),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("schema", ENDLESS)
def test_no_schema_is_copied_without_end_or_into_what_a_provider_refuses(
    schema: str, form: str
) -> None:
    definition = {"name": "x", "inputSchema": {"type": "object", **ENDLESS[schema]}}
    made, findings = FORMS[form](definition)
    assert findings == []
    assert len(json.dumps(made)) < SIZE


@pytest.mark.parametrize("schema", ENDLESS)
def test_what_is_shown_is_bounded_in_work_and_size(schema: str) -> None:
    definition = {
        "name": "x",
        "inputSchema": {"type": "object", **ENDLESS[schema]},
        "outputSchema": {"type": "object", **ENDLESS[schema]},
    }
    with within_calls(CALLS):
        shown = shown_definition(definition)
    assert len(canonical(shown)) <= ROOM + 64
    assert shown["inputSchema"]["type"] == "object"


def test_too_wide_a_schema_is_shown_by_the_names_of_its_properties() -> None:
    shown = shown_schema(of(**many(9_000, {"type": "string"}), **{"\ud800": {}}), room=4_096)
    assert 100 < len(shown["properties"]) < 9_000
    assert "of its 9,001 properties by name" in shown["description"]


def test_alternatives_beyond_the_limit_require_nothing() -> None:
    wide = {**WIDE, "required": ["p0"]}
    schema = {"type": "object", "anyOf": [*[wide] * 50, of(a={})]}
    copied = copy_schema(schema, LOOSE)
    assert "required" not in copied.schema
    assert copied.notes == ("Further rules are checked when it is called",)
    assert copied.schema["properties"].keys() == WIDE["properties"].keys()


def test_alternatives_that_would_repeat_too_much_leave_the_rest() -> None:
    beside = of(z=text("w " * 50_000))
    definition = {"inputSchema": of(x={**beside, "anyOf": [{"title": "a"}, {"title": "b"}] * 9})}
    made = gemini.declaration("x", definition)["parameters"]["properties"]["x"]
    assert made["properties"].keys() == {"z"}
    assert "further rules are checked" in made["description"]


def test_arrays_of_arrays_keep_their_levels() -> None:
    schema = nested(20, lambda it: {"type": "array", "items": it, "minItems": 1})
    made = gemini.declaration("x", {"inputSchema": of(x=schema)})["parameters"]
    node = made["properties"]["x"]
    for _ in range(20):
        assert (node["type"], node["minItems"]) == ("array", 1)
        node = node["items"]
    assert node == {"type": "string"}


ODD = st.sampled_from(
    ["a b", "a/b", "a_b", "a_b_2", "\u540d", "\u524d", "_", "_2", "", "*", "__proto__"]
)


@given(st.sets(ODD | st.text(max_size=3), max_size=9))
def test_renamed_arguments_are_led_back_to_what_they_were(names: set[str]) -> None:
    copied = copy_schema(of(**{name: {"type": "integer"} for name in names}), ANTHROPIC)
    legal = copied.schema["properties"]
    sent = {name: place for place, name in enumerate(legal)}
    back = led_back(sent, copied.renamed)
    kept = {
        name for name in names if name.isascii() or name.encode("utf-8", "replace").decode() == name
    }
    assert set(back) == kept
    assert len(back) == len(sent)
    assert copy_schema(of(**{name: {"type": "integer"} for name in names}), ANTHROPIC) == copied


def test_a_copy_is_the_same_however_its_definitions_are_reached() -> None:
    defs = {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/c"}, "c": text()}
    first = copy_schema(
        {**of(x={"$ref": "#/$defs/a"}, y={"$ref": "#/$defs/c"}), "$defs": defs}, LOOSE
    )
    second = copy_schema(
        {**of(y={"$ref": "#/$defs/c"}, x={"$ref": "#/$defs/a"}), "$defs": defs}, LOOSE
    )
    assert json.dumps(first.schema) == json.dumps(second.schema)
    assert first.schema["$defs"] == defs


def test_what_references_bring_in_is_bounded_for_each_copy_alone() -> None:
    schema = {**of(x={"$ref": "#/$defs/long"}), "$defs": {"long": text("w " * 100_000)}}
    copies = [copy_schema(schema, INLINED).schema for _ in range(5)]
    assert all(it["properties"]["x"]["description"] == "w " * 100_000 for it in copies)


def test_the_bound_on_work_counts() -> None:
    with pytest.raises(TooManyCalls), within_calls(100):
        nested(200, lambda it: of(a=it))
