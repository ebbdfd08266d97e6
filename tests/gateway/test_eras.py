"""Hosts of both eras, as the SDK's client is one, on streams and over HTTP."""

import json
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal

import anyio
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from toolcrib.core.snapshot import Kind, Scope
from toolcrib.errors import UpstreamRefused
from toolcrib.testing.asgi_host import BASE
from toolcrib.testing.fake_access import Request
from toolcrib.testing.gateway_rig import Era, GatewayRig
from toolcrib.testing.scripted import tool
from toolcrib.testing.stream_host import enveloped

TOOLS = Kind.TOOLS
Transport = Literal["streams", "http"]
Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def rig() -> GatewayRig:
    rig = GatewayRig()
    rig.access.put("alpha", TOOLS, [tool("one"), tool("two")])
    rig.access.put("beta", TOOLS, [tool("one")])
    rig.access.put("beta", Kind.PROMPTS, [{"name": "p"}])
    rig.access.put("beta", Kind.RESOURCES, [{"uri": "file:///a", "name": "a"}])
    rig.access.put("beta", Kind.TEMPLATES, [{"uriTemplate": "db://{t}", "name": "t"}])
    return rig


@pytest.fixture(params=["legacy", "auto"], ids=["handshake", "modern"])
def era(request: pytest.FixtureRequest) -> Era:
    return request.param


@pytest.fixture(params=["streams", "http"])
def connect(request: pytest.FixtureRequest, rig: GatewayRig, era: Era) -> Connect:
    transport: Transport = request.param

    @asynccontextmanager
    async def connected(**options: Any) -> AsyncGenerator[Client]:
        opened = rig.in_memory if transport == "streams" else rig.over_http
        with anyio.fail_after(20):
            async with rig.gateway.running(), opened(era, **options) as client:
                yield client

    return connected


async def names(client: Client) -> list[str]:
    return [listed.name for listed in (await client.list_tools()).tools]


async def test_everything_of_all_servers_is_listed_and_reached(
    connect: Connect, rig: GatewayRig
) -> None:
    async with connect() as client:
        assert await names(client) == ["alpha__one", "alpha__two", "beta__one"]
        assert [p.name for p in (await client.list_prompts()).prompts] == ["beta__p"]
        assert [r.uri for r in (await client.list_resources()).resources] == ["file:///a"]
        templates = (await client.list_resource_templates()).resource_templates
        assert [t.uri_template for t in templates] == ["db://{t}"]
        await client.call_tool("beta__one", {"x": 1})
        await client.get_prompt("beta__p")
        await client.read_resource("db://users")
        reference = types.ResourceTemplateReference(type="ref/resource", uri="db://{t}")
        await client.complete(reference, {"name": "t", "value": ""})
    assert [(r.server, r.method) for r in rig.access.requests] == [
        ("beta", "tools/call"),
        ("beta", "prompts/get"),
        ("beta", "resources/read"),
        ("beta", "completion/complete"),
    ]


async def test_changes_are_declared_in_the_handshake_and_in_discovery(connect: Connect) -> None:
    async with connect() as client:
        declared = client.server_capabilities
        assert declared.tools is not None
        assert declared.tools.list_changed
        assert declared.prompts is not None
        assert declared.prompts.list_changed
        assert declared.resources is not None
        assert declared.resources.list_changed
        assert declared.resources.subscribe
        assert declared.completions is not None


@pytest.mark.duty(27)
async def test_one_tool_that_is_new_for_a_host_does_not_cost_it_the_list(
    connect: Connect, rig: GatewayRig, era: Era
) -> None:
    rig.access.put(
        "alpha", TOOLS, [{**tool("one"), "outputSchema": {"type": "array"}}, tool("two")]
    )
    async with connect() as client:
        listed = {t.name: t for t in (await client.list_tools()).tools}
    assert set(listed) == {"alpha__one", "alpha__two", "beta__one"}
    assert (listed["alpha__one"].output_schema is None) is (era == "legacy")


@pytest.mark.parametrize("structured", [[1, 2], None, 3, {"a": 1}], ids=repr)
async def test_structured_content_of_any_kind_reaches_every_host(
    connect: Connect, rig: GatewayRig, era: Era, structured: object
) -> None:
    async def answer(_request: Request) -> dict[str, Any]:
        return {"content": [], "structuredContent": structured}

    rig.access.answer = answer
    async with connect() as client:
        await names(client)
        result = await client.call_tool("alpha__one", {})
    if era == "auto" or isinstance(structured, dict):
        assert result.structured_content == structured
    if era == "legacy":
        assert len(result.content) == 1


async def test_a_refusal_of_a_tool_with_an_output_schema_is_readable(
    connect: Connect, rig: GatewayRig
) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    rig.access.put("alpha", TOOLS, [{**tool("one"), "outputSchema": schema}])

    async def refuse(_request: Request) -> dict[str, Any]:
        raise UpstreamRefused("not today", rpc_code=-32603)

    rig.access.answer = refuse
    async with connect() as client:
        await names(client)
        result = await client.call_tool("alpha__one", {})
    assert result.is_error
    told: Any = result.structured_content
    assert told["error"]["code"] == "server_error"


@pytest.mark.parametrize("cursor", ["n", "", "eyJvIjoyfQ=="])
@pytest.mark.parametrize("kind", list(Kind))
async def test_there_is_one_page_and_no_cursor_is_ours(
    connect: Connect, cursor: str, kind: Kind
) -> None:
    async with connect() as client:
        lists = {
            TOOLS: client.list_tools,
            Kind.PROMPTS: client.list_prompts,
            Kind.RESOURCES: client.list_resources,
            Kind.TEMPLATES: client.list_resource_templates,
        }
        assert (await lists[kind]()).next_cursor is None
        with pytest.raises(MCPError) as raised:
            await lists[kind](cursor=cursor)
    assert raised.value.error.code == -32602


@pytest.mark.duty(24)
async def test_an_unknown_tool_is_a_protocol_error(connect: Connect) -> None:
    async with connect() as client:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("nobody", {})
    assert raised.value.error.code == -32602


async def test_progress_reaches_the_host_that_asked(connect: Connect, rig: GatewayRig) -> None:
    async def work(request: Request) -> dict[str, Any]:
        assert request.progress is not None
        for step in (1.0, 2.0, 1.5, 3.0):
            await request.progress(step, 3.0, "m")
        return {"content": []}

    rig.access.answer = work
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with connect() as client:
        await client.call_tool("alpha__one", {}, progress_callback=hear)
        await anyio.wait_all_tasks_blocked()
    assert sorted(heard) == [(1.0, 3.0, "m"), (2.0, 3.0, "m"), (3.0, 3.0, "m")]


@pytest.mark.duty(34)
async def test_a_host_that_cancels_a_call_cancels_it_at_the_server(
    connect: Connect, rig: GatewayRig
) -> None:
    reached, cancelled = anyio.Event(), anyio.Event()

    async def wait(_request: Request) -> dict[str, Any]:
        reached.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()
        return {}

    rig.access.answer = wait
    async with connect() as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "alpha__one")
            await reached.wait()
            tasks.cancel_scope.cancel()
        await cancelled.wait()
        assert len(await names(client)) == 3


async def test_a_change_of_content_is_announced_and_nothing_else_is(
    connect: Connect, rig: GatewayRig, era: Era
) -> None:
    heard: list[str] = []
    arrived = anyio.Event()

    async def hear(message: object) -> None:
        heard.append(type(message).__name__)
        arrived.set()

    async with connect(message_handler=hear) as client:
        before = await names(client)
        async with anyio.create_task_group() as tasks:
            if era == "auto":

                async def listen() -> None:
                    async with client.listen(tools_list_changed=True) as changes:
                        listening.set()
                        async for _ in changes:
                            pass

                listening = anyio.Event()
                tasks.start_soon(listen)
                await listening.wait()
            rig.access.put("alpha", TOOLS, [tool("one"), tool("two")], ttl=1.0)
            rig.access.put("beta", Kind.PROMPTS, [{"name": "other"}])
            rig.access.put("alpha", TOOLS, [tool("one"), tool("three")])
            while "ToolListChangedNotification" not in heard:
                await arrived.wait()
                arrived = anyio.Event()
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        after = await names(client)
    assert before == ["alpha__one", "alpha__two", "beta__one"]
    assert after == ["alpha__one", "alpha__three", "beta__one"]
    assert heard.count("ToolListChangedNotification") == 1


@pytest.mark.virtual_time
async def test_a_change_behind_the_listing_is_not_announced(rig: GatewayRig) -> None:
    async with rig.asgi() as host:
        session = await host.initialize()
        headers = {**BASE, "mcp-session-id": session}
        async with host.exchange("GET", headers=headers) as stream:
            await stream.begun.wait()
            await host.ask(**host.handshake("tools/list", session=session))
            rig.access.put("alpha", TOOLS, [tool("one"), tool("two"), {"name": "malformed"}])
            await anyio.sleep(10)
            assert stream.messages == []
            rig.access.put("alpha", TOOLS, [tool("one"), tool("two"), tool("malformed")])
            await anyio.sleep(10)
            assert len(stream.messages) == 1


async def test_the_listing_does_not_depend_on_connection_era_or_earlier_calls(
    rig: GatewayRig,
) -> None:
    digests: set[object] = set()
    orders: set[tuple[str, ...]] = set()
    with anyio.fail_after(20):
        async with rig.gateway.running():
            for era in ("legacy", "auto"):
                for opened in (rig.in_memory, rig.over_http):
                    async with opened(era) as client:
                        for call in ("alpha__one", "beta__one"):
                            result = await client.list_tools()
                            assert result.meta is not None
                            digests.add(result.meta["dev.toolcrib/digest"])
                            orders.add(tuple(listed.name for listed in result.tools))
                            await client.call_tool(call, {})
                            with pytest.raises(MCPError):
                                await client.read_resource("nobody://x")
    assert len(digests) == 1
    assert len(orders) == 1


async def test_an_inner_object_passes_as_it_is_whatever_its_keys_are_called(
    connect: Connect, rig: GatewayRig
) -> None:
    rig.access.put("unreal", TOOLS, [tool("call_tool")])
    arguments = {
        "tool_name": "IsRunning",
        "toolset_name": "Editor",
        "arguments": {"x": 1, "name": "n", "_meta": {"progressToken": 3}},
    }
    async with connect() as client:
        await client.call_tool("unreal__call_tool", arguments)
    (request,) = rig.access.requests
    assert request.params["name"] == "call_tool"
    assert request.params["arguments"] == arguments


async def test_a_listing_filtered_by_caller_is_never_called_public(
    connect: Connect, rig: GatewayRig, era: Era
) -> None:
    rig.access.put("alpha", TOOLS, [tool("mine")], scope=Scope.PRIVATE)
    async with connect() as client:
        result = await client.list_tools()
    assert result.cache_scope == "private"
    assert result.ttl_ms == (60_000 if era == "auto" else 0)


GATEWAY = """
import signal
import anyio
from toolcrib.testing.gateway_rig import GatewayRig

async def main():
    async with anyio.create_task_group() as tasks:

        async def until_told():
            with anyio.open_signal_receiver(signal.SIGTERM) as signals:
                async for _ in signals:
                    tasks.cancel_scope.cancel()

        tasks.start_soon(until_told)
        await GatewayRig().gateway.serve_stdio()

anyio.run(main)
"""


async def test_a_host_on_standard_streams_is_told_that_its_subscription_ends() -> None:
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    wanted = enveloped({"notifications": {"toolsListChanged": True}})
    listen = {"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": wanted}
    with anyio.fail_after(30):
        process = await anyio.open_process([sys.executable, "-c", GATEWAY], env=environment)
        async with process:
            assert process.stdin is not None
            assert process.stdout is not None
            await process.stdin.send(json.dumps(listen).encode() + b"\n")
            spoken = b""
            while b"\n" not in spoken:
                spoken += await process.stdout.receive()
            process.terminate()
            spoken += b"".join([chunk async for chunk in process.stdout])
            await process.wait()
    acknowledged, result, cancelled = [json.loads(line) for line in spoken.splitlines()]
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert result["id"] == 7
    assert result["result"]["resultType"] == "complete"
    assert cancelled["params"]["requestId"] == 7
    assert process.returncode == 0
