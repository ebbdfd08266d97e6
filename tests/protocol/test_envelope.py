"""The envelope of a modern request: `_meta`, headers, and what is safe to write into them."""

import base64
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolcrib.protocol.envelope import (
    CONTRACT_KEY,
    DIGEST_KEY,
    SEEN_KEY,
    is_reserved_key,
    meta_key_fault,
    modern_headers,
    modern_meta,
    result_type_fault,
)
from toolcrib.protocol.headers import (
    SAFE_INTEGER,
    UnmirrorableValue,
    decode_value,
    encode_value,
    parameter_headers,
)

V = "2026-07-28"


def test_meta_carries_version_client_and_capabilities() -> None:
    capabilities: dict[str, Any] = {"elicitation": {"form": {}}}
    meta = modern_meta(V, "toolcrib", "1.2", capabilities)
    assert meta == {
        "io.modelcontextprotocol/protocolVersion": V,
        "io.modelcontextprotocol/clientInfo": {"name": "toolcrib", "version": "1.2"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }
    meta["io.modelcontextprotocol/clientCapabilities"]["x"] = 1
    assert "x" not in capabilities


# --------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("us-west1", "us-west1"),
        ("a b/c?d=e;f,g", "a b/c?d=e;f,g"),
        ("", ""),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("tab\there", "=?base64?dGFiCWhlcmU=?="),
        ("=?BASE64?x?=", "=?BASE64?x?="),
        ("=?base64?open", "=?base64?open"),
        ("\x7f", "=?base64?fw==?="),
        (" ", "=?base64?IA==?="),
    ],
)
def test_a_value_is_written_plain_only_where_it_is_safe(text: str, value: str) -> None:
    assert encode_value(text) == value
    assert decode_value(value) == text


@given(st.text())
@example("=?base64?=")
@example("=?base64??=")
@example("=?base64?eA==?=")
def test_every_text_comes_back_and_is_safe_on_the_way(text: str) -> None:
    value = encode_value(text)
    assert all(" " <= char <= "~" for char in value)
    assert value == value.strip()
    assert decode_value(value) == text


@given(st.text(), st.text())
def test_two_texts_never_share_a_value(one: str, other: str) -> None:
    assert (encode_value(one) == encode_value(other)) == (one == other)


@pytest.mark.parametrize(
    "payload", ["****", "eA", "eA=", "eB==", "eA==\n", "/w==", "e A==", "=", "eA==eA=="]
)
def test_a_broken_sentinel_equals_nothing(payload: str) -> None:
    assert decode_value(f"=?base64?{payload}?=") is None


@given(st.text())
def test_any_received_value_is_read_without_trouble(value: str) -> None:
    text = decode_value(value)
    assert text is None or text == value or encode_value(text) == value or value[:9] == "=?base64?"


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"], ids=ascii)
def test_a_text_without_a_utf8_form_is_refused(text: str) -> None:
    with pytest.raises(UnmirrorableValue, match="surrogates"):
        encode_value(text)


# --------------------------------------------------------------------------- standard headers


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "get_weather", "arguments": {}}, "get_weather"),
        ("prompts/get", {"name": "p"}, "p"),
        ("resources/read", {"uri": "file:///a b"}, "file:///a b"),
        ("resources/read", {"uri": "file:///ü"}, "=?base64?ZmlsZTovLy/DvA==?="),
        ("tools/list", {"name": "x", "cursor": ""}, None),
        ("resources/read", {"name": "x"}, None),
        ("tools/call", None, None),
        ("tools/call", {"name": 5}, None),
    ],
    ids=str,
)
def test_standard_headers_repeat_the_body(
    method: str, params: dict[str, Any] | None, name: str | None
) -> None:
    expected = {"MCP-Protocol-Version": V, "Mcp-Method": method}
    if name is not None:
        expected["Mcp-Name"] = name
    assert modern_headers(V, method, params) == expected


# --------------------------------------------------------------------------- parameters

SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "where": {
            "type": "object",
            "properties": {"id": {"type": "string", "x-mcp-header": "Id"}},
        },
        "free": {"type": "string"},
    },
}


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({}, {}),
        ({"free": "x"}, {}),
        ({"region": "us-west1"}, {"Mcp-Param-Region": "us-west1"}),
        ({"region": ""}, {"Mcp-Param-Region": ""}),
        ({"region": None}, {}),
        ({"region": "é"}, {"Mcp-Param-Region": "=?base64?w6k=?="}),
        ({"region": {"a": 1}}, {}),
        ({"region": ["a"]}, {}),
        ({"count": 0}, {"Mcp-Param-Count": "0"}),
        ({"count": -7}, {"Mcp-Param-Count": "-7"}),
        ({"count": 42.0}, {"Mcp-Param-Count": "42"}),
        ({"count": SAFE_INTEGER}, {"Mcp-Param-Count": "9007199254740991"}),
        ({"count": -SAFE_INTEGER}, {"Mcp-Param-Count": "-9007199254740991"}),
        ({"dry": True}, {"Mcp-Param-Dry": "true"}),
        ({"dry": False}, {"Mcp-Param-Dry": "false"}),
        ({"where": {"id": "7"}}, {"Mcp-Param-Id": "7"}),
        ({"where": {}}, {}),
        ({"where": "id"}, {}),
        ({"id": "7"}, {}),
    ],
    ids=str,
)
def test_parameters_are_mirrored_from_their_exact_place(
    arguments: dict[str, Any], headers: dict[str, str]
) -> None:
    assert parameter_headers(SCHEMA, arguments) == headers
    params = {"name": "t", "arguments": arguments}
    sent = modern_headers(V, "tools/call", params, SCHEMA)
    assert {name: sent[name] for name in sent if name.startswith("Mcp-Param-")} == headers


@pytest.mark.parametrize(
    "value", [2**53, -(2**53), 2**60, 1e300, 10**400, float("inf"), float("nan")]
)
def test_an_integer_beyond_the_safe_range_is_refused_by_name(value: float) -> None:
    with pytest.raises(UnmirrorableValue, match="`count`"):
        parameter_headers(SCHEMA, {"count": value})


def test_a_text_that_fits_in_no_header_is_refused_by_the_name_of_its_argument() -> None:
    with pytest.raises(UnmirrorableValue, match=r"argument `where\.id`: .* surrogates"):
        parameter_headers(SCHEMA, {"where": {"id": "\ud800"}})


@pytest.mark.parametrize("annotation", ["", "a b", "X\r\nEvil: 1", 5, None, ["X"], "é", "Region"])
def test_a_schema_with_faulty_annotations_mirrors_nothing_at_all(annotation: object) -> None:
    faulty = {"type": "string", "x-mcp-header": annotation}
    good = {"type": "string", "x-mcp-header": "Region"}
    schema = {"type": "object", "properties": {"region": good, "other": faulty}}
    assert parameter_headers(schema, {"region": "x", "other": "y"}) == {}


@pytest.mark.parametrize("schema", [None, True, {}, {"properties": 5}])
def test_a_schema_without_annotations_mirrors_nothing(schema: Any) -> None:
    assert parameter_headers(schema, {"region": "x"}) == {}
    assert modern_headers(V, "tools/call", {"name": "t"}, schema)["Mcp-Name"] == "t"


@given(
    st.dictionaries(
        st.sampled_from(["region", "dry", "count"]), st.none() | st.text() | st.booleans()
    )
)
def test_every_mirrored_value_comes_back(arguments: dict[str, Any]) -> None:
    for name, value in parameter_headers(SCHEMA, arguments).items():
        found = arguments[name.removeprefix("Mcp-Param-").lower()]
        said = {True: "true", False: "false"}.get(found, found) if found is not None else None
        assert decode_value(value) == said


# --------------------------------------------------------------------------- types of result


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
def test_a_result_may_want_input_where_the_method_lets_it(method: str) -> None:
    for kind in ("complete", "input_required"):
        assert result_type_fault(method, {"resultType": kind}) is None


@pytest.mark.parametrize(
    "method", ["tools/list", "completion/complete", "server/discover", "resources/templates/list"]
)
def test_a_result_may_want_no_input_elsewhere(method: str) -> None:
    assert result_type_fault(method, {"resultType": "complete"}) is None
    fault = result_type_fault(method, {"resultType": "input_required"})
    assert fault == f"the result of {method} has resultType `input_required`, not complete"


@pytest.mark.parametrize("method", ["tools/call", "tools/list", "x/y"])
@pytest.mark.parametrize("kind", ["weird", "task", "Complete", "", None, 1, True, [], {}])
def test_an_unknown_type_of_result_is_a_fault_of_every_method(method: str, kind: object) -> None:
    assert result_type_fault(method, {"resultType": kind}) is not None


def test_a_missing_type_of_result_counts_as_complete() -> None:
    assert result_type_fault("tools/call", {}) is None


# --------------------------------------------------------------------------- keys of `_meta`


@pytest.mark.parametrize(
    "key",
    [
        "progressToken",
        "com.example/key",
        "com.example/",
        "a/b",
        "io.modelcontextprotocol/clientInfo",
        "com.ex-ample.x1/a.b-c_d",
        "",
        "a",
        "9lives",
        CONTRACT_KEY,
        DIGEST_KEY,
        SEEN_KEY,
    ],
)
def test_a_well_formed_key_has_no_fault(key: str) -> None:
    assert meta_key_fault(key) is None


@pytest.mark.parametrize(
    "key",
    [
        "/name",
        "1com/x",
        "com.-a/x",
        "com.a-/x",
        "com..a/x",
        "com.a/b/c",
        "com_a/x",
        "com/_x",
        "com/x-",
        "a b",
        "é",
        "-a",
        "com/x\n",
        "com\n/x",
    ],
)
def test_a_malformed_key_is_told(key: str) -> None:
    assert meta_key_fault(key) is not None


@pytest.mark.parametrize(
    ("key", "reserved"),
    [
        ("io.modelcontextprotocol/x", True),
        ("dev.mcp/x", True),
        ("org.modelcontextprotocol.api/x", True),
        ("com.mcp.tools/", True),
        ("com.example.mcp/x", False),
        ("mcp/x", False),
        ("modelcontextprotocol/x", False),
        ("traceparent", True),
        ("tracestate", True),
        ("baggage", True),
        ("progressToken", True),
        ("mine", False),
        (CONTRACT_KEY, False),
        (SEEN_KEY, False),
    ],
)
def test_keys_of_the_protocol_are_reserved(key: str, *, reserved: bool) -> None:
    assert is_reserved_key(key) == reserved


def test_a_sentinel_is_canonical_base64_of_utf8() -> None:
    value = encode_value("ü" * 50)
    assert base64.b64decode(value[9:-2]).decode() == "ü" * 50
