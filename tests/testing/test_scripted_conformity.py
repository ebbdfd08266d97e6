"""The scripted server, when nothing is to go wrong, is a server that real clients take for one."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from toolcrib.adapters.connector import McpConnector
from toolcrib.adapters.system_clock import SystemClock
from toolcrib.core.snapshot import Kind
from toolcrib.ports import ClientProfile, Era
from toolcrib.settings import HttpLaunch, Limits, StdioLaunch
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted_server import (
    Content,
    Group,
    Pages,
    Profile,
    ScriptedServer,
    scripted_http,
    scripted_sse,
    scripted_stdio,
    tool,
)
from toolcrib.testing.signal_log import SignalLog

CONTENT = Content(tools=[tool("add"), tool("sub")], prompts=[{"name": "p"}])
Wire = Literal["stdio", "http", "sse"]
MODES: list[tuple[Wire, Literal["legacy", "auto"]]] = [
    ("stdio", "legacy"),
    ("stdio", "auto"),
    ("http", "legacy"),
    ("http", "auto"),
    ("sse", "legacy"),
]


def scripted(
    wire: Wire, *groups: Group
) -> AbstractAsyncContextManager[ScriptedServer[StdioLaunch] | ScriptedServer[HttpLaunch]]:
    match wire:
        case "stdio":
            return scripted_stdio(*groups)
        case "http":
            return scripted_http(*groups)
        case "sse":
            return scripted_sse(*groups)


def transport(launch: StdioLaunch | HttpLaunch) -> AbstractAsyncContextManager[Any]:
    match launch:
        case StdioLaunch():
            return stdio_client(StdioServerParameters(command=launch.command, args=[*launch.args]))
        case HttpLaunch(transport="sse"):
            return sse_client(launch.url.reveal())
        case HttpLaunch():
            return streamable_http_client(launch.url.reveal())


@pytest.mark.parametrize(("wire", "mode"), MODES)
async def test_the_sdks_client_lists_and_calls(wire: Wire, mode: Literal["legacy", "auto"]) -> None:
    with anyio.fail_after(10):
        async with (
            scripted(wire, CONTENT) as server,
            Client(transport(server.launch), mode=mode, cache=None) as client,
        ):
            listed = await client.list_tools()
            assert [one.name for one in listed.tools] == ["add", "sub"]
            called = await client.call_tool("add", {"a": 1})
            assert isinstance(called.content[0], TextContent)
            assert called.content[0].text == "add(a=1)"
            assert [one.name for one in (await client.list_prompts()).prompts] == ["p"]


@asynccontextmanager
async def connected(wire: Wire, *groups: Group) -> AsyncGenerator[tuple[Any, Any, SignalLog]]:
    """A server, and this package's own connection to it."""
    recorder, clock = Recorder(), SystemClock()
    connector = McpConnector(limits=Limits(), observer=recorder, clock=clock)
    signals = SignalLog()
    with anyio.fail_after(10):
        async with (
            scripted(wire, *groups) as server,
            connector.connect(server.settings(), ClientProfile(), signals, None) as upstream,
        ):
            yield server, upstream, signals


ERAS: list[tuple[Wire, Era]] = [
    ("stdio", "modern"),
    ("stdio", "handshake"),
    ("http", "modern"),
    ("http", "handshake"),
    ("sse", "handshake"),
]


@pytest.mark.parametrize(("wire", "era"), ERAS)
async def test_our_own_connections_find_its_era_list_it_and_hear_its_signals(
    wire: Wire, era: Era
) -> None:
    profile = Profile() if era == "modern" else Profile(modern=())
    async with connected(wire, CONTENT, Pages(size=1), profile) as (server, upstream, signals):
        assert upstream.facts.era == era
        first = await upstream.request("tools/list")
        rest = await upstream.request("tools/list", {"cursor": first["nextCursor"]})
        assert [one["name"] for one in first["tools"] + rest["tools"]] == ["add", "sub"]
        await signals.wait_for("opened")
        await server.change(Content(tools=[tool("new")]), signal=Kind.TOOLS)
        await signals.wait_for("notifications/tools/list_changed")
        changed = await upstream.request("tools/list")
        assert [one["name"] for one in changed["tools"]] == ["new"]
