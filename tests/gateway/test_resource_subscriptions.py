"""Subscriptions to single resources through the whole gateway, between hosts and servers."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.ports import Era
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_gateway import scripted_gateway
from toolcrib.testing.stream_host import StreamHost, enveloped, stream_host
from toolcrib.wire.kernel import Kernel

pytestmark = pytest.mark.virtual_time

UPDATED = "notifications/resources/updated"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
DECLARED = {"resources": {"subscribe": True}}


class Watching(ScriptedUpstream):
    """A server with one resource, which tells of its updates when asked to."""

    def __init__(self, era: Era, capabilities: Mapping[str, Any] = DECLARED) -> None:
        super().__init__(era=era, capabilities=capabilities, stream="refused")
        self.items[Kind.RESOURCES] = [{"uri": "a:1", "name": "one"}]
        self.on_call = self.watch
        self.streams = 0

    async def watch(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if method != "subscriptions/listen":
            return {}
        self.notify(ACKNOWLEDGED, {"notifications": params["notifications"]})
        self.streams += 1
        try:
            await anyio.sleep_forever()
        finally:
            self.streams -= 1
        return {}

    def methods(self) -> list[str]:
        return [method for method, _ in self.calls]


async def subscribed(host: StreamHost, *, modern: bool) -> None:
    if modern:
        wanted = {"notifications": {"resourceSubscriptions": ["a:1"]}}
        await host.send("subscriptions/listen", enveloped(wanted), id="s")
        await host.wait(1)
    else:
        await host.initialize()
        assert (await host.ask("s", "resources/subscribe", {"uri": "a:1"}))["result"] == {}


def updates(host: StreamHost) -> list[str]:
    return [m["params"]["uri"] for m in host.heard if m.get("method") == UPDATED]


@pytest.mark.parametrize("modern", [True, False], ids=["modern host", "handshake host"])
@pytest.mark.parametrize("era", ["modern", "handshake"])
async def test_an_update_of_a_server_reaches_the_host_that_asked(era: Era, *, modern: bool) -> None:
    script = Watching(era)
    with anyio.fail_after(60):
        async with scripted_gateway({"s": script}) as scripted:
            async with stream_host(Kernel(scripted.gateway)) as host:
                await subscribed(host, modern=modern)
                script.notify(UPDATED, {"uri": "a:1"})
                script.notify(UPDATED, {"uri": "a:2"})
                await anyio.sleep(1)
                assert updates(host) == ["a:1"]
            await anyio.sleep(1)
            ended = ["subscriptions/listen"]
            if era == "handshake":
                ended = ["resources/subscribe", "resources/unsubscribe"]
            assert script.methods() == ended
            assert script.streams == 0


@pytest.mark.parametrize("era", ["modern", "handshake"])
async def test_a_connection_that_comes_back_is_asked_again(era: Era) -> None:
    script = Watching(era)
    with anyio.fail_after(120):
        async with (
            scripted_gateway({"s": script}) as scripted,
            stream_host(Kernel(scripted.gateway)) as host,
        ):
            await subscribed(host, modern=False)
            script.drop()
            await anyio.sleep(5)
            await scripted.ask("resources/list")
            await anyio.sleep(5)
            heard = updates(host)
            script.notify(UPDATED, {"uri": "a:1"})
            await anyio.sleep(1)
            assert updates(host) == [*heard, "a:1"]
    assert heard == ["a:1"]
    assert len(set(script.methods()) - {"resources/unsubscribe"}) == 1


async def test_a_server_that_watches_nothing_is_not_asked_and_the_host_is_told() -> None:
    script = Watching("handshake", {"resources": {}})
    with anyio.fail_after(60):
        async with (
            scripted_gateway({"s": script}) as scripted,
            stream_host(Kernel(scripted.gateway)) as host,
        ):
            await host.initialize()
            refused = await host.ask("s", "resources/subscribe", {"uri": "a:1"})
            unknown = await host.ask("t", "resources/subscribe", {"uri": "b:1"})
    assert (refused["error"]["code"], unknown["error"]["code"]) == (-32602, -32602)
    assert script.methods() == []
