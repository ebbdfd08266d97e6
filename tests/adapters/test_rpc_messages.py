"""Messages to servers are JSON or are not written."""

import json
from math import inf, nan
from typing import Any

import pytest
from mcp_types import JSONRPCRequest

from toolcrib.adapters.rpc_messages import write_message


def request(**arguments: Any) -> JSONRPCRequest:
    params = {"name": "t", "arguments": arguments}
    return JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/call", params=params)


@pytest.mark.parametrize("number", [nan, inf, -inf], ids=str)
@pytest.mark.parametrize("beside", ["plain", "lone \ud800"], ids=["plain", "surrogate"])
def test_a_number_that_json_has_not_is_refused_with_its_place(number: float, beside: str) -> None:
    with pytest.raises(ValueError, match=r"params\.arguments\.n\[1\]"):
        write_message(request(text=beside, n=[1, number]))


@pytest.mark.parametrize("text", ["NaN", "Infinity", "lone \ud800", "NaN \ud800", "größe"])
def test_any_text_is_written(text: str) -> None:
    written = json.loads(write_message(request(text=text, none=None)))
    assert written == {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "t", "arguments": {"text": text, "none": None}},
    }


def test_what_is_not_set_is_not_written() -> None:
    message = JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")
    assert json.loads(write_message(message)) == {"jsonrpc": "2.0", "id": 1, "method": "ping"}
