"""Streamable HTTP against the SDK's own server, in both eras; what its transport would lose."""

import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
import uvicorn
from mcp.client.streamable_http import streamable_http_client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

from toolcrib.adapters.background import background
from toolcrib.testing.http_rig import HANDSHAKE, MODERN, HttpRig, drive_http, launch_of
from toolcrib.testing.raw_http import RawExchange, serve_raw_http

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "0"},
}


class Uvicorn(uvicorn.Server):
    """A uvicorn that leaves signals alone and says when it is up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = anyio.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()


class Listening(httpx2.AsyncBaseTransport):
    """The network, and the session id that came over it."""

    def __init__(self) -> None:
        self._network = httpx2.AsyncHTTPTransport()
        self.session_id = ""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._network.handle_async_request(request)
        self.session_id = response.headers.get("mcp-session-id", self.session_id)
        return response

    async def aclose(self) -> None:
        await self._network.aclose()


def build_server() -> Server[Any]:
    async def list_tools(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        schema = {"type": "object"}
        return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema=schema)])

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name == "announce":
            await context.session.send_tool_list_changed()
        return types.CallToolResult(content=[types.TextContent(type="text", text=params.name)])

    return Server("sdk", on_list_tools=list_tools, on_call_tool=call_tool)


@asynccontextmanager
async def sdk_server(**options: Any) -> AsyncGenerator[str]:
    app = build_server().streamable_http_app(**options)
    server = Uvicorn(uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=1))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve)
        await server.up.wait()
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/mcp"
        server.should_exit = True


async def call(rig: HttpRig, era: dict[str, str], name: str) -> dict[str, Any]:
    params: dict[str, Any] = {"name": name, "arguments": {}}
    headers = dict(era)
    if era is MODERN:
        params["_meta"] = META
        headers |= {"mcp-method": "tools/call", "mcp-name": name}
    options = CallOptions(headers=headers)
    return await rig.dispatcher.send_raw_request("tools/call", params, options)


async def shake_hands(rig: HttpRig) -> None:
    await rig.dispatcher.send_raw_request("initialize", HELLO)
    options = CallOptions(headers=dict(HANDSHAKE))
    await rig.dispatcher.notify("notifications/initialized", None, options)


@pytest.mark.parametrize("json_response", [True, False])
async def test_the_modern_era_works_without_a_session(*, json_response: bool) -> None:
    async with sdk_server(json_response=json_response) as url, drive_http(launch_of(url)) as rig:
        with anyio.fail_after(5):
            for name in ("a", "b"):
                result = await call(rig, MODERN, name)
                assert result["content"] == [{"type": "text", "text": name}]


@pytest.mark.parametrize("json_response", [True, False])
async def test_the_handshake_era_works_with_a_session(*, json_response: bool) -> None:
    async with sdk_server(json_response=json_response) as url, drive_http(launch_of(url)) as rig:
        with anyio.fail_after(5):
            await shake_hands(rig)
            await rig.watch.wait_for("opened")
            result = await call(rig, HANDSHAKE, "a")
            assert result["content"] == [{"type": "text", "text": "a"}]
            with pytest.raises(MCPError) as caught:
                await rig.dispatcher.send_raw_request("no/such", {}, CallOptions(headers=HANDSHAKE))
            assert caught.value.code == types.METHOD_NOT_FOUND
    assert rig.watch.events == ["opened"]
    assert not rig.facts.over


async def test_a_signal_of_the_server_arrives() -> None:
    async with sdk_server() as url, drive_http(launch_of(url)) as rig:
        with anyio.fail_after(5):
            await shake_hands(rig)
            await rig.watch.wait_for("opened")
            await call(rig, HANDSHAKE, "announce")
            await rig.wait_heard(1)
    assert rig.heard == ["notifications/tools/list_changed"]


async def test_a_session_that_the_server_ended_is_lost() -> None:
    network = Listening()
    async with sdk_server() as url, drive_http(launch_of(url), transport=network) as rig:
        with anyio.fail_after(5):
            await shake_hands(rig)
            await rig.watch.wait_for("opened")
            async with httpx2.AsyncClient() as client:
                await client.delete(url, headers={"mcp-session-id": network.session_id})
            with pytest.raises(MCPError):
                await call(rig, HANDSHAKE, "a")
            await rig.ended.wait()
    assert rig.facts.session_lost


async def test_a_version_that_the_server_does_not_speak_keeps_its_code_and_data() -> None:
    unknown = {"mcp-protocol-version": "2099-01-01"}
    meta = {**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    async with sdk_server() as url, drive_http(launch_of(url)) as rig:
        options = CallOptions(headers={**unknown, "mcp-method": "server/discover"})
        with anyio.fail_after(5), pytest.raises(MCPError) as caught:
            await rig.dispatcher.send_raw_request("server/discover", {"_meta": meta}, options)
    assert caught.value.code == types.UNSUPPORTED_PROTOCOL_VERSION
    assert "2026-07-28" in caught.value.data["supported"]
    assert caught.value.data["dev.toolcrib/http"]["status"] == 400


async def ignore(*_: object) -> Any:
    return {}


@asynccontextmanager
async def sdk_transport(
    url: str, client: httpx2.AsyncClient | None = None
) -> AsyncGenerator[JSONRPCDispatcher]:
    """A dispatcher over the SDK's own transport."""
    async with (
        streamable_http_client(url, http_client=client) as (read, write),
        background() as tasks,
    ):
        dispatcher = JSONRPCDispatcher(read, write)
        await tasks.start(dispatcher.run, ignore, ignore)
        yield dispatcher


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
async def test_the_sdk_transport_still_hides_the_status(status: int) -> None:
    async def behave(request: RawExchange) -> None:
        await request.reply(status, retry_after="3", www_authenticate="Bearer")

    async with serve_raw_http(behave) as server, sdk_transport(server.url) as dispatcher:
        with anyio.fail_after(5), pytest.raises(MCPError) as caught:
            await dispatcher.send_raw_request("tools/list", {})
        error = caught.value
    assert (error.code, error.data) == (types.INTERNAL_ERROR, None)
    assert str(status) not in error.message


async def test_the_sdk_transport_still_connects_anew_for_each_streamed_answer() -> None:
    async def behave(request: RawExchange) -> None:
        await request.begin_events()
        await request.event({"jsonrpc": "2.0", "id": request.message["id"], "result": {}})
        await request.end_events()

    async with serve_raw_http(behave) as server, sdk_transport(server.url) as dispatcher:
        with anyio.fail_after(5):
            for _ in range(3):
                await dispatcher.send_raw_request("tools/list", {})
    assert server.connections == 3


@pytest.mark.virtual_time
@pytest.mark.parametrize(("session", "gets"), [("s-1", 2), ("", 0)])
async def test_the_sdk_transport_still_gives_the_signal_stream_up(session: str, gets: int) -> None:
    asked: list[str] = []

    def behave(request: httpx2.Request) -> httpx2.Response:
        if request.method != "POST":
            asked.append(request.method)
            return httpx2.Response(503)
        if b'"id"' not in request.content:
            return httpx2.Response(202)
        headers = {"content-type": "application/json", "mcp-session-id": session}
        return httpx2.Response(
            200, headers=headers, content=b'{"jsonrpc":"2.0","id":1,"result":{}}'
        )

    async with (
        httpx2.AsyncClient(transport=httpx2.MockTransport(behave)) as client,
        sdk_transport("https://example.com/mcp", client) as dispatcher,
    ):
        await dispatcher.send_raw_request("initialize", {})
        await dispatcher.notify("notifications/initialized", None)
        await anyio.sleep(3_600)
    assert asked.count("GET") == gets
