"""A host gives a call up: its server hears of that call alone, and the host nothing more."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import pytest

from toolcrib.ports import Era
from toolcrib.testing.asgi_host import AsgiHost
from toolcrib.testing.connected import PAIRS
from toolcrib.testing.scripted_gateway import ServedGateway
from toolcrib.testing.scripted_server import (
    Content,
    Delay,
    Profile,
    Progress,
    scripted_http,
    scripted_stdio,
    tool,
)
from toolcrib.testing.server.rulebook import Wire
from toolcrib.testing.stream_host import enveloped, stream_host
from toolcrib.testing.wired_gateway import wired_gateway
from toolcrib.wire.kernel import Kernel

WAYS = [(*pair, True) for pair in PAIRS] + [("http", era, False) for era in ("modern", "handshake")]
"""Servers, and over HTTP whether they answer calls as event streams or as JSON."""

CALL: dict[str, Any] = {"name": "s__slow", "arguments": {}}
CANCELLED = "notifications/cancelled"

Answered = Callable[[], list[dict[str, Any]]]
"""What the host was answered so far."""


@asynccontextmanager
async def by_stream(
    gateway: ServedGateway, *, modern: bool
) -> AsyncGenerator[tuple[Callable[[], Awaitable[None]], Answered]]:
    """A call under way over a pair of streams, how to give it up, and what was heard."""
    async with stream_host(Kernel(gateway.gateway)) as host:
        if not modern:
            await host.initialize()
        begun = len(host.heard)
        await host.send("tools/call", enveloped(CALL) if modern else CALL, id=7)
        yield (
            lambda: host.send(CANCELLED, {"requestId": 7}),
            lambda: [one for one in host.heard[begun:] if "method" not in one],
        )


@asynccontextmanager
async def by_http(
    gateway: ServedGateway, *, modern: bool
) -> AsyncGenerator[tuple[Callable[[], Awaitable[None]], Answered]]:
    """The same over HTTP: a modern host hangs up, an older one sends a notification."""
    app = gateway.gateway.asgi_app()
    async with app.router.lifespan_context(app):
        host = AsgiHost(app)
        session = "" if modern else await host.initialize()
        if modern:
            request = host.modern("tools/call", CALL)
        else:
            request = host.handshake("tools/call", CALL, session=session)
        request_id = host.last_id
        async with host.exchange(**request) as exchange:

            async def give_up() -> None:
                if modern:
                    exchange.hang_up()
                    return
                params = {"requestId": request_id}
                await host.ask(**host.notification(CANCELLED, params, session=session))

            yield give_up, lambda: [one for one in exchange.messages if "method" not in one]


HOSTS = {
    "streams, modern": partial(by_stream, modern=True),
    "streams, handshake": partial(by_stream, modern=False),
    "HTTP, modern": partial(by_http, modern=True),
    "HTTP, handshake": partial(by_http, modern=False),
}


@pytest.mark.duty(34)
@pytest.mark.parametrize(("wire", "era", "events"), WAYS)
@pytest.mark.parametrize("host", HOSTS)
async def test_a_call_that_is_given_up_ends_at_its_server_and_is_not_answered(
    host: str, wire: Wire, era: Era, *, events: bool
) -> None:
    opened = {"stdio": scripted_stdio, "http": scripted_http}[wire]
    profile = Profile(event_answers=events)
    if era == "handshake":
        profile = replace(profile, modern=())
    steps = [Progress(n, 100) for n in (1, 2)] if events else []
    with anyio.fail_after(10):
        async with (
            opened(Content(tools=[tool("slow"), tool("beside")]), profile) as server,
            wired_gateway(server.settings("s")) as gateway,
        ):
            await gateway.names()
            await server.on("tools/call:slow", *steps, Delay(30))
            await server.on("tools/call:beside", Delay(0.2))
            results: list[dict[str, Any]] = []

            async def call_beside() -> None:
                results.append(await gateway.call("s__beside"))

            async with anyio.create_task_group() as tasks, HOSTS[host](gateway) as (up, answered):
                await server.until(lambda seen: seen.calls["slow"] == 1)
                tasks.start_soon(call_beside)
                await server.until(lambda seen: seen.calls["beside"] == 1)
                await up()
                await server.until(lambda seen: seen.gave_up == 1)
                await anyio.wait_all_tasks_blocked()
                # A POST of the handshake revisions has to end somehow: with the error for it.
                expected = [-32800] if host == "HTTP, handshake" else []
                assert [one.get("error", {}).get("code") for one in answered()] == expected
            assert [bool(result.get("isError")) for result in results] == [False]
            counts = await server.counts()
            assert (counts.gave_up, counts.calls["slow"]) == (1, 1)
            told = [one.message["params"]["requestId"] for one in await server.heard(CANCELLED)]
            calls = await server.heard("tools/call")
    slow = next(one.message["id"] for one in calls if one.message["params"]["name"] == "slow")
    # Over HTTP a modern server is told by the end of the stream.
    assert told == ([] if (wire, era) == ("http", "modern") else [slow])
