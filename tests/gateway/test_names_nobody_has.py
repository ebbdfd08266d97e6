"""A name that nobody has: the servers are named that could have it and were not reached."""

from typing import Any

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.errors import UpstreamUnreachable
from toolcrib.testing.fake_service import host_request
from toolcrib.testing.gateway_rig import refused
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_gateway import scripted_gateway
from toolcrib.wire.faults import RpcFault

pytestmark = pytest.mark.virtual_time

HANDLES = ("a" * 16, "b" * 16)


def broken(note: str | None = None) -> ScriptedUpstream:
    script = ScriptedUpstream()
    script.faults.connect = UpstreamUnreachable("it died", server="broken", operator_note=note)
    return script


async def test_an_unknown_tool_tells_which_servers_were_not_reached_and_why() -> None:
    hanging = ScriptedUpstream()
    hanging.faults.silent = True
    scripts = {
        "alpha": ScriptedUpstream([tool("one")]),
        "broken": broken("hunter2"),
        "dead": hanging,
    }
    async with scripted_gateway(scripts) as gateway:
        await anyio.sleep(1)
        with pytest.raises(RpcFault) as fault:
            await gateway.call("broken__x")
    assert fault.value.message == (
        "Unknown tool: broken__x; not reached: `broken` (it died), "
        "`dead` (the server was not reached so far)"
    )


async def test_where_all_were_reached_nothing_is_said_of_servers() -> None:
    async with scripted_gateway({"alpha": ScriptedUpstream([tool("one")])}) as gateway:
        with pytest.raises(RpcFault) as fault:
            await gateway.call("beta__x")
    assert fault.value.message == "Unknown tool: beta__x"


async def test_the_same_is_told_of_a_name_given_to_call_tool_and_of_a_prompt() -> None:
    scripts = {"alpha": ScriptedUpstream([tool("one")]), "broken": broken()}
    settings = {"far": server_settings("far", on_demand=True)}
    scripts["far"] = ScriptedUpstream([tool("go")])
    async with scripted_gateway(scripts, settings=settings) as gateway:
        told = refused(await gateway.call("call_tool", name="broken__x", args={}))
        assert told["message"] == ("there is no tool `broken__x`; not reached: `broken` (it died)")
        with pytest.raises(RpcFault) as fault:
            await gateway.ask("prompts/get", {"name": "broken__p"})
        assert fault.value.message == ("Unknown prompt: broken__p; not reached: `broken` (it died)")


async def test_a_server_that_another_caller_enabled_is_not_named() -> None:
    scripts = {"alpha": ScriptedUpstream([tool("one")]), "broken": broken()}
    settings = {"broken": server_settings("broken", on_demand=True)}
    async with scripted_gateway(scripts, settings=settings) as gateway:

        async def call(name: str, handle: str, **arguments: Any) -> None:
            meta = {"dev.toolcrib/handle": handle}
            params = {"name": name, "arguments": arguments, "_meta": meta}
            await gateway.gateway.answer(host_request("tools/call", params, handle=handle))

        one, other = HANDLES
        await call("enable_server", one, server="broken")
        messages: list[str] = []
        for handle in (one, other):
            with pytest.raises(RpcFault) as fault:
                await call("zzz__x", handle)
            messages.append(fault.value.message)
    assert messages == [
        "Unknown tool: zzz__x; not reached: `broken` (it died)",
        "Unknown tool: zzz__x",
    ]


async def test_a_server_that_is_reached_late_is_not_missing_any_more() -> None:
    late = ScriptedUpstream([tool("x")])
    late.faults.connect = UpstreamUnreachable("it died")
    async with scripted_gateway({"late": late}) as gateway:
        with pytest.raises(RpcFault, match="not reached: `late`"):
            await gateway.call("late__x")
        late.faults.connect = None
        await anyio.sleep(30)
        assert "isError" not in await gateway.call("late__x")
        assert await gateway.names(Kind.TOOLS) == ["late__x"]
