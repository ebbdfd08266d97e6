"""Rounds that begin at one gateway and go on at another: two processes, one store, one key."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from toolcrib.testing.live.gateway import serving
from toolcrib.testing.live.host import http_host
from toolcrib.testing.live.room import Room
from toolcrib.testing.raw_client import RawHttp, enveloped, headers_of
from toolcrib.testing.scripted_server import Answer, Content, ScriptedServer, scripted_http, tool

STATE: Final = "eyJ4IjoiXHUwMGU5In0=\u0000 \n"
FORM: Final[dict[str, Any]] = {
    "message": "Which branch?",
    "requestedSchema": {"type": "object", "properties": {"branch": {"type": "string"}}},
}
ASKING: Final = Answer(
    {
        "resultType": "input_required",
        "inputRequests": {"q": {"method": "elicitation/create", "params": FORM}},
        "requestState": STATE,
    }
)
ASK_FIRST: Final = '[[approval.rules]]\nverdict = "ask"\ntools = ["t"]\n'
CALLER: Final[dict[str, Any]] = {
    "dev.toolcrib/handle": "one host",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}
BRANCH: Final = {"action": "accept", "content": {"branch": "main"}}


async def call(host: RawHttp, **more: Any) -> dict[str, Any]:
    """What one request comes to: the whole JSON-RPC answer."""
    params = {"name": "s__t", "arguments": {"a": 1}, **more}
    message = host.request("tools/call", enveloped(params, **CALLER))
    return (await host.post(message, headers_of(message))).json()


def answered(asked: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that bring one answer back to each question."""
    result = asked["result"]
    assert result["resultType"] == "input_required", result
    responses = dict.fromkeys(result["inputRequests"], answer)
    return {"inputResponses": responses, "requestState": result["requestState"]}


@asynccontextmanager
async def gateways(
    server: ScriptedServer[Any], *rooms: Room, toml: str = ""
) -> AsyncGenerator[list[RawHttp]]:
    """A host of a gateway in each room, all of them before the same server."""
    async with AsyncExitStack() as stack:
        hosts: list[RawHttp] = []
        for room in rooms:
            rules = room.write("toolcrib.toml", toml)
            config = ("--config", room.configure({"s": server.entry()}), "--config", rules)
            gateway = await stack.enter_async_context(serving(room, *config))
            await gateway.heard("refreshed", server="s", kind="tools")
            hosts.append(await stack.enter_async_context(http_host(gateway)))
        yield hosts


@pytest.fixture
def elsewhere(tmp_path: Path) -> Room:
    """A room with a store and a key of its own."""
    home = tmp_path / "elsewhere"
    home.mkdir()
    return Room(home)


async def test_a_round_goes_on_in_another_process_with_the_servers_own_state(
    room: Room, elsewhere: Room
) -> None:
    with anyio.fail_after(100):
        async with (
            scripted_http(Content(tools=[tool("t")])) as server,
            gateways(server, room, room, elsewhere) as (one, two, foreign),
        ):
            await server.on("tools/call", ASKING, times=1)
            back = answered(await call(one), BRANCH)
            assert (await call(foreign, **back))["error"]["code"] == -32602
            assert not (await call(two, **back))["result"].get("isError")
            for host in (one, two):
                assert (await call(host, **back))["error"]["code"] == -32602, "it is a replay"
            first, second = [each.message["params"] for each in await server.heard("tools/call")]
    assert "requestState" not in first
    assert second["requestState"] == STATE
    assert second["inputResponses"] == {"q": BRANCH}


async def test_a_yes_that_one_process_asked_for_is_good_once_in_all_of_them(room: Room) -> None:
    with anyio.fail_after(100):
        async with (
            scripted_http(Content(tools=[tool("t")])) as server,
            gateways(server, room, room, toml=ASK_FIRST) as (one, two),
        ):
            yes = {"action": "accept", "content": {"answer": "yes, once"}}
            back = answered(await call(one), yes)
            assert not (await call(two, **back))["result"].get("isError")
            for host in (one, two):
                assert (await call(host, **back))["error"]["code"] == -32602
            assert (await server.counts()).calls["t"] == 1
