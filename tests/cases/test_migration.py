"""Hosts and servers of different eras on the two sides of one gateway."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from mcp.client.client import Client

from toolcrib.core.snapshot import Kind
from toolcrib.ports import Era
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import HostEra, scripted_gateway

pytestmark = pytest.mark.virtual_time

PAIRS = pytest.mark.parametrize(
    ("host", "server"),
    [("legacy", "modern"), ("legacy", "handshake"), ("auto", "modern"), ("auto", "handshake")],
)
REVISION: Mapping[HostEra, str] = {"legacy": "2025-11-25", "auto": "2026-07-28"}


def full(era: Era) -> ScriptedUpstream:
    script = ScriptedUpstream([tool("old")], era=era, ttl_ms=60_000)
    script.items[Kind.PROMPTS] = [{"name": "p"}]
    script.items[Kind.RESOURCES] = [{"uri": "a://r", "name": "r"}]
    script.items[Kind.TEMPLATES] = [{"uriTemplate": "a://{x}", "name": "t"}]
    return script


async def names(client: Client) -> list[str]:
    return [listed.name for listed in (await client.list_tools()).tools]


@PAIRS
async def test_each_host_is_met_in_its_own_era_whatever_the_servers_is(
    host: HostEra, server: Era
) -> None:
    async with scripted_gateway({"s": full(server)}) as gateway, gateway.host(host) as client:
        assert client.protocol_version == REVISION[host]
        assert await names(client) == ["s__old"]
        assert [p.name for p in (await client.list_prompts()).prompts] == ["s__p"]
        assert [r.uri for r in (await client.list_resources()).resources] == ["a://r"]
        templates = (await client.list_resource_templates()).resource_templates
        assert [t.uri_template for t in templates] == ["a://{x}"]
        result = await client.call_tool("s__old", {"x": 1})
        assert not result.is_error
        status = gateway.crib.catalogs().status("s")
        assert status.facts is not None
        assert status.facts.era == server


@PAIRS
async def test_a_signal_of_the_server_reaches_the_host_in_its_own_way(
    host: HostEra, server: Era
) -> None:
    script = full(server)
    heard: list[str] = []

    async def hear(message: object) -> None:
        heard.append(type(message).__name__)

    async with (
        scripted_gateway({"s": script}) as gateway,
        gateway.host(host, message_handler=hear) as client,
        anyio.create_task_group() as tasks,
    ):
        assert await names(client) == ["s__old"]
        if host == "auto":

            async def listen(*, task_status: anyio.abc.TaskStatus[None]) -> None:
                async with client.listen(tools_list_changed=True) as changes:
                    task_status.started()
                    async for _ in changes:
                        pass

            await tasks.start(listen)
        await anyio.sleep(30)
        script.change([tool("old"), tool("new")])
        await anyio.sleep(5)
        assert heard.count("ToolListChangedNotification") == 1
        assert await names(client) == ["s__new", "s__old"]
        script.signal()
        await anyio.sleep(5)
        assert heard.count("ToolListChangedNotification") == 1, "nothing changed"
        tasks.cancel_scope.cancel()


@PAIRS
async def test_an_error_of_the_tool_reaches_the_host_as_one(host: HostEra, server: Era) -> None:
    async def failing(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "boom"}], "isError": True}

    script = full(server)
    script.on_call = failing
    async with scripted_gateway({"s": script}) as gateway, gateway.host(host) as client:
        result = await client.call_tool("s__old", {})
        assert result.is_error


@PAIRS
async def test_only_hosts_that_know_hints_are_given_them(host: HostEra, server: Era) -> None:
    async with scripted_gateway({"s": full(server)}) as gateway, gateway.host(host) as client:
        listed = await client.list_tools()
        known = host == "auto" and server == "modern"
        assert listed.ttl_ms == pytest.approx(60_000 if known else 0, abs=2_000)


async def test_hosts_of_both_eras_see_the_same_at_the_same_time() -> None:
    scripts = {"new": full("modern"), "old": full("handshake")}
    async with (
        scripted_gateway(scripts) as gateway,
        gateway.host("legacy") as one,
        gateway.host("auto") as other,
    ):
        assert await names(one) == await names(other) == ["new__old", "old__old"]
        scripts["new"].change([tool("x")])
        scripts["old"].change([tool("y")])
        await anyio.sleep(5)
        assert await names(one) == await names(other) == ["new__x", "old__y"]


@pytest.mark.parametrize("host", ["legacy", "auto"])
async def test_a_server_that_changes_its_era_under_a_host_is_no_matter_to_it(
    host: HostEra,
) -> None:
    script = full("handshake")
    async with scripted_gateway({"s": script}) as gateway, gateway.host(host) as client:
        assert await names(client) == ["s__old"]
        script.era = "modern"
        script.items[Kind.TOOLS] = [tool("old"), tool("upgraded")]
        script.drop("upgraded")
        await anyio.sleep(10)
        assert await names(client) == ["s__old", "s__upgraded"]
        assert not (await client.call_tool("s__upgraded", {})).is_error
        assert client.protocol_version == REVISION[host]
