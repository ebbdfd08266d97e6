"""Connected hosts of every kind hear of a change exactly when what they see has changed."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.streams.memory import MemoryObjectSendStream

from toolcrib.core.snapshot import Kind
from toolcrib.testing.live.gateway import serving
from toolcrib.testing.live.host import http_host, stdio_host
from toolcrib.testing.live.room import Room
from toolcrib.testing.raw_client import (
    Events,
    RawHttp,
    RawPipe,
    enveloped,
    headers_of,
    message_in,
)
from toolcrib.testing.scripted_server import Content, scripted_stdio, tool

TOOLS = [tool("a"), tool("b")]
OTHER = [tool("a"), tool("c")]
PROMPTS = [{"name": "p"}]
QUIET = 1.0
"""Seconds: longer than the debounce, the re-check and the announcement together."""

WANTED = enveloped({"notifications": {"toolsListChanged": True, "promptsListChanged": True}})

Next = Callable[[], Awaitable[dict[str, Any]]]
Ask = Callable[[str], Awaitable[dict[str, Any]]]


@dataclass
class Host:
    """A host that is told of changes."""

    next: Next
    """The next notification."""
    ask: Ask
    """The result of a request without parameters."""

    async def names(self) -> list[str]:
        return [item["name"] for item in (await self.ask("tools/list"))["tools"]]

    async def told(self, count: int) -> list[str]:
        """So many notifications, and any that come while it would be quiet after them."""
        heard = [await self._method() for _ in range(count)]
        while True:
            with anyio.move_on_after(QUIET) as quiet:
                heard.append(await self._method())
            if quiet.cancelled_caught:
                return sorted(heard)

    async def _method(self) -> str:
        return (await self.next())["method"].removeprefix("notifications/")


async def at_pipe(pipe: RawPipe, *, modern: bool) -> Host:
    if modern:
        await pipe.begin("subscriptions/listen", WANTED)
        assert (await pipe.next())["method"] == "notifications/subscriptions/acknowledged"
    else:
        await pipe.shake_hands()

    async def ask(method: str) -> dict[str, Any]:
        return (await (pipe.ask if modern else pipe.ask_plainly)(method))["result"]

    return Host(pipe.next, ask)


async def pass_on(events: Events, to: MemoryObjectSendStream[dict[str, Any]]) -> None:
    """Reads on and on: a read that is given up takes the stream with it."""
    with suppress(EOFError):
        while True:
            await to.send(await events.next())


async def at_url(http: RawHttp, stack: AsyncExitStack, *, modern: bool) -> Host:
    if modern:
        listen = http.request("subscriptions/listen", WANTED)
        opened = http.stream(listen, headers_of(listen))
    else:
        await http.shake_hands()
        opened = http.stream()
    response, events = await stack.enter_async_context(opened)
    assert response.status_code == 200
    if modern:
        assert (await events.next())["method"] == "notifications/subscriptions/acknowledged"
    to, told = anyio.create_memory_object_stream[dict[str, Any]](100)
    stack.enter_context(to)
    stack.enter_context(told)
    tasks = await stack.enter_async_context(anyio.create_task_group())
    stack.callback(tasks.cancel_scope.cancel)
    tasks.start_soon(pass_on, events, to)

    async def ask(method: str) -> dict[str, Any]:
        answer = await (http.ask if modern else http.ask_plainly)(method)
        return message_in(answer)["result"]

    return Host(told.receive, ask)


@asynccontextmanager
async def connected(room: Room, config: Path, kind: str) -> AsyncGenerator[Host]:
    modern = kind.endswith("listen")
    async with AsyncExitStack() as stack:
        if kind.startswith("stdio"):
            pipe = await stack.enter_async_context(stdio_host(room, "--config", config))
            yield await at_pipe(pipe, modern=modern)
        else:
            gateway = await stack.enter_async_context(serving(room, "--config", config))
            await gateway.heard("refreshed", server="good")
            http = await stack.enter_async_context(http_host(gateway))
            yield await at_url(http, stack, modern=modern)


@pytest.mark.parametrize(
    "kind", ["stdio, handshake", "stdio, listen", "HTTP, GET stream", "HTTP, listen"]
)
async def test_a_host_is_told_once_for_each_change_and_never_without_one(
    room: Room, kind: str
) -> None:
    async with scripted_stdio(Content(tools=TOOLS, prompts=PROMPTS)) as good:
        config = room.configure({"good": good.entry()})
        with anyio.fail_after(100):
            async with connected(room, config, kind) as host:
                assert await host.names() == ["good__a", "good__b"]
                assert len((await host.ask("prompts/list"))["prompts"]) == 1
                await host.told(0)

                await good.change(Content(tools=OTHER, prompts=PROMPTS))
                assert await host.told(1) == ["tools/list_changed"]
                assert await host.names() == ["good__a", "good__c"]

                await good.signal(count=500)
                await good.change(Content(tools=OTHER[::-1], prompts=PROMPTS))
                await good.signal(Kind.RESOURCES)
                assert await host.told(0) == []

                described = [{**tool("a"), "description": "Another one."}, tool("c")]
                await good.set(Content(tools=described))
                await good.signal(Kind.TOOLS)
                await good.signal(Kind.PROMPTS)
                assert await host.told(2) == ["prompts/list_changed", "tools/list_changed"]
                assert (await host.ask("prompts/list"))["prompts"] == []
