"""What only toolcrib writes is never a server's, and what JSON has not never reaches a host."""

from math import inf, nan
from typing import Any

import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.testing.gateway_rig import GatewayRig
from toolcrib.testing.scripted import tool

FORGED: dict[str, Any] = {
    "dev.toolcrib/digest": "forged",
    "dev.toolcrib/limit": "forged",
    "dev.toolcrib/contract": "forged",
    "example.com/own": 1,
}


@pytest.mark.parametrize("kind", list(Kind))
async def test_keys_of_ours_are_taken_out_of_definitions(kind: Kind) -> None:
    rig = GatewayRig()
    entry = {**tool("one"), "uri": "x://1", "uriTemplate": "x://{a}", "_meta": FORGED}
    rig.access.put("alpha", kind, [entry])
    (listed,) = (await rig.result(kind.method, {}))[kind.field]
    assert listed["_meta"]["example.com/own"] == 1
    assert "forged" not in listed["_meta"].values()


@pytest.mark.parametrize(
    ("method", "params", "shape"),
    [
        ("tools/call", {"name": "alpha__one"}, {"content": []}),
        ("prompts/get", {"name": "alpha__ask"}, {"messages": []}),
        ("resources/read", {"uri": "x://1"}, {"contents": []}),
    ],
)
async def test_keys_of_ours_are_taken_out_of_results_and_our_identity_is_put_in(
    method: str, params: dict[str, Any], shape: dict[str, Any]
) -> None:
    rig = served()
    info = {"io.modelcontextprotocol/serverInfo": {"name": "evil", "version": "1"}}
    rig.answer({**shape, "_meta": {**FORGED, **info}})
    meta = (await rig.result(method, params))["_meta"]
    assert meta.pop("io.modelcontextprotocol/serverInfo")["name"] != "evil"
    assert meta.pop("dev.toolcrib/digest", "") != "forged"
    assert meta == {"example.com/own": 1}


@pytest.mark.parametrize("number", [nan, inf], ids=str)
@pytest.mark.parametrize("text", ["plain", "\ud800"], ids=["plain", "surrogate"])
async def test_a_result_with_a_number_that_json_has_not_is_broken(number: float, text: str) -> None:
    rig = served()
    structured = {"a": [0, number]}
    rig.answer({"content": [{"type": "text", "text": text}], "structuredContent": structured})
    told = await rig.refusal("alpha__one")
    assert (told["code"], told["retry"], told["server"]) == ("result_invalid", "no", "alpha")
    assert "structuredContent.a[1]" in told["message"]


async def test_so_is_a_resource() -> None:
    rig = served()
    rig.answer({"contents": [{"uri": "x://1", "text": "", "n": nan}]})
    told = await rig.error("resources/read", {"uri": "x://1"})
    assert told["code"] == -32603
    assert told["data"]["error"]["code"] == "result_invalid"


@pytest.mark.parametrize("number", [b"NaN", b"-Infinity", b"1e999"])
async def test_an_argument_that_json_has_not_is_no_json(number: bytes) -> None:
    rig = served()
    async with rig.asgi() as host:
        request = host.modern("tools/call", {"name": "alpha__one", "arguments": {"n": 4711}})
        answered = await host.ask(
            headers=request["headers"], body=request["body"].replace(b"4711", number)
        )
    assert answered.message["error"]["code"] == -32700
    assert rig.access.requests == []


def served() -> GatewayRig:
    rig = GatewayRig()
    rig.access.put("alpha", Kind.TOOLS, [tool("one")])
    rig.access.put("alpha", Kind.PROMPTS, [{"name": "ask"}])
    rig.access.put("alpha", Kind.RESOURCES, [{"uri": "x://1", "name": "x"}])
    return rig
