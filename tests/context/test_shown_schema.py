"""Definitions as models read them in an answer: bounded, whatever they are."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.context.shown_schema import shown_definition, shown_schema
from toolcrib.core.canonical import canonical
from toolcrib.testing.odd_schemas import DEFINITIONS

WIDE: dict[str, Any] = {
    "type": "object",
    "properties": {
        f"p{n}": {"type": "string", "description": "what it is for " * 30} for n in range(40)
    },
}


def test_a_small_definition_is_shown_as_it_is() -> None:
    definition = {
        "name": "x",
        "title": "T",
        "description": "D",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
        "outputSchema": {"type": "object", "properties": {"b": {"type": "integer"}}},
        "annotations": {"readOnlyHint": True, "title": "t"},
        "icons": [{"src": "x"}],
    }
    shown = dict(definition, annotations={"readOnlyHint": True})
    del shown["icons"]
    assert shown_definition(definition) == shown


def test_alternatives_at_the_root_are_shown_as_they_are() -> None:
    schema = {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert shown_schema(schema) == schema


def test_a_long_enumeration_is_shown_by_its_beginning() -> None:
    values = [f"v{n}" for n in range(6_000)]
    definition = {"name": "x", "inputSchema": {"properties": {"it": {"enum": values}}}}
    shown = shown_definition(definition)["inputSchema"]["properties"]["it"]
    assert shown["description"].startswith("One of 6,000 values; the first 40: `v0`, `v1`,")
    few = shown_definition(definition, values=2)["inputSchema"]["properties"]["it"]
    assert few["description"] == "One of 6,000 values; the first 2: `v0`, `v1`"


def test_long_words_go_before_depth_does() -> None:
    shown = shown_schema(WIDE, room=8_000)
    assert len(shown["properties"]) == 40
    assert shown["properties"]["p0"]["description"].endswith("…")
    assert len(canonical(shown)) <= 8_000


def test_depth_goes_before_names_do() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(50):
        deep = {"type": "object", "properties": {"inside": deep, "n" * 60: {"type": "string"}}}
    shown = shown_schema(deep, room=1_000)
    assert "There is more inside" in json.dumps(shown)
    assert len(canonical(shown)) <= 1_000


def test_what_lies_too_deep_is_said_in_text_that_messages_can_carry() -> None:
    deep: dict[str, Any] = {"type": "boolean", "description": "Whether \ud800 it is " * 400}
    for _ in range(50):
        deep = {"type": "object", "properties": {"inside": deep}, "description": "\udfff" * 900}
    shown = shown_schema(deep, room=3_000)
    assert "There is more inside" in json.dumps(shown, ensure_ascii=False).encode().decode()
    assert len(canonical(shown)) <= 3_000


def test_of_what_is_too_large_in_any_case_the_first_names_are_shown() -> None:
    properties: dict[str, Any] = {f"property_{n:04}": {} for n in range(5_000)}
    wide = {"type": "object", "properties": properties}
    shown = shown_schema(wide, room=4_000)
    assert next(iter(shown["properties"])) == "property_0000"
    assert "of its 5,000 properties by name" in shown["description"]
    assert len(canonical(shown)) <= 4_000


@pytest.mark.parametrize("room", [0, 512, 2_000, 16_384])
@given(definition=DEFINITIONS, wide=st.booleans())
def test_a_definition_keeps_to_its_room(
    room: int, definition: dict[str, Any], *, wide: bool
) -> None:
    if wide:
        definition = {**definition, "inputSchema": WIDE}
    shown = shown_definition(definition, room=room)
    assert len(canonical(shown)) <= max(room, 512)
    json.dumps(shown, ensure_ascii=False, allow_nan=False).encode()
