"""Headers that repeat arguments have to say the same."""

import pytest

from toolcrib.wire.faults import RpcFault
from toolcrib.wire.mirrored_headers import check_mirrored

SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "inner": {
            "type": "object",
            "properties": {"deep": {"type": "boolean", "x-mcp-header": "Deep"}},
        },
        "free": {"type": "string"},
    },
}


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({}, ()),
        ({"region": "us"}, (("mcp-param-region", "us"),)),
        ({"region": "süd"}, (("mcp-param-region", "=?base64?c8O8ZA==?="),)),
        ({"region": None}, ()),
        ({"count": 42}, (("mcp-param-count", "42.0"),)),
        ({"inner": {"deep": True}}, (("mcp-param-deep", "true"),)),
        ({"free": "x"}, (("mcp-param-unrecognised", "whatever"),)),
    ],
)
def test_headers_that_agree_pass_and_unknown_ones_are_ignored(
    arguments: dict[str, object], headers: tuple[tuple[str, str], ...]
) -> None:
    check_mirrored(SCHEMA, arguments, headers)


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "us"}, ()),
        ({"region": "us"}, (("mcp-param-region", "eu"),)),
        ({"region": "us"}, (("mcp-param-region", "US"),)),
        ({}, (("mcp-param-region", "us"),)),
        ({"region": "us"}, (("mcp-param-region", "us"), ("mcp-param-region", "us"))),
        ({"region": "us"}, (("mcp-param-region", "=?base64?!!!?="),)),
        ({"count": 42}, (("mcp-param-count", "42.5"),)),
        ({"inner": {"deep": True}}, (("mcp-param-deep", "True"),)),
    ],
)
def test_headers_that_contradict_the_arguments_are_refused(
    arguments: dict[str, object], headers: tuple[tuple[str, str], ...]
) -> None:
    with pytest.raises(RpcFault) as raised:
        check_mirrored(SCHEMA, arguments, headers)
    assert raised.value.code == -32020
