"""The scripted server as a process: what it really writes, and how it really ends."""

import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.settings import Secret, StdioLaunch
from toolcrib.testing.raw_client import RawPipe, enveloped, raw_pipe
from toolcrib.testing.scripted_server import (
    Action,
    Answer,
    Ask,
    Change,
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
    Noise,
    Pad,
    Pages,
    Profile,
    Progress,
    Refuse,
    ScriptedServer,
    Signal,
    scripted_stdio,
    tool,
)

TOOLS = [tool("add"), tool("grow")]
LISTEN = {"notifications": {"toolsListChanged": True, "promptsListChanged": True}}
CHANGED = "notifications/tools/list_changed"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

Server = ScriptedServer[StdioLaunch]


@asynccontextmanager
async def stdio(*groups: Group) -> AsyncGenerator[tuple[Server, RawPipe]]:
    """A scripted server with one process, both bounded."""
    with anyio.fail_after(5):
        async with (
            scripted_stdio(Content(tools=TOOLS), *groups) as server,
            raw_pipe(server.launch) as pipe,
        ):
            yield server, pipe


def names(answer: dict[str, Any]) -> list[str]:
    return [one["name"] for one in answer["result"]["tools"]]


async def rest_of(pipe: RawPipe) -> bytes:
    """Everything that is still on stdout, up to its end."""
    received = b""
    try:
        while True:
            received += await pipe.line()
    except (anyio.IncompleteRead, anyio.EndOfStream):
        return received


# ---------------------------------------------------------------- both eras


async def test_a_modern_client_discovers_lists_and_calls() -> None:
    async with stdio() as (_, pipe):
        found = (await pipe.ask("server/discover"))["result"]
        assert found["supportedVersions"] == ["2026-07-28"]
        assert found["capabilities"] == {"tools": {"listChanged": True}}
        listed = (await pipe.ask("tools/list"))["result"]
        assert [one["name"] for one in listed["tools"]] == ["add", "grow"]
        assert (listed["resultType"], listed["ttlMs"], listed["cacheScope"]) == (
            "complete",
            0,
            "private",
        )
        called = await pipe.ask("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
        assert called["result"]["content"] == [{"type": "text", "text": "add(a=1, b=2)"}]


async def test_a_client_of_the_handshake_shakes_hands_lists_and_calls() -> None:
    async with stdio() as (server, pipe):
        hello = (await pipe.shake_hands())["result"]
        assert hello["protocolVersion"] == "2025-11-25"
        listed = (await pipe.ask_plainly("tools/list"))["result"]
        assert set(listed) == {"tools"}
        called = await pipe.ask_plainly("tools/call", {"name": "add"})
        assert called["result"] == {"content": [{"type": "text", "text": "add()"}]}
        counts = await server.until(
            lambda seen: seen.notifications["notifications/initialized"] > 0
        )
        assert counts.sessions == 1


async def test_the_other_kinds_are_listed_used_and_declared() -> None:
    content = Content(
        prompts=[{"name": "p"}],
        resources=[{"uri": "file:///r", "name": "r"}],
        templates=[{"uriTemplate": "file:///{x}", "name": "t"}],
    )
    async with stdio(content) as (_, pipe):
        found = (await pipe.ask("server/discover"))["result"]
        assert set(found["capabilities"]) == {"tools", "prompts", "resources"}
        for kind in (Kind.PROMPTS, Kind.RESOURCES, Kind.TEMPLATES):
            listed = (await pipe.ask(kind.method))["result"][kind.field]
            assert listed == list(content.of(kind, 1))
        read = (await pipe.ask("resources/read", {"uri": "file:///r"}))["result"]
        assert (read["contents"][0]["uri"], read["ttlMs"]) == ("file:///r", 0)
        got = (await pipe.ask("prompts/get", {"name": "p"}))["result"]
        assert got["messages"][0]["content"]["text"].startswith("p:")
        argument = {"name": "x", "value": "ab"}
        ended = (await pipe.ask("completion/complete", {"argument": argument}))["result"]
        assert ended["completion"]["values"] == ["ab!"]


async def test_a_handshake_only_server_knows_no_discover_and_goes_on() -> None:
    async with stdio(Profile(modern=())) as (_, pipe):
        assert (await pipe.ask("server/discover"))["error"]["code"] == -32601
        assert (await pipe.shake_hands())["result"]["protocolVersion"] == "2025-11-25"


async def test_a_modern_only_server_refuses_the_handshake_and_says_what_it_speaks() -> None:
    async with stdio(Profile(handshake=())) as (_, pipe):
        error = (await pipe.shake_hands())["error"]
        assert (error["code"], error["data"]["supported"]) == (-32022, ["2026-07-28"])


@pytest.mark.parametrize(
    ("asked", "answered"), [("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")]
)
async def test_a_revision_is_negotiated(asked: str, answered: str) -> None:
    async with stdio() as (_, pipe):
        hello = await pipe.ask_plainly("initialize", {"protocolVersion": asked})
        assert hello["result"]["protocolVersion"] == answered


async def test_an_unknown_stateless_revision_is_refused_with_those_it_speaks() -> None:
    async with stdio(Profile(modern=("2027-01-01",))) as (_, pipe):
        error = (await pipe.ask("tools/list"))["error"]
        assert error["code"] == -32022
        assert error["data"] == {"supported": ["2027-01-01"], "requested": "2026-07-28"}


async def test_a_process_keeps_to_the_era_it_was_opened_in() -> None:
    async with stdio() as (server, pipe):
        await pipe.ask("tools/list")
        assert (await pipe.ask_plainly("initialize"))["error"]["code"] == -32022
        async with raw_pipe(server.launch) as other:
            await other.shake_hands()
            assert (await other.ask("tools/list"))["error"]["code"] == -32600


async def test_an_unknown_tool_and_an_unknown_method_are_told_apart() -> None:
    async with stdio() as (_, pipe):
        assert (await pipe.ask("tools/call", {"name": "nope"}))["error"]["code"] == -32602
        assert (await pipe.ask("tools/dance"))["error"]["code"] == -32601


# ---------------------------------------------------------------- switched while it runs


async def test_content_pages_and_profile_change_between_two_requests() -> None:
    async with stdio() as (server, pipe):
        assert names(await pipe.ask("tools/list")) == ["add", "grow"]
        await server.set(Content(tools=[tool("x"), tool("y")]), Pages(size=1))
        listed = await pipe.ask("tools/list")
        assert names(listed) == ["x"]
        cursor = listed["result"]["nextCursor"]
        assert names(await pipe.ask("tools/list", {"cursor": cursor})) == ["y"]
        await server.set(Profile(capabilities={"logging": {}}, instructions="Mind the gap."))
        found = (await pipe.ask("server/discover"))["result"]
        assert (found["capabilities"], found["instructions"]) == ({"logging": {}}, "Mind the gap.")


async def test_rules_can_be_forgotten() -> None:
    async with stdio() as (server, pipe):
        await server.on("*", Fail(-32000, "down", {"why": "x"}))
        error = (await pipe.ask("tools/list"))["error"]
        assert error == {"code": -32000, "message": "down", "data": {"why": "x"}}
        await server.calm()
        assert names(await pipe.ask("tools/list")) == ["add", "grow"]


async def test_one_page_of_a_walk_can_fail() -> None:
    async with stdio(Pages(size=1)) as (server, pipe):
        await server.on("tools/list:2", Fail(-32603))
        first = await pipe.ask("tools/list")
        second = await pipe.ask("tools/list", {"cursor": first["result"]["nextCursor"]})
        assert second["error"]["code"] == -32603


async def test_a_cursor_that_was_never_given_is_refused() -> None:
    async with stdio() as (_, pipe):
        assert (await pipe.ask("tools/list", {"cursor": "x"}))["error"]["code"] == -32602


@pytest.mark.parametrize("action", [Refuse(503), Forget()])
async def test_what_needs_http_is_refused(action: Action) -> None:
    async with stdio() as (server, _):
        with pytest.raises(ValueError, match="http"):
            await server.on("*", action)
        with pytest.raises(ValueError, match="sessions"):
            await server.forget_sessions()


# ---------------------------------------------------------------- how a process ends


@pytest.mark.parametrize("skip", [0, 2])
async def test_it_exits_at_the_nth_request(skip: int) -> None:
    async with stdio() as (server, pipe):
        await server.on("*", Exit(3), skip=skip)
        for _ in range(skip):
            await pipe.ask("tools/list")
        await pipe.begin("tools/list", enveloped())
        assert await pipe.process.wait() == 3
        assert await rest_of(pipe) == b""
        assert (await server.until(lambda seen: seen.live == 0)).all_requests == skip + 1


async def test_it_exits_at_the_probe_and_the_next_process_is_asked_anew() -> None:
    async with stdio(Profile(modern=())) as (server, pipe):
        await server.on("server/discover", Exit(1))
        await pipe.begin("server/discover", enveloped())
        assert await pipe.process.wait() == 1
        async with raw_pipe(server.launch) as second:
            assert "result" in await second.shake_hands()
        assert (await server.counts()).connects == 2


async def test_it_answers_and_then_exits() -> None:
    async with stdio() as (server, pipe):
        await server.on("tools/list", Leave(0))
        assert names(await pipe.ask("tools/list")) == ["add", "grow"]
        assert await pipe.process.wait() == 0


async def test_it_exits_as_it_starts_while_it_is_down() -> None:
    async with stdio() as (server, pipe):
        await server.stop()
        assert await pipe.process.wait() == 1
        async with raw_pipe(server.launch) as second:
            assert await second.process.wait() == 1
        await server.start()
        async with raw_pipe(server.launch) as third:
            assert "result" in await third.ask("tools/list")


async def test_it_exits_at_its_start_so_many_times() -> None:
    with anyio.fail_after(5):
        async with scripted_stdio() as server:
            await server.on("connect", Exit(9), times=2)
            for _ in range(2):
                async with raw_pipe(server.launch) as pipe:
                    assert await pipe.process.wait() == 9
            async with raw_pipe(server.launch) as pipe:
                assert "result" in await pipe.ask("tools/list")


async def test_the_end_of_stdin_ends_it() -> None:
    async with stdio() as (_, pipe):
        await pipe.ask("tools/list")
        await pipe.stdin.aclose()
        assert await pipe.process.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it(number: signal.Signals) -> None:
    async with stdio() as (server, pipe):
        await pipe.ask("tools/list")
        pipe.process.send_signal(number)
        assert await pipe.process.wait() != 0
        await server.until(lambda seen: seen.live == 0)


async def test_a_stubborn_one_outlives_both_and_is_killed() -> None:
    async with stdio(Profile(stubborn=True)) as (server, pipe):
        await pipe.ask("tools/list")
        pipe.process.terminate()
        assert "result" in await pipe.ask("tools/list")
        await pipe.stdin.aclose()
        await server.set(Content(tools=[tool("still_there")]))
        await server.signal(unasked=True)
        assert (await pipe.next())["method"] == CHANGED
        pipe.process.kill()
        assert await pipe.process.wait() == -signal.SIGKILL
        await server.until(lambda seen: seen.live == 0)


async def test_no_process_outlives_the_script() -> None:
    with anyio.fail_after(5):
        async with scripted_stdio() as server:
            process = await anyio.open_process([server.launch.command, *server.launch.args])
            await server.until(lambda seen: seen.live == 1)
        assert await process.wait() == 0
        await process.aclose()


async def test_a_process_without_its_script_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    with anyio.fail_after(5):
        async with scripted_stdio() as server:
            launch = server.launch
        async with raw_pipe(launch) as pipe:
            assert await pipe.process.wait() == 1
    assert "not running any more" in capfd.readouterr().err


# ---------------------------------------------------------------- what is wrong with an answer


async def test_it_never_answers_and_goes_on_with_others() -> None:
    async with stdio() as (server, pipe):
        await server.on("server/discover", Hang())
        await pipe.begin("server/discover", enveloped())
        assert names(await pipe.ask("tools/list")) == ["add", "grow"]
        assert not pipe.passed


async def test_a_process_that_hangs_from_its_start_answers_nothing() -> None:
    with anyio.fail_after(5):
        async with scripted_stdio() as server:
            await server.on("connect", Hang())
            async with raw_pipe(server.launch) as pipe:
                await pipe.begin("tools/list", enveloped())
                await pipe.stdin.aclose()
                assert await rest_of(pipe) == b""
            assert (await server.counts()).all_requests == 0


async def test_a_client_can_cancel_what_hangs() -> None:
    async with stdio() as (server, pipe):
        await server.on("tools/call", Hang())
        asked = await pipe.begin("tools/call", enveloped({"name": "add"}))
        await server.until(lambda seen: seen.calls["add"] == 1)
        await pipe.send({"method": "notifications/cancelled", "params": {"requestId": asked}})
        assert (await server.until(lambda seen: seen.gave_up == 1)).calls["add"] == 1


async def test_it_breaks_off_in_mid_answer() -> None:
    async with stdio() as (server, pipe):
        await server.on("tools/list", Cut())
        await pipe.begin("tools/list", enveloped())
        with pytest.raises(anyio.IncompleteRead):
            await pipe.line()
        assert await pipe.process.wait() == 1


async def test_half_an_answer_is_really_written() -> None:
    async with stdio() as (server, pipe):
        whole = await pipe.ask("tools/list")
        await server.on("tools/list", Cut())
        await pipe.begin("tools/list", enveloped())
        assert pipe.process.stdout is not None
        half = await pipe.process.stdout.receive()
        assert half.startswith(b'{"jsonrpc"')
        assert 0 < len(half) < len(str(whole))


async def test_it_closes_its_output_and_lives_on() -> None:
    async with stdio() as (server, pipe):
        await server.on("tools/list", Drop())
        await pipe.begin("tools/list", enveloped())
        assert await rest_of(pipe) == b""
        assert pipe.process.returncode is None
        assert (await server.counts()).live == 1


async def test_it_answers_what_is_no_message() -> None:
    async with stdio() as (server, pipe):
        await server.on("tools/list", Garble("<html>"))
        await pipe.begin("tools/list", enveloped())
        assert await pipe.line() == b"<html>"


async def test_it_answers_what_it_is_told() -> None:
    async with stdio() as (server, pipe):
        await server.on("tools/call", Answer({"resultType": "input_required", "requestState": "x"}))
        called = await pipe.ask("tools/call", {"name": "add"})
        assert called["result"] == {"resultType": "input_required", "requestState": "x"}


async def test_an_answer_can_be_made_longer() -> None:
    async with stdio() as (server, pipe):
        await server.on("tools/list", Pad(2_000_000))
        await pipe.begin("tools/list", enveloped())
        assert len(await pipe.line()) > 2_000_000


async def test_a_late_answer_holds_the_content_of_its_arrival() -> None:
    async with stdio() as (server, pipe):
        await server.on("tools/list", Delay(0.05), times=1)
        asked = await pipe.begin("tools/list", enveloped())
        await server.until(lambda seen: seen.walks["tools"] == 1)
        await server.set(Content(tools=[tool("new")]))
        assert names(await pipe.answer(asked)) == ["add", "grow"]
        assert names(await pipe.ask("tools/list")) == ["new"]


async def test_pages_can_be_slow() -> None:
    async with stdio(Pages(size=1, latency=[0, 30])) as (_, pipe):
        first = await pipe.ask("tools/list")
        with anyio.move_on_after(0.05) as patience:
            await pipe.ask("tools/list", {"cursor": first["result"]["nextCursor"]})
        assert patience.cancelled_caught


# ---------------------------------------------------------------- noise


async def test_a_banner_comes_before_everything() -> None:
    with anyio.fail_after(5):
        async with scripted_stdio() as server:
            await server.on("connect", Noise("Server version : 1.0"), Noise(""), Noise("[1,2]"))
            async with raw_pipe(server.launch) as pipe:
                await pipe.begin("tools/list", enveloped())
                lines = [await pipe.line() for _ in range(4)]
    assert lines[:3] == [b"Server version : 1.0", b"", b"[1,2]"]
    assert lines[3].startswith(b'{"jsonrpc"')


async def test_noise_comes_between_answers_and_can_be_a_giant_line() -> None:
    async with stdio() as (server, pipe):
        await server.on("tools/list", Noise("log ", size=5_000_000))
        await pipe.begin("tools/list", enveloped())
        assert len(await pipe.line()) == 5_000_000
        assert b'"result"' in await pipe.line()


async def test_noise_can_go_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    async with stdio() as (server, pipe):
        await server.on("tools/list", Noise("a warning", to="stderr"))
        assert names(await pipe.ask("tools/list")) == ["add", "grow"]
    assert "a warning" in capfd.readouterr().err


# ---------------------------------------------------------------- signals


async def test_signals_flow_on_the_pipe_after_a_handshake_only() -> None:
    async with stdio() as (server, pipe):
        await server.signal()
        await pipe.shake_hands()
        await server.change(Content(tools=[tool("new")]))
        assert await pipe.next() == {"jsonrpc": "2.0", "method": CHANGED}
        assert names(await pipe.ask_plainly("tools/list")) == ["new"]
        assert not pipe.passed


async def test_a_modern_client_hears_what_it_listens_to_under_the_id_of_its_listen() -> None:
    content = Content(tools=TOOLS, prompts=[{"name": "p"}], resources=[{"uri": "r:"}])
    async with stdio(content) as (server, pipe):
        listen = await pipe.begin("subscriptions/listen", enveloped(LISTEN))
        acknowledged = await pipe.next()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert acknowledged["params"]["_meta"] == {SUBSCRIPTION: listen}
        assert acknowledged["params"]["notifications"] == LISTEN["notifications"]
        for kind in (Kind.RESOURCES, Kind.PROMPTS, Kind.TOOLS):
            await server.signal(kind)
        heard = [await pipe.next(), await pipe.next()]
        assert [one["method"] for one in heard] == ["notifications/prompts/list_changed", CHANGED]
        assert {one["params"]["_meta"][SUBSCRIPTION] for one in heard} == {listen}


async def test_a_storm_is_as_many_signals_as_told() -> None:
    async with stdio() as (server, pipe):
        await pipe.shake_hands()
        await server.signal(count=10_000)
        for _ in range(10_000):
            assert (await pipe.next())["method"] == CHANGED
        assert names(await pipe.ask_plainly("tools/list")) == ["add", "grow"]
        assert not pipe.passed


async def test_a_signal_can_come_unasked() -> None:
    async with stdio(Profile(declares_changes=False)) as (server, pipe):
        found = (await pipe.ask("server/discover"))["result"]
        assert found["capabilities"] == {"tools": {}}
        await server.signal(unasked=True)
        assert await pipe.next() == {"jsonrpc": "2.0", "method": CHANGED}
        await server.on("tools/list", Signal(unasked=True))
        await pipe.ask("tools/list")
        assert pipe.passed.popleft()["method"] == CHANGED


@pytest.mark.parametrize("late", [False, True])
async def test_a_listing_can_be_signalled_before_or_after_its_answer(late: bool) -> None:  # noqa: FBT001
    async with stdio() as (server, pipe):
        await pipe.shake_hands()
        await server.on("tools/list", Signal(late=late))
        asked = await pipe.begin("tools/list")
        order = [await pipe.next(), await pipe.next()]
        assert [one.get("id") == asked for one in order] == [late, not late]


async def test_a_call_can_change_the_tools_and_say_so_before_its_result() -> None:
    async with stdio() as (server, pipe):
        await pipe.shake_hands()
        more = Content(tools=[*TOOLS, tool("new")])
        await server.on("tools/call:grow", Change(more), Signal())
        await pipe.ask_plainly("tools/call", {"name": "add"})
        assert names(await pipe.ask_plainly("tools/list")) == ["add", "grow"]
        await pipe.ask_plainly("tools/call", {"name": "grow"})
        assert [one["method"] for one in pipe.passed] == [CHANGED]
        assert names(await pipe.ask_plainly("tools/list")) == ["add", "grow", "new"]


async def test_a_signal_can_come_before_the_commit() -> None:
    async with stdio() as (server, pipe), anyio.create_task_group() as tasks:
        await pipe.shake_hands()
        committed = anyio.Event()

        async def change() -> None:
            await server.change(Content(tools=[tool("new")]), lag=0.1)
            committed.set()

        tasks.start_soon(change)
        assert (await pipe.next())["method"] == CHANGED
        assert names(await pipe.ask_plainly("tools/list")) == ["add", "grow"]
        await committed.wait()
        assert names(await pipe.ask_plainly("tools/list")) == ["new"]


async def test_a_listen_acknowledges_only_what_is_declared() -> None:
    async with stdio(Profile(declares_changes=False)) as (_, pipe):
        await pipe.begin("subscriptions/listen", enveloped(LISTEN))
        assert (await pipe.next())["params"]["notifications"] == {}


async def test_a_listen_can_honour_fewer_kinds() -> None:
    content = Content(tools=TOOLS, prompts=[{"name": "p"}])
    async with stdio(content) as (server, pipe):
        await server.on("subscriptions/listen", Honour((Kind.PROMPTS,)))
        await pipe.begin("subscriptions/listen", enveloped(LISTEN))
        assert (await pipe.next())["params"]["notifications"] == {"promptsListChanged": True}
        await server.signal(Kind.TOOLS)
        await server.signal(Kind.PROMPTS)
        assert (await pipe.next())["method"] == "notifications/prompts/list_changed"


@pytest.mark.parametrize("acknowledges", [True, False])
async def test_a_listen_can_be_mute(acknowledges: bool) -> None:  # noqa: FBT001
    async with stdio() as (server, pipe):
        await server.on("subscriptions/listen", Mute(acknowledges=acknowledges))
        await pipe.begin("subscriptions/listen", enveloped(LISTEN))
        await server.until(lambda seen: seen.open_streams == 1)
        await server.signal()
        await pipe.ask("tools/list")
        methods = [one["method"] for one in pipe.passed]
        assert methods == ["notifications/subscriptions/acknowledged"] * acknowledges


@pytest.mark.parametrize("graceful", [True, False])
async def test_a_listen_can_end(graceful: bool) -> None:  # noqa: FBT001
    async with stdio() as (server, pipe):
        first = await pipe.begin("subscriptions/listen", enveloped(LISTEN))
        await pipe.next()
        await server.drop_streams(graceful=graceful)
        assert is_end(await pipe.next(), first, graceful=graceful)
        await server.on("subscriptions/listen", Drop(graceful=graceful))
        second = await pipe.begin("subscriptions/listen", enveloped(LISTEN))
        assert (await pipe.next())["method"] == "notifications/subscriptions/acknowledged"
        assert is_end(await pipe.next(), second, graceful=graceful)
        assert (await server.counts()).open_streams == 0


def is_end(message: dict[str, Any], listen: int, *, graceful: bool) -> bool:
    if graceful:
        return message["id"] == listen and message["result"]["_meta"] == {SUBSCRIPTION: listen}
    return message["params"]["requestId"] == listen


async def test_a_client_can_cancel_its_listen() -> None:
    async with stdio() as (server, pipe):
        listen = await pipe.begin("subscriptions/listen", enveloped(LISTEN))
        await pipe.next()
        await pipe.send({"method": "notifications/cancelled", "params": {"requestId": listen}})
        await server.until(lambda seen: seen.open_streams == 0)
        await server.signal()
        await pipe.ask("tools/list")
        assert not pipe.passed


# ---------------------------------------------------------------- what it asks and tells


async def test_progress_goes_out_under_the_token_of_the_request() -> None:
    async with stdio() as (server, pipe):
        await server.on("tools/call", Progress(1, 3, "one"), Progress(2))
        params = {"name": "add"}
        await pipe.answer(await pipe.begin("tools/call", enveloped(params, progressToken="t")))
        told = [one["params"] for one in pipe.passed]
        assert told == [
            {"progressToken": "t", "progress": 1, "total": 3, "message": "one"},
            {"progressToken": "t", "progress": 2},
        ]
        pipe.passed.clear()
        await pipe.ask("tools/call", params)
        assert not pipe.passed


async def test_it_asks_the_client_in_the_middle_of_a_call() -> None:
    async with stdio() as (server, pipe):
        await pipe.shake_hands()
        await server.on("tools/call", Ask("roots/list", {"x": 1}))
        asked = await pipe.begin("tools/call", {"name": "add"})
        question = await pipe.next()
        assert (question["method"], question["params"]) == ("roots/list", {"x": 1})
        await pipe.send({"id": question["id"], "result": {"roots": []}})
        assert "result" in await pipe.answer(asked)
        (heard,) = [one for one in await server.heard("") if one.message["id"] == question["id"]]
        assert heard.message["result"] == {"roots": []}


# ---------------------------------------------------------------- what it has seen


async def test_it_counts_walks_requests_and_calls_apart() -> None:
    async with stdio(Pages(size=1)) as (server, pipe):
        for _ in range(2):
            first = await pipe.ask("tools/list")
            await pipe.ask("tools/list", {"cursor": first["result"]["nextCursor"]})
        await pipe.ask("tools/call", {"name": "add"})
        await pipe.ask("prompts/list")
        await pipe.stdin.send(b"no message\n[1]\n")
        counts = await server.until(lambda seen: seen.unreadable == 2)
        assert dict(counts.requests) == {"tools/list": 4, "tools/call": 1, "prompts/list": 1}
        assert dict(counts.walks) == {"tools": 2, "prompts": 1}
        assert dict(counts.calls) == {"add": 1}
        assert (counts.connects, counts.live, counts.all_requests) == (1, 1, 6)
        assert counts.walks["templates"] == 0


async def test_counts_that_were_taken_do_not_change() -> None:
    async with stdio() as (server, pipe):
        before = await server.counts()
        await pipe.ask("tools/list")
        assert (before.walks["tools"], (await server.counts()).walks["tools"]) == (0, 1)


async def test_it_keeps_what_it_heard_in_order() -> None:
    async with stdio() as (server, pipe):
        await pipe.ask("tools/list")
        await pipe.ask("tools/call", {"name": "add"})
        heard = await server.heard()
        assert [one.method for one in heard] == ["tools/list", "tools/call"]
        (call,) = await server.heard("tools/call")
        assert call.message["params"]["name"] == "add"
        assert call.pid == pipe.process.pid


async def test_it_knows_what_its_processes_were_started_with() -> None:
    with anyio.fail_after(5):
        async with scripted_stdio() as server:
            launch = StdioLaunch(
                server.launch.command, server.launch.args, {"KEY": Secret("s3cret")}, "/"
            )
            async with raw_pipe(launch) as pipe:
                await server.until(lambda seen: seen.live == 1)
                (seen,) = await server.processes()
                assert (seen.pid, seen.cwd, seen.env["KEY"]) == (pipe.process.pid, "/", "s3cret")
                assert "s3cret" not in repr(seen)


async def test_dropping_ends_every_process_and_new_ones_are_served() -> None:
    async with stdio() as (server, first), raw_pipe(server.launch) as second:
        await server.until(lambda seen: seen.live == 2)
        await server.drop()
        assert [await one.process.wait() for one in (first, second)] == [1, 1]
        async with raw_pipe(server.launch) as third:
            assert "result" in await third.ask("tools/list")


async def test_a_stranger_on_its_port_is_not_served() -> None:
    async with stdio() as (server, _):
        port = int(server.launch.args[-2])
        async with await anyio.connect_tcp("127.0.0.1", port) as stranger:
            await stranger.send(b"H\0\0\0\2{}")
            with pytest.raises(anyio.EndOfStream):
                await stranger.receive()
        assert (await server.counts()).connects <= 1


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_it_runs_on_both_event_loops() -> None:
    async with stdio() as (_, pipe):
        assert names(await pipe.ask("tools/list")) == ["add", "grow"]


async def test_its_settings_and_entry_reach_it() -> None:
    async with stdio() as (server, _):
        settings = server.settings("mine", strategy="poll")
        assert (settings.id, settings.launch, settings.strategy) == ("mine", server.launch, "poll")
        entry = server.entry()
        assert [entry["command"], *entry["args"]] == [server.launch.command, *server.launch.args]
        assert os.access(entry["command"], os.X_OK)
