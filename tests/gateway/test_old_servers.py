"""Servers of the handshake revisions over HTTP, whose sessions and streams break."""

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.settings import Reconnect, Waits
from toolcrib.testing.scripted_gateway import ServedGateway
from toolcrib.testing.scripted_server import (
    Content,
    Drop,
    Forget,
    Profile,
    Refuse,
    scripted_http,
    tool,
)
from toolcrib.testing.wired_gateway import wired_gateway

OLD = Content(tools=[tool("a"), tool("b")])
NEW = Content(tools=[tool("a"), tool("c")])
HANDSHAKE = Profile(modern=())
QUICK = Reconnect(backoff_base=0.02)


async def until_listed(gateway: ServedGateway, *names: str) -> None:
    """Waits, as nobody's reader, until these are the names."""
    while True:
        snapshot = gateway.crib.catalogs().peek("s", Kind.TOOLS).snapshot
        if snapshot is not None and [item.key for item in snapshot.items] == list(names):
            return
        await anyio.sleep(0.01)


@pytest.mark.duty(39)
@pytest.mark.parametrize("how", ["during a call", "during a listing", "between"])
async def test_a_session_that_the_server_forgot_is_followed_by_a_new_one(how: str) -> None:
    with anyio.fail_after(10):
        async with (
            scripted_http(OLD, HANDSHAKE) as server,
            wired_gateway(server.settings("s", reconnect=QUICK)) as gateway,
        ):
            assert await gateway.names() == ["s__a", "s__b"]
            assert (await server.counts()).sessions == 1
            await server.set(NEW)
            if how == "between":
                await server.forget_sessions()
            else:
                method = "tools/call" if how == "during a call" else "tools/list"
                await server.on(method, Forget(), times=1)
            if how == "during a listing":
                gateway.crib.catalogs().invalidate("s", Kind.TOOLS, why="a test")
                await gateway.names()
            else:
                # The call that met it was not carried out, and says so.
                refused = await gateway.refusal("s__a")
                assert refused["code"] == "server_unavailable"
            await until_listed(gateway, "a", "c")
            assert (await server.counts()).sessions == 2
            assert not (await gateway.call("s__c")).get("isError")


@pytest.mark.duty(39)
async def test_a_stream_that_drops_again_and_again_loses_no_change() -> None:
    with anyio.fail_after(20):
        async with scripted_http(OLD, HANDSHAKE) as server:
            await server.on("GET", Drop(), times=2)
            async with wired_gateway(server.settings("s", reconnect=QUICK)) as gateway:
                assert await gateway.names() == ["s__a", "s__b"]
                await server.until(lambda seen: seen.open_streams == 1)
                await server.change(NEW)
                await until_listed(gateway, "a", "c")
                await server.drop_streams()
                await server.set(OLD)  # while nobody could be told
                await until_listed(gateway, "a", "b")
                assert (await server.counts()).sessions == 1


@pytest.mark.duty(39)
@pytest.mark.parametrize("status", [404, 405, 501])
async def test_a_server_without_a_stream_is_polled(status: int) -> None:
    waits = Waits(min_interval=0.02, poll_base=0.05, poll_max=0.1)
    with anyio.fail_after(10):
        async with scripted_http(OLD, Profile(modern=(), sessions=False)) as server:
            await server.on("GET", Refuse(status))
            async with wired_gateway(server.settings("s", waits=waits)) as gateway:
                assert await gateway.names() == ["s__a", "s__b"]
                await server.set(NEW)
                await until_listed(gateway, "a", "c")
                assert (await server.counts()).open_streams == 0
