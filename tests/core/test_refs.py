"""References inside a schema: followed within, never outside."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.core.quarantine import judge
from toolcrib.core.refs import MISSING, reference_notes, resolved
from toolcrib.core.snapshot import Kind

ROOT = {"$defs": {"a/b~c": {"x": 1}, "list": [{"y": 2}], "sp ace": 3}, "anyOf": [{}, {"z": 4}]}


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("#", ROOT),
        ("#/$defs/a~1b~0c/x", 1),
        ("#/$defs/list/0/y", 2),
        ("#/$defs/sp%20ace", 3),
        ("#/anyOf/1/z", 4),
        ("#/anyOf/2", MISSING),
        ("#/anyOf/-1", MISSING),
        ("#/anyOf/x", MISSING),
        ("#/anyOf/01", MISSING),
        ("#/anyOf/", MISSING),
        ("#/anyOf/\u0661", MISSING),
        pytest.param("#/anyOf/" + "9" * 5_000, MISSING, id="more digits than Python converts"),
        pytest.param("#/anyOf/" + "0" * 5_000 + "1", MISSING, id="as many zeros"),
        ("#/$defs/none", MISSING),
        ("#/$defs/sp%20ace/deeper", MISSING),
        ("#anchor", MISSING),
        ("http://example.com/x", MISSING),
        ("", MISSING),
    ],
)
def test_a_reference_is_resolved_inside_or_not_at_all(reference: str, target: Any) -> None:
    assert resolved(ROOT, reference) is target or resolved(ROOT, reference) == target


@pytest.mark.parametrize(
    "reference",
    [
        "http://169.254.169.254/latest/meta-data/",
        "https://example.com/s.json#/a",
        "file:///etc/hostname",
        "//host/path",
        "other.json",
        "urn:x:y",
    ],
)
def test_a_reference_that_leads_outside_is_noted(reference: str) -> None:
    schema = {"properties": {"a": {"$ref": reference}}}
    (note,) = reference_notes(schema)
    assert note.startswith("references that lead outside and are never followed")
    assert reference in note


def test_references_to_nowhere_are_noted_apart() -> None:
    schema = {"properties": {"a": {"$ref": "http://x/"}, "c": {"$ref": "#/$defs/K"}}}
    outside, broken = reference_notes(schema)
    assert "http://x/" in outside
    assert broken == "references that point nowhere: `#/$defs/K`"


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"K": {}}, "properties": {"a": {"$ref": "#/$defs/K"}}},
        {"properties": {"a": {"$ref": "#"}}},
        {"$defs": {"K": {"$anchor": "k"}}, "properties": {"a": {"$ref": "#k"}}},
        {"$defs": {"K": {"$dynamicAnchor": "k"}}, "items": {"$dynamicRef": "#k"}},
        {"definitions": {"K": {"$id": "#k"}}, "properties": {"a": {"$ref": "#k"}}},
        {"$defs": {"K": {"$id": "https://x/k"}}, "items": {"$ref": "https://x/k#/a"}},
        {"$defs": {"K": {"$id": "https://x/k", "$ref": "#/here"}}},
        {"properties": {"$ref": {"type": "string"}}},
        {"const": {"$ref": "http://x/"}},
        {"items": {"$ref": 5}},
    ],
    ids=str,
)
def test_references_that_stay_inside_are_not_noted(schema: Any) -> None:
    assert reference_notes(schema) == ()


def test_many_references_make_one_short_note() -> None:
    schema = {"properties": {str(i): {"$ref": f"http://x/{i}"} for i in range(1000)}}
    (note,) = reference_notes(schema)
    assert len(note) < 500
    assert "more" in note


STEPS = st.one_of(
    st.sampled_from(
        ["$defs", "list", "a~1b~0c", "anyOf", "", "~", "~2", "%", "%zz", "%ff", "-", "-0"]
    ),
    st.integers(),
    st.sampled_from("0179\u0661\u00b2").flatmap(
        lambda digit: st.integers(1, 6_000).map(lambda count: digit * count)
    ),
    st.text(st.characters(), max_size=4),
)
POINTERS = st.lists(STEPS, max_size=6).map(lambda steps: "#/" + "/".join(map(str, steps)))


@settings(deadline=None)
@given(POINTERS)
def test_every_pointer_leads_somewhere_or_nowhere(pointer: str) -> None:
    resolved(ROOT, pointer)


@settings(deadline=None)
@given(
    st.lists(POINTERS | st.text(st.characters(), max_size=8), min_size=1, max_size=4), st.booleans()
)
def test_no_reference_of_a_tool_keeps_it_from_being_judged(
    pointers: list[str], header_rules: Any
) -> None:
    schemas = [{"$ref": pointer, "x-mcp-header": "A"} for pointer in pointers]
    properties = {str(index): schema for index, schema in enumerate(schemas)}
    schema = {"type": "object", **ROOT, "properties": properties, "allOf": schemas}
    raw = {"name": "t", "inputSchema": schema, "outputSchema": schema}
    assert judge(Kind.TOOLS, raw, header_rules=header_rules).verdict.key == "t"
