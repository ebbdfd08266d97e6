"""Prompts and completion."""

from typing import Any

import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.testing.gateway_rig import GatewayRig

PROMPTS = Kind.PROMPTS


async def prompt_name(rig: GatewayRig) -> str:
    return (await rig.result("prompts/list", {}))["prompts"][0]["name"]


async def test_a_prompt_is_got_under_its_original_name(rig: GatewayRig) -> None:
    name = await prompt_name(rig)
    assert name != "ask me"
    await rig.result("prompts/get", {"name": name, "arguments": {"a": "1"}})
    (request,) = rig.access.requests
    assert (request.server, request.method) == ("beta", "prompts/get")
    assert request.params == {"name": "ask me", "arguments": {"a": "1"}}


async def test_links_in_prompts_lead_back_too(rig: GatewayRig) -> None:
    link = {"type": "resource_link", "uri": "file:///a", "name": "n"}
    rig.answer({"messages": [{"role": "user", "content": link}, {"role": "user"}]})
    messages = (await rig.result("prompts/get", {"name": await prompt_name(rig)}))["messages"]
    assert messages[0]["content"]["uri"] == "toolcrib://server/beta/file:///a"
    assert messages[1] == {"role": "user"}


async def test_an_unknown_and_a_vanished_prompt_are_invalid_params(rig: GatewayRig) -> None:
    assert (await rig.error("prompts/get", {"name": "beta__never"}))["code"] == -32602
    async with rig.asgi() as host:
        listed = (await host.ask(**host.modern("prompts/list"))).message["result"]["prompts"]
        rig.access.put("beta", PROMPTS, [])
        gone = host.modern("prompts/get", {"name": listed[0]["name"]})
        told = (await host.ask(**gone)).message["error"]
    assert told["code"] == -32602
    assert "any more" in told["message"]
    assert rig.access.requests == []


ARGUMENT = {"name": "a", "value": "b"}


@pytest.mark.parametrize(
    ("uri", "server", "original"),
    [
        ("db://{table}", "beta", "db://{table}"),
        ("file:///a", "alpha", "file:///a"),
        ("toolcrib://server/beta/file:///a", "beta", "file:///a"),
        ("toolcrib://server/alpha/x://{y}", "alpha", "x://{y}"),
    ],
)
async def test_a_completion_of_a_resource_goes_to_its_server(
    rig: GatewayRig, uri: str, server: str, original: str
) -> None:
    context = {"arguments": {"z": "1"}}
    params = {
        "ref": {"type": "ref/resource", "uri": uri},
        "argument": ARGUMENT,
        "context": context,
    }
    await rig.result("completion/complete", params)
    (request,) = rig.access.requests
    assert request.server == server
    assert request.params == {
        "ref": {"type": "ref/resource", "uri": original},
        "argument": ARGUMENT,
        "context": context,
    }


async def test_a_completion_of_a_prompt_goes_to_its_server(rig: GatewayRig) -> None:
    ref = {"type": "ref/prompt", "name": await prompt_name(rig)}
    answer = await rig.result("completion/complete", {"ref": ref, "argument": ARGUMENT})
    assert rig.access.requests[0].params["ref"] == {"type": "ref/prompt", "name": "ask me"}
    assert len(answer["completion"]["values"]) == 1


@pytest.mark.parametrize(
    "ref",
    [{"type": "ref/prompt", "name": "nobody"}, {"type": "ref/resource", "uri": "nobody://x"}],
)
async def test_a_completion_of_what_nobody_has_is_invalid_params(
    rig: GatewayRig, ref: dict[str, str]
) -> None:
    params = {"ref": ref, "argument": ARGUMENT}
    assert (await rig.error("completion/complete", params))["code"] == -32602


async def test_a_server_that_completes_nothing_is_not_asked(rig: GatewayRig) -> None:
    rig.access.capabilities["beta"] = {"resources": {}, "prompts": {}}
    ref = {"type": "ref/resource", "uri": "db://{table}"}
    answer = await rig.result("completion/complete", {"ref": ref, "argument": ARGUMENT})
    assert answer["completion"] == {"values": []}
    assert rig.access.requests == []


@pytest.mark.parametrize(
    ("method", "params", "raw"),
    [
        ("resources/read", {"uri": "file:///a"}, {"contents": 3}),
        ("resources/read", {"uri": "file:///a"}, {"contents": ["x"]}),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": "db://{table}"},
                                 "argument": ARGUMENT}, {}),
    ],
)  # fmt: skip
async def test_an_unreadable_answer_is_an_internal_error_that_names_the_server(
    rig: GatewayRig, method: str, params: dict[str, Any], raw: dict[str, Any]
) -> None:
    rig.answer(raw)
    told = await rig.error(method, params)
    assert told["code"] == -32603
    assert told["data"]["error"]["code"] == "result_invalid"
