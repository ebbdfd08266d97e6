"""Malformed JSON-RPC of a server, through a live session: an error of one request at the most."""

import json
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import ByteReceiveStream
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from trio.testing import MockClock

from toolcrib.adapters.background import background
from toolcrib.adapters.http.transport import open_streamable_http
from toolcrib.adapters.redaction import Redaction
from toolcrib.adapters.session.attempt import Attempt
from toolcrib.adapters.session.guarded_signals import GuardedSignals
from toolcrib.adapters.session.handshake_streams import HandshakeStreams
from toolcrib.adapters.session.inbound import Source
from toolcrib.adapters.session.session import Session, Sink, Transport
from toolcrib.adapters.stdio.noise_count import NoiseCount
from toolcrib.adapters.stdio.stderr_tail import StderrTail
from toolcrib.adapters.stdio.stdout_reader import StdoutReader
from toolcrib.adapters.stdio.transport import StdioFacts
from toolcrib.errors import ResultInvalid, ToolcribError
from toolcrib.facts import Finding
from toolcrib.ports import RequestContext, ServerFacts
from toolcrib.settings import HttpLaunch, Limits, Secret, ServerSettings
from toolcrib.testing.connected import ASKABLE
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.signal_log import SignalLog
from toolcrib.testing.virtual_clock import LoopClock

IN_FLIGHT = 3
LIMITS = Limits(line_bytes=6_000, result_bytes=6_000, request_seconds=5.0)
ERAS = [
    ServerFacts("modern", "2026-07-28", {"tools": {}}),
    ServerFacts("handshake", "2025-11-25", {"tools": {}}),
]
LAUNCH = HttpLaunch(Secret("http://peer.invalid/mcp"))
GOOD = {"resultType": "complete", "fine": True}

# ---------------------------------------------------------------- what may come

ODD_IDS: list[Any] = ["1", "2", "x", 1.5, True, None, -1, 2**70, [1], {}]
IDS: st.SearchStrategy[Any] = st.sampled_from([*range(IN_FLIGHT + 2), *ODD_IDS])
LEAVES: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["\ud800", "2.0", "complete", "input_required", "weird", 10**400])
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
METHODS = st.sampled_from(
    [
        "notifications/progress",
        "notifications/message",
        "notifications/cancelled",
        "notifications/tools/list_changed",
        "notifications/subscriptions/acknowledged",
        "elicitation/create",
        "sampling/createMessage",
        "roots/list",
        "ping",
        "tools/call",
        "",
    ]
)
PARAMS = VALUES | st.fixed_dictionaries(
    {},
    optional={
        "progressToken": IDS,
        "progress": VALUES,
        "requestId": IDS,
        "level": VALUES,
        "_meta": VALUES,
        "message": VALUES,
    },
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2, None]),
        "id": IDS,
        "method": METHODS | VALUES,
        "params": PARAMS,
        "result": VALUES | st.fixed_dictionaries({}, optional={"resultType": VALUES, "n": VALUES}),
        "error": VALUES
        | st.fixed_dictionaries({}, optional={"code": VALUES, "message": VALUES, "data": VALUES}),
    },
)
LIKELY = MESSAGES.map(lambda fields: {"jsonrpc": "2.0", **fields})


def written(value: object) -> bytes:
    return json.dumps(value).encode()


def cut(pair: tuple[bytes, int]) -> bytes:
    text, keep = pair
    return text[: keep % (len(text) + 1)]


WHOLE = (LIKELY | MESSAGES | VALUES).map(written)
TEXTS = (
    WHOLE
    | st.tuples(WHOLE, st.integers(0, 400)).map(cut)
    | st.binary(max_size=40)
    | st.sampled_from(
        [
            b'{"jsonrpc":"2.0","id":1,"result":{"n":12',
            b'{"jsonrpc":"2.0","id":1,"result":{"n":-}}',
            b'{"jsonrpc":"2.0","id":1,"result":{"n":1e',
            b'{"jsonrpc":"2.0","id":2,"result":' + b"[" * 1_200,
            b'{"jsonrpc":"2.0","id":2,"result":{"n":' + b"9" * 4_400 + b"}}",
            b'{"jsonrpc":"2.0","id":3,"result":{"n":NaN,"m":Infinity}}',
            b'{"jsonrpc":"2.0","id":1,"id":2,"result":{}}',
            b'[{"jsonrpc":"2.0","id":1,"result":{}}]',
            b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"both"}}',
            b'\xff\xfe{"jsonrpc":"2.0"}',
            b"\xef\xbb\xbf" + b'{"jsonrpc":"2.0","id":1,"result":{}}',
            b'{"jsonrpc":"2.0","id":1,"result":{"x":"' + b"y" * 7_000 + b'"}}',
        ]
    )
)


# ---------------------------------------------------------------- a live session


@asynccontextmanager
async def live(
    source: Source, sink: Sink, transport: Transport, facts: ServerFacts, recorder: Recorder
) -> AsyncGenerator[Session]:
    guarded = GuardedSignals(SignalLog(), "peer", recorder)
    server = ServerSettings("peer", LAUNCH)
    attempt = Attempt(server, ASKABLE, guarded, LIMITS, recorder, LoopClock())
    session = Session(attempt, source, sink, transport)
    async with background() as tasks:
        await tasks.start(session.run)
        session.adopt(facts)
        yield session


class Outcomes:
    """What became of the requests that were under way while it rained."""

    def __init__(self) -> None:
        self.results: list[dict[str, Any]] = []
        self.errors: list[ToolcribError] = []
        self.told: list[object] = []

    async def ask(self, session: Session) -> None:
        try:
            context = RequestContext(ask=self._answer, heard=self._hear, log_level="debug")
            self.results.append(
                await session.request(
                    "tools/call", {"name": "x"}, progress=self._progress, context=context
                )
            )
        except ToolcribError as error:
            self.errors.append(error)

    async def _answer(self, method: str, params: Any) -> dict[str, Any]:
        self.told.append((method, params))
        return {"action": "decline"}

    async def _hear(self, method: str, params: Any) -> None:
        self.told.append((method, params))

    async def _progress(self, *told: object) -> None:
        self.told.append(told)

    @property
    def all(self) -> int:
        return len(self.results) + len(self.errors)


def run(play: Callable[[], Any]) -> Any:
    clock = MockClock(autojump_threshold=0)
    return anyio.run(play, backend="trio", backend_options={"clock": clock})


# ---------------------------------------------------------------- over a pipe


class Pipe(ByteReceiveStream):
    """The read end of a pipe that a test writes into."""

    def __init__(self) -> None:
        self.write, self.read = anyio.create_memory_object_stream[bytes](math.inf)

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        del max_bytes
        return await self.read.receive()

    async def aclose(self) -> None:
        self.read.close()


async def rain_on_a_pipe(lines: list[bytes], chunk: int, facts: ServerFacts) -> Outcomes:
    pipe, recorder, outcomes = Pipe(), Recorder(), Outcomes()
    redaction = Redaction(())
    noise = NoiseCount("peer", LIMITS.line_bytes, redaction, recorder)
    transport = StdioFacts(0, StderrTail(1000, redaction), noise)
    reader = StdoutReader(pipe, LIMITS.line_bytes, noise, redaction, anyio.lowlevel.checkpoint)
    sink, sent = anyio.create_memory_object_stream[SessionMessage](10_000)
    with pipe.write, pipe.read, sink, sent:
        async with live(reader, sink, transport, facts, recorder) as session:
            async with anyio.create_task_group() as tasks:
                for _ in range(IN_FLIGHT):
                    tasks.start_soon(outcomes.ask, session)
                await anyio.wait_all_tasks_blocked()
                text = b"".join(line.replace(b"\n", b" ") + b"\n" for line in lines)
                for at in range(0, len(text), chunk):
                    pipe.write.send_nowait(text[at : at + chunk])
            assert outcomes.all == IN_FLIGHT, "each request ends, in its time-out at the latest"
            await goes_on(session, sent, pipe)
            assert not session.closed
    assert [one for one in recorder.of(Finding) if one.code == "session_failed"] == []
    return outcomes


async def goes_on(session: Session, sent: Any, pipe: Pipe) -> None:
    """The session still carries a request: its answer, to the byte."""
    found: list[dict[str, Any]] = []

    async def ask() -> None:
        found.append(await session.request("tools/list"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        while True:
            message = (await sent.receive()).message
            if getattr(message, "method", None) == "tools/list":
                break
        answer = {"jsonrpc": "2.0", "id": message.id, "result": GOOD}
        pipe.write.send_nowait(written(answer) + b"\n")
    assert found == [GOOD]


@settings(max_examples=150)
@given(
    st.lists(TEXTS, min_size=1, max_size=4),
    st.sampled_from([5, 64, 100_000]),
    st.sampled_from(ERAS),
)
def test_whatever_lines_come_the_session_lives(
    lines: list[bytes], chunk: int, facts: ServerFacts
) -> None:
    run(partial(rain_on_a_pipe, lines, chunk, facts))


@pytest.mark.parametrize("facts", ERAS, ids=["modern", "handshake"])
@pytest.mark.parametrize(
    "text",
    [
        b'{"jsonrpc":"2.0","id":1,"result":{"n":12',
        b'{"jsonrpc":"2.0","id":1,"result":{"n":1e',
        b'{"jsonrpc":"2.0","id":1,"result":{"n":-',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":[1,2',
        b'{"jsonrpc":"2.0","id":1,"result":{"n":0x1F}}',
    ],
)
@pytest.mark.parametrize("chunk", [1, 100_000])
def test_a_result_that_is_cut_inside_a_number_fails_its_own_request_at_once(
    text: bytes, facts: ServerFacts, chunk: int
) -> None:
    outcomes = run(partial(rain_on_a_pipe, [text], chunk, facts))
    assert outcomes.results == []
    told = [error for error in outcomes.errors if isinstance(error, ResultInvalid)]
    assert len(told) == 1, "the others were never answered"
    assert "cannot be read as JSON" in told[0].message


@pytest.mark.parametrize("chunk", [1, 2, 3])
def test_a_number_that_arrives_in_pieces_is_one_number(chunk: int) -> None:
    text = b'{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","n":9007199254740993}}'
    outcomes = run(partial(rain_on_a_pipe, [text], chunk, ERAS[0]))
    assert outcomes.results == [{"resultType": "complete", "n": 9007199254740993}]


# ---------------------------------------------------------------- over HTTP


def as_events(texts: list[bytes], ending: bytes) -> bytes:
    return b"".join(
        b"".join(b"data: " + line + b"\n" for line in text.splitlines() or [b""]) + ending
        for text in texts
    )


async def rain_over_http(
    body: bytes, content_type: str, status: int, facts: ServerFacts
) -> Outcomes:
    recorder, outcomes = Recorder(), Outcomes()
    calls = 0

    def behave(request: httpx2.Request) -> httpx2.Response:
        nonlocal calls
        if request.method != "POST":
            return httpx2.Response(405)
        message = json.loads(request.content)
        if message.get("method") == "tools/call":
            calls += 1
            if calls == 1:
                headers = {"content-type": content_type}
                return httpx2.Response(status, headers=headers, content=body)
        if "id" not in message or "method" not in message:
            return httpx2.Response(202)
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": GOOD}
        return httpx2.Response(200, json=answer)

    streams = open_streamable_http(
        LAUNCH,
        limits=LIMITS,
        watch=HandshakeStreams(SignalLog()),
        transport=httpx2.MockTransport(behave),
    )
    async with (
        streams as (source, sink, transport),
        live(source, sink, transport, facts, recorder) as session,
    ):
        await outcomes.ask(session)
        assert outcomes.all == 1
        if not session.closed:
            assert await session.request("tools/list") == GOOD
        else:
            assert status in {400, 404, 405}, "only a foreign answer ends a connection"
            assert outcomes.errors
    assert [one for one in recorder.of(Finding) if one.code == "session_failed"] == []
    return outcomes


STATUSES = st.sampled_from([200, 200, 200, 201, 202, 204, 400, 404, 500])


@settings(max_examples=150)
@given(
    TEXTS,
    st.sampled_from(["application/json", "application/x+json"]),
    STATUSES,
    st.sampled_from(ERAS),
)
@example(b'{"jsonrpc":"2.0","id":1,"result":{"n":12', "application/json", 200, ERAS[0])
def test_whatever_body_comes_the_session_lives(
    body: bytes, content_type: str, status: int, facts: ServerFacts
) -> None:
    run(partial(rain_over_http, body, content_type, status, facts))


# The HTTP client's reader of events leaves its inner generators to the garbage collector, of which
# trio warns; the stream itself is closed.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@settings(max_examples=150)
@given(
    st.lists(TEXTS, max_size=4),
    st.sampled_from([b"\n", b"\r\n\r\n", b"", b"id: 1\n\n", b"retry: x\nid:\n\n"]),
    st.binary(max_size=20),
    st.sampled_from(ERAS),
)
def test_whatever_events_come_the_session_lives(
    texts: list[bytes], ending: bytes, rest: bytes, facts: ServerFacts
) -> None:
    body = as_events(texts, ending) + rest
    run(partial(rain_over_http, body, "text/event-stream", 200, facts))


@pytest.mark.parametrize("facts", ERAS, ids=["modern", "handshake"])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_a_body_that_is_cut_inside_a_number_fails_its_request(
    kind: str, facts: ServerFacts
) -> None:
    text = b'{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","n":12'
    body = text if kind == "application/json" else as_events([text], b"\n")
    outcomes = run(partial(rain_over_http, body, kind, 200, facts))
    (error,) = outcomes.errors
    assert "is not the JSON-RPC message" in error.message or "cannot be read" in error.message
