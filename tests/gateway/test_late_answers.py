"""Answers after the time-out, and listeners that raise: nobody else is given or spared anything."""

from typing import Any

import anyio
import pytest

from toolcrib.catalog.access import PublishedChange
from toolcrib.core.snapshot import Kind
from toolcrib.facts import HostNotified
from toolcrib.ports import Era
from toolcrib.settings import Limits
from toolcrib.testing.connected import PAIRS
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_gateway import scripted_gateway
from toolcrib.testing.scripted_server import (
    Content,
    Delay,
    Profile,
    Progress,
    scripted_http,
    scripted_stdio,
    tool,
)
from toolcrib.testing.server.rulebook import Wire
from toolcrib.testing.wired_gateway import wired_gateway


@pytest.mark.duty(34)
@pytest.mark.parametrize(("wire", "era"), PAIRS)
async def test_an_answer_after_the_time_out_is_nobodys(wire: Wire, era: Era) -> None:
    opened = {"stdio": scripted_stdio, "http": scripted_http}[wire]
    profile = Profile() if era == "modern" else Profile(modern=(), event_answers=True)
    late = [Progress(1, 2, "late"), Delay(0.4), Progress(2, 2, "late")]
    heard: list[str | None] = []

    async def hear(_done: float, _total: float | None, words: str | None) -> None:
        heard.append(words)

    with anyio.fail_after(10):
        async with (
            opened(Content(tools=[tool("t")]), profile) as server,
            wired_gateway(server.settings("s"), limits=Limits(call_seconds=0.2)) as gateway,
        ):
            await gateway.names()
            await server.on("tools/call", *late, times=1)
            refused = await gateway.refusal("s__t")
            assert (refused["code"], refused["retry"]) == ("timeout", "no")
            for number in range(20):
                result = await gateway.crib.call("s__t", {"n": number}, progress=hear)
                assert result["content"][0]["text"] == f"t(n={number})"
                await anyio.sleep(0.03)
            counts = await server.counts()
            assert counts.calls["t"] == 21, "what timed out is not sent again"
            assert heard == []


@pytest.mark.virtual_time
@pytest.mark.parametrize("first", [True, False], ids=["before the others", "after them"])
async def test_a_listener_that_raises_keeps_no_host_from_hearing(*, first: bool) -> None:
    script = ScriptedUpstream([tool("a")])
    told: list[PublishedChange] = []

    def raising(change: PublishedChange) -> None:
        told.append(change)
        raise RuntimeError("a listener out of order")

    async with scripted_gateway({"s": script}) as gateway:
        if first:
            gateway.crib.catalogs().on_published(raising)
        await gateway.names()
        if not first:
            gateway.crib.catalogs().on_published(raising)
        heard: list[Any] = []

        async def hear(message: Any) -> None:
            heard.append(type(message).__name__)

        async with gateway.host("legacy", message_handler=hear) as client:
            await client.list_tools()
            for turn in range(3):
                await anyio.sleep(30)
                script.change([tool(f"b{turn}")])
                await anyio.sleep(5)
                assert await gateway.names() == [f"s__b{turn}"]
            assert heard.count("ToolListChangedNotification") == 3
        assert len([change for change in told if change.kind is Kind.TOOLS]) >= 3
        assert len(gateway.recorder.of(HostNotified)) == 3
