"""Definitions are read for their texts, whatever they hold."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.search.fields import ToolTexts, tool_texts
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.search.segment import Segment
from toolcrib.core.snapshot import Item, Kind, Snapshot

LEXICON = Lexicon(str)


def texts(**definition: Any) -> ToolTexts:
    return tool_texts(Item("key", definition, "f", "c"))


def test_the_texts_of_a_tool_are_taken_from_where_they_belong() -> None:
    schema = {
        "type": "object",
        "title": "not a parameter",
        "properties": {
            "unit": {"enum": ["metric", "imperial", 3, None], "description": "Which unit."},
            "where": {
                "type": "object",
                "title": "The place",
                "properties": {"city": {"const": "Rome"}},
            },
            "list": {"items": {"properties": {"inner": True}}, "anyOf": [{"enum": ["any"]}]},
        },
    }
    found = texts(
        name="other", title="A title", description="Does this. And that.", inputSchema=schema
    )
    assert (found.name, found.title) == ("key", "A title")
    assert (found.description, found.lead) == ("Does this. And that.", "Does this.")
    assert found.parameters.split() == ["unit", "where", "city", "list"]
    assert found.explanations.split("\n") == ["Which unit.", "The place"]
    assert found.choices.split() == ["metric", "imperial", "Rome", "any"]


@pytest.mark.parametrize(
    "text",
    ["One. Two.", "One\n\nTwo", "\u4e00\u3002\u4e8c", "One? Two", "  One. Two"],
    ids=["dot", "paragraph", "chinese", "question", "indented"],
)
def test_the_lead_is_the_first_sentence(text: str) -> None:
    lead = texts(description=text).lead
    assert lead
    assert len(lead) < len(text.strip())


@pytest.mark.parametrize("schema", [None, [], "x", 3, True, {"properties": []}, {"properties": 1}])
def test_a_schema_that_is_none_has_no_parameters(schema: object) -> None:
    assert texts(inputSchema=schema) == texts()


def test_other_names_of_types_are_read_like_any_schema() -> None:
    schema: dict[str, Any] = {
        "type": "dict",
        "properties": {"a": {"type": "dict", "properties": {"b": {}}}},
    }
    assert texts(inputSchema=schema).parameters.split() == ["a", "b"]


json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("properties", "items", "enum", "anyOf", "description", "title"))
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(
    st.dictionaries(
        st.sampled_from(("title", "description", "inputSchema", "annotations", "x")), json
    )
)
def test_any_definition_can_be_indexed(definition: dict[str, Any]) -> None:
    item = Item("\ud800 key", definition, "f", "c")
    segment = Segment.build("\udfff", Snapshot(Kind.TOOLS, (item,), "d"), LEXICON)
    assert [doc.item for doc in segment.docs] == [item]


def test_deep_and_wide_schemas_and_long_texts_are_read_in_part_only() -> None:
    deep: dict[str, Any] = {"description": "bottom"}
    for _ in range(5_000):
        deep = {"properties": {"down": deep}}
    wide = {"properties": {f"p{n}": {"description": "word " * 50} for n in range(20_000)}}
    choices = {"enum": [f"choice{n}" for n in range(50_000)]}
    for schema in (deep, wide, choices):
        found = texts(inputSchema=schema, description="long " * 100_000)
        for text in (found.parameters, found.explanations, found.choices, found.description):
            assert len(text) <= 8_100
    assert "bottom" not in texts(inputSchema=deep).explanations
    assert len(texts(inputSchema=choices).choices.split()) <= 40


def test_of_a_long_text_only_the_first_terms_are_indexed() -> None:
    text = " ".join(f"w{n}w" for n in range(5_000))
    item = Item("tool", {"description": text}, "f", "c")
    segment = Segment.build("s", Snapshot(Kind.TOOLS, (item,), "d"), LEXICON)
    assert "w0w" in segment.postings or "w" in segment.postings
    assert len(segment.postings) < 400


def test_the_longest_word_is_bounded() -> None:
    assert max(map(len, LEXICON.terms("x" * 7_000 + " " + "ab1" * 2_000, 100))) <= 64
