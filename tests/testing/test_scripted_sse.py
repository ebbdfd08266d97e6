"""The scripted server over HTTP+SSE: a stream that says where to post, and answers on it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.settings import HttpLaunch
from toolcrib.testing.raw_client import HELLO, Events, RawHttp, enveloped, raw_http
from toolcrib.testing.scripted_server import (
    Action,
    Ask,
    Content,
    Cut,
    Delay,
    Drop,
    Exit,
    Fail,
    Garble,
    Group,
    Hang,
    Leave,
    Mute,
    Noise,
    Profile,
    Progress,
    Refuse,
    ScriptedServer,
    Signal,
    scripted_sse,
    tool,
)

TOOLS = [tool("add")]
CHANGED = "notifications/tools/list_changed"
Server = ScriptedServer[HttpLaunch]


class Talk:
    """A client whose answers come on a stream."""

    def __init__(self, client: RawHttp, events: Events, address: str) -> None:
        self.events = events
        self._client = client
        self._address = str(httpx2.URL(client.url).join(address))

    async def post(self, message: object) -> httpx2.Response:
        return await self._client.http.post(self._address, json=message)

    async def begin(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        message = self._client.request(method, params)
        assert (await self.post(message)).status_code == 202
        return message

    async def exhaust(self, method: str) -> None:
        """Ask, and read until the stream breaks."""
        await self.begin(method)
        while True:
            await self.events.next()

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        message = await self.begin(method, params)
        answer = await self.events.next()
        assert answer["id"] == message["id"]
        return answer


@asynccontextmanager
async def sse(*groups: Group) -> AsyncGenerator[tuple[Server, RawHttp]]:
    with anyio.fail_after(5):
        async with (
            scripted_sse(Content(tools=TOOLS), *groups) as server,
            raw_http(server.launch) as client,
        ):
            yield server, client


@asynccontextmanager
async def talk(client: RawHttp) -> AsyncGenerator[Talk]:
    async with client.stream() as (answer, events):
        assert answer.headers["content-type"] == "text/event-stream"
        yield Talk(client, events, await events.next_data())


async def test_a_client_shakes_hands_lists_and_calls_over_its_stream() -> None:
    async with sse() as (server, client), talk(client) as host:
        hello = await host.ask("initialize", dict(HELLO))
        assert hello["result"]["protocolVersion"] == "2025-11-25"
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await host.post(note)).status_code == 202
        listed = await host.ask("tools/list")
        assert listed["result"] == {"tools": TOOLS}
        called = await host.ask("tools/call", {"name": "add", "arguments": {"a": 1}})
        assert called["result"]["content"][0]["text"] == "add(a=1)"
        counts = await server.counts()
        assert (counts.sessions, counts.streams, counts.requests["GET"]) == (1, 1, 1)


async def test_it_speaks_the_handshake_only_unless_told() -> None:
    async with sse() as (_, client), talk(client) as host:
        refused = await host.ask("server/discover", enveloped())
        assert refused["error"]["code"] == -32601
    async with sse(Profile()) as (_, client), talk(client) as host:
        assert "result" in await host.ask("server/discover", enveloped())


async def test_a_post_to_its_address_is_not_allowed_as_a_probe_must_see() -> None:
    async with sse() as (server, client):
        assert (await client.ask("server/discover")).status_code == 405
        other = str(httpx2.URL(client.url).join("/mcp"))
        assert (await client.http.post(other)).status_code == 404
        assert server.entry() == {"type": "sse", "url": client.url}


async def test_signals_come_on_the_stream() -> None:
    async with sse() as (server, client), talk(client) as host:
        await server.signal(count=2)
        await server.signal(Kind.PROMPTS)
        heard = [(await host.events.next())["method"] for _ in range(3)]
        assert heard == [CHANGED, CHANGED, "notifications/prompts/list_changed"]


async def test_a_storm_and_answers_share_the_stream() -> None:
    async with sse() as (server, client), talk(client) as host:
        await server.on("tools/list", Signal(count=1_000), Progress(1))
        message = await host.begin("tools/list", {"_meta": {"progressToken": 9}})
        for _ in range(1_000):
            assert (await host.events.next())["method"] == CHANGED
        assert (await host.events.next())["params"] == {"progressToken": 9, "progress": 1}
        assert (await host.events.next())["id"] == message["id"]


async def test_a_post_without_its_stream_is_not_found() -> None:
    async with sse() as (server, client):
        async with talk(client) as host:
            pass
        await server.until(lambda seen: seen.open_streams == 0)
        assert (await host.post(client.request("ping"))).status_code == 404


async def test_a_body_that_is_no_message_is_refused_and_counted() -> None:
    async with sse() as (server, client), talk(client) as host:
        answer = await host.post([1])
        assert answer.status_code == 400
        assert (await server.counts()).unreadable == 1


@pytest.mark.parametrize("status", [401, 429, 503])
async def test_a_post_can_be_refused_and_nothing_comes_on_the_stream(status: int) -> None:
    async with sse() as (server, client), talk(client) as host:
        await server.on("tools/list", Refuse(status, {"retry-after": "3"}), times=1)
        refused = await host.post(client.request("tools/list"))
        assert (refused.status_code, refused.headers["retry-after"]) == (status, "3")
        assert "result" in await host.ask("tools/list")


async def test_notifications_can_be_refused() -> None:
    async with sse() as (server, client), talk(client) as host:
        await server.on("notifications/initialized", Refuse(500))
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await host.post(note)).status_code == 500


@pytest.mark.parametrize("status", [401, 404, 405])
async def test_the_stream_itself_can_be_refused(status: int) -> None:
    async with sse() as (server, client):
        await server.on("GET", Refuse(status))
        async with client.stream() as (answer, _events):
            assert answer.status_code == status


async def test_the_stream_can_hang_or_say_nothing() -> None:
    async with sse() as (server, client):
        await server.on("GET", Hang(), times=1)
        await server.on("GET", Mute(), times=1)
        for _ in range(2):
            with anyio.move_on_after(0.05) as patience:
                async with talk(client):
                    pass
            assert patience.cancelled_caught
        async with talk(client) as host:
            assert "result" in await host.ask("tools/list")


async def test_the_stream_can_be_dropped() -> None:
    async with sse() as (server, client):
        await server.on("GET", Drop(), times=1)
        async with talk(client) as host:
            with pytest.raises(EOFError):
                await host.events.next()
        async with talk(client) as host:
            await server.drop_streams()
            with pytest.raises(EOFError):
                await host.events.next()


async def test_a_client_cancels_by_a_notification() -> None:
    async with sse() as (server, client), talk(client) as host:
        await server.on("tools/call", Hang())
        message = await host.begin("tools/call", {"name": "add"})
        cancelled = {"requestId": message["id"]}
        await host.post(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}
        )
        assert (await server.counts()).gave_up == 1
        assert "result" in await host.ask("tools/list")


async def test_a_post_is_accepted_while_its_answer_takes_time() -> None:
    async with sse() as (server, client), talk(client) as host:
        await server.on("tools/list", Delay(0.05), times=1)
        late = await host.begin("tools/list")
        assert (await host.ask("ping"))["result"] == {}
        assert (await host.events.next())["id"] == late["id"]


async def test_it_answers_with_errors_and_with_garbage() -> None:
    async with sse() as (server, client), talk(client) as host:
        await server.on("tools/list", Fail(-32000), times=1)
        assert (await host.ask("tools/list"))["error"]["code"] == -32000
        await server.on("tools/list", Garble("{"), times=1)
        await host.begin("tools/list")
        assert await host.events.next_data() == "{"


@pytest.mark.parametrize("action", [Cut(), Drop()])
async def test_it_breaks_the_stream_in_the_place_of_an_answer(action: Action) -> None:
    async with sse() as (server, client), talk(client) as host:
        await server.on("tools/list", action)
        await host.begin("tools/list")
        with pytest.raises(httpx2.RemoteProtocolError):
            await host.events.next()
        await server.until(lambda seen: seen.open_streams == 0)


@pytest.mark.parametrize("action", [Exit(), Leave()])
async def test_it_goes_down_and_comes_up_again(action: Action) -> None:
    async with sse() as (server, client):
        await server.on("tools/list", action, times=1)
        async with talk(client) as host:
            with pytest.raises(httpx2.HTTPError):
                await host.exhaust("tools/list")
        await server.stop()
        with pytest.raises(httpx2.ConnectError):
            await client.ask("tools/list")
        await server.start()
        async with talk(client) as host:
            assert "result" in await host.ask("tools/list")


async def test_it_asks_the_client_in_the_middle_of_a_call() -> None:
    async with sse() as (server, client), talk(client) as host:
        await server.on("tools/call", Ask("roots/list"))
        message = await host.begin("tools/call", {"name": "add"})
        question = await host.events.next()
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": question["id"], "result": {}}
        assert (await host.post(reply)).status_code == 202
        assert (await host.events.next())["id"] == message["id"]


async def test_a_listen_over_it_ends_with_a_cancellation() -> None:
    async with sse(Profile()) as (server, client), talk(client) as host:
        wanted = {"notifications": {"toolsListChanged": True}}
        message = await host.begin("subscriptions/listen", enveloped(wanted))
        await host.events.next()
        await server.on("subscriptions/listen", Drop())
        second = await host.begin("subscriptions/listen", enveloped(wanted))
        await host.events.next()
        ended = await host.events.next()
        assert ended["params"]["requestId"] == second["id"] != message["id"]


async def test_what_it_cannot_do_is_refused() -> None:
    async with sse() as (server, _):
        with pytest.raises(ValueError, match="stdio"):
            await server.on("tools/list", Noise())
        with pytest.raises(ValueError, match="sessions"):
            await server.forget_sessions()
        assert await server.processes() == ()
