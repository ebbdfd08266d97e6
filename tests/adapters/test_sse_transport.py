"""The old HTTP+SSE transport: one stream brings everything, and its end is the end."""

from collections.abc import AsyncIterator

import anyio
import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from toolcrib.adapters.http.outcome import HttpOutcome, split_outcome
from toolcrib.adapters.http.sse_transport import open_sse
from toolcrib.errors import ConfigError
from toolcrib.settings import Limits
from toolcrib.testing.http_rig import WatchLog, drive_sse, launch_of
from toolcrib.testing.raw_http import Behaviour, RawExchange, serve_raw_http

BOTH_LOOPS = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
CANARY = "canary-8d1f0c77aa52"


class OldServer:
    """Streams to one client; what a POST does can be replaced."""

    def __init__(self, address: str = "/messages?s=1") -> None:
        self.address = address
        self.stream: RawExchange | None = None
        self.streaming = anyio.Event()
        self.end = anyio.Event()
        self.on_call: Behaviour = self.answer

    async def __call__(self, request: RawExchange) -> None:
        if request.method == "GET":
            self.stream = request
            await request.begin_events()
            await request.event(event="endpoint", text=self.address)
            self.streaming.set()
            await self.end.wait()
            await request.end_events()
            await request.hang_up()
        elif request.message.get("method") == "tools/call":
            await self.on_call(request)
        else:
            await request.reply(202)

    async def answer(self, request: RawExchange) -> None:
        await request.reply(202, b"Accepted")
        await self.say({"jsonrpc": "2.0", "id": request.message["id"], "result": {"ok": 1}})

    async def say(self, message: object) -> None:
        assert self.stream is not None
        await self.stream.event(message, event="message")


def outcome_of(error: MCPError) -> HttpOutcome:
    outcome, _ = split_outcome(error.data)
    assert outcome is not None
    return outcome


@BOTH_LOOPS
async def test_requests_go_by_post_and_answers_and_signals_come_by_the_stream() -> None:
    old = OldServer()
    async with serve_raw_http(old) as server:
        launch = launch_of(server.url, authorization="Bearer t")
        async with drive_sse(launch) as rig:
            with anyio.fail_after(5):
                assert await rig.ask() == {"ok": 1}
                await old.say(CHANGED)
                await rig.wait_heard(1)
            assert rig.watch.events == ["opened"]
            assert not rig.facts.over
    call = server.sent("POST")[0]
    assert (call.path, call.headers["authorization"]) == ("/messages?s=1", "Bearer t")
    assert server.sent("GET")[0].headers["accept"] == "text/event-stream"


@BOTH_LOOPS
async def test_the_end_of_the_stream_is_the_end_of_the_connection() -> None:
    old = OldServer()
    async with serve_raw_http(old) as server, drive_sse(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.ask()
            old.end.set()
            await rig.ended.wait()
    assert rig.watch.events == ["opened", "lost"]
    assert "ended the event stream" in rig.facts.over
    assert len(server.sent("GET")) == 1


async def test_a_request_in_flight_fails_when_the_stream_breaks() -> None:
    old = OldServer()

    async def break_stream(request: RawExchange) -> None:
        await request.reply(202)
        assert old.stream is not None
        await old.stream.reset()

    old.on_call = break_stream
    async with serve_raw_http(old) as server, drive_sse(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            error = await rig.fail()
    assert error.code == -32000
    assert "connection broke" in rig.facts.over
    assert rig.watch.events == ["opened", "lost"]


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:9/messages",
        "https://elsewhere.example/m",
        "//elsewhere.example/m",
        "http://[",
    ],
)
async def test_an_address_on_another_origin_is_refused(address: str) -> None:
    async with serve_raw_http(OldServer(address)) as server:
        with anyio.fail_after(5), pytest.raises(MCPError) as caught:
            async with drive_sse(launch_of(server.url)):
                pytest.fail("it opened")
    assert outcome_of(caught.value).fault == "endpoint"
    assert "another origin" in caught.value.message
    assert "elsewhere" not in caught.value.message
    assert server.sent("POST") == []


async def test_an_absolute_address_on_the_same_origin_is_used() -> None:
    old = OldServer()
    async with serve_raw_http(old) as server:
        old.address = server.url.replace("/mcp", "/elsewhere/m")
        async with drive_sse(launch_of(server.url)) as rig:
            with anyio.fail_after(5):
                assert await rig.ask() == {"ok": 1}
    assert server.sent("POST")[0].path == "/elsewhere/m"


async def no_endpoint(request: RawExchange) -> None:
    await request.begin_events()
    await request.event(CHANGED)
    await request.end_events()


async def unauthorized(request: RawExchange) -> None:
    await request.reply(401, www_authenticate="Bearer")


async def busy(request: RawExchange) -> None:
    await request.reply(503, retry_after="7")


async def web_page(request: RawExchange) -> None:
    await request.reply(200, b"<html>", content_type="text/html")


async def away(request: RawExchange) -> None:
    await request.reply(302, location="https://elsewhere.example/sse")


async def hang_up(request: RawExchange) -> None:
    await request.hang_up()


@pytest.mark.parametrize(
    ("behave", "expected"),
    [
        (no_endpoint, HttpOutcome(fault="endpoint")),
        (unauthorized, HttpOutcome(401, challenge="Bearer")),
        (busy, HttpOutcome(503, retry_after=7.0)),
        (web_page, HttpOutcome(200, fault="content_type")),
        (away, HttpOutcome(302, fault="redirect")),
        (hang_up, HttpOutcome(fault="reset")),
    ],
    ids=["no_endpoint", "unauthorized", "busy", "web_page", "away", "hang_up"],
)
async def test_a_stream_that_cannot_be_opened_says_why(
    behave: Behaviour, expected: HttpOutcome
) -> None:
    async with serve_raw_http(behave) as server:
        with anyio.fail_after(5), pytest.raises(MCPError) as caught:
            async with drive_sse(launch_of(server.url, x_api=CANARY)):
                pytest.fail("it opened")
    assert outcome_of(caught.value) == expected
    assert CANARY not in f"{caught.value.message}{caught.value.data}"


async def test_a_redirect_of_the_stream_within_the_origin_is_followed() -> None:
    old = OldServer()

    async def behave(request: RawExchange) -> None:
        if request.path == "/mcp":
            await request.reply(302, location="/sse")
        else:
            await old(request)

    async with serve_raw_http(behave) as server, drive_sse(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            assert await rig.ask() == {"ok": 1}


class Silent(httpx2.AsyncByteStream):
    """An event stream on which nothing ever comes."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        await anyio.sleep_forever()
        yield b""


@pytest.mark.virtual_time
async def test_a_stream_that_names_no_address_is_given_up_after_the_time_of_a_request() -> None:
    def behave(_: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, stream=Silent())

    begun = anyio.current_time()
    transport = httpx2.MockTransport(behave)
    with pytest.raises(MCPError) as caught:
        async with drive_sse(launch_of("https://example.com/sse"), transport=transport):
            pytest.fail("it opened")
    assert anyio.current_time() - begun == Limits().request_seconds
    assert "none in 20 s" in caught.value.message


@pytest.mark.parametrize("status", [401, 500, 503])
async def test_a_post_that_is_refused_ends_its_request_only(status: int) -> None:
    old = OldServer()
    answer = old.on_call

    async def refuse_once(request: RawExchange) -> None:
        old.on_call = answer
        await request.reply(status, www_authenticate="Bearer")

    old.on_call = refuse_once
    async with serve_raw_http(old) as server, drive_sse(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            error = await rig.fail()
            assert await rig.ask() == {"ok": 1}
    assert outcome_of(error) == HttpOutcome(status, challenge="Bearer")


async def test_a_post_whose_connection_breaks_ends_its_request_only() -> None:
    old = OldServer()
    answer = old.on_call

    async def break_once(request: RawExchange) -> None:
        old.on_call = answer
        await request.reset()

    old.on_call = break_once
    async with serve_raw_http(old) as server, drive_sse(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            error = await rig.fail()
            assert await rig.ask() == {"ok": 1}
    assert outcome_of(error) == HttpOutcome(fault="reset")


async def test_a_post_to_a_session_that_is_gone_ends_the_connection() -> None:
    old = OldServer()

    async def gone(request: RawExchange) -> None:
        await request.reply(404, b"no such session")

    old.on_call = gone
    async with serve_raw_http(old) as server, drive_sse(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            error = await rig.fail()
            await rig.ended.wait()
    assert outcome_of(error) == HttpOutcome(404)
    assert rig.facts.session_lost


async def test_an_event_beyond_the_limit_ends_the_connection_by_the_name_of_the_limit() -> None:
    old = OldServer()

    async def flood(request: RawExchange) -> None:
        await request.reply(202)
        await old.say("x" * 5_000)

    old.on_call = flood
    limits = Limits(walk_bytes=2_000, result_bytes=1_000)
    async with (
        serve_raw_http(old) as server,
        drive_sse(launch_of(server.url), limits=limits) as rig,
    ):
        with anyio.fail_after(5):
            await rig.fail()
    assert "walk_bytes: 2000" in rig.facts.over


async def test_an_unreadable_event_is_reported_and_the_stream_goes_on() -> None:
    old = OldServer()
    async with serve_raw_http(old) as server, drive_sse(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await old.streaming.wait()
            await old.say(["no", "message"])
            assert await rig.ask() == {"ok": 1}
    assert len(rig.faults) == 1


async def test_a_cancellation_is_posted() -> None:
    old = OldServer()
    called, told = anyio.Event(), anyio.Event()

    async def behave(request: RawExchange) -> None:
        await old(request)
        if request.method == "POST" and request.message["method"] == "notifications/cancelled":
            told.set()

    async def never(request: RawExchange) -> None:
        await request.reply(202)
        called.set()

    old.on_call = never
    async with serve_raw_http(behave) as server, drive_sse(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(rig.ask)
                await called.wait()
                tasks.cancel_scope.cancel()
            await told.wait()


async def test_leaving_closes_the_stream_without_calling_it_lost() -> None:
    closed = anyio.Event()

    async def behave(request: RawExchange) -> None:
        await request.begin_events()
        await request.event(event="endpoint", text="/m")
        await request.wait_gone()
        closed.set()

    async with serve_raw_http(behave) as server:
        with anyio.fail_after(5):
            async with drive_sse(launch_of(server.url)) as rig:
                pass
            await closed.wait()
    assert rig.watch.events == ["opened"]


@pytest.mark.parametrize(
    "url", ["", "example.com/sse", "ftp://example.com/", "http://", "http://a:b/"]
)
async def test_a_url_that_cannot_be_used_is_a_configuration_error(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        async with open_sse(launch_of(url), limits=Limits(), watch=WatchLog()):
            pytest.fail("it opened")
    assert not url or url not in str(caught.value)
