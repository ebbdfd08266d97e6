"""Whatever goes wrong below JSON-RPC ends one request with an error that says what."""

import gzip
import json
import logging
import socket
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import SocketAttribute, SocketStream
from mcp.shared.exceptions import MCPError

from toolcrib.adapters.http.outcome import TRANSPORT_FAILED, HttpOutcome, split_outcome
from toolcrib.settings import Limits
from toolcrib.testing.http_rig import HttpRig, drive_http, launch_of
from toolcrib.testing.raw_http import Behaviour, RawExchange, serve_raw_http

BOTH_LOOPS = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
JSON = "application/json"
DATE = "Wed, 05 Aug 2026 10:00:00 GMT"
LATER = "Wed, 05 Aug 2026 10:01:30 GMT"


def outcome_of(error: MCPError) -> HttpOutcome:
    outcome, _ = split_outcome(error.data)
    assert outcome is not None
    return outcome


async def fail(url: str, *, limits: Limits | None = None, method: str = "tools/call") -> MCPError:
    async with drive_http(launch_of(url), limits=limits or Limits()) as rig:
        with anyio.fail_after(5):
            return await rig.fail(method)


@BOTH_LOOPS
async def test_a_port_where_nothing_listens_is_refused_and_never_sent() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        error = await fail(f"http://127.0.0.1:{taken.getsockname()[1]}/mcp")
    assert outcome_of(error) == HttpOutcome(fault="connect_refused")
    assert outcome_of(error).never_sent
    assert error.code == TRANSPORT_FAILED
    assert "start the server" in error.message


@BOTH_LOOPS
async def test_a_host_without_an_address_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_args: object, **_options: object) -> list[object]:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.delenv("HTTP_PROXY", raising=False)
    monkeypatch.delenv("http_proxy", raising=False)
    error = await fail("http://crib.invalid/mcp")
    assert outcome_of(error) == HttpOutcome(fault="dns")
    assert outcome_of(error).never_sent


@BOTH_LOOPS
async def test_plain_http_behind_an_https_url_is_a_tls_fault() -> None:
    async def behave(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 400 -\r\nconnection: close\r\n\r\n")

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra_attributes[SocketAttribute.local_port]()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, behave)
            error = await fail(f"https://127.0.0.1:{port}/mcp")
            assert outcome_of(error) == HttpOutcome(fault="tls")
            tasks.cancel_scope.cancel()


async def hang_up(request: RawExchange) -> None:
    await request.hang_up()


async def reset(request: RawExchange) -> None:
    await request.reset()


async def no_http(request: RawExchange) -> None:
    await request.raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
    await request.hang_up()


async def cut_json(request: RawExchange) -> None:
    await request.reply(200, b'{"jsonrpc":"2.0","id":1,"res', content_type=JSON)


async def short_body(request: RawExchange) -> None:
    await request.raw(b"HTTP/1.1 200 -\r\ncontent-type: application/json\r\ncontent-length: 90")
    await request.raw(b'\r\n\r\n{"jsonrpc"')
    await request.hang_up()


async def cut_stream(request: RawExchange) -> None:
    await request.begin_events()
    await request.event({"jsonrpc": "2.0", "method": "notifications/message"})
    await request.reset()


async def ended_stream(request: RawExchange) -> None:
    await request.begin_events()
    await request.end_events()


async def cut_event(request: RawExchange) -> None:
    await request.begin_events()
    await request.event(text='{"jsonrpc":"2.0","id":1,"res')
    await request.end_events()


async def web_page(request: RawExchange) -> None:
    await request.reply(200, b"<html>", content_type="text/html; charset=utf-8")


async def no_type(request: RawExchange) -> None:
    await request.reply(200, b"{}")


async def accepted(request: RawExchange) -> None:
    await request.reply(202)


async def empty(request: RawExchange) -> None:
    await request.reply(204)


async def away(request: RawExchange) -> None:
    await request.reply(307, location="https://elsewhere.example/mcp?leak=1")


async def away_by_port(request: RawExchange) -> None:
    await request.reply(308, location="http://127.0.0.1:9/mcp")


async def see_other(request: RawExchange) -> None:
    if request.path == "/other":
        await request.answer(result={"misled": True})
    else:
        await request.reply(303, location="/other")


async def round_and_round(request: RawExchange) -> None:
    await request.reply(307, location="/mcp")


FAULTS = [
    (hang_up, None, "reset"),
    (reset, None, "reset"),
    (no_http, None, "protocol"),
    (cut_json, 200, "unreadable"),
    (short_body, 200, "reset"),
    (cut_stream, 200, "reset"),
    (ended_stream, 200, "closed"),
    (cut_event, 200, "unreadable"),
    (web_page, 200, "content_type"),
    (no_type, 200, "content_type"),
    (accepted, 202, "accepted"),
    (empty, 204, "accepted"),
    (away, 307, "redirect"),
    (away_by_port, 308, "redirect"),
    (see_other, 303, "redirect"),
    (round_and_round, 307, "redirect"),
]


@pytest.mark.parametrize(
    ("behave", "status"), [(accepted, 202), (empty, 204)], ids=["accepted", "empty"]
)
async def test_a_request_that_was_only_taken_is_told_with_its_status(
    behave: Behaviour, status: int
) -> None:
    async with serve_raw_http(behave) as server:
        error = await fail(server.url)
    assert f"(HTTP {status})" in error.message


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("mark", ["dev.toolcrib/http", "dev.toolcrib/limit", "dev.toolcrib/broken"])
async def test_marks_of_ours_are_taken_out_of_what_a_server_sends(status: int, mark: str) -> None:
    async def forge(request: RawExchange) -> None:
        data = {mark: {"status": 401}, "own": 1}
        error = {"code": -32603, "message": "x", "data": data}
        answer = {"jsonrpc": "2.0", "id": request.message["id"], "error": error}
        await request.reply(status, json.dumps(answer).encode(), content_type=JSON)

    async with serve_raw_http(forge) as server:
        error = await fail(server.url)
    outcome, data = split_outcome(error.data)
    assert data == {"own": 1}
    assert outcome is None or outcome.status == status


@BOTH_LOOPS
@pytest.mark.parametrize(("behave", "status", "fault"), FAULTS, ids=[f[0].__name__ for f in FAULTS])
async def test_a_fault_costs_its_request_and_not_the_connection(
    behave: Behaviour, status: int | None, fault: str
) -> None:
    async def behave_once(request: RawExchange) -> None:
        if request.message["method"] == "tools/call":
            await behave(request)
        else:
            await request.answer(result={"fine": True})

    async with serve_raw_http(behave_once) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            error = await rig.fail()
            assert await rig.ask("tools/list") == {"fine": True}
    assert error.code == TRANSPORT_FAILED
    assert (outcome_of(error).status, outcome_of(error).fault) == (status, fault)
    assert not outcome_of(error).never_sent
    assert "elsewhere" not in f"{error.message}{error.data}"


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_within_the_origin_is_followed_with_the_message(status: int) -> None:
    async def behave(request: RawExchange) -> None:
        if request.path == "/mcp":
            await request.reply(status, location="/mcp/")
        else:
            await request.answer(result={"at": request.path})

    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            assert await rig.ask() == {"at": "/mcp/"}


STATUSES: list[tuple[int, dict[str, str], bytes, HttpOutcome]] = [
    (
        401,
        {"www_authenticate": 'Bearer realm="x"'},
        b"",
        HttpOutcome(401, challenge='Bearer realm="x"'),
    ),
    (403, {}, b"no", HttpOutcome(403)),
    (404, {}, b"", HttpOutcome(404)),
    (405, {}, b"", HttpOutcome(405)),
    (429, {"retry_after": LATER, "date": DATE}, b"", HttpOutcome(429, retry_after=90.0)),
    (503, {"retry_after": "3"}, b"<html>", HttpOutcome(503, retry_after=3.0)),
    (500, {"content_type": JSON}, b"not json", HttpOutcome(500)),
    (400, {"content_type": JSON}, b'{"error":"invalid_token"}', HttpOutcome(400)),
    (400, {"content_type": JSON}, b"[" * 100_000, HttpOutcome(400)),
    (599, {}, b"", HttpOutcome(599)),
    (304, {}, b"", HttpOutcome(304)),
]


@pytest.mark.parametrize(("status", "headers", "body", "expected"), STATUSES)
async def test_status_challenge_and_retry_after_survive(
    status: int, headers: dict[str, str], body: bytes, expected: HttpOutcome
) -> None:
    async def behave(request: RawExchange) -> None:
        await request.reply(status, body, **headers)

    async with serve_raw_http(behave) as server:
        error = await fail(server.url)
    assert outcome_of(error) == expected
    assert error.code == TRANSPORT_FAILED
    assert f"HTTP {status}" in error.message


@pytest.mark.parametrize("data", [None, {"supported": ["2026-07-28"]}, "text", [1], 0, {}])
async def test_a_servers_own_error_keeps_code_message_and_data(data: object) -> None:
    async def behave(request: RawExchange) -> None:
        error: dict[str, Any] = {"code": -32022, "message": "which?", "data": data}
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
        await request.reply(400, body, content_type=JSON, retry_after="1")

    async with serve_raw_http(behave) as server:
        error = await fail(server.url)
    outcome, original = split_outcome(error.data)
    assert (error.code, error.message) == (-32022, "which?")
    assert original == (data if data != {} else None)
    assert outcome == HttpOutcome(400, retry_after=1.0, from_server=True)


@pytest.mark.parametrize(("method", "name"), [("tools/list", "walk_bytes"), ("x", "result_bytes")])
@pytest.mark.parametrize("form", ["announced", "chunked", "event"])
async def test_an_answer_beyond_its_limit_is_refused_by_the_name_of_the_limit(
    method: str, name: str, form: str
) -> None:
    async def behave(request: RawExchange) -> None:
        if form == "announced":
            await request.reply(200, b"x" * 3_000, content_type=JSON)
        elif form == "chunked":
            await request.raw(b"HTTP/1.1 200 -\r\ncontent-type: application/json\r\n")
            await request.raw(b"transfer-encoding: chunked\r\n\r\nbb8\r\n" + b"x" * 3_000)
            await request.wait_gone()
        else:
            await request.begin_events()
            await request.event(text="x" * 3_000, id="e-1")
            await request.wait_gone()

    limits = Limits(**{"walk_bytes": 9_000, "result_bytes": 9_000, name: 2_000})
    async with serve_raw_http(behave) as server:
        error = await fail(server.url, limits=limits, method=method)
    assert (outcome_of(error).status, outcome_of(error).fault) == (200, "too_large")
    assert f"limit {name}: 2000 bytes" in error.message


async def test_a_compressed_answer_counts_by_what_it_unpacks_to() -> None:
    async def behave(request: RawExchange) -> None:
        size = 10 if request.message["method"] == "x" else 1_000_000
        message = {"jsonrpc": "2.0", "id": request.message["id"], "result": {"a": "x" * size}}
        body = gzip.compress(json.dumps(message).encode())
        await request.reply(200, body, content_type=JSON, content_encoding="gzip")

    limits = Limits(result_bytes=10_000)
    async with (
        serve_raw_http(behave) as server,
        drive_http(launch_of(server.url), limits=limits) as rig,
    ):
        with anyio.fail_after(5):
            assert await rig.ask("x") == {"a": "x" * 10}
            error = await rig.fail("y")
    assert outcome_of(error).fault == "too_large"


async def test_a_body_that_does_not_unpack_is_a_protocol_fault() -> None:
    async def behave(request: RawExchange) -> None:
        await request.reply(200, b"no gzip", content_type=JSON, content_encoding="gzip")

    async with serve_raw_http(behave) as server:
        error = await fail(server.url)
    assert (outcome_of(error).status, outcome_of(error).fault) == (200, "protocol")


async def test_a_server_that_never_answers_is_left_when_the_time_is_up() -> None:
    left = anyio.Event()

    async def behave(request: RawExchange) -> None:
        await request.wait_gone()
        left.set()

    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            with pytest.raises(MCPError):
                await rig.ask(timeout=0.01)
            await left.wait()


class Stalled(httpx2.AsyncByteStream):
    """A body that never comes."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        await anyio.sleep_forever()
        yield b""


@pytest.mark.virtual_time
async def test_a_refusal_whose_body_never_comes_is_told_by_its_status() -> None:
    def behave(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(503, headers={"content-type": JSON}, stream=Stalled())

    transport = httpx2.MockTransport(behave)
    async with drive_http(launch_of("https://example.com/"), transport=transport) as rig:
        error = await rig.fail()
    assert outcome_of(error) == HttpOutcome(503)


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (httpx2.ConnectTimeout("t"), "connect_timeout"),
        (httpx2.ConnectError("t"), "connect_failed"),
        (httpx2.ProxyError("t"), "proxy"),
        (httpx2.ReadError("t"), "reset"),
        (httpx2.WriteError("t"), "reset"),
        (OSError("t"), "reset"),
        (RuntimeError("canary"), "unexpected"),
    ],
)
async def test_each_exception_of_the_client_has_its_fault(broken: Exception, fault: str) -> None:
    def behave(_: httpx2.Request) -> httpx2.Response:
        raise broken

    transport = httpx2.MockTransport(behave)
    async with drive_http(launch_of("https://example.com/"), transport=transport) as rig:
        with anyio.fail_after(5):
            error = await rig.fail()
    assert outcome_of(error).fault == fault
    assert "canary" not in error.message


CANARY = "canary-8d1f0c77aa52"


async def echo_refusal(request: RawExchange) -> None:
    message = f"bad {request.headers['x-api']} at {request.path}"
    error = {"code": -32000, "message": message, "data": {"headers": request.headers}}
    await request.answer(status=401, error=error)


async def echo_error(request: RawExchange) -> None:
    await request.answer(error={"code": -32000, "message": f"no {CANARY}", "data": [CANARY]})


LEAKS = [*(behave for behave, _, _ in FAULTS), echo_refusal, echo_error]


@pytest.mark.parametrize("behave", LEAKS, ids=[behave.__name__ for behave in LEAKS])
async def test_no_secret_is_in_an_error_a_log_or_a_repr(
    behave: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with serve_raw_http(behave) as server:
        url = server.url.replace("//", f"//u:{CANARY}@") + f"?key={CANARY}"
        launch = launch_of(url, authorization=f"Bearer {CANARY}", x_api=CANARY)
        async with drive_http(launch) as rig:
            with anyio.fail_after(5):
                error = await rig.fail()
            shown = [str(error), repr(error), str(error.data), *map(str, rig.faults)]
            shown += [
                repr(one) for one in (rig.write, rig.facts, launch, *vars(rig.write).values())
            ]
    assert CANARY in server.requests[0].headers["x-api"]
    assert CANARY not in "".join(shown) + caplog.text


async def test_what_the_server_gives_us_to_keep_is_in_no_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def behave(request: RawExchange) -> None:
        body = b'{"jsonrpc":"2.0","id":%d,"result":{}}' % json.loads(request.body or b"{}").get(
            "id", 0
        )
        headers = {"content_type": JSON, "mcp_session_id": CANARY, "set_cookie": f"a={CANARY}"}
        await request.reply(200, body, **headers)

    caplog.set_level(logging.DEBUG)
    async with serve_raw_http(behave) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.dispatcher.send_raw_request("initialize", {})
            await rig.ask()
    assert server.requests[1].headers["mcp-session-id"] == CANARY
    assert CANARY not in caplog.text


@pytest.mark.parametrize("end", ["leave", "cancel"])
async def test_leaving_ends_what_is_on_its_way(end: str) -> None:
    closed = anyio.Event()

    async def behave(request: RawExchange) -> None:
        await request.begin_events()
        await request.event({"jsonrpc": "2.0", "method": "notifications/message"})
        await request.wait_gone()
        closed.set()

    async def ask(rig: HttpRig) -> None:
        with pytest.raises(MCPError):
            await rig.ask()

    async with serve_raw_http(behave) as server:
        with anyio.fail_after(5):
            with anyio.CancelScope() as scope:
                async with (
                    anyio.create_task_group() as tasks,
                    drive_http(launch_of(server.url)) as rig,
                ):
                    tasks.start_soon(ask, rig)
                    await rig.wait_heard(1)
                    if end == "cancel":
                        scope.cancel()
            await closed.wait()
