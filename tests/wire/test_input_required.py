"""Results that ask for input: only to hosts of 2026-07-28, and only what they can be asked."""

from typing import Any

import pytest

from toolcrib.errors import CapabilityMissing
from toolcrib.testing.asgi_host import AsgiHost
from toolcrib.testing.fake_service import FakeService, host_request
from toolcrib.wire.faults import RpcFault
from toolcrib.wire.http.entry import McpEndpoint
from toolcrib.wire.http.guard import HttpLimits
from toolcrib.wire.jsonwire import Result
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.service import HostRequest

SERVER_INFO: dict[str, Any] = {
    "io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "1", "title": "Fake"}
}
FORM: dict[str, Any] = {
    "method": "elicitation/create",
    "params": {"message": "Who?", "requestedSchema": {}},
}
URL: dict[str, Any] = {
    "method": "elicitation/create",
    "params": {"mode": "url", "url": "https://a.example"},
}
PARAMS: dict[str, dict[str, Any]] = {
    "tools/call": {"name": "t"},
    "prompts/get": {"name": "p"},
    "resources/read": {"uri": "a:b"},
}


def asking(**members: Any) -> FakeService:
    return FakeService({"resultType": "input_required", **members})


async def respond(service: FakeService, method: str, *, version: str = "2026-07-28") -> Result:
    request = host_request(
        method, PARAMS.get(method, {}), version, capabilities={"elicitation": {}}
    )
    return await Kernel(service).respond(request)


@pytest.mark.parametrize("method", PARAMS)
async def test_questions_and_state_pass_unchanged_without_hints(method: str) -> None:
    service = asking(
        inputRequests={"k": FORM}, requestState="s\u2028=", ttlMs=3, cacheScope="public", other=1
    )
    assert await respond(service, method) == {
        "resultType": "input_required",
        "inputRequests": {"k": FORM},
        "requestState": "s\u2028=",
        "_meta": SERVER_INFO,
    }


@pytest.mark.parametrize("members", [{"inputRequests": {"k": FORM}}, {"requestState": "s"}])
async def test_either_of_the_two_is_enough(members: dict[str, Any]) -> None:
    answered = await respond(asking(**members), "tools/call")
    assert answered == {"resultType": "input_required", **members, "_meta": SERVER_INFO}


async def test_meta_is_kept_and_another_servers_identity_is_not() -> None:
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "x"}, "a/b": 1}
    answered = await respond(asking(requestState="s", _meta=meta), "tools/call")
    assert isinstance(answered, dict)
    assert answered["_meta"] == {**SERVER_INFO, "a/b": 1}


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_to_a_handshake_host_it_is_a_fault_of_ours(version: str) -> None:
    with pytest.raises(RpcFault) as raised:
        await respond(asking(requestState="s"), "tools/call", version=version)
    assert raised.value.code == -32603


@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list"])
async def test_no_other_method_is_answered_with_a_question(method: str) -> None:
    with pytest.raises(RpcFault) as raised:
        await respond(asking(requestState="s"), method)
    assert raised.value.code == -32603


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"inputRequests": {}},
        {"requestState": 3},
        {"inputRequests": {"k": {"method": "ping"}}},
        {"inputRequests": {"k": 3}},
        {"inputRequests": {"k": {"method": ["elicitation/create"]}}},
    ],
    ids=str,
)
async def test_a_question_that_asks_nothing_is_not_sent(members: dict[str, Any]) -> None:
    with pytest.raises(RpcFault) as raised:
        await respond(asking(**members), "tools/call")
    assert raised.value.code == -32603


async def test_what_this_request_cannot_be_asked_is_refused_by_name() -> None:
    with pytest.raises(RpcFault) as raised:
        await respond(asking(inputRequests={"a": FORM, "b": URL}), "tools/call")
    assert raised.value.code == -32021
    assert raised.value.data == {"requiredCapabilities": {"elicitation": {"url": {}}}}
    assert raised.value.http_status == 400


async def lacks(_request: HostRequest) -> Result:
    raise CapabilityMissing(
        "it has to ask", server="s", details={"requiredCapabilities": {"sampling": {}}}
    )


async def test_a_missing_capability_is_the_code_for_it_to_a_modern_host() -> None:
    service = FakeService()
    service.script = lacks
    host = AsgiHost(McpEndpoint(Kernel(service), HttpLimits(), lambda _scope: host_principal()))
    answered = await host.ask(**host.modern("tools/call", {"name": "t"}))
    assert answered.status == 400
    error = answered.message["error"]
    assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": {"sampling": {}}})


async def test_a_handshake_host_never_sees_that_code() -> None:
    service = FakeService()
    service.script = lacks
    with pytest.raises(RpcFault) as raised:
        await Kernel(service).respond(host_request("tools/call", {"name": "t"}, "2025-11-25"))
    assert raised.value.code == -32603


def host_principal() -> Any:
    return host_request("ping", {}, "2025-11-25").principal
