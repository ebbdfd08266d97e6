"""The signal stream of the handshake era: opened, lost, opened again, refused; never forgotten."""

from collections.abc import AsyncIterator, Callable
from itertools import pairwise

import anyio
import httpx2
import pytest

from toolcrib.adapters.http.event_stream import EventCursor
from toolcrib.settings import Limits
from toolcrib.testing.http_rig import HANDSHAKE, MODERN, HttpRig, drive_http, launch_of
from toolcrib.testing.raw_http import Behaviour, RawExchange, serve_raw_http

BOTH_LOOPS = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def with_get(get: Behaviour, *, session: bool = True) -> Behaviour:
    """A server whose GET behaves as given."""

    async def behave(request: RawExchange) -> None:
        if request.method == "GET":
            await get(request)
        elif request.method == "DELETE":
            await request.reply(200)
        elif "id" not in request.message:
            await request.reply(202)
        else:
            body = b'{"jsonrpc":"2.0","id":%d,"result":{}}' % request.message["id"]
            headers = {"mcp_session_id": "s-1"} if session else {}
            await request.reply(200, body, content_type="application/json", **headers)

    return behave


@pytest.mark.duty(39)
@BOTH_LOOPS
@pytest.mark.parametrize("session", [True, False])
async def test_a_stream_that_drops_five_times_still_delivers(*, session: bool) -> None:
    async def get(request: RawExchange) -> None:
        number = len(server.sent("GET"))
        await request.begin_events()
        await request.raw(b"10\r\n: keep-alive\r\n\r\n\r\n")
        await request.event(CHANGED, id=f"e{number}", retry="1")
        if number > 5:
            await request.wait_gone()
        elif number % 2:
            await request.reset()
        else:
            await request.end_events()

    async with (
        serve_raw_http(with_get(get, session=session)) as server,
        drive_http(launch_of(server.url)) as rig,
    ):
        with anyio.fail_after(5):
            await rig.shake_hands()
            await rig.wait_heard(6)
    assert rig.heard == ["notifications/tools/list_changed"] * 6
    assert rig.watch.events == ["opened", "lost"] * 5 + ["opened"]
    asked = [r.headers.get("last-event-id") for r in server.sent("GET")]
    assert asked == [None, "e1", "e2", "e3", "e4", "e5"]
    carried = {r.headers.get("mcp-session-id") for r in server.sent("GET")}
    assert carried == ({"s-1"} if session else {None})
    assert {r.headers["mcp-protocol-version"] for r in server.sent("GET")} == {"2025-11-25"}


@pytest.mark.parametrize("status", [400, 401, 403, 405, 406, 501])
async def test_a_refusal_for_good_is_told_once_and_not_asked_again(status: int) -> None:
    async def get(request: RawExchange) -> None:
        await request.reply(status)

    async with serve_raw_http(with_get(get)) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.shake_hands()
            await rig.watch.wait_for("refused")
            await rig.ask("ping", HANDSHAKE)
    assert rig.watch.events == ["refused"]
    assert f"HTTP {status}" in rig.watch.reasons[0]
    assert len(server.sent("GET")) == 1


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (404, {}),
        (200, {"content_type": "text/html"}),
        (204, {}),
        (307, {"location": "http://elsewhere.example/mcp"}),
    ],
)
async def test_a_server_without_sessions_that_has_no_stream_is_told(
    status: int, headers: dict[str, str]
) -> None:
    async def get(request: RawExchange) -> None:
        await request.reply(status, b"", **headers)

    async with (
        serve_raw_http(with_get(get, session=False)) as server,
        drive_http(launch_of(server.url)) as rig,
    ):
        with anyio.fail_after(5):
            await rig.shake_hands()
            await rig.watch.wait_for("refused")
            await rig.ask("ping", HANDSHAKE)
    assert rig.watch.events == ["refused"]
    assert "elsewhere" not in rig.watch.reasons[0]
    assert not rig.facts.over


@pytest.mark.duty(39)
async def test_a_stream_for_a_lost_session_ends_the_connection() -> None:
    async def get(request: RawExchange) -> None:
        await request.reply(404)

    async with serve_raw_http(with_get(get)) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.shake_hands()
            await rig.ended.wait()
    assert rig.facts.session_lost
    assert rig.facts.over


async def test_the_modern_era_opens_no_stream() -> None:
    async def get(request: RawExchange) -> None:
        await request.reply(405)

    async with serve_raw_http(with_get(get)) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.ask("tools/list", MODERN)
            await rig.dispatcher.notify("notifications/initialized", None)
            await rig.ask("tools/list", MODERN)
    assert server.sent("GET") == []
    assert rig.watch.events == []


async def test_an_event_beyond_the_limit_is_skipped_and_not_asked_for_again() -> None:
    async def get(request: RawExchange) -> None:
        await request.begin_events()
        if len(server.sent("GET")) == 1:
            await request.event(CHANGED, id="e1", retry="1")
            await request.event(text="x" * 3_000, id="e2")
        else:
            await request.event(CHANGED)
        await request.wait_gone()

    limits = Limits(result_bytes=2_000)
    async with (
        serve_raw_http(with_get(get)) as server,
        drive_http(launch_of(server.url), limits=limits) as rig,
    ):
        with anyio.fail_after(5):
            await rig.shake_hands()
            await rig.wait_heard(2)
    assert "larger than allowed" in rig.watch.reasons[1]
    assert "last-event-id" not in server.sent("GET")[1].headers


async def test_an_unreadable_event_is_reported_and_the_stream_goes_on() -> None:
    async def get(request: RawExchange) -> None:
        await request.begin_events()
        await request.event(text="{no json")
        await request.event(CHANGED)
        await request.wait_gone()

    async with serve_raw_http(with_get(get)) as server, drive_http(launch_of(server.url)) as rig:
        with anyio.fail_after(5):
            await rig.shake_hands()
            await rig.wait_heard(1)
    assert len(rig.faults) == 1
    assert rig.watch.events == ["opened"]


class Events(httpx2.AsyncByteStream):
    """An event stream that stays silent for some virtual seconds and then ends."""

    def __init__(self, silence: float) -> None:
        self._silence = silence

    async def __aiter__(self) -> AsyncIterator[bytes]:
        await anyio.sleep(self._silence)
        yield b": bye\n\n"


def in_virtual_time(
    get: Callable[[int], httpx2.Response | None],
) -> tuple[httpx2.MockTransport, list[float]]:
    """A transport whose nth GET is answered by `get(n)` (None: never); and the times of GETs."""
    times: list[float] = []

    async def behave(request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            times.append(anyio.current_time())
            answer = get(len(times))
            if answer is None:
                await anyio.sleep_forever()
                raise AssertionError
            return answer
        if b'"id"' not in request.content:
            return httpx2.Response(202)
        headers = {"content-type": "application/json"}
        body = b'{"jsonrpc":"2.0","id":1,"result":{}}'
        return httpx2.Response(200, content=body, headers=headers)

    return httpx2.MockTransport(behave), times


async def follow(transport: httpx2.MockTransport, seconds: float) -> HttpRig:
    launch = launch_of("https://example.com/mcp")
    async with drive_http(launch, transport=transport, lots=lambda: 0.5) as rig:
        await rig.shake_hands()
        await anyio.sleep(seconds)
    return rig


def gaps(times: list[float]) -> list[float]:
    return [round(later - sooner, 3) for sooner, later in pairwise(times)]


@pytest.mark.virtual_time
async def test_failures_are_retried_for_ever_with_a_capped_backoff() -> None:
    transport, times = in_virtual_time(lambda _: httpx2.Response(503))
    rig = await follow(transport, 86_400.0)
    waits = gaps(times)
    assert waits[:7] == [0.75, 1.5, 3.0, 6.0, 12.0, 24.0, 45.0]
    assert set(waits[7:]) == {45.0}
    assert len(waits) > 1_900
    assert rig.watch.events == ["refused"], "an outage before the first stream is told once"
    assert "HTTP 503" in rig.watch.reasons[0]


@pytest.mark.virtual_time
async def test_a_retry_after_is_waited_for() -> None:
    transport, times = in_virtual_time(
        lambda _: httpx2.Response(429, headers={"retry-after": "100"})
    )
    await follow(transport, 1_000.0)
    assert set(gaps(times)) == {112.5}


@pytest.mark.virtual_time
async def test_a_stream_that_neither_opens_nor_is_refused_is_told_and_may_open_later() -> None:
    def get(number: int) -> httpx2.Response | None:
        if number == 1:
            return None
        raise AssertionError

    transport, _ = in_virtual_time(get)
    rig = await follow(transport, 60.0)
    assert rig.watch.events == ["refused"]
    assert "not open after 5 s" in rig.watch.reasons[0]


@pytest.mark.virtual_time
async def test_a_silent_stream_that_is_open_is_good() -> None:
    def get(_: int) -> httpx2.Response:
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, stream=Events(1e6))

    transport, times = in_virtual_time(get)
    rig = await follow(transport, 3_600.0)
    assert rig.watch.events == ["opened"]
    assert len(times) == 1


@pytest.mark.virtual_time
async def test_a_stream_that_opens_after_a_long_outage_is_told() -> None:
    def get(number: int) -> httpx2.Response:
        if number < 6:
            return httpx2.Response(502)
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, stream=Events(1e6))

    transport, times = in_virtual_time(get)
    rig = await follow(transport, 500.0)
    assert rig.watch.events == ["refused", "opened"]
    assert len(times) == 6


@pytest.mark.virtual_time
async def test_streams_that_end_at_once_back_off_and_long_ones_do_not() -> None:
    def get(number: int) -> httpx2.Response:
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, stream=Events(0.0 if number < 5 else 60.0))

    transport, times = in_virtual_time(get)
    rig = await follow(transport, 300.0)
    assert gaps(times)[:4] == [0.75, 1.5, 3.0, 6.0]
    assert set(gaps(times)[4:]) == {60.375}
    assert rig.watch.events[:4] == ["opened", "lost"] * 2


@pytest.mark.parametrize("lot", [0.0, 0.5, 0.999])
def test_a_delay_is_never_shorter_than_what_the_server_asked_for(lot: float) -> None:
    cursor = EventCursor()
    assert 0.05 <= cursor.delay(lot) <= 0.5
    cursor.heard(httpx2.ServerSentEvent(id="a", retry=2_000))
    assert 2.0 <= cursor.delay(lot) <= 2.5
    assert 30.0 <= cursor.delay(lot, 30.0) <= 37.5
    for _ in range(40):
        cursor.failed()
    assert 30.0 <= cursor.delay(lot) <= 60.0
    cursor.heard(httpx2.ServerSentEvent(retry=0))
    assert cursor.delay(lot) >= 0.05
    cursor.heard(httpx2.ServerSentEvent(retry=10**12))
    assert 600.0 <= cursor.delay(lot) <= 750.0


def test_the_last_id_is_kept_over_events_without_one() -> None:
    cursor = EventCursor()
    assert cursor.resumption() == {}
    cursor.heard(httpx2.ServerSentEvent(id="a"))
    cursor.heard(httpx2.ServerSentEvent())
    assert cursor.resumption() == {"last-event-id": "a"}
    cursor.skip()
    assert cursor.resumption() == {}
