"""Header annotations: where one is in order, and where it spoils its tool."""

from typing import Any

import pytest

from toolcrib.core.mirrored import Mirrored, mirror_fault, mirrored
from toolcrib.core.schema import LISTED, NAMED, ONE


def annotated(header: Any, kind: Any = "string") -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": header}


def test_annotations_are_found_along_properties_alone() -> None:
    schema = {
        "type": "object",
        "properties": {
            "region": annotated("Region"),
            "inner": {"type": "object", "properties": {"id": annotated("Id", "integer")}},
            "x-mcp-header": {"type": "string"},
            "flag": annotated("Flag", "boolean"),
        },
    }
    assert mirror_fault(schema) is None
    assert set(mirrored(schema)) == {
        Mirrored(("region",), "Region"),
        Mirrored(("inner", "id"), "Id"),
        Mirrored(("flag",), "Flag"),
    }


@pytest.mark.parametrize(
    "header", ["", "a b", "a:b", "a\r\nb", "é", "a\x00", "a(b", 5, None, ["a"]]
)
def test_an_annotation_that_names_no_header_is_a_fault(header: Any) -> None:
    assert mirror_fault({"properties": {"a": annotated(header)}}) is not None


@pytest.mark.parametrize("kind", ["number", "object", "array", "null", None, ["string"], 5])
def test_an_annotation_on_another_type_is_a_fault(kind: Any) -> None:
    assert mirror_fault({"properties": {"a": annotated("A", kind)}}) is not None


@pytest.mark.parametrize("keyword", sorted(ONE - {"items"}))
def test_an_annotation_below_another_keyword_is_a_fault(keyword: str) -> None:
    schema = {"properties": {"a": {keyword: {"properties": {"b": annotated("B")}}}}}
    assert "properties" in str(mirror_fault(schema))
    assert mirror_fault({keyword: annotated("B")}) is not None


@pytest.mark.parametrize("keyword", sorted(NAMED - {"properties"}))
def test_an_annotation_among_other_named_schemas_is_a_fault(keyword: str) -> None:
    assert mirror_fault({keyword: {"a": annotated("A")}}) is not None
    assert mirror_fault({keyword: {"a": {"properties": {"b": annotated("A")}}}}) is not None


@pytest.mark.parametrize("keyword", sorted(LISTED))
def test_an_annotation_in_a_list_of_schemas_is_a_fault(keyword: str) -> None:
    assert mirror_fault({"properties": {"a": {keyword: [annotated("A")]}}}) is not None


def test_an_annotation_at_the_root_is_a_fault() -> None:
    assert "at the root" in str(mirror_fault(annotated("A")))


def test_two_annotations_may_not_differ_in_case_alone() -> None:
    schema = {"properties": {"a": annotated("Region"), "b": annotated("REGION")}}
    fault = str(mirror_fault(schema))
    assert "properties.a" in fault
    assert "properties.b" in fault


def test_an_annotation_inside_data_is_data() -> None:
    data = {"properties": {"a": annotated("")}}
    assert mirror_fault({"const": data, "default": data, "examples": [data]}) is None
