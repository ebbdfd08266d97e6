"""Roots, sampling and log messages: relayed between those who still use them, where policy says."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import pytest
from mcp_types import CreateMessageResult, ListRootsResult, Root, TextContent

from toolcrib.adapters.connector import McpConnector
from toolcrib.adapters.system_clock import SystemClock
from toolcrib.settings import GatewaySettings, HttpLaunch, Limits, Relayed
from toolcrib.testing.fake_service import host_request
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_gateway import HostEra, ScriptedGateway, scripted_gateway
from toolcrib.testing.scripted_server import (
    Ask,
    Content,
    Profile,
    Say,
    ScriptedServer,
    scripted_http,
    tool,
)
from toolcrib.wire.faults import RpcFault

SAMPLING: Final = "sampling/createMessage"
QUESTIONS: Mapping[str, tuple[Relayed, dict[str, Any]]] = {
    SAMPLING: (
        "sampling",
        {"messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 9},
    ),
    "roots/list": ("roots", {}),
}


async def sample(*_: Any) -> Any:
    return CreateMessageResult(
        role="assistant", content=TextContent(type="text", text="yes"), model="m"
    )


async def roots(*_: Any) -> Any:
    return ListRootsResult(roots=[Root.model_validate({"uri": "file:///home"})])


ABLE: Mapping[str, Any] = {"sampling_callback": sample, "list_roots_callback": roots}


@asynccontextmanager
async def served(
    *relay: Relayed,
) -> AsyncGenerator[tuple[ScriptedServer[HttpLaunch], ScriptedGateway]]:
    """A gateway before a handshake-era server on a real wire."""
    connector: Any = McpConnector(limits=Limits(), observer=Recorder(), clock=SystemClock())
    profile = Profile(modern=(), event_answers=True)
    with anyio.fail_after(20):
        async with (
            scripted_http(Content(tools=[tool("t")]), profile) as server,
            scripted_gateway(
                {"s": connector},
                settings={"s": server.settings("s")},
                gateway=GatewaySettings(relay=relay),
            ) as gateway,
        ):
            await gateway.names()
            yield server, gateway


async def declared(server: ScriptedServer[HttpLaunch]) -> Mapping[str, Any]:
    (hello,) = await server.heard("initialize")
    return hello.message["params"]["capabilities"]


async def answer(server: ScriptedServer[HttpLaunch]) -> Mapping[str, Any]:
    return (await server.heard(""))[-1].message


@pytest.mark.parametrize("host", ["auto", "legacy"])
@pytest.mark.parametrize("method", QUESTIONS)
async def test_what_is_not_relayed_is_not_declared_and_refused_and_the_call_goes_on(
    method: str, host: HostEra
) -> None:
    capability, params = QUESTIONS[method]
    async with served("elicitation", "logging") as (server, gateway):
        await server.on("tools/call", Ask(method, params))
        async with gateway.host(host, **ABLE) as client:
            assert not (await client.call_tool("s__t", {})).is_error
        assert capability not in await declared(server)
        assert (await answer(server))["error"]["code"] == -32601


@pytest.mark.parametrize("host", ["auto", "legacy"])
@pytest.mark.parametrize("method", QUESTIONS)
async def test_what_is_relayed_reaches_a_host_that_can_be_asked(method: str, host: HostEra) -> None:
    capability, params = QUESTIONS[method]
    async with served(capability) as (server, gateway):
        await server.on("tools/call", Ask(method, params))
        async with gateway.host(host, **ABLE) as client:
            assert not (await client.call_tool("s__t", {})).is_error
        assert capability in await declared(server)
        result = (await answer(server))["result"]
        if method == SAMPLING:
            assert result["content"]["text"] == "yes"
        else:
            assert [root["uri"] for root in result["roots"]] == ["file:///home"]


@pytest.mark.parametrize("host", ["auto", "legacy"])
@pytest.mark.parametrize("method", QUESTIONS)
async def test_a_host_that_cannot_be_asked_is_not_and_the_server_hears_so(
    method: str, host: HostEra
) -> None:
    capability, params = QUESTIONS[method]
    async with served(capability) as (server, gateway):
        await server.on("tools/call", Ask(method, params))
        async with gateway.host(host) as client:
            assert not (await client.call_tool("s__t", {})).is_error
        assert (await answer(server))["error"]["code"] == -32601


@pytest.mark.duty(32)
@pytest.mark.virtual_time
@pytest.mark.parametrize("able", [True, False])
@pytest.mark.parametrize("relayed", [True, False])
@pytest.mark.parametrize("method", QUESTIONS)
async def test_a_modern_servers_question_is_passed_on_refused_or_missing(
    method: str, *, relayed: bool, able: bool
) -> None:
    capability, params = QUESTIONS[method]
    script = ScriptedUpstream([tool("t")])
    question = {"method": method, "params": params}

    async def ask(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        return {"resultType": "input_required", "inputRequests": {"q": question}}

    script.on_call = ask
    settings = GatewaySettings(relay=(capability,) if relayed else ())
    async with scripted_gateway({"s": script}, gateway=settings) as gateway:
        await gateway.names()
        capabilities: dict[str, Any] = {capability: {}} if able else {}
        request = host_request("tools/call", {"name": "s__t"}, capabilities=capabilities)
        if not able:
            with pytest.raises(RpcFault) as raised:
                await gateway.gateway.answer(request)
            assert raised.value.code == -32021
            return
        result: Any = await gateway.gateway.answer(request)
        (context,) = script.contexts
        assert context is not None
        assert (context.capabilities or {}) == ({capability: {}} if relayed else {})
        if relayed:
            assert list(result["inputRequests"]) == ["q"]
        else:
            assert result["structuredContent"]["error"]["code"] == "not_allowed"
            assert "gateway.relay" not in result["content"][0]["text"]


# ---------------------------------------------------------------- log messages


@pytest.mark.filterwarnings("ignore:The logging capability is deprecated")
@pytest.mark.parametrize("relayed", [True, False])
async def test_log_messages_reach_a_host_only_where_they_are_relayed(*, relayed: bool) -> None:
    heard: list[Any] = []

    async def log(params: Any) -> None:
        heard.append(params.data)

    relay: tuple[Relayed, ...] = ("logging",) if relayed else ()
    async with served(*relay) as (server, gateway):
        assert ("logging" in gateway.gateway.capabilities()) is relayed
        await server.on("tools/call", Say("notifications/message", {"level": "error", "data": "x"}))
        async with gateway.host("legacy", logging_callback=log) as client:
            if relayed:
                level = client.session.set_logging_level  # pyright: ignore[reportDeprecated]
                await level("debug")
            assert not (await client.call_tool("s__t", {})).is_error
            await client.list_tools()
        assert heard == (["x"] if relayed else [])
