"""Headers that contradict the body are refused, whatever state the catalogs are in."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.testing.gateway_rig import GatewayRig
from toolcrib.testing.scripted import tool

TOOLS = Kind.TOOLS
MIRRORING = tool("where", region={"type": "string", "x-mcp-header": "Region"})
CALL = {"name": "alpha__where", "arguments": {"region": "us"}}


async def broken(_kind: Kind) -> None:
    raise OSError("the store of catalogs is out of order")


async def hanging(_kind: Kind) -> None:
    await anyio.sleep_forever()


def fresh(rig: GatewayRig) -> None:
    del rig


def stale(rig: GatewayRig) -> None:
    rig.access.age("alpha", TOOLS, 3_600.0)


def old(rig: GatewayRig) -> None:
    rig.access.age("alpha", TOOLS, 3_600.0)
    rig.access.max_stale["alpha"] = 60.0


def lost(rig: GatewayRig) -> None:
    rig.access.fail("alpha", TOOLS, "no answer")


def removed(rig: GatewayRig) -> None:
    rig.access.remove("alpha")


def unreadable(rig: GatewayRig) -> None:
    rig.access.on_read = broken


def silent(rig: GatewayRig) -> None:
    rig.access.on_read = hanging


STATES: list[Callable[[GatewayRig], None]] = [
    fresh,
    stale,
    old,
    lost,
    removed,
    unreadable,
    silent,
]


@pytest.mark.duty(20)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("listed", [True, False], ids=["listed before", "never listed"])
@pytest.mark.parametrize(
    "headers",
    [
        {"mcp_param_region": "eu"},
        {"mcp_param_region": ""},
        {"mcp_param_region": "=?base64?!?="},
        {"mcp_name": "alpha__other"},
        {"mcp_method": "tools/list"},
    ],
    ids=str,
)
async def test_a_contradiction_never_reaches_the_server(
    state: Callable[[GatewayRig], None], headers: dict[str, str], *, listed: bool
) -> None:
    rig = GatewayRig()
    rig.access.put("alpha", TOOLS, [MIRRORING])
    with anyio.fail_after(5):
        async with rig.asgi() as host:
            if listed:
                await host.ask(**host.modern("tools/list"))
            state(rig)
            async with host.exchange(**host.modern("tools/call", CALL, **headers)) as exchange:
                # With a listing that never comes, the call waits and is given up by its host.
                await anyio.wait_all_tasks_blocked()
                answered: dict[str, Any] = exchange.message if exchange.ended.is_set() else {}
                assert answered or state is silent
    assert rig.access.requests == []
    standard = "mcp_param_region" not in headers
    if standard or state in {fresh, stale}:
        assert (exchange.status, answered["error"]["code"]) == (400, -32020)
    elif answered:
        assert "error" in answered or answered["result"]["isError"]


@pytest.mark.duty(20)
@pytest.mark.parametrize("state", STATES[:2])
async def test_what_agrees_goes_out_in_the_same_states(
    state: Callable[[GatewayRig], None],
) -> None:
    rig = GatewayRig()
    rig.access.put("alpha", TOOLS, [MIRRORING])
    state(rig)
    answered = await rig.ask("tools/call", CALL, mcp_param_region="us")
    assert answered.status == 200
    assert [request.params["arguments"] for request in rig.access.requests] == [{"region": "us"}]
