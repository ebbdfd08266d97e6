"""Streamable HTTP against a server scripted to the byte: answers, eras, sessions, cancelling."""

import json

import anyio
import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from toolcrib.adapters.http.outcome import split_outcome
from toolcrib.testing.http_rig import HANDSHAKE, MODERN, answer_plainly, drive_http, launch_of
from toolcrib.testing.raw_http import RawExchange, serve_raw_http

BOTH_LOOPS = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


@BOTH_LOOPS
async def test_a_json_answer_resolves_its_request() -> None:
    async with serve_raw_http(answer_plainly) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            assert await rig.ask("tools/list") == {"echo": "tools/list"}


@BOTH_LOOPS
async def test_an_event_stream_brings_notifications_before_the_answer() -> None:
    async def behave(request: RawExchange) -> None:
        await request.begin_events()
        await request.raw(b"10\r\n: keep-alive\r\n\r\n\r\n")
        await request.event({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
        await request.event(event="ping", text="x")
        await request.event({"jsonrpc": "2.0", "id": request.message["id"], "result": {"n": 1}})
        await request.end_events()

    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            assert await rig.ask() == {"n": 1}
            assert await rig.ask() == {"n": 1}
            await rig.wait_heard(2)
    assert rig.heard == ["notifications/message"] * 2
    assert server.connections == 1, "the connection of an answered stream is used again"


async def test_a_stream_that_stays_open_after_the_answer_does_not_hold_the_caller() -> None:
    async def behave(request: RawExchange) -> None:
        await request.begin_events()
        await request.event({"jsonrpc": "2.0", "id": request.message["id"], "result": {}})
        await request.wait_gone()

    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            assert await rig.ask() == {}


async def test_headers_of_configuration_message_and_protocol_are_all_sent() -> None:
    launch_headers = {
        "authorization": "Bearer secret-token",
        "mcp-method": "forged",
        "x-own": "u",
        "x-also": " v ",
    }
    async with (
        serve_raw_http(answer_plainly) as server,
        drive_http(launch_of(server.url, **launch_headers)) as rig,
    ):
        with anyio.fail_after(5):
            await rig.ask("tools/list", {**MODERN, "Mcp-Method": "tools/list", "X-Own": "w"})
    sent = server.requests[0].headers
    assert sent["authorization"] == "Bearer secret-token"
    assert sent["mcp-method"] == "tools/list"
    assert sent["mcp-protocol-version"] == "2026-07-28"
    assert sent["x-own"] == "w"
    assert sent["x-also"] == "v"
    assert sent["accept"] == "application/json, text/event-stream"
    assert sent["content-type"] == "application/json"
    assert sent["user-agent"].startswith("toolcrib/")


async def test_user_and_password_of_the_url_become_basic_credentials() -> None:
    async with serve_raw_http(answer_plainly) as server:
        url = server.url.replace("http://", "http://ann:p%40ss@")
        async with drive_http(launch_of(url)) as rig:
            with anyio.fail_after(5):
                await rig.ask()
    assert server.requests[0].headers["authorization"] == "Basic YW5uOnBAc3M="
    assert server.requests[0].headers["host"] == f"127.0.0.1:{server.port}"


async def test_cookies_of_the_server_come_back_to_it() -> None:
    async def behave(request: RawExchange) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": request.message["id"], "result": {}}).encode()
        await request.reply(200, body, content_type="application/json", set_cookie="route=r7")

    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.ask()
            await rig.ask()
    assert [r.headers.get("cookie") for r in server.requests] == [None, "route=r7"]


@pytest.mark.parametrize("answered_id", [None, "same text", 99])
async def test_only_an_answer_under_the_id_of_the_request_counts(answered_id: object) -> None:
    async def behave(request: RawExchange) -> None:
        own = request.message["id"]
        sent = str(own) if answered_id == "same text" else answered_id
        body = json.dumps({"jsonrpc": "2.0", "id": sent, "error": {"code": -1, "message": "no"}})
        await request.reply(200, body.encode(), content_type="application/json; charset=utf-8")

    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            error = await rig.fail()
    outcome, _ = split_outcome(error.data)
    if answered_id == 99:
        assert outcome is not None
        assert outcome.fault == "unreadable"
    else:
        assert (error.code, error.message, outcome) == (-1, "no", None)


async def test_a_forged_outcome_is_taken_out_of_a_servers_error() -> None:
    async def behave(request: RawExchange) -> None:
        ours = {"dev.toolcrib/http": {"status": 401}, "dev.toolcrib/limit": "line_bytes"}
        data = {**ours, "supported": ["2025-11-25"]}
        await request.answer(error={"code": -32022, "message": "no", "data": data})

    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            error = await rig.fail()
    assert error.data == {"supported": ["2025-11-25"]}


async def test_a_lone_surrogate_in_an_answer_costs_nothing() -> None:
    async def behave(request: RawExchange) -> None:
        body = b'{"jsonrpc":"2.0","id":%d,"result":{"odd":"\\ud800"}}' % request.message["id"]
        await request.reply(200, body, content_type="application/json")

    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            assert await rig.ask() == {"odd": "\ud800"}


async def test_the_session_id_is_carried_and_given_back() -> None:
    async with serve_raw_http(answer_plainly) as server:
        async with drive_http(launch_of(server.url)) as rig:
            with anyio.fail_after(5):
                assert await rig.shake_hands() == {"ok": 1}
                await rig.ask("tools/list", HANDSHAKE)
                await rig.watch.wait_for("refused")
        assert len(server.sent("DELETE")) == 1
    carried = [(r.method, r.headers.get("mcp-session-id")) for r in server.requests]
    assert carried[0] == ("POST", None)
    assert {session for _, session in carried[1:]} == {"s-1"}
    assert server.sent("DELETE")[0].headers["mcp-protocol-version"] == "2025-11-25"


async def test_a_modern_request_after_a_failed_probe_starts_no_session() -> None:
    async with serve_raw_http(answer_plainly) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.ask("server/discover", MODERN)
            await rig.dispatcher.send_raw_request("initialize", {})
    assert server.requests[0].headers["mcp-protocol-version"] == "2026-07-28"
    assert "mcp-protocol-version" not in server.requests[1].headers


@pytest.mark.virtual_time
async def test_a_delete_that_is_not_answered_holds_us_for_a_second_at_most() -> None:
    deleted: list[float] = []

    async def behave(request: httpx2.Request) -> httpx2.Response:
        if request.method == "DELETE":
            deleted.append(anyio.current_time())
            await anyio.sleep_forever()
        message = json.loads(request.content or b"{}")
        if "id" not in message:
            return httpx2.Response(405 if request.method == "GET" else 202)
        answer = b'{"jsonrpc":"2.0","id":%d,"result":{}}' % message["id"]
        headers = {"mcp-session-id": "s-1", "content-type": "application/json"}
        return httpx2.Response(200, content=answer, headers=headers)

    transport = httpx2.MockTransport(behave)
    async with drive_http(launch_of("https://example.com/mcp"), transport=transport) as rig:
        await rig.shake_hands()
    assert [anyio.current_time() - begun for begun in deleted] == [1.0]


@pytest.mark.parametrize("body", [b"", b'{"jsonrpc":"2.0","error":{"code":-32600,"message":"?"}}'])
async def test_a_lost_session_ends_the_connection_and_says_so(body: bytes) -> None:
    async def behave(request: RawExchange) -> None:
        if request.method == "POST" and request.message["method"] == "tools/call":
            await request.reply(404, body, content_type="application/json")
        else:
            await answer_plainly(request)

    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.shake_hands()
            error = await rig.fail(headers=HANDSHAKE)
            await rig.ended.wait()
        outcome, _ = split_outcome(error.data)
        assert outcome is not None
        assert outcome.status == 404
        assert rig.facts.session_lost
        assert "404" in rig.facts.over
        with pytest.raises(MCPError):
            await rig.ask()
    assert server.sent("DELETE") == [], "a session that is gone is not given back"


async def test_a_404_about_the_method_or_without_a_session_loses_none() -> None:
    async def behave(request: RawExchange) -> None:
        if request.method == "POST" and request.message["method"] == "server/discover":
            await request.reply(404)
        elif request.method == "POST" and request.message["method"] == "tools/call":
            await request.answer(status=404, error={"code": -32601, "message": "unknown"})
        else:
            await answer_plainly(request)

    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.fail("server/discover")
            await rig.shake_hands()
            error = await rig.fail(headers=HANDSHAKE)
            assert await rig.ask("tools/list", HANDSHAKE) == {"echo": "tools/list"}
    assert error.code == -32601
    assert not rig.facts.session_lost
