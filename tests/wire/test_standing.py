"""What a handshake host sets for its session: log levels and subscriptions to single resources."""

from typing import Any

import anyio
import pytest

from toolcrib.core.partition import ANONYMOUS, LOCAL
from toolcrib.errors import UpstreamUnreachable
from toolcrib.protocol.envelope import LOG_LEVELS
from toolcrib.testing.asgi_host import BASE, AsgiHost
from toolcrib.testing.fake_service import FakeService, host_request
from toolcrib.testing.stream_host import enveloped, stream_host
from toolcrib.wire.audience import FOLLOWED, Updated
from toolcrib.wire.faults import RpcFault, invalid_params
from toolcrib.wire.http.entry import McpEndpoint
from toolcrib.wire.http.guard import HttpLimits
from toolcrib.wire.jsonwire import Result
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.log_relay import LogRelay
from toolcrib.wire.service import HostRequest, Standing

CALL = {"name": "t"}
UPDATED = "notifications/resources/updated"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
LEVEL_KEY = "io.modelcontextprotocol/logLevel"


def declaring() -> FakeService:
    service = FakeService()
    service.declared = {"logging": {}, "resources": {"subscribe": True}}
    return service


def standing(service: FakeService) -> Standing:
    return Standing(service.audience(LOCAL).join(()))


async def respond(
    service: FakeService, method: str, params: dict[str, Any], held: Standing | None
) -> Result:
    request = host_request(method, params, "2025-11-25", standing=held)
    return await Kernel(service).respond(request)


# ---- log levels ----


@pytest.mark.parametrize("level", LOG_LEVELS)
async def test_a_level_is_taken_and_answered_with_nothing(level: str) -> None:
    service = declaring()
    held = standing(service)
    assert await respond(service, "logging/setLevel", {"level": level}, held) == {}
    assert held.log_level == level


@pytest.mark.parametrize("level", ["loud", "", None, 3])
async def test_a_level_that_is_none_is_refused_and_the_old_one_stays(level: object) -> None:
    service = declaring()
    held = standing(service)
    held.log_level = "error"
    with pytest.raises(RpcFault) as raised:
        await respond(service, "logging/setLevel", {"level": level}, held)
    assert raised.value.code == -32602
    assert held.log_level == "error"


@pytest.mark.parametrize("method", ["logging/setLevel", "resources/subscribe"])
async def test_what_the_service_does_not_declare_does_not_exist(method: str) -> None:
    service = FakeService()
    with pytest.raises(RpcFault) as raised:
        await respond(service, method, {"level": "info", "uri": "a:b"}, standing(service))
    assert raised.value.code == -32601


@pytest.mark.parametrize("method", ["logging/setLevel", "resources/subscribe"])
async def test_a_modern_host_has_no_such_methods(method: str) -> None:
    with pytest.raises(RpcFault) as raised:
        await Kernel(declaring()).respond(host_request(method, {"level": "info", "uri": "a:b"}))
    assert raised.value.code == -32601


async def logs(request: HostRequest) -> Result:
    """A call in which something is logged on each level, and again after its answer."""
    if request.heard is not None:
        for level in LOG_LEVELS:
            await request.heard("notifications/message", {"level": level, "data": level})
    return {"content": []}


async def test_a_sessions_level_holds_for_its_later_calls_on_their_own_streams() -> None:
    service = declaring()
    service.script = logs
    host = AsgiHost(McpEndpoint(Kernel(service), HttpLimits(), lambda _scope: ANONYMOUS))
    mine, other = await host.initialize(), await host.initialize()
    with anyio.fail_after(5):
        quiet = await host.ask(**host.handshake("tools/call", CALL, session=mine))
        await host.ask(**host.handshake("logging/setLevel", {"level": "alert"}, session=mine))
        get = {**BASE, "accept": "text/event-stream", "mcp-session-id": mine}
        async with host.exchange("GET", headers=get) as announcements:
            loud = await host.ask(**host.handshake("tools/call", CALL, session=mine))
            assert announcements.messages == []
        unset = await host.ask(**host.handshake("tools/call", CALL, session=other))
    assert len(quiet.messages) == len(unset.messages) == 1
    assert [m["params"]["data"] for m in loud.messages[:-1]] == ["alert", "emergency"]
    assert [request.log_level for request in service.asked] == ["", "alert", ""]


async def test_a_connections_level_holds_until_it_is_set_anew() -> None:
    service = declaring()
    service.script = logs
    told: list[int] = []
    with anyio.fail_after(5):
        async with stream_host(Kernel(service)) as host:
            await host.initialize()
            for level in ("critical", "debug", "emergency"):
                await host.ask(level, "logging/setLevel", {"level": level})
                host.heard.clear()
                await host.ask(f"call-{level}", "tools/call", CALL)
                told.append(len(host.heard) - 1)
    assert told == [3, 8, 1]


@pytest.mark.parametrize(("level", "count"), [("error", 4), ("debug", 8), (None, 0)])
async def test_a_modern_request_carries_its_own_level(level: str | None, count: int) -> None:
    service = declaring()
    service.script = logs
    meta = {} if level is None else {LEVEL_KEY: level}
    host = AsgiHost(McpEndpoint(Kernel(service), HttpLimits(), lambda _scope: ANONYMOUS))
    with anyio.fail_after(5):
        answered = await host.ask(**host.modern("tools/call", {**CALL, "_meta": meta}))
        async with stream_host(Kernel(service)) as streams:
            await streams.ask(1, "tools/call", enveloped({**CALL, "_meta": meta}))
    assert len(answered.messages) == len(streams.heard) == count + 1
    assert [request.log_level for request in service.asked] == [level or ""] * 2


async def test_a_modern_level_that_is_none_is_refused() -> None:
    service = declaring()
    host = AsgiHost(McpEndpoint(Kernel(service), HttpLimits(), lambda _scope: ANONYMOUS))
    call = host.modern("tools/call", {**CALL, "_meta": {LEVEL_KEY: "loud"}})
    answered = await host.ask(**call)
    assert (answered.status, answered.message["error"]["code"]) == (400, -32602)
    assert service.asked == []


async def test_nothing_is_logged_after_the_answer() -> None:
    service = declaring()
    kept: list[HostRequest] = []

    async def keep(request: HostRequest) -> Result:
        kept.append(request)
        return {"content": []}

    service.script = keep
    host = AsgiHost(McpEndpoint(Kernel(service), HttpLimits(), lambda _scope: ANONYMOUS))
    meta = {LEVEL_KEY: "debug"}
    with anyio.fail_after(5):
        answered = await host.ask(**host.modern("tools/call", {**CALL, "_meta": meta}))
        await logs(kept[0])
    assert len(answered.messages) == 1


async def test_the_relay_of_a_request_is_closed_with_its_answer() -> None:
    told: list[object] = []

    async def notify(_method: str, params: object) -> None:
        told.append(params)

    heard = LogRelay("debug", notify)
    service = FakeService()
    service.script = logs
    await Kernel(service).respond(host_request("tools/call", CALL, heard=heard))
    assert len(told) == len(LOG_LEVELS)
    await heard("notifications/message", {"level": "error", "data": "late"})
    assert len(told) == len(LOG_LEVELS)


# ---- subscriptions to single resources ----


async def test_a_subscription_is_told_of_until_it_is_ended() -> None:
    service = declaring()
    audience = service.audience(ANONYMOUS)
    host = AsgiHost(McpEndpoint(Kernel(service), HttpLimits(), lambda _scope: ANONYMOUS))
    session, other = await host.initialize(), await host.initialize()
    get = {**BASE, "accept": "text/event-stream"}
    with anyio.fail_after(5):
        async with (
            host.exchange("GET", headers={**get, "mcp-session-id": session}) as mine,
            host.exchange("GET", headers={**get, "mcp-session-id": other}) as others,
        ):
            for uri in ("a:1", "a:2"):
                asked = host.handshake("resources/subscribe", {"uri": uri}, session=session)
                assert (await host.ask(**asked)).message["result"] == {}
            assert audience.tell_updated("a:1", "a:1") == 1
            assert audience.tell_updated("a:3", "a:3") == 0
            await mine.wait_messages(1)
            ended = host.handshake("resources/unsubscribe", {"uri": "a:1"}, session=session)
            assert (await host.ask(**ended)).message["result"] == {}
            assert audience.tell_updated("a:1", "a:1") == 0
            audience.tell_updated("a:2/part", "a:2")
            await mine.wait_messages(2)
            assert others.messages == []
    assert [m["params"] for m in mine.messages] == [{"uri": "a:1"}, {"uri": "a:2/part"}]
    assert {m["method"] for m in mine.messages} == {UPDATED}
    assert service.subscribed == ["a:1", "a:2"]


async def test_a_connection_that_ends_follows_nothing_any_more() -> None:
    service = declaring()
    with anyio.fail_after(5):
        async with stream_host(Kernel(service)) as host:
            await host.initialize()
            await host.ask(1, "resources/subscribe", {"uri": "a:1"})
            assert list(service.audience(LOCAL).follows()) == ["a:1"]
            service.audience(LOCAL).tell_updated("a:1", "a:1")
            await host.wait(3)
    assert host.heard[-1] == {"jsonrpc": "2.0", "method": UPDATED, "params": {"uri": "a:1"}}
    assert not service.audience(LOCAL).follows()


@pytest.mark.parametrize("error", [invalid_params("no such"), UpstreamUnreachable("away")], ids=str)
async def test_what_cannot_be_watched_is_refused_and_not_followed(error: Exception) -> None:
    service = declaring()
    service.unwatchable["a:1"] = error
    with pytest.raises(RpcFault):
        await respond(service, "resources/subscribe", {"uri": "a:1"}, standing(service))
    assert not service.audience(LOCAL).follows()


async def test_subscribing_twice_asks_once_and_ending_twice_is_no_error() -> None:
    service = declaring()
    held = standing(service)
    for method in ("resources/subscribe", "resources/unsubscribe"):
        for _ in range(2):
            assert await respond(service, method, {"uri": "a:1"}, held) == {}
    assert service.subscribed == ["a:1"]


async def test_what_is_not_followed_any_more_is_not_told_although_it_was_due() -> None:
    subscriber = standing(declaring()).subscriber
    subscriber.follow("a:1")
    assert subscriber.tell(Updated("a:1"))
    subscriber.unfollow("a:1")
    subscriber.end()
    with anyio.fail_after(5):
        assert await subscriber.next() is None


async def test_one_stream_follows_a_bounded_number_and_the_limit_is_named() -> None:
    service = declaring()
    held = standing(service)
    for number in range(FOLLOWED):
        held.subscriber.follow(f"a:{number}")
    with pytest.raises(RpcFault, match=str(FOLLOWED)):
        await respond(service, "resources/subscribe", {"uri": "a:x"}, held)
    held.subscriber.unfollow("a:0")
    assert await respond(service, "resources/subscribe", {"uri": "a:x"}, held) == {}


async def test_parts_nobody_reads_about_do_not_pile_up() -> None:
    service = declaring()
    subscriber = standing(service).subscriber
    subscriber.follow("a:")
    for number in range(10 * FOLLOWED):
        service.audience(LOCAL).tell_updated(f"a:{number}", "a:")
    subscriber.end()
    told: list[object] = []
    with anyio.fail_after(5):
        while (due := await subscriber.next()) is not None:
            told.append(due.params["uri"])
    assert len(told) == FOLLOWED + 1
    assert told[-1] == "a:"


async def test_a_modern_stream_names_in_its_acknowledgement_what_it_follows() -> None:
    service = declaring()
    service.unwatchable["a:2"] = invalid_params("no such")
    wanted = {"resourceSubscriptions": ["a:1", "a:2", "a:3", "a:1"], "toolsListChanged": True}
    with anyio.fail_after(5):
        async with stream_host(Kernel(service)) as host:
            await host.send("subscriptions/listen", enveloped({"notifications": wanted}), id="s")
            await host.wait(1)
            service.audience(LOCAL).tell_updated("a:3/x", "a:3")
            service.audience(LOCAL).tell_updated("a:2", "a:2")
            await host.wait(2)
            await host.send("notifications/cancelled", {"requestId": "s"})
            await anyio.wait_all_tasks_blocked()
            assert not service.audience(LOCAL).follows()
    acknowledged, updated = host.heard
    assert acknowledged["params"]["notifications"] == {
        "toolsListChanged": True,
        "resourceSubscriptions": ["a:1", "a:3"],
    }
    meta = {SUBSCRIPTION: "s"}
    assert (updated["method"], updated["params"]) == (UPDATED, {"uri": "a:3/x", "_meta": meta})


async def test_where_single_resources_are_not_watched_the_acknowledgement_leaves_them_out() -> None:
    service = FakeService()
    wanted = {"resourceSubscriptions": ["a:1"]}
    with anyio.fail_after(5):
        async with stream_host(Kernel(service)) as host:
            await host.send("subscriptions/listen", enveloped({"notifications": wanted}), id="s")
            await host.wait(1)
    assert host.heard[0]["params"]["notifications"] == {}
    assert service.subscribed == []
