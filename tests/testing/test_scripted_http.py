"""The scripted server over Streamable HTTP: statuses, sessions, streams, broken connections."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.settings import HttpLaunch
from toolcrib.testing.raw_client import RawHttp, enveloped, headers_of, raw_http
from toolcrib.testing.scripted_server import (
    Ask,
    Content,
    Cut,
    Delay,
    Drop,
    Exit,
    Fail,
    Forget,
    Garble,
    Group,
    Hang,
    Honour,
    Leave,
    Mute,
    Pages,
    Profile,
    Progress,
    Refuse,
    ScriptedServer,
    Signal,
    scripted_http,
    tool,
)

TOOLS = [tool("add")]
CHANGED = "notifications/tools/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

Server = ScriptedServer[HttpLaunch]


@asynccontextmanager
async def http(*groups: Group) -> AsyncGenerator[tuple[Server, RawHttp]]:
    """A scripted server with a client, both bounded."""
    with anyio.fail_after(5):
        async with (
            scripted_http(Content(tools=TOOLS), *groups) as server,
            raw_http(server.launch) as client,
        ):
            yield server, client


def listen(client: RawHttp) -> tuple[dict[str, Any], Mapping[str, str]]:
    """A listen to tools and prompts, with its headers."""
    wanted = {"notifications": {"toolsListChanged": True, "promptsListChanged": True}}
    message = client.request("subscriptions/listen", enveloped(wanted))
    return message, headers_of(message)


def names(answer: httpx2.Response) -> list[str]:
    return [one["name"] for one in answer.json()["result"]["tools"]]


# ---------------------------------------------------------------- the stateless revision


async def test_a_modern_client_discovers_lists_and_calls() -> None:
    async with http() as (server, client):
        found = await client.ask("server/discover")
        assert (found.status_code, found.headers["content-type"]) == (200, "application/json")
        assert found.json()["result"]["supportedVersions"] == ["2026-07-28"]
        assert names(await client.ask("tools/list")) == ["add"]
        called = await client.ask("tools/call", {"name": "add", "arguments": {"a": 1}})
        assert called.json()["result"]["content"][0]["text"] == "add(a=1)"
        assert (await server.counts()).sessions == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"mcp-protocol-version": "2025-11-25"},
        {"mcp-method": "tools/list"},
        {"mcp-name": "sub"},
        {"mcp-name": "=?base64?bm9uZQ==?="},
        {"mcp-name": "=?base64?%%%?="},
    ],
)
async def test_a_header_that_disagrees_is_refused(wrong: dict[str, str]) -> None:
    async with http() as (server, client):
        message = client.request("tools/call", enveloped({"name": "add"}))
        refused = await client.post(message, headers_of(message) | wrong)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32020)
        await server.set(Profile(strict=False))
        assert (await client.post(message, headers_of(message) | wrong)).status_code == 200


async def test_a_name_may_come_in_base64() -> None:
    async with http(Content(tools=[tool("größe")])) as (_, client):
        message = client.request("tools/call", enveloped({"name": "größe"}))
        sent = {
            **headers_of({**message, "params": {"name": ""}}),
            "mcp-name": "=?base64?Z3LDtsOfZQ==?=",
        }
        assert "result" in (await client.post(message, sent)).json()


@pytest.mark.parametrize(
    ("method", "params", "status", "code"),
    [
        ("tools/dance", {}, 404, -32601),
        ("tools/call", {"name": "nope"}, 400, -32602),
        ("tools/list", {"cursor": "x"}, 400, -32602),
    ],
)
async def test_errors_have_the_status_of_the_stateless_revision(
    method: str, params: dict[str, Any], status: int, code: int
) -> None:
    async with http() as (_, client):
        refused = await client.ask(method, params)
        assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)


async def test_a_request_without_the_envelope_is_refused_where_there_is_no_handshake() -> None:
    async with http(Profile(handshake=())) as (_, client):
        refused = await client.ask_plainly("tools/list")
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32602)
        hello = await client.ask_plainly("initialize", {"protocolVersion": "2025-11-25"})
        assert (hello.status_code, hello.json()["error"]["code"]) == (200, -32022)
        assert (await client.http.get(client.url)).status_code == 405
        assert (await client.http.delete(client.url)).status_code == 405


@pytest.mark.parametrize("body", [b"", b"no json", b"[]", b"3"])
async def test_a_body_that_is_no_message_is_refused_and_counted(body: bytes) -> None:
    async with http() as (server, client):
        refused = await client.http.post(client.url, content=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32700)
        assert (await server.counts()).unreadable == 1


async def test_other_paths_are_not_found() -> None:
    async with http() as (_, client):
        assert (await client.http.post(client.url + "/x")).status_code == 404


# ---------------------------------------------------------------- the handshake


async def test_a_session_is_given_wanted_and_ended() -> None:
    async with http() as (server, client):
        assert (await client.ask_plainly("tools/list")).status_code == 400
        hello = await client.shake_hands()
        assert hello.headers["mcp-session-id"]
        assert names(await client.ask_plainly("tools/list")) == ["add"]
        ended = await client.http.delete(client.url, headers=client.session)
        assert ended.status_code == 200
        assert (await client.ask_plainly("tools/list")).status_code == 404
        assert (await client.http.delete(client.url, headers=client.session)).status_code == 404
        counts = await server.counts()
        assert (counts.sessions, counts.requests["DELETE"]) == (1, 2)


async def test_a_handshake_without_sessions_asks_for_none() -> None:
    async with http(Profile(sessions=False, modern=())) as (_, client):
        assert (await client.ask("server/discover")).json()["error"]["code"] == -32601
        assert "mcp-session-id" not in (await client.shake_hands()).headers
        assert names(await client.ask_plainly("tools/list")) == ["add"]
        assert (await client.http.delete(client.url)).status_code == 405


async def test_a_handshake_only_server_with_sessions_refuses_the_probe_without_knowing_it() -> None:
    async with http(Profile(modern=())) as (_, client):
        refused = await client.ask("server/discover")
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize("by_rule", [True, False])
async def test_a_session_that_is_lost_is_not_found_and_a_new_one_is_given(by_rule: bool) -> None:  # noqa: FBT001
    async with http() as (server, client):
        await client.shake_hands()
        if by_rule:
            await server.on("tools/list", Forget(), times=1)
            assert (await client.ask_plainly("tools/list")).status_code == 404
        else:
            await server.forget_sessions()
        assert (await client.ask_plainly("tools/list")).status_code == 404
        lost = await client.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert lost.status_code == 404
        client.session = {}
        await client.shake_hands()
        assert names(await client.ask_plainly("tools/list")) == ["add"]
        assert (await server.counts()).sessions == 2


async def test_a_refused_handshake_gives_no_session() -> None:
    async with http() as (server, client):
        await server.on("initialize", Fail(-32000), times=1)
        assert "mcp-session-id" not in (await client.shake_hands()).headers
        assert (await server.counts()).sessions == 0


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (401, {"www-authenticate": 'Bearer resource_metadata="https://as.test"'}),
        (403, {"www-authenticate": 'Bearer error="insufficient_scope", scope="a b"'}),
        (404, {}),
        (429, {"retry-after": "7"}),
        (500, {}),
        (503, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}),
    ],
)
@pytest.mark.parametrize("event", ["tools/list", "*", "*/list"])
async def test_a_method_is_refused_with_status_and_headers(
    event: str, status: int, headers: dict[str, str]
) -> None:
    async with http() as (server, client):
        await server.on(event, Refuse(status, headers, "go away"), times=1)
        refused = await client.ask("tools/list")
        assert (refused.status_code, refused.text) == (status, "go away")
        assert headers.items() <= dict(refused.headers).items()
        assert names(await client.ask("tools/list")) == ["add"]


async def test_an_outage_at_the_probe_passes() -> None:
    async with http() as (server, client):
        await server.on("server/discover", Refuse(503), times=2)
        statuses = [(await client.ask("server/discover")).status_code for _ in range(3)]
        assert statuses == [503, 503, 200]


async def test_a_json_rpc_error_can_have_any_status() -> None:
    async with http() as (server, client):
        await server.on("tools/list", Fail(-32000, status=503))
        refused = await client.ask("tools/list")
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, -32000)


async def test_notifications_and_deletes_can_be_refused() -> None:
    async with http() as (server, client):
        await client.shake_hands()
        await server.on("notifications/*", Refuse(500))
        await server.on("DELETE", Refuse(405))
        answer = await client.post({"jsonrpc": "2.0", "method": "notifications/progress"})
        assert answer.status_code == 500
        assert (await client.http.delete(client.url, headers=client.session)).status_code == 405


# ---------------------------------------------------------------- answers that break


async def test_it_closes_in_mid_answer() -> None:
    async with http() as (server, client):
        await server.on("tools/list", Cut(), times=1)
        with pytest.raises(httpx2.RemoteProtocolError, match="complete message"):
            await client.ask("tools/list")
        assert names(await client.ask("tools/list")) == ["add"]


async def test_it_closes_in_the_middle_of_an_event() -> None:
    async with http() as (server, client):
        await server.on("tools/call", Progress(1), Cut(), times=1)
        message = client.request("tools/call", enveloped({"name": "add"}, progressToken=1))
        async with client.stream(message, headers_of(message)) as (_, events):
            assert (await events.next())["method"] == "notifications/progress"
            with pytest.raises(httpx2.RemoteProtocolError):
                await events.next()


async def test_it_closes_without_an_answer() -> None:
    async with http() as (server, client):
        await server.on("tools/list", Drop(), times=1)
        with pytest.raises(httpx2.RemoteProtocolError, match="without sending a response"):
            await client.ask("tools/list")
        assert names(await client.ask("tools/list")) == ["add"]
        assert (await server.counts()).gave_up == 0


async def test_it_closes_a_connection_as_it_is_accepted() -> None:
    async with http() as (server, client):
        await server.on("connect", Drop(), times=1)
        with pytest.raises(httpx2.HTTPError):
            await client.ask("tools/list")
        assert names(await client.ask("tools/list")) == ["add"]


async def test_it_accepts_reads_and_never_replies() -> None:
    async with http() as (server, client):
        await server.on("connect", Hang(), times=1)
        with anyio.move_on_after(0.05) as patience:
            await client.ask("tools/list")
        assert patience.cancelled_caught
        assert names(await client.ask("tools/list")) == ["add"]


async def test_a_client_that_gives_up_is_noticed() -> None:
    async with http() as (server, client):
        await server.on("tools/call", Hang())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.ask, "tools/call", {"name": "add"})
            await server.until(lambda seen: seen.calls["add"] == 1)
            tasks.cancel_scope.cancel()
        await server.until(lambda seen: seen.gave_up == 1)


async def test_an_answered_request_was_not_given_up() -> None:
    async with http() as (server, client):
        for _ in range(20):
            await client.ask("tools/list")
        counts = await server.until(lambda seen: seen.live == 0)
        assert (counts.gave_up, counts.connects) == (0, 20)


async def test_a_client_of_the_handshake_cancels_by_a_notification() -> None:
    async with http() as (server, client):
        await client.shake_hands()
        await server.on("tools/call", Hang())
        message = client.request("tools/call", {"name": "add"})
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                with pytest.raises(httpx2.RemoteProtocolError):
                    await client.post(message)

            tasks.start_soon(call)
            await server.until(lambda seen: seen.calls["add"] == 1)
            cancelled = {"requestId": message["id"]}
            note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}
            assert (await client.post(note)).status_code == 202
        assert (await server.counts()).gave_up == 1


async def test_it_answers_what_is_no_message() -> None:
    async with http() as (server, client):
        await server.on("tools/list", Garble("<html>"), times=1)
        answer = await client.ask("tools/list")
        assert (answer.status_code, answer.text) == (200, "<html>")


async def test_it_is_down_and_up_again_at_the_same_address() -> None:
    async with http() as (server, client):
        await client.ask("tools/list")
        await server.stop()
        await server.stop()
        with pytest.raises(httpx2.ConnectError):
            await client.ask("tools/list")
        await server.start()
        await server.start()
        assert names(await client.ask("tools/list")) == ["add"]


async def test_it_goes_down_by_a_rule() -> None:
    async with http() as (server, client):
        await server.on("*", Exit(), skip=1)
        await client.ask("tools/list")
        with pytest.raises(httpx2.HTTPError):
            await client.ask("tools/list")
        await server.stop()
        with pytest.raises(httpx2.ConnectError):
            await client.ask("tools/list")
        await server.calm()
        await server.start()
        assert names(await client.ask("tools/list")) == ["add"]


async def test_it_goes_down_after_an_answer() -> None:
    async with http() as (server, client):
        await server.on("tools/list", Leave())
        assert names(await client.ask("tools/list")) == ["add"]
        await server.stop()
        with pytest.raises(httpx2.ConnectError):
            await client.ask("tools/list")


async def test_every_connection_is_cut_on_request_and_none_counts_as_given_up() -> None:
    async with http() as (server, client):
        await server.on("tools/list", Hang(), times=1)
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                with pytest.raises(httpx2.HTTPError):
                    await client.ask("tools/list")

            tasks.start_soon(ask)
            await server.until(lambda seen: seen.walks["tools"] == 1)
            await server.drop()
        counts = await server.until(lambda seen: seen.live == 0)
        assert counts.gave_up == 0
        assert names(await client.ask("tools/list")) == ["add"]


# ---------------------------------------------------------------- event streams as answers


async def test_answers_can_come_as_event_streams() -> None:
    async with http(Profile(event_answers=True)) as (_, client):
        message = client.request("tools/list", enveloped())
        async with client.stream(message, headers_of(message)) as (answer, events):
            assert answer.headers["content-type"] == "text/event-stream"
            assert (await events.next())["result"]["tools"] == TOOLS
            with pytest.raises(EOFError):
                await events.next()
        hello = await client.shake_hands()
        assert hello.headers["mcp-session-id"]


async def test_a_signal_can_come_on_the_stream_of_a_request() -> None:
    async with http(Profile(declares_changes=False)) as (server, client):
        await server.on("tools/call", Signal(unasked=True))
        message = client.request("tools/call", enveloped({"name": "add"}))
        async with client.stream(message, headers_of(message)) as (_, events):
            assert (await events.next())["method"] == CHANGED
            assert (await events.next())["id"] == message["id"]


async def test_unasked_signals_need_a_request_over_http() -> None:
    async with http() as (server, _):
        with pytest.raises(ValueError, match="only a rule"):
            await server.signal(unasked=True)


async def test_it_asks_the_client_in_the_middle_of_a_call() -> None:
    async with http() as (server, client):
        await client.shake_hands()
        await server.on("tools/call", Ask("elicitation/create", {"message": "?"}))
        message = client.request("tools/call", {"name": "add"})
        async with client.stream(message) as (_, events):
            question = await events.next()
            reply = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
            assert (await client.post(reply)).status_code == 202
            assert (await events.next())["id"] == message["id"]
        (heard,) = await server.heard("")
        assert heard.message == reply


# ---------------------------------------------------------------- the GET stream


async def test_signals_flow_on_the_get_stream_of_a_session() -> None:
    async with http() as (server, client):
        await client.shake_hands()
        async with client.stream() as (answer, events):
            assert answer.status_code == 200
            await server.signal()
            await server.signal(Kind.TEMPLATES, 2)
            heard = [(await events.next())["method"] for _ in range(3)]
        assert heard == [CHANGED, *["notifications/resources/list_changed"] * 2]
        counts = await server.until(lambda seen: seen.open_streams == 0)
        assert (counts.streams, counts.requests["GET"]) == (1, 1)


@pytest.mark.parametrize(("session", "status"), [(None, 400), ("gone", 404)])
async def test_a_get_needs_a_session_that_is_known(session: str | None, status: int) -> None:
    async with http() as (_, client):
        client.session = {} if session is None else {"mcp-session-id": session}
        async with client.stream() as (answer, _events):
            assert answer.status_code == status


async def test_a_session_has_one_stream_at_a_time() -> None:
    async with http() as (server, client):
        await client.shake_hands()
        async with client.stream(), client.stream() as (second, _events):
            assert second.status_code == 409
        await server.until(lambda seen: seen.open_streams == 0)
        async with client.stream() as (third, _events):
            assert third.status_code == 200


async def test_streams_without_sessions_all_hear() -> None:
    async with (
        http(Profile(sessions=False)) as (server, client),
        client.stream() as (_, first),
        client.stream() as (_, second),
    ):
        await server.signal()
        for events in (first, second):
            assert (await events.next())["method"] == CHANGED


async def test_the_get_stream_can_be_refused() -> None:
    async with http() as (server, client):
        await client.shake_hands()
        await server.on("GET", Refuse(405, {"allow": "POST"}))
        async with client.stream() as (answer, _events):
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert (await server.counts()).streams == 0


@pytest.mark.parametrize("times", [1, 3])
async def test_the_get_stream_is_dropped_so_many_times(times: int) -> None:
    async with http() as (server, client):
        await client.shake_hands()
        await server.on("GET", Drop(), times=times)
        for _ in range(times):
            async with client.stream() as (answer, events):
                assert answer.status_code == 200
                with pytest.raises(EOFError):
                    await events.next()
        async with client.stream() as (_, events):
            await server.signal()
            assert (await events.next())["method"] == CHANGED
        assert (await server.counts()).streams == times + 1


async def test_the_get_stream_can_be_dead_without_an_error() -> None:
    async with http() as (server, client):
        await client.shake_hands()
        await server.on("GET", Mute())
        async with client.stream() as (answer, events):
            assert answer.status_code == 200
            await server.signal()
            with anyio.move_on_after(0.05) as patience:
                await events.next()
            assert patience.cancelled_caught


async def test_open_streams_can_be_dropped_and_the_session_stays() -> None:
    async with http() as (server, client):
        await client.shake_hands()
        async with client.stream() as (_, events):
            await server.drop_streams()
            with pytest.raises(EOFError):
                await events.next()
        assert names(await client.ask_plainly("tools/list")) == ["add"]


async def test_a_forgotten_session_loses_its_stream() -> None:
    async with http() as (server, client):
        await client.shake_hands()
        async with client.stream() as (_, events):
            await server.forget_sessions()
            with pytest.raises(EOFError):
                await events.next()
        async with client.stream() as (answer, _events):
            assert answer.status_code == 404


async def test_a_get_can_hang_forget_or_take_its_time() -> None:
    async with http() as (server, client):
        await client.shake_hands()
        await server.on("GET", Delay(0.01), Hang(), times=1)
        await server.on("GET", Forget(), times=1)
        with anyio.move_on_after(0.05) as patience:
            async with client.stream():
                pass
        assert patience.cancelled_caught
        async with client.stream() as (answer, _events):
            assert answer.status_code == 404
        assert (await client.ask_plainly("tools/list")).status_code == 404


# ---------------------------------------------------------------- listening


async def test_a_listen_is_acknowledged_first_and_hears_what_it_asked_for() -> None:
    content = Content(tools=TOOLS, prompts=[{"name": "p"}])
    async with http(content) as (server, client):
        message, headers = listen(client)
        async with client.stream(message, headers) as (answer, events):
            assert answer.headers["content-type"] == "text/event-stream"
            acknowledged = await events.next()
            assert acknowledged["method"] == ACKNOWLEDGED
            assert acknowledged["params"] == {
                "_meta": {SUBSCRIPTION: message["id"]},
                "notifications": {"toolsListChanged": True, "promptsListChanged": True},
            }
            await server.signal(Kind.RESOURCES)
            await server.signal(Kind.TOOLS)
            heard = await events.next()
        assert (heard["method"], heard["params"]["_meta"]) == (
            CHANGED,
            {SUBSCRIPTION: message["id"]},
        )
        counts = await server.until(lambda seen: seen.open_streams == 0)
        assert (counts.streams, counts.gave_up) == (1, 1)


async def test_an_acknowledgement_can_be_late_and_nothing_comes_before_it() -> None:
    async with http() as (server, client):
        await server.on("subscriptions/listen", Delay(0.05))
        message, headers = listen(client)
        async with anyio.create_task_group() as tasks:

            async def hear() -> None:
                async with client.stream(message, headers) as (_, events):
                    assert (await events.next())["method"] == ACKNOWLEDGED

            tasks.start_soon(hear)
            counts = await server.until(lambda seen: seen.requests["subscriptions/listen"] == 1)
            assert counts.streams == 0
            await server.signal()
        assert (await server.counts()).streams == 1


async def test_an_acknowledgement_can_be_missing_on_a_stream_that_is_open() -> None:
    async with http() as (server, client):
        await server.on("subscriptions/listen", Mute(acknowledges=False))
        message, headers = listen(client)
        async with client.stream(message, headers) as (answer, events):
            assert answer.status_code == 200
            await server.signal()
            await server.drop_streams()
            with pytest.raises(EOFError):
                await events.next()


async def test_a_listen_can_honour_fewer_kinds_or_none() -> None:
    async with http() as (server, client):
        await server.on("subscriptions/listen", Honour(), times=1)
        message, headers = listen(client)
        async with client.stream(message, headers) as (_, events):
            assert (await events.next())["params"]["notifications"] == {}
            await server.signal()
            await server.drop_streams()
            with pytest.raises(EOFError):
                await events.next()


@pytest.mark.parametrize("by_rule", [True, False])
@pytest.mark.parametrize("graceful", [True, False])
async def test_a_listen_ends_with_or_without_its_result(by_rule: bool, graceful: bool) -> None:  # noqa: FBT001
    async with http() as (server, client):
        if by_rule:
            await server.on("subscriptions/listen", Drop(graceful=graceful))
        message, headers = listen(client)
        async with client.stream(message, headers) as (_, events):
            assert (await events.next())["method"] == ACKNOWLEDGED
            if not by_rule:
                await server.drop_streams(graceful=graceful)
            if graceful:
                assert (await events.next())["result"]["_meta"] == {SUBSCRIPTION: message["id"]}
            with pytest.raises(EOFError):
                await events.next()


async def test_a_listen_can_be_unknown() -> None:
    async with http() as (server, client):
        await server.on("subscriptions/listen", Fail(-32601))
        message, headers = listen(client)
        refused = await client.post(message, headers)
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, -32601)


async def test_a_handshake_session_cannot_listen() -> None:
    async with http() as (_, client):
        await client.shake_hands()
        refused = await client.ask_plainly("subscriptions/listen", {"notifications": {}})
        assert refused.json()["error"]["code"] == -32601


# ---------------------------------------------------------------- the rest


async def test_a_large_listing_arrives_whole() -> None:
    tools = [tool(f"tool_{number}", text={"type": "string"}) for number in range(10_000)]
    async with http(Content(tools=tools), Pages(size=4_000)) as (_, client):
        listed: list[Any] = []
        cursor: dict[str, Any] = {}
        while True:
            result = (await client.ask("tools/list", cursor)).json()["result"]
            listed += result["tools"]
            if "nextCursor" not in result:
                break
            cursor = {"cursor": result["nextCursor"]}
        assert listed == tools


async def test_it_keeps_the_headers_that_it_heard() -> None:
    async with http() as (server, client):
        message = client.request("tools/list", enveloped())
        await client.post(message, headers_of(message) | {"Mcp-Param-Region": "eu"})
        (heard,) = await server.heard("tools/list")
        assert heard.headers["mcp-param-region"] == "eu"
        assert heard.message == message


async def test_connections_are_kept_alive_for_those_who_want() -> None:
    async with http() as (server, client):
        async with httpx2.AsyncClient(trust_env=False) as keeping:
            for _ in range(3):
                message = client.request("tools/list", enveloped())
                await keeping.post(client.url, json=message, headers=headers_of(message))
            counts = await server.counts()
        assert (counts.connects, counts.live, counts.walks["tools"]) == (1, 1, 3)


async def test_its_settings_and_entry_reach_it() -> None:
    async with http() as (server, client):
        assert server.entry() == {"type": "http", "url": client.url}
        assert server.settings().launch == server.launch


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_it_runs_on_both_event_loops() -> None:
    async with http() as (_, client):
        assert names(await client.ask("tools/list")) == ["add"]
