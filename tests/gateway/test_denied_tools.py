"""A denied tool is to its caller as one that was never there, however it is asked for."""

from typing import Any

import pytest

from toolcrib.settings import Exposure, ExposureSettings, GatewaySettings, ToolFilter
from toolcrib.testing.gateway_rig import refused
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_gateway import scripted_gateway
from toolcrib.wire.faults import RpcFault

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize("exposure", ["search", "full"])
async def test_a_denied_tool_is_neither_shown_nor_found_nor_told_of_nor_called(
    exposure: Exposure,
) -> None:
    """A server on demand brings the meta-tools under `full`, too."""
    servers = {
        "s": ScriptedUpstream([tool("wipe_disk"), tool("read_disk")]),
        "later": ScriptedUpstream([tool("one")]),
    }
    settings = {
        "s": server_settings("s", tools=ToolFilter(deny=("wipe*",))),
        "later": server_settings("later", on_demand=True),
    }
    async with scripted_gateway(
        servers,
        settings=settings,
        gateway=GatewaySettings(exposure=exposure),
        exposure=ExposureSettings(pinned=("*",)),
    ) as gateway:
        names = await gateway.names()
        assert "s__read_disk" in names
        assert "s__wipe_disk" not in names
        asked: list[tuple[str, dict[str, Any]]] = [
            ("search_tools", {"query": "wipe a disk"}),
            ("search_tools", {"query": "/disk/"}),
            ("search_tools", {"query": "", "server": "s"}),
        ]
        for name, arguments in asked:
            text = str(await gateway.call(name, **arguments))
            assert "s__read_disk" in text, (name, arguments)
            assert "wipe_disk" not in text, (name, arguments)
        refusals = [
            refused(await gateway.call("call_tool", name="s__wipe_disk")),
            refused(await gateway.call("call_tool", name="s__wipe_disks")),
        ]
        assert [it["code"] for it in refusals] == ["bad_arguments"] * 2
        for name in ("s__wipe_disk", "s__wipe_disks"):
            with pytest.raises(RpcFault, match=f"^Unknown tool: {name}") as unknown:
                await gateway.call(name)
            assert "`s__wipe_disk`" not in str(unknown.value), "it is similar to nothing"
        details = str(await gateway.call("get_tool_details", names=["s__wipe_disk"]))
        assert "Does wipe_disk" not in details
        assert servers["s"].calls == []
