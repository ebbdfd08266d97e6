"""Which calls go out: what is published decides, and how old it is."""

from typing import Any

import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.facts import CallRefused
from toolcrib.testing.gateway_rig import GatewayRig, refused
from toolcrib.testing.scripted import tool

TOOLS = Kind.TOOLS


@pytest.mark.duty(24)
async def test_an_unknown_tool_is_invalid_params_after_one_refresh(rig: GatewayRig) -> None:
    answered = await rig.ask("tools/call", {"name": "alpha__ome"})
    assert answered.status == 400
    told = answered.message["error"]
    assert told["code"] == -32602
    assert "alpha__one" in told["message"]
    assert rig.access.reads[TOOLS] == 1
    assert rig.access.requests == []


async def test_a_tool_that_the_refresh_finds_is_called(rig: GatewayRig) -> None:
    async def appear(kind: Kind) -> None:
        rig.access.on_read = None
        rig.access.put("gamma", kind, [tool("new")])

    rig.access.on_read = appear
    await rig.call("gamma__new")
    assert rig.access.requests[0].server == "gamma"


async def test_a_tool_that_was_there_once_is_gone_and_not_called(rig: GatewayRig) -> None:
    async with rig.asgi() as host:
        await host.ask(**host.modern("tools/list"))
        rig.access.put("alpha", TOOLS, [tool("uno")])
        answered = await host.ask(**host.modern("tools/call", {"name": "alpha__one"}))
    told = refused(answered.message["result"])
    assert (told["code"], told["server"], told["tool"]) == ("tool_gone", "alpha", "alpha__one")
    assert told["retry"] == "no"
    assert rig.access.requests == []
    assert rig.recorder.of(CallRefused) == [CallRefused("alpha", "one", "tool_gone")]


async def test_a_tool_of_a_removed_server_is_gone(rig: GatewayRig) -> None:
    async with rig.asgi() as host:
        await host.ask(**host.modern("tools/list"))
        rig.access.remove("alpha")
        answered = await host.ask(**host.modern("tools/call", {"name": "alpha__one"}))
    assert refused(answered.message["result"])["code"] == "tool_gone"


async def test_a_tool_whose_catalog_was_lost_is_not_called_gone(rig: GatewayRig) -> None:
    async with rig.asgi() as host:
        await host.ask(**host.modern("tools/list"))
        rig.access.fail("alpha", TOOLS, "no answer")
        answered = await host.ask(**host.modern("tools/call", {"name": "alpha__one"}))
    told = refused(answered.message["result"])
    assert (told["code"], told["retry"]) == ("refresh_failed", "later")
    assert "no answer" in told["message"]


async def test_a_catalog_beyond_its_age_is_refreshed_once_and_then_refused() -> None:
    rig = GatewayRig()
    rig.access.max_stale = {"alpha": 100.0, "beta": 1_000.0}
    for server in rig.access.max_stale:
        rig.access.put(server, TOOLS, [tool("one")])
        rig.access.age(server, TOOLS, 500.0)
    told = await rig.refusal("alpha__one")
    assert (told["code"], told["server"]) == ("catalog_too_old", "alpha")
    assert "500" in told["message"]
    assert rig.access.requests == []
    assert "isError" not in await rig.call("beta__one")


async def test_a_stale_catalog_within_its_age_is_called_from(rig: GatewayRig) -> None:
    rig.access.age("alpha", TOOLS, 3_600.0)
    assert "isError" not in await rig.call("alpha__one")


async def test_a_call_with_a_state_that_nobody_gave_is_refused(rig: GatewayRig) -> None:
    extras: list[dict[str, Any]] = [
        {"requestState": "x"},
        {"requestState": "x", "inputResponses": {"q": {"action": "accept"}}},
    ]
    for extra in extras:
        told = await rig.error("tools/call", {"name": "alpha__one", **extra})
        assert told["code"] == -32602
    assert rig.access.requests == []


async def test_a_tool_that_the_refresh_of_an_old_catalog_loses_is_gone(rig: GatewayRig) -> None:
    async def lose(kind: Kind) -> None:
        rig.access.on_read = None
        rig.access.put("alpha", kind, [tool("uno")])

    rig.access.age("alpha", TOOLS, 10.0**6)
    rig.access.on_read = lose
    told = await rig.refusal("alpha__one")
    assert (told["code"], told["server"]) == ("tool_gone", "alpha")
    assert rig.access.requests == []
