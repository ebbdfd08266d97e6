"""What servers say when they refuse, and what hosts are told of it."""

import json
from typing import Any

import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.errors import (
    AuthRequired,
    RequestTimedOut,
    ToolcribError,
    UpstreamRefused,
    UpstreamUnreachable,
)
from toolcrib.testing.gateway_rig import GatewayRig

TOOLS = Kind.TOOLS


async def prompt_name(rig: GatewayRig) -> str:
    return (await rig.result("prompts/list", {}))["prompts"][0]["name"]


@pytest.mark.parametrize(
    ("failure", "code", "retry"),
    [
        (UpstreamUnreachable("alpha hung up", server="alpha"), "server_unavailable", "later"),
        (RequestTimedOut("no answer", server="alpha"), "timeout", "no"),
        (AuthRequired("sign in", server="alpha"), "auth_required", "no"),
    ],
)
async def test_what_stopped_a_call_is_told_to_the_model(
    rig: GatewayRig, failure: ToolcribError, code: str, retry: str
) -> None:
    rig.answer(failure)
    told = await rig.refusal("alpha__one")
    assert (told["code"], told["retry"], told["server"]) == (code, retry, "alpha")


FOREIGN_CODES = [-32700, -32600, -32601, -32602, -32603, -32000, -32002, -32020, -32021, -32022,
                 -32042, -32055, -32099, 0, 1, -1, 123456]  # fmt: skip


@pytest.mark.parametrize("code", FOREIGN_CODES)
async def test_a_servers_error_of_a_call_is_a_result_and_no_error_of_ours(
    rig: GatewayRig, code: int
) -> None:
    rig.answer(UpstreamRefused("the text", rpc_code=code, data={"supported": ["1999"]}))
    told = await rig.refusal("alpha__one")
    assert told["code"] == ("bad_arguments" if code == -32602 else "server_error")
    assert told["server"] == "alpha"
    assert "alpha" in told["message"]
    assert "1999" not in json.dumps(told)


@pytest.mark.parametrize("code", FOREIGN_CODES)
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("prompts/get", {"name": "beta__ask_me"}),
        ("resources/read", {"uri": "file:///a"}),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": "db://{table}"},
                                 "argument": {"name": "table", "value": ""}}),
    ],
)  # fmt: skip
async def test_no_code_that_speaks_of_another_hop_leaves_us(
    rig: GatewayRig, method: str, params: dict[str, Any], code: int
) -> None:
    rig.answer(UpstreamRefused("the text", rpc_code=code, data={"supported": ["1999"]}))
    if method == "prompts/get":
        params = {"name": await prompt_name(rig)}
    told = await rig.error(method, params)
    assert told["code"] in {-32602, -32603} or not -32768 <= told["code"] <= -32000
    assert "1999" not in json.dumps(told)


@pytest.mark.parametrize(
    ("answer", "contradicted"),
    [
        (UpstreamRefused("Unknown tool: one", rpc_code=-32602), True),
        (UpstreamRefused("no", rpc_code=-32601), True),
        (UpstreamRefused("boom", rpc_code=-32603), False),
        ({"content": [{"type": "text", "text": "Unknown tool: one"}], "isError": True}, True),
        ({"content": [{"type": "text", "text": "Tool one not found"}], "isError": True}, True),
        ({"content": [{"type": "text", "text": "Unknown tool: one"}]}, False),
        ({"content": [{"type": "text", "text": "file not found"}], "isError": True}, False),
        ({"content": [{"type": "text", "text": "one not found " * 90}], "isError": True}, False),
        ({"content": [{"type": "image"}], "isError": True}, False),
    ],
    ids=str,
)
async def test_a_server_that_denies_a_tool_we_hold_has_its_catalog_invalidated(
    rig: GatewayRig, answer: dict[str, Any] | ToolcribError, *, contradicted: bool
) -> None:
    rig.answer(answer)
    await rig.call("alpha__one")
    invalidated = [(server, kind) for server, kind, _ in rig.access.invalidated]
    assert invalidated == ([("alpha", TOOLS)] if contradicted else [])
