"""Whole connections: real processes and sockets, in every era, with every kind of bad start."""

import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib.adapters.connector import McpConnector
from toolcrib.adapters.session.session import Session
from toolcrib.errors import (
    AuthRequired,
    ConfigError,
    IncompatibleServer,
    LimitExceeded,
    RequestTimedOut,
    ToolcribError,
    UpstreamRefused,
    UpstreamUnreachable,
)
from toolcrib.facts import EraFound, NoiseSkipped
from toolcrib.ports import ClientProfile, Connector, EraMemory
from toolcrib.settings import (
    HttpLaunch,
    HttpTransport,
    Launch,
    Limits,
    Reconnect,
    Secret,
    ServerSettings,
    StdioLaunch,
)
from toolcrib.testing.raw_http import Behaviour, RawExchange, serve_raw_http
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.signal_log import SignalLog
from toolcrib.testing.virtual_clock import EPOCH, LoopClock

PLAIN = str(Path(__file__).with_name("servers") / "plain.py")
TOOLS_CHANGED = "notifications/tools/list_changed"


def as_port(connector: McpConnector) -> Connector:
    """The type checker's word that the port is implemented."""
    return connector


class Rig:
    """A connector, and everything that it tells."""

    def __init__(self, path: Path | None = None, limits: Limits | None = None) -> None:
        self.facts = Recorder()
        self.signals = SignalLog()
        self.connector = McpConnector(
            limits=limits or Limits(), observer=self.facts, clock=LoopClock()
        )
        self.probe_timeout = 5.0
        self._log = path

    def plain(self, *faults: str) -> StdioLaunch:
        env = {} if self._log is None else {"PLAIN_LOG": Secret(str(self._log))}
        return StdioLaunch(sys.executable, (PLAIN, *faults), env=env)

    @asynccontextmanager
    async def connect(
        self,
        launch: Launch,
        remembered: EraMemory | None = None,
        profile: ClientProfile | None = None,
        **settings: Any,
    ) -> AsyncGenerator[Session]:
        rule = Reconnect(probe_timeout=self.probe_timeout, backoff_base=0.01)
        server = ServerSettings("p", launch, reconnect=rule, **settings)
        async with as_port(self.connector).connect(
            server, profile or ClientProfile(), self.signals, remembered
        ) as session:
            assert isinstance(session, Session)
            yield session

    async def fail(
        self, launch: Launch, remembered: EraMemory | None = None, **settings: Any
    ) -> ToolcribError:
        try:
            async with self.connect(launch, remembered, **settings):
                pytest.fail("connected")
        except ToolcribError as error:
            return error

    def logged(self) -> list[dict[str, Any]]:
        assert self._log is not None
        return [json.loads(line) for line in self._log.read_text().splitlines()]

    def starts(self) -> int:
        return sum("pid" in line for line in self.logged())

    def methods(self) -> list[str]:
        return [line["method"] for line in self.logged() if "method" in line]


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path / "log")


def handshake_memory(age: float = 60.0) -> EraMemory:
    return EraMemory("handshake", "2025-11-25", EPOCH + anyio.current_time() - age)


def has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


# ---- both eras over stdio ----


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
@pytest.mark.parametrize("kind", ["both", "modern", "handshake"])
async def test_a_server_is_met_in_its_own_era(rig: Rig, kind: str) -> None:
    era = "handshake" if kind == "handshake" else "modern"
    with anyio.fail_after(5):
        async with rig.connect(rig.plain(f"era={kind}")) as session:
            assert session.facts.era == era
            assert session.facts.name == "plain"
            result = await session.request("tools/call", {"name": "echo"})
            sent = json.loads(result["content"][0]["text"])
            assert ("_meta" in sent) is (era == "modern")
            await rig.signals.wait_for("opened")
            with pytest.raises(UpstreamRefused) as caught:
                await session.request("tools/call", {"name": "nothing"})
            assert caught.value.rpc_code == -32602
    assert session.closed
    assert not has_children()
    assert rig.starts() == 1


@pytest.mark.parametrize("era", ["modern", "handshake"])
async def test_five_signals_in_a_row_are_heard_in_order(rig: Rig, era: str) -> None:
    with anyio.fail_after(5):
        async with rig.connect(rig.plain(f"era={era}", "burst")) as session:
            await session.request("tools/call", {"name": "echo"})
            await rig.signals.wait_for(TOOLS_CHANGED, 5)
    assert [params["n"] for params in rig.signals.params] == [0, 1, 2, 3, 4]
    if era == "modern":
        assert rig.signals.heard == ["opened", *[TOOLS_CHANGED] * 5]


@pytest.mark.parametrize("era", ["modern", "handshake"])
async def test_a_signal_that_nobody_declared_is_heard(rig: Rig, era: str) -> None:
    with anyio.fail_after(5):
        async with rig.connect(rig.plain(f"era={era}", "undeclared")):
            await rig.signals.wait_for("notifications/prompts/list_changed")


@pytest.mark.parametrize(("era", "answers"), [("modern", 0), ("handshake", 3)])
async def test_stray_requests_are_answered_in_the_handshake_era_only(
    rig: Rig, era: str, answers: int
) -> None:
    with anyio.fail_after(5):
        async with rig.connect(rig.plain(f"era={era}", "stray")) as session:
            await session.request("tools/call", {"name": "echo"})
            while sum("method" not in line for line in rig.logged()) < answers + 1:
                await session.request("tools/call", {"name": "echo"})
    found = {line["id"]: line for line in rig.logged() if str(line.get("id")).startswith("s")}
    assert len(found) == answers
    if answers:
        assert found["s1"]["result"] == {}
        assert found["s2"]["error"]["code"] == found["s3"]["error"]["code"] == -32601
    assert rig.signals.asked == []


async def test_a_server_that_refuses_to_listen_says_so_and_lives(rig: Rig) -> None:
    with anyio.fail_after(5):
        async with rig.connect(rig.plain("no-listen")) as session:
            await rig.signals.wait_for("refused")
            await session.request("tools/call", {"name": "echo"})
    assert rig.methods().count("subscriptions/listen") == 1


async def test_a_stream_that_the_server_ends_is_asked_for_again(rig: Rig) -> None:
    with anyio.fail_after(5):
        async with rig.connect(rig.plain("era=modern")) as session:
            for number in (1, 2):
                await rig.signals.wait_for("opened", number)
                await session.request("tools/call", {"name": "end-listen"})
                await rig.signals.wait_for("lost", number)
            await rig.signals.wait_for("opened", 3)
    assert rig.signals.heard == ["opened", "lost", "opened", "lost", "opened"]


async def test_progress_reaches_its_listener(rig: Rig) -> None:
    heard: list[float] = []

    async def progress(done: float, total: float | None, text: str | None) -> None:
        del total, text
        heard.append(done)

    with anyio.fail_after(5):
        async with rig.connect(rig.plain()) as session:
            await session.request("tools/call", {"name": "progress"}, progress=progress)
            await session.request("tools/call", {"name": "echo"})
    assert heard == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("era", ["modern", "handshake"])
async def test_a_cancelled_call_is_cancelled_upstream(rig: Rig, era: str) -> None:
    with anyio.fail_after(5):
        async with rig.connect(rig.plain(f"era={era}")) as session:
            with anyio.move_on_after(0.05):
                await session.request("tools/call", {"name": "never"})
            with pytest.raises(RequestTimedOut):
                await session.request("tools/call", {"name": "never"}, timeout=0.05)
            await session.request("tools/call", {"name": "echo"})
    calls = [line["id"] for line in rig.logged() if line.get("method") == "tools/call"]
    cancelled = [
        line["params"]["requestId"]
        for line in rig.logged()
        if line.get("method") == "notifications/cancelled"
    ]
    assert cancelled[:2] == calls[:2]
    assert calls[2] not in cancelled


async def test_a_result_over_the_limit_fails_its_call_alone(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "log", Limits(line_bytes=100_000))
    with anyio.fail_after(5):
        async with rig.connect(rig.plain()) as session:
            with pytest.raises(LimitExceeded, match="more than the 100000 of one line"):
                await session.request(
                    "tools/call", {"name": "long", "arguments": {"bytes": 200_000}}
                )
            await session.request("tools/call", {"name": "echo"})


async def test_noise_is_counted_and_costs_nothing(rig: Rig) -> None:
    with anyio.fail_after(5):
        async with rig.connect(rig.plain("noise", "crlf")) as session:
            await session.request("tools/call", {"name": "echo"})
    assert rig.facts.of(NoiseSkipped)[-1] == NoiseSkipped("p", 4, "Server version : 1.0")


# ---- bad starts ----


@pytest.mark.parametrize("fault", ["exit-on-probe", "hang-on-probe"])
async def test_a_server_that_dies_of_the_probe_is_started_once_more(rig: Rig, fault: str) -> None:
    rig.probe_timeout = 0.3 if "hang" in fault else 5.0
    with anyio.fail_after(5):
        async with rig.connect(rig.plain("era=handshake", fault)) as session:
            assert session.facts.era == "handshake"
            await session.request("tools/call", {"name": "echo"})
    assert rig.starts() == 2
    assert rig.methods()[:3] == ["server/discover", "initialize", "notifications/initialized"]
    assert not has_children()


async def test_a_remembered_handshake_is_one_start_without_a_probe(rig: Rig) -> None:
    with anyio.fail_after(5):
        async with rig.connect(rig.plain("era=handshake", "exit-on-probe"), handshake_memory()):
            pass
    assert rig.starts() == 1
    assert rig.methods()[0] == "initialize"
    assert rig.facts.of(EraFound) == [EraFound("p", "handshake", "remembered")]


@pytest.mark.duty(17)
async def test_a_remembered_handshake_that_no_longer_holds_is_probed_in_a_new_process(
    rig: Rig,
) -> None:
    with anyio.fail_after(5):
        async with rig.connect(rig.plain("era=modern"), handshake_memory()) as session:
            assert session.facts.era == "modern"
    assert rig.methods()[:2] == ["initialize", "server/discover"]


async def test_a_remembered_era_that_led_to_a_dead_process_is_doubted_the_next_time(
    rig: Rig,
) -> None:
    with anyio.fail_after(5):
        error = await rig.fail(rig.plain("exit-on-initialize"), handshake_memory())
        assert error.message == "the server process exited with status 3"
        assert error.for_operator() == f"p: {error.message}; on stderr: cannot begin"
        async with rig.connect(rig.plain("exit-on-initialize"), handshake_memory()) as session:
            assert session.facts.era == "modern"
        error = await rig.fail(rig.plain("exit-on-initialize"), handshake_memory())
    assert isinstance(error, UpstreamUnreachable)
    assert [name for name in rig.methods() if "listen" not in name] == [
        "initialize",
        "server/discover",
        "initialize",
    ]


async def test_a_server_without_a_common_revision_is_incompatible(rig: Rig) -> None:
    with anyio.fail_after(5):
        for fault in ("disjoint", "wild-version"):
            error = await rig.fail(rig.plain("era=handshake", fault))
            assert isinstance(error, IncompatibleServer)
            assert error.server == "p"
            assert error.remedy
    assert not has_children()


async def test_a_server_that_hangs_at_initialize_times_out(rig: Rig) -> None:
    rig.probe_timeout = 0.3
    launch = rig.plain("era=handshake", "hang-on-probe", "hang-on-initialize")
    with anyio.fail_after(5):
        error = await rig.fail(launch, request_seconds=0.3)
    assert isinstance(error, RequestTimedOut)
    assert not has_children()


async def test_a_missing_command_is_a_matter_of_configuration(rig: Rig) -> None:
    error = await rig.fail(StdioLaunch("no-such-command-here"))
    assert isinstance(error, ConfigError)
    assert error.server == "p"


async def test_an_attempt_that_is_given_up_leaves_no_process(rig: Rig) -> None:
    rig.probe_timeout = 0.3
    launch = rig.plain("era=handshake", "hang-on-probe")
    for seconds in (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.4):
        with anyio.fail_after(5), anyio.move_on_after(seconds):
            async with rig.connect(launch):
                await anyio.sleep_forever()
        assert not has_children()


# ---- bad ends ----


async def test_a_killed_server_fails_every_call_under_way_at_once(rig: Rig) -> None:
    errors: list[ToolcribError] = []

    async def ask(session: Session) -> None:
        try:
            await session.request("tools/call", {"name": "never"})
        except ToolcribError as error:
            errors.append(error)

    def nevers() -> int:
        return sum(line.get("params", {}).get("name") == "never" for line in rig.logged())

    with anyio.fail_after(5) as limit:
        async with rig.connect(rig.plain("era=handshake")) as session:
            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(ask, session)
                while nevers() < 5:
                    await session.request("tools/call", {"name": "echo"})
                os.kill(rig.logged()[0]["pid"], signal.SIGKILL)
                limit.deadline = anyio.current_time() + 2
            assert await session.wait_closed() == "the server process was ended by SIGKILL"
            assert session.closed
    assert [type(error) for error in errors] == [UpstreamUnreachable] * 5
    assert {error.message for error in errors} == {"the server process was ended by SIGKILL"}
    assert not has_children()


async def test_stderr_reaches_the_operator_and_never_the_model(rig: Rig) -> None:
    with anyio.fail_after(5):
        async with rig.connect(rig.plain("stderr=started")) as session:
            with pytest.raises(UpstreamUnreachable) as caught:
                await session.request("tools/call", {"name": "exit", "arguments": {"status": 4}})
            assert session.stderr == "started\nlast words\n"
    error = caught.value
    assert error.for_model() == str(error) == "the server process exited with status 4"
    assert error.for_operator().endswith("; on stderr: last words")
    assert "last words" not in repr(error.details)


async def test_an_error_of_the_server_does_not_echo_a_secret() -> None:
    rig, key = Rig(), "sk-0123456789"
    launch = StdioLaunch(sys.executable, (PLAIN,), env={"API_KEY": Secret(key)})
    data = {key: [{"a": f"x{key}"}, 1, None, True]}
    arguments = {"text": f"no \x1b[1mright\x1b[0m for {key}", "data": data}
    with anyio.fail_after(5):
        async with rig.connect(launch) as session:
            with pytest.raises(UpstreamRefused) as caught:
                await session.request("tools/call", {"name": "fail", "arguments": arguments})
    assert caught.value.message == "no right for ***"
    assert caught.value.data == {"***": [{"a": "x***"}, 1, None, True]}


async def test_what_the_caller_raises_comes_out_as_it_is(rig: Rig) -> None:
    class Own(Exception):
        pass

    with pytest.raises(Own) as caught:
        async with rig.connect(rig.plain()):
            raise Own
    assert caught.value.__cause__ is None
    assert not has_children()


# ---- over HTTP ----


def url(server_url: str, transport: HttpTransport = "auto") -> HttpLaunch:
    return HttpLaunch(Secret(server_url), transport=transport)


DISCOVERED = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {"listChanged": True}},
    "resultType": "complete",
}
INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {"listChanged": True}},
    "serverInfo": {"name": "h", "version": "1"},
}


async def modern(request: RawExchange) -> None:
    match request.message["method"]:
        case "server/discover":
            await request.answer(result=DISCOVERED)
        case "subscriptions/listen":
            await request.begin_events()
            subscription = {"io.modelcontextprotocol/subscriptionId": request.message["id"]}
            asked = request.message["params"]["notifications"]
            for method, params in (
                ("notifications/subscriptions/acknowledged", {"notifications": asked}),
                (TOOLS_CHANGED, {}),
            ):
                told = {
                    "jsonrpc": "2.0",
                    "method": method,
                    "params": {**params, "_meta": subscription},
                }
                await request.event(told)
            await request.wait_gone()
        case _:
            await request.answer(result={"headers": request.headers})


async def test_a_modern_url_is_probed_listened_to_and_called() -> None:
    rig = Rig()
    with anyio.fail_after(5):
        async with serve_raw_http(modern) as server, rig.connect(url(server.url)) as session:
            assert session.facts.era == "modern"
            await rig.signals.wait_for(TOOLS_CHANGED)
            assert rig.signals.heard == ["opened", TOOLS_CHANGED]
            result = await session.request(
                "tools/call", {"name": "t"}, headers={"Mcp-Param-A": "1"}
            )
            headers = result["headers"]
    assert headers["mcp-protocol-version"] == "2026-07-28"
    assert (headers["mcp-method"], headers["mcp-name"]) == ("tools/call", "t")
    assert headers["mcp-param-a"] == "1"


async def handshake(request: RawExchange) -> None:
    if request.method == "GET":
        await request.begin_events()
        await request.event({"jsonrpc": "2.0", "method": TOOLS_CHANGED})
        await request.wait_gone()
        return
    if request.method == "DELETE":
        await request.reply(200)
        return
    match request.message["method"]:
        case "initialize":
            answer = {"jsonrpc": "2.0", "id": request.message["id"], "result": INITIALIZED}
            body = json.dumps(answer).encode()
            await request.reply(200, body, content_type="application/json", mcp_session_id="s-1")
        case "server/discover":
            refusal = {"code": -32000, "message": "Bad Request: Server not initialized"}
            await request.answer(status=400, error=refusal)
        case "tools/call":
            error = {"code": -32001, "message": "Session not found"}
            await request.answer(status=404, error=error)
        case _ if "id" in request.message:
            await request.answer(result={"headers": request.headers})
        case _:
            await request.reply(202)


async def test_a_handshake_url_gets_a_session_a_signal_stream_and_a_goodbye() -> None:
    rig = Rig()
    with anyio.fail_after(5):
        async with serve_raw_http(handshake) as server:
            async with rig.connect(url(server.url)) as session:
                assert session.facts.era == "handshake"
                await rig.signals.wait_for(TOOLS_CHANGED)
                assert rig.signals.heard == ["opened", TOOLS_CHANGED]
                headers = (await session.request("tools/list"))["headers"]
                assert headers["mcp-session-id"] == "s-1"
                assert headers["mcp-protocol-version"] == "2025-11-25"
            assert len(server.sent("DELETE")) == 1


async def test_a_session_that_is_gone_ends_the_connection() -> None:
    rig = Rig()
    with anyio.fail_after(5):
        async with serve_raw_http(handshake) as server, rig.connect(url(server.url)) as session:
            with pytest.raises(UpstreamUnreachable, match="no longer knows the session"):
                await session.request("tools/call", {"name": "t"})
            assert "no longer knows the session" in await session.wait_closed()


def replying(status: int) -> Behaviour:
    async def behave(request: RawExchange) -> None:
        await request.reply(status, www_authenticate="Bearer")

    return behave


@pytest.mark.duty(17)
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, AuthRequired),
        (403, AuthRequired),
        (500, UpstreamUnreachable),
        (503, UpstreamUnreachable),
    ],
)
async def test_an_outage_or_a_guard_is_asked_once_and_decides_nothing(
    status: int, kind: type[ToolcribError]
) -> None:
    rig = Rig()
    with anyio.fail_after(5):
        async with serve_raw_http(replying(status)) as server:
            error = await rig.fail(url(server.url))
            assert len(server.requests) == 1
    assert type(error) is kind
    assert error.server == "p"
    assert rig.facts.of(EraFound) == []


@pytest.mark.parametrize("refusal", [400, 404, 405])
async def test_an_old_url_is_met_over_http_sse(refusal: int) -> None:
    rig, answers = Rig(), anyio.create_memory_object_stream[dict[str, Any]](9)

    async def behave(request: RawExchange) -> None:
        if request.method == "GET":
            await request.begin_events()
            await request.event(event="endpoint", text="/messages")
            async for message in answers[1]:
                await request.event(message, event="message")
        elif request.path == "/messages":
            await request.reply(202)
            if "id" in request.message:
                result = INITIALIZED if request.message["method"] == "initialize" else {"ok": 1}
                found = {"jsonrpc": "2.0", "id": request.message["id"], "result": result}
                answers[0].send_nowait(found)
        else:
            await request.reply(refusal)

    with anyio.fail_after(5):
        async with serve_raw_http(behave) as server:
            async with rig.connect(url(server.url)) as session:
                assert session.facts.era == "handshake"
                assert await session.request("tools/list") == {"ok": 1}
                assert rig.signals.heard == ["opened"]
            assert [one.path for one in server.sent("POST")][:3] == ["/mcp", "/mcp", "/messages"]
            answers[0].close()
    answers[1].close()


@pytest.mark.parametrize(
    ("transport", "posts", "gets"), [("auto", 2, 1), ("streamable", 2, 0), ("sse", 0, 1)]
)
async def test_only_the_configured_transports_are_tried(
    transport: HttpTransport, posts: int, gets: int
) -> None:
    rig = Rig()
    with anyio.fail_after(5):
        async with serve_raw_http(replying(404)) as server:
            error = await rig.fail(url(server.url, transport))
            assert (len(server.sent("POST")), len(server.sent("GET"))) == (posts, gets)
    assert isinstance(error, UpstreamUnreachable)
    assert ("as HTTP+SSE" in error.message) is (transport == "auto")


async def test_a_url_that_cannot_be_used_names_its_server() -> None:
    error = await Rig().fail(url("no url at all"))
    assert isinstance(error, ConfigError)
    assert error.server == "p"


async def test_a_url_where_nobody_listens_is_unreachable() -> None:
    rig = Rig()
    with anyio.fail_after(5):
        async with serve_raw_http(modern) as server:
            gone = server.url
        error = await rig.fail(url(gone))
    assert isinstance(error, UpstreamUnreachable)
    assert error.details["never_sent"] is True
    assert "127.0.0.1" not in error.for_operator()
