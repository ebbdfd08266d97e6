"""Anything that a host may send instead of a message: an answer at most, and the session lives."""

import json
import os
from collections.abc import Awaitable, Callable
from io import FileIO
from typing import Any, Final

import anyio
from anyio import to_thread
from hypothesis import event, given, settings
from hypothesis import strategies as st

from toolcrib.core.partition import ANONYMOUS, LOCAL
from toolcrib.testing.asgi_host import BASE, AsgiHost
from toolcrib.testing.fake_service import FakeService
from toolcrib.testing.stream_host import CLIENT, enveloped
from toolcrib.wire.http.entry import McpEndpoint
from toolcrib.wire.http.guard import HttpLimits
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.stdio import pipes
from toolcrib.wire.streams import serve_streams

METHODS: Final = (
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "prompts/get",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "completion/complete",
    "logging/setLevel",
    "server/discover",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "tasks/get",
    "",
)
"""`subscriptions/listen` is not among them: a good one is answered when its stream ends."""

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["2.0", "2025-11-25", "2026-07-28", "info", "a:1"])
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "uri", "level", "_meta", "arguments", "requestId", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
messages = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | scalars,
        "id": st.integers(0, 5) | values,
        "method": st.sampled_from(METHODS) | values,
        "params": values,
        "result": values,
        "error": values,
    },
)


def encoded(value: object) -> bytes:
    """As JSON, or what looks like it: NaN and infinities are written as words."""
    return json.dumps(value).encode()


@st.composite
def cut(draw: st.DrawFn) -> bytes:
    """A message that was damaged on its way."""
    body = bytearray(encoded(draw(messages)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(body)))
        body[place : place + draw(st.integers(0, 4))] = draw(st.binary(max_size=4))
    return bytes(body)


bodies = (
    messages.map(encoded)
    | values.map(encoded)
    | st.lists(messages, max_size=2).map(encoded)
    | cut()
    | st.binary(max_size=60)
)


def service() -> FakeService:
    made = FakeService()
    made.declared = {"logging": {}, "resources": {"subscribe": True}, "tools": {}}
    return made


async def _both_eras(bodies: list[bytes]) -> None:
    host = AsgiHost(McpEndpoint(Kernel(service()), HttpLimits(), lambda _scope: ANONYMOUS))
    session = await host.initialize()
    modern = {**BASE, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call"}
    for body in bodies:
        for headers in ({**BASE, "mcp-session-id": session}, modern):
            answered = await host.ask(headers=headers, body=body)
            event(f"HTTP {answered.status}")
            assert answered.status in {200, 202, 400, 404}
            if answered.status == 202:
                assert answered.body == b""
                continue
            told = answered.message
            assert told["jsonrpc"] == "2.0"
            assert ("result" in told) != ("error" in told)
            if "error" in told:
                assert isinstance(told["error"]["code"], int)
                assert told["error"]["code"] != -32603
            else:
                assert answered.status == 200
    assert (await host.ask(**host.handshake("ping", session=session))).message["result"] == {}
    listed = await host.ask(**host.modern("tools/list"))
    assert listed.message["result"]["resultType"] == "complete"


@given(st.lists(bodies, min_size=1, max_size=4))
@settings(max_examples=150)
def test_whatever_is_posted_is_answered_and_the_session_lives(bodies: list[bytes]) -> None:
    _run(lambda: _both_eras(bodies))


class Wires:
    """A server on two pipes, and the host at the other ends of them."""

    def __init__(self) -> None:
        stdin, to_stdin = os.pipe()
        from_stdout, stdout = os.pipe()
        self.source, self.sink = FileIO(stdin, "rb"), FileIO(stdout, "wb")
        self.to_server, self.from_server = FileIO(to_stdin, "wb"), FileIO(from_stdout, "rb")
        self.heard: list[dict[str, Any]] = []

    async def serve(self) -> None:
        async with pipes(self.source, self.sink, 1_000_000) as (incoming, outgoing):
            await serve_streams(Kernel(service()), incoming, outgoing, LOCAL)

    def say(self, **message: Any) -> None:
        self.to_server.write(encoded({"jsonrpc": "2.0", **message}) + b"\n")

    def hear(self) -> None:
        """Read until the last request is answered."""
        rest = b""
        while chunk := self.from_server.read(65_536):
            *whole, rest = (rest + chunk).split(b"\n")
            self.heard.extend(json.loads(line) for line in whole)
            if any(message.get("id") == "last" for message in self.heard):
                return

    def close(self) -> None:
        for end in (self.source, self.sink, self.to_server, self.from_server):
            end.close()


async def _over_pipes(lines: list[bytes], *, modern: bool) -> None:
    wires = Wires()
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
    first, last = ("server/discover", "tools/list") if modern else ("initialize", "ping")
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wires.serve)
            wires.say(id="first", method=first, params=enveloped() if modern else opening)
            for line in lines:
                wires.to_server.write(line.replace(b"\n", b" ") + b"\n")
            wires.say(id="last", method=last, params=enveloped() if modern else {})
            await to_thread.run_sync(wires.hear)
            tasks.cancel_scope.cancel()
    finally:
        wires.close()
    _check(wires.heard)


def _check(heard: list[dict[str, Any]]) -> None:
    """The good requests got their results, and whatever else was answered is well formed."""
    by_id = {message["id"]: message for message in heard if isinstance(message.get("id"), str)}
    assert "result" in by_id["first"]
    assert "result" in by_id["last"]
    for message in heard:
        event("an error" if "error" in message else "a result")
        assert message["jsonrpc"] == "2.0"
        assert message.get("error", {}).get("code") != -32603


@given(st.lists(bodies, min_size=1, max_size=4), st.booleans())
@settings(max_examples=100)
def test_whatever_is_on_a_line_the_connection_lives(lines: list[bytes], modern: bool) -> None:  # noqa: FBT001 - drawn
    _run(lambda: _over_pipes(lines, modern=modern))


def _run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        with anyio.fail_after(10):
            await work()

    anyio.run(bounded)
