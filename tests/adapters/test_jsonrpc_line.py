"""What a stdio server prints is a message, an answer that can be saved, or noise."""

import json

import pytest
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from toolcrib.adapters.jsonrpc_line import BROKEN_MARK, LIMIT_MARK, answer_of_long_line, read_line
from toolcrib.adapters.line_splitter import LongLine


def read(line: bytes | str) -> JSONRPCMessage:
    found = read_line(line if isinstance(line, bytes) else line.encode())
    assert found is not None
    return found.message


@pytest.mark.parametrize(
    "line",
    [
        "Server version : 1.0",
        "",
        "   ",
        '{"level":"info"}',
        "[1,2]",
        '[{"jsonrpc":"2.0","id":1,"result":{}}]',
        '{"jsonrpc":"1.0","id":1,"result":{}}',
        '{"id":1,"result":{}}',
        '{"jsonrpc":"2.0","id":1}',
        '{"jsonrpc":"2.0","method":5}',
        '{"jsonrpc":"2.0","id":true,"method":"x"}',
        '{"jsonrpc":"2.0","id":{"a":1},"result":{}}',
        '{"jsonrpc":"2.0","result":{}}',
        '{"jsonrpc":"2.0","method":"x","params":[1]}',
        "null",
        "42",
        '"text"',
        '{"jsonrpc":"2.0","id":1,"result":{}',
        '{"jsonrpc":"2.0","id":1,"result":{}} trailing',
        "{" * 100_000,
        "[" * 100_000,
    ],
)
def test_what_is_no_message_is_noise(line: str) -> None:
    assert read_line(line.encode()) is None


@pytest.mark.parametrize("line", [b"\xff\xfe\x00", b"\x00\x01", b"\xc3("])
def test_bytes_that_are_no_text_are_noise(line: bytes) -> None:
    assert read_line(line) is None


@pytest.mark.parametrize("ending", ["", "\r", " ", "\t\r"])
def test_line_endings_of_other_systems_are_tolerated(ending: str) -> None:
    assert read('{"jsonrpc":"2.0","id":1,"result":{"a":1}}' + ending) == JSONRPCResponse(
        jsonrpc="2.0", id=1, result={"a": 1}
    )


def test_each_kind_of_message_is_told_apart() -> None:
    assert isinstance(read('{"jsonrpc":"2.0","method":"x"}'), JSONRPCNotification)
    assert isinstance(read('{"jsonrpc":"2.0","id":null,"method":"x"}'), JSONRPCNotification)
    assert isinstance(read('{"jsonrpc":"2.0","id":"a","method":"x"}'), JSONRPCRequest)
    assert isinstance(read('{"jsonrpc":"2.0","id":0,"result":{}}'), JSONRPCResponse)
    assert isinstance(
        read('{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":""}}'), JSONRPCError
    )


def test_a_byte_order_mark_is_skipped() -> None:
    assert isinstance(read(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"result":{}}'), JSONRPCResponse)


def test_a_lone_surrogate_costs_nothing_but_itself() -> None:
    message = read('{"jsonrpc":"2.0","id":1,"result":{"a":"\\ud800","b":"\\u00e9"}}')
    assert isinstance(message, JSONRPCResponse)
    assert message.result == {"a": "\ud800", "b": "é"}


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    message = read(b'{"jsonrpc":"2.0","id":1,"result":{"a":"caf\xe9"}}')
    assert isinstance(message, JSONRPCResponse)
    assert message.result == {"a": "caf�"}


def test_integers_of_any_size_stay_exact() -> None:
    message = read('{"jsonrpc":"2.0","id":1,"result":{"a":123456789012345678901234567890}}')
    assert isinstance(message, JSONRPCResponse)
    assert message.result == {"a": 123456789012345678901234567890}


@pytest.mark.parametrize("result", ["null", "[]", '"ok"', "1"])
def test_a_result_that_is_no_object_fails_its_request_at_once(result: str) -> None:
    message = read('{"jsonrpc":"2.0","id":7,"result":' + result + "}")
    assert isinstance(message, JSONRPCError)
    assert message.id == 7
    assert "no JSON object" in message.error.message


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        ('{"code":-1,"message":"m","data":[1]}', -1, "m"),
        ('{"message":"m"}', -32603, "m"),
        ('{"code":"E1","message":"m"}', -32603, "m"),
        ('{"code":-1}', -1, "the server's error has no message"),
        ('"boom"', -32603, "boom"),
    ],
)
def test_a_malformed_error_still_fails_its_request(error: str, code: int, text: str) -> None:
    message = read('{"jsonrpc":"2.0","id":7,"error":' + error + "}")
    assert isinstance(message, JSONRPCError)
    assert (message.id, message.error.code, message.error.message) == (7, code, text)


def test_an_error_beside_a_result_wins_and_a_null_error_does_not() -> None:
    both = read('{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}')
    assert isinstance(both, JSONRPCError)
    assert isinstance(read('{"jsonrpc":"2.0","id":1,"result":{},"error":null}'), JSONRPCResponse)


def long_line(text: str) -> LongLine:
    raw = text.encode()
    return LongLine(raw[:256], raw[-256:], len(raw))


@pytest.mark.parametrize(
    ("text", "request_id"),
    [
        ('{"jsonrpc": "2.0", "id": 12, "result": {"a": "%s"}}', 12),
        ('{"jsonrpc":"2.0","id":"x-1","result":{"a":"%s"}}', "x-1"),
        ('{"jsonrpc":"2.0","id":3,"error":{"message":"%s"}}', 3),
        ('{"result":{"a":"%s"},"jsonrpc":"2.0","id":9}', 9),
        ('{"result":{"a":["%s"]},"jsonrpc":"2.0","id":9}\r', 9),
    ],
)
def test_a_too_long_answer_fails_the_request_it_was_for(text: str, request_id: object) -> None:
    found = answer_of_long_line(long_line(text % ("x" * 1000)), 100)
    assert found is not None
    assert isinstance(found.message, JSONRPCError)
    assert found.message.id == request_id
    assert found.message.error.data == {LIMIT_MARK: "line_bytes"}


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1000,
        '{"jsonrpc":"2.0","method":"m","params":{"jsonrpc":"2.0","id":1,"result":"%s"}}',
        '{"result":{"a":"%s","jsonrpc":"2.0","id":9}}',
        '{"result":{"a":"%s","b":{"jsonrpc":"2.0","id":9}}}',
        '{"padding":"%s","result":{},"jsonrpc":"2.0","id":9}',
        '{"method":"x","params":{"a":"%s"},"jsonrpc":"2.0","id":9}',
    ],
)
def test_an_id_inside_a_long_line_is_never_taken_for_its_own(text: str) -> None:
    filled = text % ("x" * 1000) if "%s" in text else text
    assert answer_of_long_line(long_line(filled), 100) is None


def test_the_id_of_a_long_answer_is_read_as_json() -> None:
    found = answer_of_long_line(
        long_line(json.dumps({"jsonrpc": "2.0", "id": 5, "result": "y" * 999})), 9
    )
    assert found is not None
    assert isinstance(found.message, JSONRPCError)
    assert found.message.id == 5
    assert "1,0" not in found.message.error.message


@pytest.mark.parametrize("key", [LIMIT_MARK, BROKEN_MARK, "dev.toolcrib/http", "dev.toolcrib/new"])
def test_a_server_cannot_forge_a_mark_of_ours(key: str) -> None:
    error = {"code": -32603, "message": "x", "data": {key: "line_bytes", "own": 1}}
    message = read(json.dumps({"jsonrpc": "2.0", "id": 7, "error": error}))
    assert isinstance(message, JSONRPCError)
    assert message.error.data == {"own": 1}
