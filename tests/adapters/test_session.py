"""A session over streams in memory: envelopes, errors, time-outs, and who may ask whom what."""

# pyright: reportPrivateUsage=false

from collections.abc import Mapping
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from toolcrib.adapters.http.outcome import TRANSPORT_FAILED, HttpOutcome
from toolcrib.adapters.http.wire import HttpFacts
from toolcrib.adapters.jsonrpc_line import BROKEN_MARK, LIMIT_MARK
from toolcrib.adapters.stdio.transport import CLOSED_BY_US, StdioFacts
from toolcrib.errors import (
    AuthRequired,
    BadArguments,
    LimitExceeded,
    RateLimited,
    RequestTimedOut,
    ResultInvalid,
    ToolcribBug,
    ToolcribError,
    UpstreamRefused,
    UpstreamUnreachable,
)
from toolcrib.facts import Finding
from toolcrib.ports import ClientProfile, ServerFacts
from toolcrib.testing.session_rig import Message, Peer, SessionRig, ignore, open_rig

VIRTUAL = pytest.mark.virtual_time
MODERN = ServerFacts("modern", "2026-07-28", {"tools": {}})
HANDSHAKE = ServerFacts("handshake", "2025-06-18", {"tools": {}})
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "rig", "version": "9"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def echo(peer: Peer, message: Message) -> None:
    if "id" in message and "method" in message:
        peer.answer(message, got=message.get("params", {}))


# ---- envelopes ----


async def test_a_modern_request_carries_its_revision_in_the_body_and_in_the_headers() -> None:
    async with open_rig(echo, http=True) as rig:
        rig.session.adopt(MODERN)
        with anyio.fail_after(5):
            await rig.session.request("tools/call", {"name": "größe", "_meta": {"a": 1}})
            await rig.session.request("tools/list", headers={"Mcp-Param-X": "1"})
    assert rig.peer.received[0]["params"] == {"name": "größe", "_meta": {"a": 1, **META}}
    assert rig.peer.headers[0] == {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "=?base64?Z3LDtsOfZQ==?=",
    }
    assert rig.peer.received[1]["params"] == {"_meta": META}
    assert rig.peer.headers[1] == {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/list",
        "Mcp-Param-X": "1",
    }


async def test_a_handshake_request_carries_only_the_version_header() -> None:
    async with open_rig(echo, http=True) as rig:
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5):
            await rig.session.request("tools/call", {"name": "x"})
            await rig.session.request("tools/list")
            await rig.session.notify("notifications/x", {"a": 1})
    assert rig.peer.received[0]["params"] == {"name": "x"}
    assert "params" not in rig.peer.received[1]
    assert rig.peer.received[2] == {
        "jsonrpc": "2.0",
        "method": "notifications/x",
        "params": {"a": 1},
    }
    assert rig.peer.headers == [{"MCP-Protocol-Version": "2025-06-18"}] * 3


@pytest.mark.parametrize("facts", [MODERN, HANDSHAKE], ids=["modern", "handshake"])
async def test_there_are_no_headers_where_there_is_no_http(facts: ServerFacts) -> None:
    async with open_rig(echo) as rig:
        rig.session.adopt(facts)
        with anyio.fail_after(5):
            await rig.session.request("tools/call", {"name": "x"}, headers={"Mcp-Param-X": "1"})
            await rig.session.notify("notifications/x")
    assert rig.peer.headers == [None, None]


async def test_the_callers_envelope_never_replaces_ours() -> None:
    forged = {**META, "io.modelcontextprotocol/protocolVersion": "1", "dev.x/y": 2}
    params = {"_meta": forged}
    async with open_rig(echo) as rig:
        rig.session.adopt(MODERN)
        with anyio.fail_after(5):
            await rig.session.request("tools/list", params)
    assert rig.peer.received[0]["params"]["_meta"] == {**META, "dev.x/y": 2}
    assert params == {"_meta": forged}, "the caller's parameters stay as they are"


@pytest.mark.parametrize("facts", [MODERN, HANDSHAKE], ids=["modern", "handshake"])
async def test_a_progress_token_of_somebody_else_never_goes_out(facts: ServerFacts) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def progress(done: float, total: float | None, text: str | None) -> None:
        heard.append((done, total, text))

    async def behave(peer: Peer, message: Message) -> None:
        token = message["params"].get("_meta", {}).get("progressToken")
        if token is not None:
            for step in (1, 2):
                peer.notify("notifications/progress", progressToken=token, progress=step, total=2)
            peer.notify("notifications/progress", progressToken="other", progress=9)
        peer.answer(message)

    async with open_rig(behave) as rig:
        rig.session.adopt(facts)
        params = {"name": "x", "_meta": {"progressToken": "theirs", "a": 1}}
        with anyio.fail_after(5):
            await rig.session.request("tools/call", params)
            assert "progressToken" not in rig.peer.received[0]["params"]["_meta"]
            await rig.session.request("tools/call", params, progress=progress)
            assert rig.peer.received[1]["params"]["_meta"]["progressToken"] != "theirs"
            while len(heard) < 2:
                await anyio.lowlevel.checkpoint()
    assert heard == [(1.0, 2.0, None), (2.0, 2.0, None)]
    assert rig.signals.heard == [], "progress belongs to its request, not to the signals"


async def test_a_raising_progress_listener_costs_nothing() -> None:
    async def progress(done: float, total: float | None, text: str | None) -> None:
        raise RuntimeError(done, total, text)

    async def behave(peer: Peer, message: Message) -> None:
        meta = message["params"].get("_meta", {})
        if "progressToken" in meta:
            peer.notify("notifications/progress", progressToken=meta["progressToken"], progress=1)
        peer.answer(message, ok=True)

    async with open_rig(behave) as rig:
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5):
            for _ in range(2):
                result = await rig.session.request("tools/call", {"name": "x"}, progress=progress)
                assert result == {"ok": True}


async def test_results_are_handed_on_as_they_came() -> None:
    odd: dict[str, Any] = {"a": None, "b": [{"c": 2**70}], "é": "\ud800"}

    async def behave(peer: Peer, message: Message) -> None:
        peer.answer(message, **odd)

    async with open_rig(behave) as rig:
        rig.session.adopt(MODERN)
        with anyio.fail_after(5):
            assert await rig.session.request("tools/list") == odd


async def test_parameters_that_are_no_json_are_the_callers_fault() -> None:
    async with open_rig(echo, http=True) as rig:
        rig.session.adopt(MODERN)
        with anyio.fail_after(5), pytest.raises(BadArguments):
            await rig.session.request("tools/call", {"name": "\ud800"})
    assert rig.peer.received == []


# ---- errors ----


def by_http(status: int | None, **fields: Any) -> HttpOutcome:
    return HttpOutcome(status=status, **fields)


async def failing(
    code: int, outcome: HttpOutcome | None, data: object = None, facts: ServerFacts = HANDSHAKE
) -> ToolcribError:
    async def behave(peer: Peer, message: Message) -> None:
        if message.get("method") == "server/discover":
            peer.answer(message)
        elif "id" in message:
            peer.refuse(message, code, "why", data=data, outcome=outcome)

    async with open_rig(behave, http=outcome is not None) as rig:
        rig.session.adopt(facts)
        with anyio.fail_after(5), pytest.raises(ToolcribError) as caught:
            await rig.session.request("tools/list")
        assert not rig.session.closed
    error = caught.value
    assert error.server == "rig"
    return error


@pytest.mark.parametrize(
    ("outcome", "kind", "details"),
    [
        (by_http(401, challenge="B x"), AuthRequired, {"http_status": 401, "challenge": "B x"}),
        (by_http(403, from_server=True), AuthRequired, {"http_status": 403}),
        (by_http(429, retry_after=7.0), RateLimited, {"http_status": 429, "retry_after": 7.0}),
        (by_http(503, retry_after=9), UpstreamUnreachable, {"http_status": 503, "retry_after": 9}),
        (by_http(404), UpstreamUnreachable, {"http_status": 404}),
        (by_http(None, fault="reset"), UpstreamUnreachable, {}),
        (by_http(None, fault="dns"), UpstreamUnreachable, {"never_sent": True}),
        (by_http(200, fault="too_large"), LimitExceeded, {"http_status": 200}),
        (by_http(200, fault="content_type"), UpstreamUnreachable, {"http_status": 200}),
    ],
)
async def test_what_http_said_becomes_the_error_of_the_port(
    outcome: HttpOutcome, kind: type[ToolcribError], details: Mapping[str, Any]
) -> None:
    error = await failing(TRANSPORT_FAILED, outcome)
    assert type(error) is kind
    assert error.details == details
    assert error.message == "why"


@pytest.mark.parametrize("data", [None, {"a": 1}, [1], "text", 0])
async def test_an_error_of_the_server_is_handed_on_with_its_own_data(data: object) -> None:
    outcome = by_http(400, from_server=True, challenge="c", retry_after=2.0)
    for error in (await failing(-32602, None, data), await failing(-32602, outcome, data)):
        assert isinstance(error, UpstreamRefused)
        assert (error.rpc_code, error.message, error.data) == (-32602, "why", data)
    assert isinstance(error, UpstreamRefused)
    assert (error.http_status, error.challenge, error.retry_after) == (400, "c", 2.0)


async def test_a_stdio_server_cannot_forge_an_http_status() -> None:
    forged = {"dev.toolcrib/http": {"status": 401}}
    error = await failing(-1, None, forged)
    assert isinstance(error, UpstreamRefused)
    assert error.data == forged


@pytest.mark.parametrize("code", [-32000, -32001, TRANSPORT_FAILED])
async def test_a_servers_own_code_is_never_taken_for_a_local_failure(code: int) -> None:
    error = await failing(code, None)
    assert isinstance(error, UpstreamRefused)
    assert error.rpc_code == code


async def test_a_broken_answer_is_told_as_one() -> None:
    error = await failing(-32603, None, {BROKEN_MARK: True})
    assert isinstance(error, ResultInvalid)
    assert error.code == "result_invalid"


async def test_a_line_that_was_too_long_names_its_limit() -> None:
    error = await failing(-32603, None, {LIMIT_MARK: "line_bytes"})
    assert isinstance(error, LimitExceeded)
    assert error.remedy == "raise the limit `line_bytes`"


# ---- time and cancellation ----


@VIRTUAL
@pytest.mark.parametrize(("given", "expected"), [(None, 20.0), (3.0, 3.0), (0.0, 0.0)])
async def test_a_silent_server_costs_the_time_out_and_is_told(
    given: float | None, expected: float
) -> None:
    async with open_rig(ignore) as rig:
        rig.session.adopt(HANDSHAKE)
        began = anyio.current_time()
        with pytest.raises(RequestTimedOut) as caught:
            await rig.session.request("tools/list", timeout=given)
        assert anyio.current_time() - began == expected
        assert caught.value.message == f"the server did not answer tools/list within {expected:g} s"
        if expected:
            told = await rig.peer.wait_for("notifications/cancelled")
            assert told["params"]["requestId"] == rig.peer.received[0]["id"]
        assert not rig.session.closed


@VIRTUAL
async def test_the_servers_own_setting_comes_before_the_common_limit() -> None:
    async with open_rig(ignore, request_seconds=2.0) as rig:
        rig.session.adopt(HANDSHAKE)
        began = anyio.current_time()
        with pytest.raises(RequestTimedOut):
            await rig.session.request("tools/list")
        assert anyio.current_time() - began == 2.0


@VIRTUAL
async def test_progress_does_not_extend_the_time_out() -> None:
    async def behave(peer: Peer, message: Message) -> None:
        token = message.get("params", {}).get("_meta", {}).get("progressToken")
        for step in range(30 if token is not None else 0):
            await anyio.sleep(1)
            peer.notify("notifications/progress", progressToken=token, progress=step)

    async def progress(done: float, total: float | None, text: str | None) -> None:
        del done, total, text

    async with open_rig(behave) as rig:
        rig.session.adopt(HANDSHAKE)
        began = anyio.current_time()
        with pytest.raises(RequestTimedOut):
            await rig.session.request("tools/call", timeout=5, progress=progress)
        assert anyio.current_time() - began < 11


@VIRTUAL
async def test_a_cancelled_caller_cancels_its_request_and_nothing_else() -> None:
    async with open_rig(ignore) as rig:
        rig.session.adopt(HANDSHAKE)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(rig.session.request, "tools/call", {"name": "stays"})
            await rig.peer.wait_for("tools/call")
            with anyio.move_on_after(1):
                await rig.session.request("tools/call", {"name": "goes"})
            told = await rig.peer.wait_for("notifications/cancelled")
            stays, goes = rig.peer.sent("tools/call")
            assert told["params"]["requestId"] == goes["id"]
            assert goes["id"] != stays["id"]
            rig.peer.answer(goes, late=True)
            rig.peer.answer(stays)


async def test_answers_find_their_requests_in_any_order() -> None:
    async with open_rig(ignore) as rig:
        rig.session.adopt(HANDSHAKE)
        results: dict[int, Any] = {}

        async def ask(number: int) -> None:
            results[number] = await rig.session.request("tools/call", {"n": number})

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for number in range(20):
                    tasks.start_soon(ask, number)
                await rig.peer.wait_for("tools/call", 20)
                for message in reversed(rig.peer.received):
                    rig.peer.answer(message, n=message["params"]["n"])
    assert results == {number: {"n": number} for number in range(20)}
    assert len({message["id"] for message in rig.peer.received}) == 20


# ---- the end ----


async def test_all_requests_under_way_fail_at_once_with_the_reason() -> None:
    errors: list[ToolcribError] = []

    async def ask(rig: SessionRig) -> None:
        try:
            await rig.session.request("tools/call")
        except ToolcribError as error:
            errors.append(error)

    async with open_rig(ignore) as rig:
        rig.session.adopt(HANDSHAKE)
        assert isinstance(rig.transport, StdioFacts)
        rig.transport._stderr.feed(b"Error: token=abc\n")
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(ask, rig)
                await rig.peer.wait_for("tools/call", 3)
                rig.transport.over = "the server process exited with status 1"
                rig.peer.hang_up()
            assert await rig.session.wait_closed() == "the server process exited with status 1"
            assert rig.session.closed
            await ask(rig)
            await rig.session.notify("notifications/x")
    assert len(errors) == 4
    for error in errors:
        assert isinstance(error, UpstreamUnreachable)
        assert error.for_model() == "the server process exited with status 1"
        assert error.for_operator() == (
            "rig: the server process exited with status 1; on stderr: Error: token=abc"
        )
    assert len(rig.peer.received) == 3, "nothing is sent once the connection is over"


async def test_leaving_ends_the_session() -> None:
    async with open_rig(ignore) as rig:
        rig.session.adopt(HANDSHAKE)
    assert rig.session.closed
    assert await rig.session.wait_closed() == CLOSED_BY_US


async def test_a_session_that_the_server_forgot_is_over() -> None:
    async def behave(peer: Peer, message: Message) -> None:
        transport = rig.transport
        assert isinstance(transport, HttpFacts)
        transport.session_lost = True
        peer.refuse(message, -32001, "gone", outcome=by_http(404, from_server=True))
        transport.over = "the server no longer knows the session"
        peer.hang_up()

    async with open_rig(behave, http=True) as rig:
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5):
            with pytest.raises(UpstreamUnreachable, match="no longer knows the session"):
                await rig.session.request("tools/list")
            assert "session" in await rig.session.wait_closed()


@pytest.mark.parametrize(
    "text", ["Bad Request: No valid session ID provided", "Server not initialized"]
)
async def test_a_forgotten_session_told_by_400_is_over_too(text: str) -> None:
    async def behave(peer: Peer, message: Message) -> None:
        peer.refuse(message, -32000, text, outcome=by_http(400, from_server=True))

    async with open_rig(behave, http=True) as rig:
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5), pytest.raises(UpstreamUnreachable, match="no longer knows"):
            await rig.session.request("tools/list")
        assert rig.session.closed


@pytest.mark.parametrize("facts", [MODERN, HANDSHAKE], ids=["modern", "handshake"])
async def test_a_server_that_stops_speaking_our_revision_ends_the_session(
    facts: ServerFacts,
) -> None:
    async def behave(peer: Peer, message: Message) -> None:
        peer.refuse(message, -32022, "unsupported", data={"supported": ["2027-01-01"]})

    async with open_rig(behave) as rig:
        rig.session.adopt(facts)
        with anyio.fail_after(5), pytest.raises(UpstreamUnreachable, match="no longer speaks"):
            await rig.session.request("tools/list")
        assert rig.session.closed


@pytest.mark.parametrize(
    "outcome",
    [by_http(400), by_http(404), by_http(405), by_http(400, from_server=True)],
    ids=["400", "404", "405", "400-foreign-code"],
)
@pytest.mark.parametrize("second", ["answer", "outage", "same"])
async def test_a_foreign_answer_makes_a_modern_session_ask_again_what_the_server_is(
    outcome: HttpOutcome, second: str
) -> None:
    async def behave(peer: Peer, message: Message) -> None:
        probed = message["method"] == "server/discover"
        if probed and second == "answer":
            peer.answer(message)
        else:
            found = by_http(503) if probed and second == "outage" else outcome
            peer.refuse(message, -32000, "why", outcome=found)

    async with open_rig(behave, http=True) as rig:
        rig.session.adopt(MODERN)
        with anyio.fail_after(5), pytest.raises(ToolcribError) as caught:
            await rig.session.request("tools/list")
        assert rig.session.closed is (second == "same")
    assert len(rig.peer.sent("server/discover")) == 1
    changed = "the server no longer answers as MCP 2026-07-28"
    assert caught.value.message == (changed if second == "same" else "why")


@pytest.mark.parametrize("code", [-32601, -32602, -32600, -32020, -32021, -32603])
async def test_a_refusal_in_the_words_of_the_revision_ends_nothing(code: int) -> None:
    error = await failing(code, by_http(404, from_server=True), facts=MODERN)
    assert isinstance(error, UpstreamRefused)


async def test_a_session_without_an_era_is_a_bug_of_ours() -> None:
    async with open_rig(ignore) as rig:
        with pytest.raises(ToolcribBug):
            assert rig.session.facts


# ---- what the server says unasked ----


async def test_notifications_are_heard_in_receive_order_before_the_answer_after_them() -> None:
    async def behave(peer: Peer, message: Message) -> None:
        for number in range(5):
            peer.notify("notifications/tools/list_changed", n=number)
        peer.notify("notifications/never/heard/of")
        peer.answer(message)

    async with open_rig(behave) as rig:
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5):
            await rig.session.request("tools/call")
        assert rig.signals.heard == [
            *["notifications/tools/list_changed"] * 5,
            "notifications/never/heard/of",
        ]
        assert [params.get("n") for params in rig.signals.params[:5]] == [0, 1, 2, 3, 4]


async def test_a_listener_that_raises_ends_nothing_and_is_reported_once() -> None:
    async def behave(peer: Peer, message: Message) -> None:
        for _ in range(3):
            peer.notify("notifications/x")
        peer.answer(message)

    async with open_rig(behave) as rig:
        rig.signals.fault = RuntimeError("secret")
        rig.session.adopt(HANDSHAKE)
        with anyio.fail_after(5):
            await rig.session.request("tools/call")
            await rig.session.request("tools/call")
        assert len(rig.signals.heard) == 6
    assert rig.facts.of(Finding) == [
        Finding("rig", "listener_failed", "RuntimeError at notifications/x")
    ]


async def test_a_transport_fault_between_messages_is_reported_and_skipped() -> None:
    async with open_rig(echo) as rig:
        rig.session.adopt(HANDSHAKE)
        rig.peer.out.send_nowait(ValueError("secret"))
        with anyio.fail_after(5):
            await rig.session.request("tools/list")
    assert rig.facts.of(Finding) == [Finding("rig", "unreadable_message", "ValueError")]


# ---- what the server asks ----

CAPABLE = ClientProfile({"elicitation": {"form": {}}, "roots": {}})


async def asked(rig: SessionRig, request_id: int | str, method: str) -> Message:
    rig.peer.ask(request_id, method, a=1)
    with anyio.fail_after(5):
        while True:
            for message in rig.peer.received:
                if message.get("id") == request_id and "method" not in message:
                    return message
            await anyio.lowlevel.checkpoint()


async def test_a_ping_is_answered() -> None:
    async with open_rig(ignore) as rig:
        rig.session.adopt(HANDSHAKE)
        assert await asked(rig, 7, "ping") == {"jsonrpc": "2.0", "id": 7, "result": {}}
        assert rig.signals.asked == []


async def test_what_the_profile_allows_is_handed_to_the_signals() -> None:
    async with open_rig(ignore, profile=CAPABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        rig.signals.answers["roots/list"] = {"roots": []}
        answer = await asked(rig, "r", "roots/list")
        assert answer["result"] == {"roots": []}
        assert rig.signals.asked == [("roots/list", {"a": 1})]


@pytest.mark.parametrize("method", ["sampling/createMessage", "weather/ask", "tools/list"])
async def test_what_was_not_declared_is_refused_without_asking_anybody(method: str) -> None:
    async with open_rig(ignore, profile=CAPABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        answer = await asked(rig, 1, method)
        assert answer["error"]["code"] == -32601
        assert rig.signals.asked == []


async def test_a_refusal_of_the_signals_is_the_answer_and_other_errors_are_hidden() -> None:
    async with open_rig(ignore, profile=CAPABLE) as rig:
        rig.session.adopt(HANDSHAKE)
        refusal = UpstreamRefused("not now", rpc_code=-1, data={"b": 2})
        rig.signals.answers["roots/list"] = refusal
        first = await asked(rig, 1, "roots/list")
        rig.signals.answers["roots/list"] = RuntimeError("secret")
        second = await asked(rig, 2, "roots/list")
        assert first["error"] == {"code": -1, "message": "not now", "data": {"b": 2}}
        assert second["error"]["code"] == -32603
        assert "secret" not in str(second)
        assert not rig.session.closed
    assert [fact.code for fact in rig.facts.of(Finding)] == ["listener_failed"]


async def test_a_modern_server_is_never_answered() -> None:
    async with open_rig(echo, profile=CAPABLE) as rig:
        rig.session.expect_requests()
        rig.session.adopt(MODERN)
        for number, method in enumerate(["ping", "elicitation/create", "x"]):
            rig.peer.ask(number, method)
        with anyio.fail_after(5):
            await rig.session.request("tools/list")
            await rig.session.request("tools/list")
        assert [message["method"] for message in rig.peer.received] == ["tools/list"] * 2
        assert rig.signals.asked == []
    assert rig.facts.of(Finding) == [Finding("rig", "stray_request", "ping")]


async def test_before_the_era_is_known_nobody_is_answered_but_a_handshake_is() -> None:
    async with open_rig(ignore) as rig:
        rig.peer.ask(1, "ping")
        with anyio.fail_after(5):
            while not rig.facts.facts:
                await anyio.lowlevel.checkpoint()
        rig.session.expect_requests()
        assert (await asked(rig, 2, "ping"))["result"] == {}
    assert [message["id"] for message in rig.peer.received] == [2]


async def test_the_negotiation_is_never_cancelled() -> None:
    async with open_rig(ignore) as rig:
        with anyio.fail_after(5), anyio.move_on_after(0.01):
            await rig.session.negotiate("initialize", {}, rig.session._stamp, timeout=9)
        with anyio.fail_after(5), pytest.raises(RequestTimedOut):
            await rig.session.negotiate("initialize", {}, rig.session._stamp, timeout=0.01)
        await anyio.wait_all_tasks_blocked()
    assert [message["method"] for message in rig.peer.received] == ["initialize"] * 2
