"""Serving over a pair of streams, in the era that the host opens."""

from typing import Any

import anyio
import pytest

from toolcrib.core.partition import LOCAL
from toolcrib.testing.fake_service import FakeService
from toolcrib.testing.stream_host import enveloped, stream_host
from toolcrib.wire.audience import Topic
from toolcrib.wire.faults import invalid_params
from toolcrib.wire.jsonwire import Prepared, Result
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.service import HostRequest

CALL: dict[str, Any] = {"name": "t"}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


async def test_an_enveloped_request_opens_a_modern_connection() -> None:
    service = FakeService()
    with anyio.fail_after(5):
        async with stream_host(Kernel(service)) as host:
            answer = await host.ask("a", "tools/call", enveloped(CALL))
            assert answer["result"]["resultType"] == "complete"
            refused = await host.ask("b", "initialize", {"protocolVersion": "2025-11-25"})
    assert refused["error"]["code"] == -32022
    assert refused["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2025-11-25"}
    assert service.asked[0].version == "2026-07-28"
    assert service.asked[0].principal is LOCAL


async def test_a_modern_connection_wants_the_envelope_on_every_request() -> None:
    with anyio.fail_after(5):
        async with stream_host(Kernel(FakeService())) as host:
            await host.ask(1, "server/discover", enveloped())
            refused = await host.ask(2, "tools/list", {})
            other = enveloped({"_meta": {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}})
            unknown = await host.ask(3, "tools/list", other)
    assert refused["error"]["code"] == -32602
    assert unknown["error"]["code"] == -32022


async def test_the_handshake_opens_a_connection_that_refuses_envelopes() -> None:
    service = FakeService()
    with anyio.fail_after(5):
        async with stream_host(Kernel(service)) as host:
            answer = await host.initialize("2025-06-18")
            assert answer["result"]["protocolVersion"] == "2025-06-18"
            assert answer["result"]["capabilities"] == {"tools": {"listChanged": True}}
            assert (await host.ask(1, "tools/call", CALL))["result"] == {"content": []}
            refused = await host.ask(2, "tools/call", enveloped(CALL))
    assert refused["error"]["code"] == -32600
    assert [request.version for request in service.asked] == ["2025-06-18"]


async def test_a_host_that_does_not_wait_for_the_handshake_is_served_all_the_same() -> None:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "h", "version": "1"},
    }
    with anyio.fail_after(5):
        for _ in range(20):  # trio takes tasks in any order
            async with stream_host(Kernel(FakeService())) as host:
                await host.send("initialize", params, id=1)
                await host.send("tools/call", CALL, id=2)
                assert "result" in await host.response(1)
                assert "result" in await host.response(2)


async def test_before_the_handshake_only_ping_is_answered() -> None:
    service = FakeService()
    with anyio.fail_after(5):
        async with stream_host(Kernel(service)) as host:
            assert (await host.ask(1, "ping"))["result"] == {}
            assert (await host.ask(2, "tools/list"))["error"]["code"] == -32600
            assert (await host.ask(3, "server/discover"))["error"]["code"] == -32601
            await host.initialize()
            assert "result" in await host.ask(4, "tools/call", CALL)
    assert len(service.asked) == 1


async def test_a_malformed_handshake_leaves_the_connection_uninitialized() -> None:
    with anyio.fail_after(5):
        async with stream_host(Kernel(FakeService())) as host:
            assert (await host.ask(1, "initialize", {}))["error"]["code"] == -32602
            assert (await host.ask(2, "tools/list"))["error"]["code"] == -32600


async def test_nothing_is_sent_before_the_host_has_spoken() -> None:
    service = FakeService()
    async with stream_host(Kernel(service)) as host:
        await anyio.wait_all_tasks_blocked()
        assert len(service.audience(LOCAL)) == 0
        assert host.heard == []


@pytest.mark.parametrize("modern", [True, False], ids=["modern", "handshake"])
async def test_errors_keep_code_message_and_data(*, modern: bool) -> None:
    service = FakeService()
    errors: list[Exception] = [invalid_params("no", {"uri": "u"}), RuntimeError("the inside")]

    async def fail(_request: HostRequest) -> Result:
        raise errors.pop(0)

    service.script = fail
    params = enveloped(CALL) if modern else CALL
    with anyio.fail_after(5):
        async with stream_host(Kernel(service)) as host:
            if not modern:
                await host.initialize()
            first = await host.ask(1, "tools/call", params)
            second = await host.ask(2, "tools/call", params)
    assert first["error"] == {"code": -32602, "message": "no", "data": {"uri": "u"}}
    assert second["error"] == {"code": -32603, "message": "Internal error"}


async def test_a_prepared_listing_is_sent_as_an_object() -> None:
    result = Prepared("tools", [{"name": "a"}], b"...", {"ttlMs": 3})
    with anyio.fail_after(5):
        async with stream_host(Kernel(FakeService(result))) as host:
            answer = await host.ask(1, "tools/list", enveloped())
    assert answer["result"]["tools"] == [{"name": "a"}]
    assert answer["result"]["ttlMs"] == 3


@pytest.mark.duty(34)
@pytest.mark.parametrize("modern", [True, False], ids=["modern", "handshake"])
async def test_a_cancelled_request_stops_and_is_not_answered(*, modern: bool) -> None:
    service = FakeService()

    async def wait(_request: HostRequest) -> Result:
        await anyio.sleep_forever()
        return {}

    with anyio.fail_after(5):
        async with stream_host(Kernel(service)) as host:
            if not modern:
                await host.initialize()
            service.script = wait
            service.reached = anyio.Event()
            await host.send("tools/call", enveloped(CALL) if modern else CALL, id="gone")
            await service.reached.wait()
            await host.send("notifications/cancelled", {"requestId": "gone"})
            service.script = None
            await host.ask("next", "tools/call", enveloped(CALL) if modern else CALL)
            await anyio.wait_all_tasks_blocked()
    assert service.cancelled == ["tools/call"]
    assert all(message.get("id") != "gone" for message in host.heard)


@pytest.mark.parametrize("modern", [True, False], ids=["modern", "handshake"])
async def test_progress_carries_the_hosts_token_and_comes_before_the_answer(
    *, modern: bool
) -> None:
    service = FakeService()
    call = {**CALL, "_meta": {"progressToken": "mine"}}

    async def work(request: HostRequest) -> Result:
        assert request.progress is not None
        for step in (1.0, 2.0, 2.0):
            await request.progress(step, 2.0, None)
        return {"content": []}

    with anyio.fail_after(5):
        async with stream_host(Kernel(service)) as host:
            if not modern:
                await host.initialize()
            service.script = work
            host.heard.clear()
            await host.ask(1, "tools/call", enveloped(call) if modern else call)
    *progress, answer = host.heard
    assert [message["params"]["progress"] for message in progress] == [1.0, 2.0]
    assert {message["params"]["progressToken"] for message in progress} == {"mine"}
    assert answer["id"] == 1


async def test_a_handshake_host_is_told_of_changes_once_it_is_initialized() -> None:
    service = FakeService()
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "h", "version": "1"},
    }
    with anyio.fail_after(5):
        async with stream_host(Kernel(service)) as host:
            await host.ask(1, "initialize", params)
            (subscriber,) = service.audience(LOCAL).subscribers()
            subscriber.tell(Topic.TOOLS)
            await anyio.wait_all_tasks_blocked()
            assert len(host.heard) == 1
            await host.send("notifications/initialized")
            await host.wait(2)
            assert host.heard[-1] == {"jsonrpc": "2.0", "method": Topic.TOOLS.method}
            subscriber.tell(Topic.PROMPTS)
            await host.wait(3)
    assert host.heard[-1]["method"] == Topic.PROMPTS.method
    assert len(service.audience(LOCAL)) == 0


async def test_a_second_handshake_makes_no_second_stream_of_announcements() -> None:
    service = FakeService()
    with anyio.fail_after(5):
        async with stream_host(Kernel(service)) as host:
            await host.initialize()
            await host.initialize()
            (subscriber,) = service.audience(LOCAL).subscribers()
            subscriber.tell(Topic.TOOLS)
            await anyio.wait_all_tasks_blocked()
            told = [m for m in host.heard if m.get("method") == Topic.TOOLS.method]
            assert len(told) == 1


@pytest.mark.duty(29)
async def test_a_modern_host_is_told_only_on_the_stream_that_it_opened() -> None:
    service = FakeService()
    with anyio.fail_after(5):
        async with stream_host(Kernel(service)) as host:
            await host.ask(1, "tools/call", enveloped(CALL))
            assert len(service.audience(LOCAL)) == 0
            wanted = enveloped({"notifications": {"toolsListChanged": True}})
            await host.send("subscriptions/listen", wanted, id="sub")
            await host.wait(2)
            service.audience(LOCAL).subscribers()[0].tell(Topic.TOOLS)
            await host.wait(3)
            service.audience(LOCAL).close()
            await host.wait(5)
    _, acknowledged, changed, result, cancelled = host.heard
    meta = {"io.modelcontextprotocol/subscriptionId": "sub"}
    assert acknowledged["params"] == {"notifications": {"toolsListChanged": True}, "_meta": meta}
    assert changed["params"] == {"_meta": meta}
    assert result["id"] == "sub"
    assert meta.items() <= result["result"]["_meta"].items()
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == "sub"


async def test_a_host_that_leaves_cancels_everything_it_asked() -> None:
    service = FakeService()

    async def wait(_request: HostRequest) -> Result:
        await anyio.sleep_forever()
        return {}

    service.script = wait
    with anyio.fail_after(5):
        async with stream_host(Kernel(service)) as host:
            await host.send("tools/call", enveloped(CALL), id=1)
            await service.reached.wait()
    assert service.cancelled == ["tools/call"]
