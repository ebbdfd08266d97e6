"""Messages as lines."""

import json

import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from toolcrib.wire.lines import TOO_LONG, LineSplitter, line_of, message_of


def fed(splitter: LineSplitter, *chunks: bytes) -> list[bytes]:
    return [line for chunk in chunks for line in splitter.fed(chunk)]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_are_the_same_however_the_bytes_arrive(size: int) -> None:
    text = b"one\n\ntwo\r\n   \nthree\nrest"
    chunks = [text[i : i + size] for i in range(0, len(text), size)]
    assert fed(LineSplitter(100), *chunks) == [b"one", b"two\r", b"three"]


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_a_line_that_is_too_long_is_dropped_once_and_the_next_one_is_read(size: int) -> None:
    text = b"x" * 50 + b"\nok\n"
    chunks = [text[i : i + size] for i in range(0, len(text), size)]
    assert fed(LineSplitter(10), *chunks) == [TOO_LONG, b"ok"]


def test_a_line_of_exactly_the_limit_passes() -> None:
    assert fed(LineSplitter(3), b"abc\nabcd\n") == [b"abc", TOO_LONG]


def parsed(line: bytes) -> object:
    message = message_of(line)
    return message.message if isinstance(message, SessionMessage) else message


def test_each_kind_of_message_is_read() -> None:
    request = parsed(b'{"jsonrpc":"2.0","id":"a","method":"ping"}')
    assert isinstance(request, JSONRPCRequest)
    assert isinstance(parsed(b'{"jsonrpc":"2.0","method":"n"}'), JSONRPCNotification)
    assert isinstance(parsed(b'{"jsonrpc":"2.0","id":1,"result":{}}'), JSONRPCResponse)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"Server started", -32700),
        (b"\xff", -32700),
        (b"[]", -32600),
        (b"3", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":5}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":[],"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}', -32700),
        (TOO_LONG, -32600),
    ],
)
def test_a_line_that_is_no_message_is_answered_with_an_error(line: bytes, code: int) -> None:
    error = parsed(line)
    assert isinstance(error, JSONRPCError)
    assert error.id is None
    assert error.error.code == code


def test_a_message_is_one_line_whatever_it_holds() -> None:
    result = {"text": "a\nb\r\u2028", "lone": "\ud800", "none": None}
    line = line_of(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result=result)))
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line)["result"] == result


def test_params_that_are_not_there_are_not_written_as_null() -> None:
    line = line_of(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="n")))
    assert json.loads(line) == {"jsonrpc": "2.0", "method": "n"}


def test_a_result_that_there_is_no_json_for_becomes_an_error_for_its_request() -> None:
    result = {"lone": "\ud800", "n": float("nan")}
    line = line_of(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=7, result=result)))
    written = json.loads(line, parse_constant=pytest.fail)
    assert (written["id"], written["error"]["code"]) == (7, -32603)
    assert "`n`" in written["error"]["message"]
