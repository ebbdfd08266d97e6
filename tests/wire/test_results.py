"""Shaping results for the revision of the host."""

import json
from typing import Any

import pytest

from toolcrib.wire.jsonwire import Prepared
from toolcrib.wire.results import (
    for_handshake,
    for_modern,
    tool_for_handshake,
    tool_for_modern,
)

US = {"name": "toolcrib", "version": "1"}
SERVER_INFO = "io.modelcontextprotocol/serverInfo"


def handshake(result: dict[str, Any], method: str = "tools/call") -> dict[str, Any]:
    shaped = for_handshake(method, result)
    assert isinstance(shaped, dict)
    return shaped


def modern(result: dict[str, Any]) -> dict[str, Any]:
    shaped = for_modern(result, US)
    assert isinstance(shaped, dict)
    return shaped


def test_a_modern_result_gets_type_and_our_identity() -> None:
    assert modern({"content": []}) == {
        "resultType": "complete",
        "content": [],
        "_meta": {SERVER_INFO: US},
    }


def test_the_identity_of_the_server_behind_us_is_replaced_and_other_meta_kept() -> None:
    meta = {SERVER_INFO: {"name": "other"}, "vendor.example/x": 1}
    assert modern({"content": [], "_meta": meta})["_meta"] == {
        SERVER_INFO: US,
        "vendor.example/x": 1,
    }
    assert meta[SERVER_INFO] == {"name": "other"}


@pytest.mark.parametrize("meta", [None, "text", 3], ids=["null", "text", "number"])
def test_a_meta_that_is_no_object_is_replaced(meta: object) -> None:
    assert modern({"_meta": meta})["_meta"] == {SERVER_INFO: US}


def test_handshake_results_have_nothing_that_only_modern_ones_have() -> None:
    result: dict[str, Any] = {
        "resultType": "complete",
        "ttlMs": 5,
        "cacheScope": "public",
        "contents": [],
        "_meta": {SERVER_INFO: US, "a": 1},
    }
    assert handshake(result, "resources/read") == {"contents": [], "_meta": {"a": 1}}


def test_prepared_listings_are_stamped_without_touching_what_is_encoded() -> None:
    prepared = Prepared("tools", [{"name": "a"}], b"...", {"ttlMs": 1, "cacheScope": "private"})
    shaped = for_modern(prepared, US)
    assert isinstance(shaped, Prepared)
    assert shaped.encoded is prepared.encoded
    assert shaped.members["resultType"] == "complete"
    older = for_handshake("tools/list", prepared)
    assert isinstance(older, Prepared)
    assert older.encoded is prepared.encoded
    assert older.members == {}


OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}}


@pytest.mark.parametrize(
    "schema",
    [{"type": "array"}, {"type": ["object", "null"]}, {"anyOf": [OBJECT]}, True, {"$ref": "#/x"}],
    ids=["array", "several types", "no type", "boolean", "reference"],
)
def test_an_output_schema_that_older_hosts_cannot_take_is_left_out_alone(schema: object) -> None:
    tool = {"name": "a", "inputSchema": OBJECT, "outputSchema": schema}
    assert tool_for_handshake(tool) == {"name": "a", "inputSchema": OBJECT}


@pytest.mark.parametrize("extra", [{}, {"outputSchema": OBJECT}], ids=["none", "an object's"])
def test_a_tool_that_every_revision_takes_is_the_same_object(extra: dict[str, Any]) -> None:
    tool = {"name": "a", "inputSchema": OBJECT, **extra}
    assert tool_for_handshake(tool) is tool
    assert tool_for_modern(tool) is tool


def test_execution_is_no_member_of_modern_tools() -> None:
    tool = {"name": "a", "execution": {"taskSupport": "optional"}}
    assert tool_for_modern(tool) == {"name": "a"}
    assert tool_for_handshake(tool) is tool


def test_a_plain_listing_is_shaped_tool_by_tool() -> None:
    bad = {"name": "bad", "outputSchema": {"type": "array"}}
    good = {"name": "good", "outputSchema": OBJECT}
    shaped = handshake({"tools": [bad, good], "ttlMs": 1}, "tools/list")
    assert shaped == {"tools": [{"name": "bad"}, good]}


@pytest.mark.parametrize(
    "structured", [None, 3, "text", True, [1, 2], [], {"deep": "no"}], ids=repr
)
def test_structured_content_reaches_older_hosts_as_text_where_it_is_no_object(
    structured: object,
) -> None:
    shaped = handshake({"content": [], "structuredContent": structured})
    texts = [json.loads(block["text"]) for block in shaped["content"]]
    assert texts == [structured]
    assert ("structuredContent" in shaped) is isinstance(structured, dict)


def test_a_text_twin_that_is_there_is_not_doubled() -> None:
    blocks = [{"type": "text", "text": "[1,2]"}]
    shaped = handshake({"content": blocks, "structuredContent": [1, 2]})
    assert shaped == {"content": blocks}


def test_other_text_does_not_stand_in_for_the_structured_content() -> None:
    blocks = [{"type": "text", "text": "two numbers"}]
    shaped = handshake({"content": blocks, "structuredContent": [1, 2]})
    assert shaped["content"] == [*blocks, {"type": "text", "text": "[1,2]"}]


def test_an_object_with_content_of_its_own_passes_unchanged() -> None:
    result = {"content": [{"type": "text", "text": "x"}], "structuredContent": {"a": 1}}
    assert handshake(result) == result
