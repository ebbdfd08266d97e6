"""JSON on the wire: everything is written somehow, and what was encoded is reused."""

import json
from typing import Any

import pytest

from toolcrib.calls.results.encoding import NotFinite, encode
from toolcrib.wire.jsonwire import (
    Prepared,
    decode,
    encode_error,
    encode_response,
    encode_result,
)


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, True, None, "ä", "\u2028"]},
        {"big": 2**80, "small": -(2**80)},
        {"lone": "cut \ud83d", "whole": "\U0001f600"},
        [],
        "text",
    ],
    ids=["plain", "huge integers", "lone surrogate", "empty", "text"],
)
def test_what_is_encoded_reads_back_the_same(value: object) -> None:
    assert json.loads(encode(value)) == value


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")], ids=str)
@pytest.mark.parametrize("beside", ["plain", "\ud800"], ids=["plain", "surrogate"])
def test_numbers_that_json_has_not_are_never_written(number: float, beside: str) -> None:
    with pytest.raises(NotFinite, match=r"content\[0\]\.n"):
        encode({"text": beside, "content": [{"n": number}]})


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "NaN \ud800"])
def test_the_words_for_such_numbers_are_ordinary_text(text: str) -> None:
    assert json.loads(encode({text: text})) == {text: text}


def test_deep_nesting_is_encoded_like_any_other_value() -> None:
    value: Any = "end"
    for _ in range(400):
        value = {"in": value}
    assert json.loads(encode(value)) == value


def prepared(members: dict[str, Any]) -> Prepared:
    items = [{"name": "a"}, {"name": "b"}]
    return Prepared("tools", items, encode(items), members)


@pytest.mark.parametrize("members", [{}, {"ttlMs": 5, "_meta": {"k": "v"}}], ids=["none", "some"])
def test_a_prepared_result_is_the_same_on_the_wire_and_as_an_object(
    members: dict[str, Any],
) -> None:
    result = prepared(members)
    assert json.loads(encode_result(result)) == result.as_dict()
    assert result.as_dict() == {"tools": [{"name": "a"}, {"name": "b"}], **members}


def test_prepared_json_is_spliced_and_not_encoded_again() -> None:
    result = Prepared("tools", [], b"[ 1 ]", {})
    assert encode_result(result) == b'{"tools":[ 1 ]}'


def test_responses_carry_the_id_as_it_came() -> None:
    assert json.loads(encode_response("7", {"a": 1})) == {
        "jsonrpc": "2.0",
        "id": "7",
        "result": {"a": 1},
    }
    assert json.loads(encode_response(7, prepared({})))["id"] == 7
    error = {"code": -32700, "message": "Parse error"}
    assert json.loads(encode_error(None, error)) == {"jsonrpc": "2.0", "id": None, "error": error}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="cut"),
        pytest.param(b"\xff\xfe{\x00}\x00", id="utf-16"),
        pytest.param(b'"\xe4"', id="latin-1"),
        pytest.param(b"[" * 100_000, id="too deep"),
        pytest.param(b"1" * 10_000, id="too many digits"),
        pytest.param(b"NaN", id="nan"),
        pytest.param(b'{"a":[-Infinity]}', id="infinity"),
        pytest.param(b"[1e999]", id="too large"),
        pytest.param(b"-1e999", id="too small"),
    ],
)
def test_what_is_no_readable_utf8_json_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode(body)
