"""References inside a schema: followed within, never outside."""

from typing import Any

import pytest

from toolcrib.core.refs import MISSING, reference_notes, resolved

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
