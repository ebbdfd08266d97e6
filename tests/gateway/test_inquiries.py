"""What the command line asks a gateway: told to each caller of its own servers, and no secret."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import pytest

from toolcrib.core.partition import ANONYMOUS, LOCAL, Principal
from toolcrib.core.snapshot import Kind
from toolcrib.errors import UpstreamUnreachable
from toolcrib.gateway.inquiries import SEARCH, SERVERS
from toolcrib.settings import GatewaySettings
from toolcrib.testing.fake_service import host_request
from toolcrib.testing.gateway_rig import GatewayRig, refused
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway

pytestmark = pytest.mark.virtual_time

HANDLES = ("a" * 16, "b" * 16)


@asynccontextmanager
async def served(**options: Any) -> AsyncGenerator[ScriptedGateway]:
    broken = ScriptedUpstream()
    broken.faults.connect = UpstreamUnreachable(
        "it died", server="broken", remedy="run /opt/x --key hunter2", operator_note="hunter2"
    )
    scripts = {"alpha": ScriptedUpstream([tool("one"), tool("two")]), "broken": broken}
    async with scripted_gateway(scripts, **options) as gateway:
        await anyio.sleep(1)
        yield gateway


async def called(
    gateway: ScriptedGateway, name: str, handle: str, **arguments: Any
) -> dict[str, Any]:
    """The result of a call by a caller with that handle."""
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    if handle:
        params["_meta"] = {"dev.toolcrib/handle": handle}
    request = host_request("tools/call", params, handle=handle)
    return cast("dict[str, Any]", await gateway.gateway.answer(request))


async def asked(gateway: ScriptedGateway, name: str, handle: str = "", **arguments: Any) -> Any:
    """What is told, as JSON carries it."""
    result = await called(gateway, name, handle, **arguments)
    assert "isError" not in result, result
    return json.loads(json.dumps(result["structuredContent"]))


async def test_every_server_is_told_with_its_state_and_its_trouble() -> None:
    async with served() as gateway:
        told = await asked(gateway, SERVERS)
    alpha, broken = told["servers"]
    assert (alpha["id"], alpha["state"], alpha["trouble"]) == ("alpha", "ready", "")
    assert alpha["counts"] == {"tools": 2, "prompts": 0, "resources": 0, "templates": 0}
    assert (broken["id"], broken["state"], broken["trouble"]) == ("broken", "backoff", "it died")
    assert broken["counts"] == {}
    assert "hunter2" not in json.dumps(told)


@pytest.mark.parametrize("name", [SERVERS, SEARCH])
async def test_no_listing_shows_them(name: str) -> None:
    for exposure in ("full", "search", "code"):
        async with served(gateway=GatewaySettings(exposure=exposure)) as gateway:
            assert name not in await gateway.names()


@pytest.mark.parametrize("name", [SERVERS, SEARCH])
async def test_no_server_answers_to_their_names(name: str) -> None:
    sly = ScriptedUpstream([tool(name)])
    plain = GatewaySettings(names="plain")
    async with scripted_gateway({"sly": sly}, gateway=plain) as gateway:
        await gateway.names()
        result = await gateway.call(name)
        assert sly.calls == []
    assert result["structuredContent"]


async def test_a_server_that_another_caller_enabled_is_not_told() -> None:
    scripts = {"mail": ScriptedUpstream([tool("send")]), "files": ScriptedUpstream([tool("read")])}
    settings = {"mail": server_settings("mail", on_demand=True)}
    async with scripted_gateway(scripts, settings=settings) as gateway:
        one, other = HANDLES
        await called(gateway, "enable_server", one, server="mail")

        async def ids(handle: str) -> list[str]:
            return [row["id"] for row in (await asked(gateway, SERVERS, handle))["servers"]]

        assert await ids(one) == ["files", "mail"]
        assert await ids(other) == ["files"]
        found = await asked(gateway, SEARCH, one, query="send")
        assert [hit["name"] for hit in found["hits"]] == ["mail__send"]
        found = await asked(gateway, SEARCH, other, query="send")
        assert found["hits"] == []


@pytest.mark.parametrize("principal", [LOCAL, ANONYMOUS])
async def test_each_principal_is_told_of_its_own_catalogs(principal: Principal) -> None:
    async with served() as gateway:
        params: dict[str, Any] = {"name": SERVERS, "arguments": {}}
        result = await gateway.ask("tools/call", params, principal)
    ids = [row["id"] for row in result["structuredContent"]["servers"]]
    assert ids == ["alpha", "broken"]


async def test_hits_say_their_server_and_hold_their_definition() -> None:
    async with served() as gateway:
        told = await asked(gateway, SEARCH, query="/^two$/")
    (hit,) = told["hits"]
    assert (hit["server"], hit["name"], hit["definition"]["name"]) == ("alpha", "alpha__two", "two")
    assert told["method"] == "regex"


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": 3},
        {"query": "x", "server": "alpha"},
        {"query": "x", "server": [1]},
        {"query": "x", "limit": "many"},
        {"query": "x", "limit": 0},
        {"query": "x", "server": ["nobody"]},
        {"query": "(", "pattern": True},
        {"query": "x" * 5_000},
    ],
    ids=["number", "text", "number-in-list", "no-limit", "zero", "stranger", "pattern", "long"],
)
async def test_what_cannot_be_searched_for_is_refused(arguments: dict[str, Any]) -> None:
    async with served() as gateway:
        result = await gateway.call(SEARCH, **arguments)
    assert refused(result)["code"] == "bad_arguments"


async def test_a_gateway_that_finds_nothing_by_itself_still_tells_of_its_servers() -> None:
    rig = GatewayRig()
    rig.access.put("alpha", Kind.TOOLS, [tool("one")])
    told = (await rig.call(SERVERS))["structuredContent"]
    assert [row["id"] for row in told["servers"]] == ["alpha"]
    assert (await rig.error("tools/call", {"name": SEARCH}))["code"] == -32602
