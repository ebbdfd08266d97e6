"""Errors of a server never speak for us: what leaves, and what must not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.protocol.laundering import RpcError, ToolErrorResult, launder

OTHER_METHODS = ["resources/read", "prompts/get", "completion/complete"]
MAY_LEAVE = {-32602, -32603}
MISSING: dict[str, Any] = {
    "requiredCapabilities": {"sampling": {}, "elicitation": {"url": {}}},
}


@pytest.mark.duty(36)
@given(
    st.integers()
    | st.integers(-33000, -31900)
    | st.none()
    | st.booleans()
    | st.text()
    | st.floats(),
    st.text(st.characters()) | st.none() | st.integers(),
    st.none() | st.dictionaries(st.text(), st.text()) | st.just(MISSING),
    st.sampled_from(["tools/call", *OTHER_METHODS]),
)
def test_no_code_of_the_reserved_range_ever_leaves(
    code: Any, message: Any, data: Any, method: str
) -> None:
    found = launder(code, message, data, server="files", method=method)
    text = found.text if isinstance(found, ToolErrorResult) else found.message
    assert text.startswith("`files` ")
    assert text.encode()
    assert "\n" not in text
    assert len(text) < 2500
    assert isinstance(found, ToolErrorResult) == (method == "tools/call")
    if isinstance(found, RpcError):
        assert found.code in MAY_LEAVE or not -32768 <= found.code <= -32000
        assert isinstance(found.code, int)
        assert not isinstance(found.code, bool)


@pytest.mark.parametrize(
    ("code", "leaves"),
    [
        (-32700, -32603),
        (-32600, -32603),
        (-32601, -32603),
        (-32602, -32602),
        (-32603, -32603),
        (-32002, -32602),
        (-32020, -32603),
        (-32021, -32603),
        (-32022, -32603),
        (-32042, -32603),
        (-32055, -32603),
        (-32000, -32603),
        (-32001, -32603),
        (-32768, -32603),
        (-31999, -31999),
        (0, 0),
        (1001, 1001),
        (2**40, -32603),
        (-(2**40), -32603),
    ],
)
@pytest.mark.parametrize("method", OTHER_METHODS)
def test_each_code_is_translated_as_the_table_says(code: int, leaves: int, method: str) -> None:
    found = launder(code, "why", server="s", method=method)
    assert isinstance(found, RpcError)
    assert found.code == leaves


def test_a_tool_error_tells_the_model_which_server_said_what() -> None:
    found = launder(-32602, "limit must be positive", server="db")
    assert found == ToolErrorResult("`db` refused the parameters: limit must be positive")
    assert launder(-32055, "odd", server="db") == ToolErrorResult("`db` failed: odd")
    assert launder(-32603, "", server="db") == ToolErrorResult("`db` had an internal error")


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (-32700, "could not read the request"),
        (-32600, "refused the form"),
        (-32601, "does not know this method"),
        (-32602, "refused the parameters"),
        (-32603, "had an internal error"),
        (-32002, "has no such resource"),
        (-32020, "how toolcrib addressed it"),
        (-32021, "needs a client capability"),
        (-32022, "stopped speaking the agreed protocol revision"),
        (-32042, "wants a person to visit a web page"),
        (-32000, "failed"),
        (True, "failed"),
        ("-32602", "failed"),
        (None, "failed"),
    ],
    ids=repr,
)
def test_each_code_is_told_in_words(code: object, says: str) -> None:
    found = launder(code, None, server="s")
    assert isinstance(found, ToolErrorResult)
    assert says in found.text


@pytest.mark.parametrize("code", [-32020, -32022, -32042])
def test_words_about_the_other_hop_are_not_repeated(code: int) -> None:
    found = launder(code, "Unsupported protocol version 2026-07-28", server="s")
    assert isinstance(found, ToolErrorResult)
    assert "Unsupported" not in found.text


def test_missing_capabilities_are_named_and_nothing_else_of_the_data() -> None:
    data = {**MISSING, "token": "secret"}
    found = launder(-32021, "Missing", data, server="s")
    assert isinstance(found, ToolErrorResult)
    assert "(elicitation, sampling): Missing" in found.text
    assert "secret" not in found.text
    assert launder(-32602, "x", data, server="s") == launder(-32602, "x", server="s")


def test_a_long_or_hostile_message_is_clipped_and_cleaned() -> None:
    found = launder(-32603, "a\x1b[2J\n`b`\u202e" + "x" * 10_000, server="s")
    assert isinstance(found, ToolErrorResult)
    assert len(found.text) < 2100
    assert not set(found.text) & set("\x1b\n\u202e")
