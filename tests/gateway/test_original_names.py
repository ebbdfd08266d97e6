"""Whatever a host calls them, servers are asked under names of their own, in body and headers."""

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.protocol.headers import decode_value
from toolcrib.testing.scripted_server import Content, scripted_http, tool
from toolcrib.testing.wired_gateway import wired_gateway

NAMES = [
    "plain",
    "with.dots/and:more",
    "größe",
    " spaced ",
    "=?base64?YQ==?=",
    "a__b",
    "a" * 128,
    "line\nfeed",
]


@pytest.mark.duty(15, 28)
async def test_every_name_leads_back_in_the_body_and_in_the_header() -> None:
    content = Content(
        tools=[tool(name) for name in NAMES],
        prompts=[{"name": name} for name in NAMES],
        resources=[{"uri": "file:///größe a", "name": "r"}],
    )
    with anyio.fail_after(10):
        async with (
            scripted_http(content) as server,
            wired_gateway(server.settings("s__x")) as gateway,
        ):
            exposed = await gateway.names()
            assert len(set(exposed)) == len(NAMES)
            for name in exposed:
                await gateway.call(name)
            prompts = await gateway.names(Kind.PROMPTS)
            for name in prompts:
                await gateway.ask("prompts/get", {"name": name})
            await gateway.ask("resources/read", {"uri": "file:///größe a"})
            called = await server.heard("tools/call")
            got = await server.heard("prompts/get")
            (read,) = await server.heard("resources/read")
    for asked in (called, got):
        assert sorted(one.message["params"]["name"] for one in asked) == sorted(NAMES)
    for one in (*called, *got):
        assert decode_value(one.headers["mcp-name"]) == one.message["params"]["name"]
    assert decode_value(read.headers["mcp-name"]) == read.message["params"]["uri"]
    assert read.message["params"]["uri"] == "file:///größe a"
