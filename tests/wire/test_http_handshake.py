"""Handshake revisions over HTTP: sessions, announcements, cancellation by notification."""

from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest

from toolcrib.core.partition import ANONYMOUS, LOCAL, Principal
from toolcrib.testing.asgi_host import BASE, AsgiHost
from toolcrib.testing.fake_service import FakeService
from toolcrib.wire.audience import Topic
from toolcrib.wire.handshake import UNSETTLED
from toolcrib.wire.http.entry import McpEndpoint
from toolcrib.wire.http.guard import HttpLimits
from toolcrib.wire.http.sessions import Sessions
from toolcrib.wire.jsonwire import Result
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.service import HostRequest

CALL = {"name": "t"}
GET = {**BASE, "accept": "text/event-stream", "mcp-protocol-version": "2025-11-25"}


class Rig:
    def __init__(self, limits: HttpLimits | None = None) -> None:
        self.service = FakeService()
        self.principal: Principal = ANONYMOUS
        limits = limits or HttpLimits()
        app = McpEndpoint(Kernel(self.service), limits, lambda _scope: self.principal)
        self.host = AsgiHost(app)

    def tell(self, topic: Topic) -> None:
        for subscriber in self.service.audience(ANONYMOUS).subscribers():
            subscriber.tell(topic)


@pytest.fixture
def rig() -> Rig:
    return Rig()


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ],
)
async def test_the_hosts_revision_is_taken_where_we_speak_it(
    rig: Rig, asked: str, agreed: str
) -> None:
    params = {
        "protocolVersion": asked,
        "capabilities": {},
        "clientInfo": {"name": "h", "version": "1"},
    }
    answered = await rig.host.ask(**rig.host.handshake("initialize", params))
    assert answered.message["result"] == {
        "protocolVersion": agreed,
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "fake", "version": "1", "title": "Fake"},
        "instructions": "Ask anything.",
    }
    session = answered.headers["mcp-session-id"]
    await rig.host.ask(**rig.host.handshake("tools/call", CALL, session=session))
    assert rig.service.asked[0].version == agreed


async def test_what_the_host_declared_is_known_in_every_request_of_its_session(rig: Rig) -> None:
    params: dict[str, Any] = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "h", "version": "1"},
    }
    answered = await rig.host.ask(**rig.host.handshake("initialize", params))
    session = answered.headers["mcp-session-id"]
    await rig.host.ask(**rig.host.handshake("tools/call", CALL, session=session))
    assert rig.service.asked[0].capabilities == {"elicitation": {}}


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 3}, {"protocolVersion": "2025-11-25"}])
async def test_a_malformed_handshake_opens_nothing(rig: Rig, params: dict[str, Any]) -> None:
    answered = await rig.host.ask(**rig.host.handshake("initialize", params))
    assert (answered.status, answered.message["error"]["code"]) == (400, -32602)
    assert "mcp-session-id" not in answered.headers


async def test_a_request_is_answered_in_its_session(rig: Rig) -> None:
    session = await rig.host.initialize()
    answered = await rig.host.ask(**rig.host.handshake("tools/call", CALL, session=session))
    assert answered.status == 200
    assert answered.message == {
        "jsonrpc": "2.0",
        "id": rig.host.last_id,
        "result": {"content": []},
    }
    assert rig.service.asked[0].headers is None


async def test_ping_is_answered(rig: Rig) -> None:
    session = await rig.host.initialize()
    answered = await rig.host.ask(**rig.host.handshake("ping", session=session))
    assert answered.message["result"] == {}


@pytest.mark.parametrize(("session", "status"), [("", 400), ("unknown", 404)])
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_without_a_session_nothing_is_served(
    rig: Rig, session: str, status: int, method: str
) -> None:
    request = rig.host.handshake("tools/call", CALL, session=session)
    answered = await rig.host.ask(method, **request)
    assert answered.status == status
    assert answered.message["error"]["code"] == -32600
    assert rig.service.asked == []


async def test_a_session_is_good_for_its_principal_only(rig: Rig) -> None:
    session = await rig.host.initialize()
    rig.principal = LOCAL
    answered = await rig.host.ask(**rig.host.handshake("tools/call", CALL, session=session))
    assert answered.status == 404


async def test_session_ids_are_long_and_never_repeat(rig: Rig) -> None:
    ids = {await rig.host.initialize() for _ in range(20)}
    assert len(ids) == 20
    assert all(len(session) >= 32 for session in ids)


async def test_a_deleted_session_is_gone_and_its_streams_end(rig: Rig) -> None:
    session = await rig.host.initialize()
    headers = {**GET, "mcp-session-id": session}
    with anyio.fail_after(5):
        async with rig.host.exchange("GET", headers=headers) as stream:
            await stream.begun.wait()
            assert (await rig.host.ask("DELETE", headers=headers)).status == 200
            await stream.ended.wait()
    answered = await rig.host.ask(**rig.host.handshake("tools/call", CALL, session=session))
    assert answered.status == 404
    assert len(rig.service.audience(ANONYMOUS)) == 0


async def test_notifications_and_responses_are_accepted(rig: Rig) -> None:
    session = await rig.host.initialize()
    for message in (
        b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}',
    ):
        answered = await rig.host.ask(headers={**BASE, "mcp-session-id": session}, body=message)
        assert (answered.status, answered.body) == (202, b"")


@pytest.mark.virtual_time
async def test_an_idle_session_is_forgotten_and_a_used_one_is_not() -> None:
    rig = Rig(HttpLimits(session_idle=100))
    idle, used = await rig.host.initialize(), await rig.host.initialize()
    await anyio.sleep(60)
    await rig.host.ask(**rig.host.handshake("ping", session=used))
    await anyio.sleep(60)
    assert (await rig.host.ask(**rig.host.handshake("ping", session=used))).status == 200
    assert (await rig.host.ask(**rig.host.handshake("ping", session=idle))).status == 404


@pytest.mark.virtual_time
async def test_an_open_stream_keeps_its_session() -> None:
    rig = Rig(HttpLimits(session_idle=100))
    session = await rig.host.initialize()
    async with rig.host.exchange("GET", headers={**GET, "mcp-session-id": session}) as stream:
        await anyio.sleep(1_000)
        assert (await rig.host.ask(**rig.host.handshake("ping", session=session))).status == 200
        assert stream.body.count(b": still here") > 10


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    "limits", [HttpLimits(sessions=2), HttpLimits(sessions_per_peer=2)], ids=["all", "one client"]
)
async def test_where_sessions_are_limited_the_one_unused_for_longest_makes_room(
    limits: HttpLimits,
) -> None:
    rig = Rig(limits)
    first, second = await rig.host.initialize(), await rig.host.initialize()
    await anyio.sleep(1)
    await rig.host.ask(**rig.host.handshake("ping", session=first))
    third = await rig.host.initialize()
    found = [
        (await rig.host.ask(**rig.host.handshake("ping", session=session))).status
        for session in (first, second, third)
    ]
    assert found == [200, 404, 200]
    assert len(rig.service.audience(ANONYMOUS)) == 2


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    "limits", [HttpLimits(sessions=2), HttpLimits(sessions_per_peer=2)], ids=["all", "one client"]
)
async def test_a_session_with_an_open_stream_makes_room_for_nobody(limits: HttpLimits) -> None:
    rig = Rig(limits)
    async with AsyncExitStack() as streams:
        for _ in range(2):
            headers = {**GET, "mcp-session-id": await rig.host.initialize()}
            stream = await streams.enter_async_context(rig.host.exchange("GET", headers=headers))
            await stream.begun.wait()
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "h", "version": "1"},
        }
        answered = await rig.host.ask(**rig.host.handshake("initialize", params))
    assert answered.status == 503
    assert "limit 2" in answered.message["error"]["message"]


async def test_one_client_cannot_end_the_sessions_of_another() -> None:
    service = FakeService()
    sessions = Sessions(HttpLimits(sessions=3, sessions_per_peer=2), service.left)
    audience = service.audience(ANONYMOUS)
    kept = sessions.start(UNSETTLED, ANONYMOUS, audience, "10.0.0.1")
    flood = [sessions.start(UNSETTLED, ANONYMOUS, audience, "10.0.0.2") for _ in range(50)]
    assert sessions.find(kept.id, ANONYMOUS) is kept
    assert [each for each in flood if sessions.find(each.id, ANONYMOUS)] == flood[-2:]
    assert len(sessions) == 3


# ---- announcements ----


async def test_a_change_is_announced_once_on_the_sessions_stream(rig: Rig) -> None:
    session = await rig.host.initialize()
    with anyio.fail_after(5):
        async with rig.host.exchange("GET", headers={**GET, "mcp-session-id": session}) as stream:
            await stream.begun.wait()
            rig.tell(Topic.TOOLS)
            rig.tell(Topic.PROMPTS)
            rig.tell(Topic.TOOLS)
            await stream.wait_messages(2)
            await anyio.wait_all_tasks_blocked()
    assert [message["method"] for message in stream.messages] == [
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
    ]
    assert all("id" not in message for message in stream.messages)


async def test_a_change_before_the_stream_is_open_is_told_when_it_opens(rig: Rig) -> None:
    session = await rig.host.initialize()
    rig.tell(Topic.RESOURCES)
    with anyio.fail_after(5):
        async with rig.host.exchange("GET", headers={**GET, "mcp-session-id": session}) as stream:
            await stream.wait_messages(1)
    assert stream.message["method"] == "notifications/resources/list_changed"


async def test_a_newer_stream_takes_over_and_nothing_is_told_twice(rig: Rig) -> None:
    headers = {**GET, "mcp-session-id": await rig.host.initialize()}
    with anyio.fail_after(5):
        async with rig.host.exchange("GET", headers=headers) as older:
            await older.begun.wait()
            async with rig.host.exchange("GET", headers=headers) as newer:
                await newer.begun.wait()
                await older.ended.wait()
                rig.tell(Topic.TOOLS)
                await newer.wait_messages(1)
                await anyio.wait_all_tasks_blocked()
    assert older.messages == []
    assert len(newer.messages) == 1


async def test_what_a_stalled_stream_could_not_take_is_told_on_the_newer_one(rig: Rig) -> None:
    headers = {**GET, "mcp-session-id": await rig.host.initialize()}
    with anyio.fail_after(5):
        async with rig.host.exchange("GET", headers=headers) as older:
            await older.begun.wait()
            older.flowing = anyio.Event()
            rig.tell(Topic.TOOLS)
            await anyio.wait_all_tasks_blocked()
            async with rig.host.exchange("GET", headers=headers) as newer:
                await newer.wait_messages(1)
            older.flowing.set()
            await older.ended.wait()
    assert older.messages == []
    assert newer.message["method"] == "notifications/tools/list_changed"


async def test_each_session_is_told(rig: Rig) -> None:
    sessions = [await rig.host.initialize() for _ in range(3)]
    async with anyio.create_task_group() as tasks:

        async def listen(session: str) -> None:
            headers = {**GET, "mcp-session-id": session}
            async with rig.host.exchange("GET", headers=headers) as stream:
                await stream.wait_messages(1)

        for session in sessions:
            tasks.start_soon(listen, session)
        with anyio.fail_after(5):
            await anyio.wait_all_tasks_blocked()
            rig.tell(Topic.TOOLS)
    # every stream got its message, or the tasks would still be waiting


async def test_the_stream_ends_when_we_close(rig: Rig) -> None:
    session = await rig.host.initialize()
    with anyio.fail_after(5):
        async with rig.host.exchange("GET", headers={**GET, "mcp-session-id": session}) as stream:
            await stream.begun.wait()
            rig.service.audience(ANONYMOUS).close()
            await stream.ended.wait()
    assert stream.status == 200


async def test_a_stream_needs_a_host_that_takes_one(rig: Rig) -> None:
    session = await rig.host.initialize()
    headers = {**GET, "accept": "application/json", "mcp-session-id": session}
    assert (await rig.host.ask("GET", headers=headers)).status == 406


# ---- requests in progress ----


async def wait(_request: HostRequest) -> Result:
    await anyio.sleep_forever()
    return {}


async def test_progress_comes_on_the_requests_own_stream(rig: Rig) -> None:
    session = await rig.host.initialize()

    async def work(request: HostRequest) -> Result:
        assert request.progress is not None
        await request.progress(1.0, None, None)
        return {"content": []}

    rig.service.script = work
    call = {**CALL, "_meta": {"progressToken": 9}}
    headers = {**GET, "mcp-session-id": session}
    async with rig.host.exchange("GET", headers=headers) as stream:
        answered = await rig.host.ask(**rig.host.handshake("tools/call", call, session=session))
        progress, result = answered.messages
        assert progress["params"]["progressToken"] == 9
        assert result["result"] == {"content": []}
        assert stream.messages == []


@pytest.mark.duty(34)
@pytest.mark.parametrize("other", [99, "1", None, True], ids=repr)
async def test_a_cancellation_cancels_its_request_and_no_other(rig: Rig, other: object) -> None:
    session = await rig.host.initialize()
    rig.service.script = wait
    request = rig.host.handshake("tools/call", CALL, session=session)
    mine = rig.host.last_id
    with anyio.fail_after(5):
        async with rig.host.exchange(**request) as exchange:
            await rig.service.reached.wait()
            for request_id in (other, mine):
                assert rig.service.cancelled == []
                await rig.host.ask(
                    **rig.host.notification(
                        "notifications/cancelled", {"requestId": request_id}, session=session
                    )
                )
            await exchange.ended.wait()
    assert rig.service.cancelled == ["tools/call"]
    assert exchange.message["error"]["code"] == -32800


async def test_a_cancellation_from_another_session_does_nothing(rig: Rig) -> None:
    mine, other = await rig.host.initialize(), await rig.host.initialize()
    rig.service.script = wait
    request = rig.host.handshake("tools/call", CALL, session=mine)
    params = {"requestId": rig.host.last_id}
    with anyio.fail_after(5):
        async with rig.host.exchange(**request):
            await rig.service.reached.wait()
            await rig.host.ask(
                **rig.host.notification("notifications/cancelled", params, session=other)
            )
            await anyio.wait_all_tasks_blocked()
            assert rig.service.cancelled == []
            await rig.host.ask(
                **rig.host.notification("notifications/cancelled", params, session=mine)
            )


@pytest.mark.duty(34)
async def test_hanging_up_cancels_nothing_in_these_revisions(rig: Rig) -> None:
    session = await rig.host.initialize()
    go, done = anyio.Event(), anyio.Event()

    async def work(_request: HostRequest) -> Result:
        await go.wait()
        done.set()
        return {"content": []}

    rig.service.script = work
    with anyio.fail_after(5):
        request = rig.host.handshake("tools/call", CALL, session=session)
        async with rig.host.exchange(**request) as exchange:
            await rig.service.reached.wait()
            exchange.hang_up()
            await anyio.wait_all_tasks_blocked()
            go.set()
            await done.wait()
    assert rig.service.cancelled == []


async def test_ending_a_session_cancels_what_it_asked(rig: Rig) -> None:
    session = await rig.host.initialize()
    rig.service.script = wait
    headers = {**GET, "mcp-session-id": session}
    with anyio.fail_after(5):
        request = rig.host.handshake("tools/call", CALL, session=session)
        async with rig.host.exchange(**request) as exchange:
            await rig.service.reached.wait()
            await rig.host.ask("DELETE", headers=headers)
            await exchange.ended.wait()
    assert rig.service.cancelled == ["tools/call"]
