"""Requests of 2026-07-28 over HTTP: one POST, one answer."""

import json
from typing import Any

import anyio
import pytest

from toolcrib.core.partition import ANONYMOUS
from toolcrib.testing.asgi_host import AsgiHost
from toolcrib.testing.fake_service import FakeService
from toolcrib.wire.audience import Topic
from toolcrib.wire.faults import RpcFault
from toolcrib.wire.http.entry import McpEndpoint
from toolcrib.wire.http.guard import HttpLimits
from toolcrib.wire.jsonwire import Prepared, Result
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.service import HostRequest

VERSION = "io.modelcontextprotocol/protocolVersion"
CALL = {"name": "t", "arguments": {"a": 1}}


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def host(service: FakeService) -> AsgiHost:
    return AsgiHost(McpEndpoint(Kernel(service), HttpLimits(), lambda _scope: ANONYMOUS))


async def refused(host: AsgiHost, request: dict[str, Any]) -> tuple[int, int]:
    """Status and code of a request that must not reach the service."""
    answered = await host.ask(**request)
    assert answered.headers["content-type"] == "application/json"
    return answered.status, answered.message["error"]["code"]


async def test_a_request_is_answered_as_json_with_its_id(
    host: AsgiHost, service: FakeService
) -> None:
    answered = await host.ask(**host.modern("tools/call", CALL))
    assert answered.status == 200
    assert answered.headers["content-type"] == "application/json"
    assert answered.message["id"] == host.last_id
    assert answered.message["result"]["content"] == []
    assert "mcp-session-id" not in answered.headers
    (request,) = service.asked
    assert request.principal == ANONYMOUS
    assert request.params["arguments"] == {"a": 1}
    assert request.headers is not None
    assert ("mcp-name", "t") in request.headers


async def test_a_prepared_listing_is_sent_as_it_was_encoded(
    host: AsgiHost, service: FakeService
) -> None:
    service.result = Prepared("tools", [], b'[ {"name":"spliced"} ]', {"ttlMs": 1})
    answered = await host.ask(**host.modern("tools/list"))
    assert b'[ {"name":"spliced"} ]' in answered.body
    assert answered.message["result"]["ttlMs"] == 1


@pytest.mark.duty(20, 21)
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"mcp_protocol_version": ""}, (400, -32020)),
        ({"mcp_protocol_version": "2025-11-25"}, (400, -32020)),
        ({"mcp_protocol_version": "2099-01-01"}, (400, -32020)),
        ({"mcp_method": ""}, (400, -32020)),
        ({"mcp_method": "tools/list"}, (400, -32020)),
        ({"mcp_method": "TOOLS/CALL"}, (400, -32020)),
        ({"mcp_name": ""}, (400, -32020)),
        ({"mcp_name": "other"}, (400, -32020)),
        ({"mcp_name": "=?base64?!!?="}, (400, -32020)),
    ],
    ids=str,
)
async def test_headers_that_are_missing_or_say_otherwise_are_a_mismatch(
    host: AsgiHost, service: FakeService, changes: dict[str, str], expected: tuple[int, int]
) -> None:
    assert await refused(host, host.modern("tools/call", CALL, **changes)) == expected
    assert service.asked == []


async def test_a_name_in_the_base64_form_is_decoded_before_it_is_compared(host: AsgiHost) -> None:
    answered = await host.ask(**host.modern("tools/call", {"name": "tür"}))
    assert answered.status == 200


@pytest.mark.parametrize("name", ["mcp-method", "mcp-name", "mcp-protocol-version"])
async def test_a_doubled_routing_header_is_refused(host: AsgiHost, name: str) -> None:
    request = host.modern("tools/call", CALL)
    lines = list(request["headers"].items())
    twice = [*lines, (name, dict(lines)[name])]
    assert await refused(host, {**request, "headers": twice}) == (400, -32020)


@pytest.mark.duty(21)
async def test_a_revision_we_do_not_speak_is_told_which_we_do(host: AsgiHost) -> None:
    request = host.modern(
        "tools/list", {"_meta": {VERSION: "2099-01-01"}}, mcp_protocol_version="2099-01-01"
    )
    answered = await host.ask(**request)
    assert answered.status == 400
    error = answered.message["error"]
    assert error["code"] == -32022
    assert error["data"] == {"supported": ["2026-07-28"], "requested": "2099-01-01"}


@pytest.mark.duty(21)
@pytest.mark.parametrize("meta", [None, [], {}, {VERSION: "2026-07-28"}], ids=repr)
async def test_a_modern_request_without_its_envelope_is_invalid(host: AsgiHost, meta: Any) -> None:
    request = host.modern("tools/list")
    message = json.loads(request["body"])
    message["params"] = {"_meta": meta}
    request["body"] = json.dumps(message).encode()
    assert await refused(host, request) == (400, -32602)


@pytest.mark.duty(21)
async def test_an_unknown_method_is_not_found(host: AsgiHost) -> None:
    assert await refused(host, host.modern("nonsense")) == (404, -32601)
    assert await refused(host, host.modern("ping")) == (404, -32601)
    assert await refused(host, host.modern("initialize")) == (404, -32601)


async def test_malformed_parameters_are_invalid(host: AsgiHost) -> None:
    assert await refused(host, host.modern("tools/call", {"name": "t", "arguments": 3})) == (
        400,
        -32602,
    )


async def test_an_internal_error_has_status_200(host: AsgiHost, service: FakeService) -> None:
    async def fail(_request: HostRequest) -> Result:
        raise RpcFault(-32603, "no")

    service.script = fail
    assert await refused(host, host.modern("tools/call", CALL)) == (200, -32603)


async def test_a_notification_is_accepted_and_dropped(host: AsgiHost, service: FakeService) -> None:
    params = {"requestId": 1}
    request = host.notification("notifications/cancelled", params)
    request["headers"] = {**request["headers"], "mcp-protocol-version": "2026-07-28"}
    answered = await host.ask(**request)
    assert (answered.status, answered.body) == (202, b"")
    assert service.asked == []


async def test_a_notification_of_a_revision_we_do_not_speak_is_refused(host: AsgiHost) -> None:
    request = host.notification("notifications/x")
    request["headers"] = {**request["headers"], "mcp-protocol-version": "2099-01-01"}
    assert await refused(host, request) == (400, -32022)


async def test_a_posted_response_is_refused(host: AsgiHost) -> None:
    request = host.modern("tools/list")
    request["body"] = b'{"jsonrpc":"2.0","id":1,"result":{}}'
    assert await refused(host, request) == (400, -32600)


# ---- streams ----


async def test_what_precedes_the_result_makes_the_answer_a_stream(
    host: AsgiHost, service: FakeService
) -> None:
    async def work(request: HostRequest) -> Result:
        assert request.progress is not None
        await request.progress(1.0, 2.0, "line\u2028break")
        await request.progress(1.0, 2.0, "again")
        return {"content": []}

    service.script = work
    call = {**CALL, "_meta": {"progressToken": "mine"}}
    answered = await host.ask(**host.modern("tools/call", call))
    assert answered.status == 200
    assert answered.headers["content-type"] == "text/event-stream"
    assert answered.headers["x-accel-buffering"] == "no"
    assert "\u2028" not in answered.body.decode()
    progress, result = answered.messages
    assert progress["params"] == {
        "progressToken": "mine",
        "progress": 1.0,
        "total": 2.0,
        "message": "line\u2028break",
    }
    assert result["id"] == host.last_id
    assert result["result"]["resultType"] == "complete"


async def test_no_token_no_progress(host: AsgiHost, service: FakeService) -> None:
    await host.ask(**host.modern("tools/call", CALL))
    assert service.asked[0].progress is None


async def test_an_error_after_the_stream_began_is_its_last_event(
    host: AsgiHost, service: FakeService
) -> None:
    async def work(request: HostRequest) -> Result:
        assert request.progress is not None
        await request.progress(1.0, None, None)
        raise RpcFault(-32602, "no")

    service.script = work
    answered = await host.ask(**host.modern("tools/call", {**CALL, "_meta": {"progressToken": 1}}))
    assert answered.status == 200
    assert answered.messages[-1]["error"]["code"] == -32602


@pytest.mark.duty(35)
async def test_progress_after_the_answer_is_not_sent(host: AsgiHost, service: FakeService) -> None:
    kept: list[HostRequest] = []

    async def work(request: HostRequest) -> Result:
        kept.append(request)
        return {"content": []}

    service.script = work
    answered = await host.ask(**host.modern("tools/call", {**CALL, "_meta": {"progressToken": 1}}))
    progress = kept[0].progress
    assert progress is not None
    whole = answered.body
    await progress(1.0, None, None)
    await kept[0].notify("notifications/message", {})
    assert answered.body == whole


@pytest.mark.virtual_time
async def test_a_long_silence_is_filled_with_comments_and_the_result_still_comes(
    host: AsgiHost, service: FakeService
) -> None:
    async def work(_request: HostRequest) -> Result:
        await anyio.sleep(40)
        return {"content": []}

    service.script = work
    answered = await host.ask(**host.modern("tools/call", CALL))
    assert answered.headers["content-type"] == "text/event-stream"
    assert answered.body.count(b": still here") == 2
    assert answered.message["result"]["content"] == []


@pytest.mark.duty(34)
@pytest.mark.parametrize("streaming", [False, True], ids=["nothing sent yet", "streaming"])
async def test_hanging_up_cancels_the_request_and_nothing_more_is_sent(
    host: AsgiHost, service: FakeService, *, streaming: bool
) -> None:
    async def work(request: HostRequest) -> Result:
        if streaming:
            assert request.progress is not None
            await request.progress(1.0, None, None)
        await anyio.sleep_forever()
        return {}

    service.script = work
    call = {**CALL, "_meta": {"progressToken": 1}}
    with anyio.fail_after(5):
        async with host.exchange(**host.modern("tools/call", call)) as exchange:
            await service.reached.wait()
            if streaming:
                await exchange.begun.wait()
            exchange.hang_up()
            await exchange.ended.wait()
    assert service.cancelled == ["tools/call"]
    assert len(exchange.messages) == int(streaming)


@pytest.mark.duty(29)
async def test_a_listen_stream_ends_with_its_result_when_we_close(
    host: AsgiHost, service: FakeService
) -> None:
    params = {"notifications": {"toolsListChanged": True}}
    audience = service.audience(ANONYMOUS)
    with anyio.fail_after(5):
        async with host.exchange(**host.modern("subscriptions/listen", params)) as exchange:
            await exchange.wait_messages(1)
            audience.subscribers()[0].tell(Topic.TOOLS)
            await exchange.wait_messages(2)
            audience.close()
            await exchange.ended.wait()
    acknowledged, changed, result = exchange.messages
    subscription = {"io.modelcontextprotocol/subscriptionId": host.last_id}
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert acknowledged["params"]["_meta"] == subscription
    assert changed["method"] == "notifications/tools/list_changed"
    assert changed["params"] == {"_meta": subscription}
    assert result["id"] == host.last_id
    assert subscription.items() <= result["result"]["_meta"].items()


async def test_a_host_that_leaves_its_listen_stream_is_forgotten(
    host: AsgiHost, service: FakeService
) -> None:
    params = {"notifications": {"toolsListChanged": True}}
    with anyio.fail_after(5):
        async with host.exchange(**host.modern("subscriptions/listen", params)) as exchange:
            await exchange.wait_messages(1)
            assert len(service.audience(ANONYMOUS)) == 1
            exchange.hang_up()
            await exchange.ended.wait()
    assert len(service.audience(ANONYMOUS)) == 0
