"""Requests on their way over Streamable HTTP: cancelled, broken, continued, many at once."""

from collections.abc import AsyncIterator

import anyio
import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from toolcrib.adapters.http.outcome import split_outcome
from toolcrib.settings import Limits
from toolcrib.testing.http_rig import HANDSHAKE, answer_plainly, drive_http, launch_of
from toolcrib.testing.raw_http import RawExchange, serve_raw_http

BOTH_LOOPS = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


async def slow(request: RawExchange) -> None:
    """Never answers a call; closes its stream for nobody."""
    if request.method == "POST" and request.message["method"] == "tools/call":
        await request.begin_events()
        await request.event({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
        await request.wait_gone()
    else:
        await answer_plainly(request)


@BOTH_LOOPS
async def test_cancelling_closes_the_stream_of_a_modern_request_and_posts_nothing() -> None:
    async with serve_raw_http(slow) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(rig.ask)
                await rig.wait_heard(1)
                tasks.cancel_scope.cancel()
            assert await rig.ask("tools/list") == {"echo": "tools/list"}
    assert [r.message["method"] for r in server.requests] == ["tools/call", "tools/list"]


@BOTH_LOOPS
async def test_cancelling_tells_a_handshake_server_and_then_closes_the_stream() -> None:
    told = anyio.Event()
    closed = anyio.Event()

    async def behave(request: RawExchange) -> None:
        await slow(request)
        if request.gone:
            closed.set()
        elif request.method == "POST" and request.message["method"] == "notifications/cancelled":
            told.set()

    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.shake_hands()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(rig.ask, "tools/call", HANDSHAKE)
                await rig.wait_heard(1)
                tasks.cancel_scope.cancel()
            await told.wait()
            await closed.wait()
    call, notice = (
        next(r for r in server.sent("POST") if r.message["method"] == method)
        for method in ("tools/call", "notifications/cancelled")
    )
    assert notice.message["params"]["requestId"] == call.message["id"]
    assert notice.headers["mcp-session-id"] == "s-1"


async def test_the_handshake_itself_is_never_cancelled_by_notice() -> None:
    async def behave(request: RawExchange) -> None:
        if request.message["method"] == "initialize":
            await request.wait_gone()
            gone.set()
        else:
            await answer_plainly(request)

    gone = anyio.Event()
    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            with pytest.raises(MCPError):
                await rig.dispatcher.send_raw_request("initialize", {}, {"timeout": 0.01})
            await gone.wait()
            await rig.ask("tools/list", HANDSHAKE)
    assert [r.message["method"] for r in server.requests] == ["initialize", "tools/list"]


async def test_a_late_cancellation_is_not_sent() -> None:
    async with serve_raw_http(answer_plainly) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.shake_hands()
            await rig.dispatcher.notify("notifications/cancelled", {"requestId": 1})
            await rig.ask("tools/list", HANDSHAKE)
    assert "notifications/cancelled" not in [r.message["method"] for r in server.sent("POST")]


async def test_what_the_server_asks_during_a_call_is_answered_by_post() -> None:
    answered = anyio.Event()

    async def behave(request: RawExchange) -> None:
        if request.method == "POST" and "result" in request.message:
            await request.reply(202)
            answered.set()
        elif request.method == "POST" and request.message["method"] == "tools/call":
            await request.begin_events()
            await request.event({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create"})
            await answered.wait()
            await request.event({"jsonrpc": "2.0", "id": request.message["id"], "result": {}})
            await request.end_events()
        else:
            await answer_plainly(request)

    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.shake_hands()
            assert await rig.ask(headers=HANDSHAKE) == {}
    replies = [r for r in server.sent("POST") if "result" in r.message]
    assert [r.message["id"] for r in replies] == ["q"]
    assert replies[0].headers["mcp-session-id"] == "s-1"


async def test_a_broken_answer_is_resumed_by_its_last_event_in_the_handshake_era() -> None:
    call: dict[str, object] = {}

    async def behave(request: RawExchange) -> None:
        if request.method == "GET" and "last-event-id" in request.headers:
            await request.begin_events()
            await request.event({"jsonrpc": "2.0", "id": call["id"], "result": {"got": 1}})
            await request.end_events()
        elif request.method == "POST" and request.message["method"] == "tools/call":
            call["id"] = request.message["id"]
            await request.begin_events()
            await request.event(id="e-7", retry="1")
            await request.reset()
        else:
            await answer_plainly(request)

    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.shake_hands()
            assert await rig.ask(headers=HANDSHAKE) == {"got": 1}
    resumed = [r for r in server.sent("GET") if "last-event-id" in r.headers]
    assert [r.headers["last-event-id"] for r in resumed] == ["e-7"]


async def test_a_broken_answer_is_never_resumed_in_the_modern_era() -> None:
    async def behave(request: RawExchange) -> None:
        await request.begin_events()
        await request.event(id="e-7", retry="1")
        await request.hang_up()

    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            error = await rig.fail()
    outcome, _ = split_outcome(error.data)
    assert outcome is not None
    assert (outcome.status, outcome.fault) == (200, "reset")
    assert server.sent("GET") == []


async def test_an_event_beyond_the_limit_is_not_asked_for_again() -> None:
    async def behave(request: RawExchange) -> None:
        if request.method == "POST" and request.message["method"] == "tools/call":
            await request.begin_events()
            await request.event(id="e-7", retry="1")
            await request.event(text="x" * 3_000)
            await request.wait_gone()
        else:
            await answer_plainly(request)

    limits = Limits(result_bytes=2_000)
    async with (
        serve_raw_http(behave) as server,
        drive_http(launch_of(server.url), limits=limits) as rig,
    ):
        with anyio.fail_after(5):
            await rig.shake_hands()
            error = await rig.fail(headers=HANDSHAKE)
    outcome, _ = split_outcome(error.data)
    assert outcome is not None
    assert outcome.fault == "too_large"
    assert [r for r in server.sent("GET") if "last-event-id" in r.headers] == []


@pytest.mark.parametrize(("status", "attempts"), [(405, 1), (503, 5)])
async def test_an_answer_that_is_not_continued_is_given_up(status: int, attempts: int) -> None:
    async def behave(request: RawExchange) -> None:
        if request.method == "GET" and "last-event-id" in request.headers:
            await request.reply(status)
        elif request.method == "POST" and request.message["method"] == "tools/call":
            await request.begin_events()
            await request.event(id="e-7", retry="1")
            await request.end_events()
        else:
            await answer_plainly(request)

    async with (
        serve_raw_http(behave) as server,
        drive_http(launch_of(server.url), lots=lambda: -0.99) as rig,
    ):
        with anyio.fail_after(5):
            await rig.shake_hands()
            error = await rig.fail(headers=HANDSHAKE)
    outcome, _ = split_outcome(error.data)
    assert outcome is not None
    assert outcome.fault == "closed"
    resumed = [r for r in server.sent("GET") if "last-event-id" in r.headers]
    assert len(resumed) == attempts


class Chatty(httpx2.AsyncByteStream):
    """An event stream that answers and then goes on talking for ever."""

    closed_at = -1.0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b'data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n'
        while True:
            await anyio.sleep(0.3)
            yield b'data: {"jsonrpc":"2.0","method":"notifications/message"}\n\n'

    async def aclose(self) -> None:
        self.closed_at = anyio.current_time()


@pytest.mark.virtual_time
async def test_what_follows_the_answer_on_its_stream_is_heard_for_a_second_only() -> None:
    stream = Chatty()
    headers = {"content-type": "text/event-stream"}
    answer = httpx2.Response(200, headers=headers, stream=stream)
    transport = httpx2.MockTransport(lambda _: answer)
    async with drive_http(launch_of("https://example.com/"), transport=transport) as rig:
        begun = anyio.current_time()
        assert await rig.ask() == {}
        assert anyio.current_time() == begun
        await anyio.sleep(5)
        assert stream.closed_at == begun + 1.0
    assert rig.heard == ["notifications/message"] * 3


async def test_a_second_request_under_the_same_id_cuts_the_first_off() -> None:
    cut = anyio.Event()

    async def behave(request: RawExchange) -> None:
        await slow(request)
        if request.gone:
            cut.set()

    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        first, second = (
            SessionMessage(JSONRPCRequest(jsonrpc="2.0", id="same", method=method))
            for method in ("tools/call", "tools/list")
        )
        with anyio.fail_after(5):
            await rig.write.send(first)
            await rig.wait_heard(1)
            await rig.write.send(second)
            await cut.wait()


@pytest.mark.parametrize("trouble", ["reset", "short", "refused"])
async def test_a_notification_that_fails_harms_nothing(trouble: str) -> None:
    async def behave(request: RawExchange) -> None:
        if request.method != "POST" or "id" in request.message:
            await answer_plainly(request)
        elif trouble == "reset":
            await request.reset()
        elif trouble == "refused":
            await request.reply(401)
        else:
            await request.raw(b"HTTP/1.1 202 -\r\ncontent-length: 9\r\n\r\nx")
            await request.hang_up()

    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.shake_hands()
            assert await rig.ask("tools/list", HANDSHAKE) == {"echo": "tools/list"}
    assert not rig.facts.over


async def test_a_connection_is_used_again_after_a_notification() -> None:
    async with serve_raw_http(answer_plainly) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.ask()
            await rig.dispatcher.notify("notifications/initialized", None)
            await rig.ask()
    assert server.connections == 1


async def test_a_notification_into_a_lost_session_ends_the_connection() -> None:
    async def behave(request: RawExchange) -> None:
        if request.method == "POST" and "id" not in request.message:
            await request.reply(404)
        else:
            await answer_plainly(request)

    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.shake_hands()
            await rig.ended.wait()
    assert rig.facts.session_lost


async def test_a_server_that_is_gone_at_the_goodbye_harms_nothing() -> None:
    async def behave(request: RawExchange) -> None:
        if request.method == "DELETE":
            await request.reset()
        else:
            await answer_plainly(request)

    async with serve_raw_http(behave) as server:
        with anyio.fail_after(5):
            async with drive_http(launch_of(server.url)) as rig:
                await rig.shake_hands()
        assert len(server.sent("DELETE")) == 1


async def test_arguments_with_a_lone_surrogate_are_sent_escaped() -> None:
    async with serve_raw_http(answer_plainly) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.dispatcher.send_raw_request("tools/call", {"odd": "\ud800"})
    assert b'"\\ud800"' in server.requests[0].body
    assert server.requests[0].message["params"] == {"odd": "\ud800"}


async def test_forty_requests_at_once_are_forty_answers() -> None:
    results: list[dict[str, object]] = []
    async with serve_raw_http(answer_plainly) as server, drive_http(launch_of(server.url)) as rig:

        async def ask() -> None:
            results.append(await rig.ask("tools/list"))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for _ in range(40):
                    tasks.start_soon(ask)
    assert len(results) == 40


async def test_a_cancellation_goes_out_although_every_call_slot_is_taken() -> None:
    limits = Limits(calls_per_server=2)
    async with (
        serve_raw_http(slow) as server,
        drive_http(launch_of(server.url), limits=limits) as rig,
    ):
        with anyio.fail_after(5):
            await rig.shake_hands()
            async with anyio.create_task_group() as tasks:
                for _ in range(2):
                    tasks.start_soon(rig.ask, "tools/call", HANDSHAKE)
                await rig.wait_heard(2)
                tasks.cancel_scope.cancel()
            assert await rig.ask("tools/list", HANDSHAKE) == {"echo": "tools/list"}


async def test_calls_whose_people_think_leave_connections_to_others() -> None:
    limits = Limits(calls_per_server=1, parked_calls=10)
    async with (
        serve_raw_http(slow) as server,
        drive_http(launch_of(server.url), limits=limits) as rig,
    ):
        with anyio.fail_after(5):
            await rig.shake_hands()
            async with anyio.create_task_group() as tasks:
                for _ in range(11):
                    tasks.start_soon(rig.ask, "tools/call", HANDSHAKE)
                await rig.wait_heard(11)
                assert await rig.ask("tools/list", HANDSHAKE) == {"echo": "tools/list"}
                tasks.cancel_scope.cancel()


async def test_what_the_body_raises_leaves_the_context_as_it_is() -> None:
    async def use(url: str) -> None:
        async with drive_http(launch_of(url)) as rig:
            await rig.ask()
            raise LookupError("mine")

    async with serve_raw_http(answer_plainly) as server:
        with anyio.fail_after(5), pytest.raises(LookupError, match="mine"):
            await use(server.url)
