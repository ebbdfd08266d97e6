"""Notifications and standing requests carry what every message of their era carries."""

from typing import Any

import anyio
import pytest

from toolcrib.ports import Era
from toolcrib.testing.connected import PAIRS, connected
from toolcrib.testing.scripted_server import Delay
from toolcrib.testing.server.rulebook import Wire

VERSION = "io.modelcontextprotocol/protocolVersion"
SLOW: dict[str, Any] = {"name": "slow", "arguments": {}}


@pytest.mark.duty(15)
@pytest.mark.parametrize(("wire", "era"), PAIRS)
async def test_what_is_no_call_carries_the_same_as_calls(wire: Wire, era: Era) -> None:
    with anyio.fail_after(10):
        async with connected(wire, era) as peer:
            await peer.server.on("tools/call:slow", Delay(60))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(peer.upstream.request, "tools/call", SLOW)
                await peer.server.until(lambda seen: seen.calls["slow"] == 1)
                tasks.cancel_scope.cancel()
            await peer.server.until(lambda seen: seen.gave_up == 1)
            if era == "handshake":
                await peer.upstream.request("resources/subscribe", {"uri": "a://b"})
            else:
                await peer.server.until(lambda seen: seen.requests["subscriptions/listen"] == 1)
            heard = await peer.server.heard()
    methods = {one.method for one in heard}
    told = {one.method for one in heard if one.message and "id" not in one.message}
    if era == "handshake":
        assert {"notifications/initialized", "notifications/cancelled"} <= told
    else:
        assert "subscriptions/listen" in methods
        # Over HTTP the end of its stream cancels a modern request; nothing else is ever posted.
        assert told == (set[str]() if wire == "http" else {"notifications/cancelled"})
    for one in heard:
        if wire != "http" or one.method in {"initialize", "server/discover"}:
            continue
        version = "2026-07-28" if era == "modern" else "2025-11-25"
        assert one.headers["mcp-protocol-version"] == version, one.method
        if era == "handshake":
            assert one.headers["mcp-session-id"], one.method
        else:
            assert one.message["params"]["_meta"][VERSION] == version
            assert one.headers["mcp-method"] == one.method
