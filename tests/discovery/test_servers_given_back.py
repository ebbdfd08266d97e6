"""A server that was given back rests, so that whoever enables it again finds it as it was."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.calls.call import Requester
from toolcrib.core.partition import ANONYMOUS, LOCAL, Principal
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.servers.given_back import GivenBack
from toolcrib.errors import NotAllowed, UpstreamUnreachable
from toolcrib.settings import DynamicSettings, GatewaySettings
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_gateway import scripted_gateway
from toolcrib.testing.servers_rig import ServersRig, servers_rig
from toolcrib.testing.virtual_clock import LoopClock

pytestmark = pytest.mark.virtual_time

ANNA = Principal("https://login", "anna")
IDLE = 100.0
SOON = DynamicSettings(idle_seconds=IDLE)


def upstream() -> ScriptedUpstream:
    return ScriptedUpstream([tool("send")])


async def called(rig: ServersRig, server: str, name: str) -> None:
    await rig.servers.need(rig.requester, server)
    await rig.catalogs.request(server, "tools/call", {"name": name, "arguments": {}})


async def test_a_server_that_is_enabled_again_in_time_keeps_its_connection() -> None:
    mail = upstream()
    async with servers_rig({"mail": mail}, dynamic=SOON) as rig:
        await rig.servers.enable(rig.requester, ["mail"])
        await rig.servers.disable(rig.requester, "mail")
        await anyio.sleep(0.9 * IDLE)
        await rig.servers.enable(rig.requester, ["mail"])
        await anyio.sleep(0.9 * IDLE)
        await called(rig, "mail", "send")
        assert (mail.connects, mail.live, rig.ended) == (1, 1, [])


async def test_a_server_that_is_enabled_again_at_once_is_there_again() -> None:
    mail = upstream()
    mail.faults.farewell = 2.0
    async with servers_rig({"mail": mail}) as rig:
        for _ in range(5):
            await rig.servers.enable(rig.requester, ["mail"])
            snapshot = rig.catalogs.peek("mail", Kind.TOOLS).snapshot
            assert snapshot is not None
            assert [item.key for item in snapshot.items] == ["send"]
            await rig.servers.disable(rig.requester, "mail")
            await anyio.lowlevel.checkpoint()
        await rig.servers.enable(rig.requester, ["mail"])
        await called(rig, "mail", "send")
        assert mail.live == 1


async def test_what_was_given_back_is_gone_for_the_caller_at_once() -> None:
    mail = upstream()
    async with servers_rig({"mail": mail}, dynamic=SOON) as rig:
        await rig.servers.enable(rig.requester, ["mail"])
        assert await rig.servers.disable(rig.requester, "mail")
        assert list(await rig.servers.searchable(rig.requester)) == []
        with pytest.raises(NotAllowed):
            await rig.servers.need(rig.requester, "mail")
        assert mail.live == 1


async def test_no_hit_is_given_of_a_server_that_rests() -> None:
    mail = upstream()
    settings = {"mail": server_settings("mail", on_demand=True)}
    gateway = GatewaySettings(exposure="search")
    async with scripted_gateway({"mail": mail}, settings=settings, gateway=gateway) as served:
        await served.call("enable_server", server="mail")
        hits = await served.call("search_tools", query="send")
        assert "mail__send" in hits["content"][0]["text"]
        await served.call("disable_server", server="mail")
        hits = await served.call("search_tools", query="send")
        assert "mail__send" not in hits["content"][0]["text"]
        assert (await served.refusal("mail__send"))["code"] == "not_allowed"
        assert (mail.live, mail.calls) == (1, [])


async def test_a_server_that_rested_as_long_as_an_idle_one_is_closed() -> None:
    mail = upstream()
    async with servers_rig({"mail": mail}, dynamic=SOON) as rig:
        await rig.servers.enable(rig.requester, ["mail"])
        await rig.servers.disable(rig.requester, "mail")
        await anyio.sleep(0.9 * IDLE)
        assert (mail.live, rig.ended) == (1, [])
        await anyio.sleep(0.2 * IDLE)
        assert (mail.live, rig.ended) == (0, ["mail"])
        assert rig.catalogs.server_ids() == ()


@pytest.mark.parametrize("principal", [ANONYMOUS, LOCAL, ANNA], ids=lambda it: it.subject)
async def test_nothing_rests_for_a_conversation_that_is_over(principal: Principal) -> None:
    mail = upstream()
    async with servers_rig({"mail": mail}, principal=principal) as rig:
        session = Requester(principal, "s", durable=False)
        await rig.servers.enable(session, ["mail"])
        await rig.servers.disable(session, "mail")
        await anyio.sleep(10)
        assert mail.live == 1
        rig.servers.forget(session)
        await anyio.sleep(10)
        assert (mail.live, rig.ended) == (0, ["mail"])


async def test_a_server_rests_as_long_as_one_conversation_may_come_back_to_it() -> None:
    mail = upstream()
    async with servers_rig({"mail": mail}, principal=ANONYMOUS) as rig:
        one, other = (Requester(ANONYMOUS, it, durable=False) for it in ("one", "other"))
        for session in (one, other):
            await rig.servers.enable(session, ["mail"])
        await rig.servers.disable(one, "mail")
        rig.servers.forget(other)
        await anyio.sleep(10)
        assert (mail.live, rig.ended) == (1, [])
        rig.servers.forget(one)
        await anyio.sleep(10)
        assert (mail.live, rig.ended) == (0, ["mail"])


async def test_what_was_given_back_earlier_says_nothing_of_who_enabled_it_later() -> None:
    mail = upstream()
    async with servers_rig({"mail": mail}, principal=ANONYMOUS) as rig:
        one, other = (Requester(ANONYMOUS, it, durable=False) for it in ("one", "other"))
        await rig.servers.enable(one, ["mail"])
        await rig.servers.disable(one, "mail")
        await rig.servers.enable(other, ["mail"])
        rig.servers.forget(other)
        await anyio.sleep(10)
        assert (mail.live, rig.ended) == (0, ["mail"])


async def test_what_another_caller_has_to_itself_rests_for_nobody() -> None:
    """Whoever takes back what it did not have keeps nothing connected."""
    mail = upstream()
    async with servers_rig({"mail": mail}, principal=ANONYMOUS) as rig:
        one, other = (Requester(ANONYMOUS, it, durable=False) for it in ("one", "other"))
        await rig.servers.enable(one, ["mail"])
        assert not await rig.servers.disable(other, "mail")
        rig.servers.forget(one)
        await anyio.sleep(10)
        assert (mail.live, rig.ended) == (0, ["mail"])


async def test_a_server_that_is_not_connected_does_not_rest() -> None:
    mail = upstream()
    mail.faults.connect = UpstreamUnreachable("refused")
    async with servers_rig({"mail": mail}) as rig:
        await rig.servers.enable(rig.requester, ["mail"])
        await rig.servers.disable(rig.requester, "mail")
        await anyio.sleep(10)
        tries = mail.connects
        await anyio.sleep(1_000)
        assert (mail.connects, rig.ended) == (tries, ["mail"])


async def test_what_another_process_enabled_for_the_caller_ends_the_rest() -> None:
    store = MemoryStore(LoopClock())
    mail = upstream()
    async with (
        servers_rig({"mail": mail}, store=store, dynamic=SOON) as here,
        servers_rig({"mail": upstream()}, store=store, dynamic=SOON) as there,
    ):
        await here.servers.enable(here.requester, ["mail"])
        await here.servers.disable(here.requester, "mail")
        await there.servers.enable(there.requester, ["mail"])
        await anyio.sleep(10)
        assert list(await here.servers.searchable(here.requester)) == ["mail"]
        await anyio.sleep(IDLE)
        await called(here, "mail", "send")
        assert (here.ended, len(mail.calls)) == ([], 1)


async def test_a_server_that_was_given_back_during_a_long_call_is_closed_after_it() -> None:
    mail = upstream()
    release = anyio.Event()

    async def slowly(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        await release.wait()
        return {"content": [{"type": "text", "text": f"{method} {params}"}]}

    mail.on_call = slowly
    async with servers_rig({"mail": mail}, dynamic=DynamicSettings(idle_seconds=10)) as rig:
        await rig.servers.enable(rig.requester, ["mail"])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(called, rig, "mail", "send")
            await anyio.sleep(1)
            await rig.servers.disable(rig.requester, "mail")
            await anyio.sleep(30)
            assert (mail.live, rig.ended) == (1, [])
            assert list(await rig.servers.searchable(rig.requester)) == []
            release.set()
        await anyio.sleep(30)
        assert (mail.live, rig.ended) == (0, ["mail"])


def test_callers_are_remembered_up_to_a_bound() -> None:
    given = GivenBack()
    for number in range(1_000):
        given.add("mail", f"caller {number}", 10.0)
    for number in range(900, 1_000):
        given.forget(f"caller {number}")
    assert given.left("mail", 0.0) == 0.0


def test_the_last_one_to_come_back_decides_how_long_a_server_rests() -> None:
    given = GivenBack()
    assert given.left("mail", 5.0) == 0.0
    given.add("mail", "one", 20.0)
    given.add("mail", "other", 30.0)
    assert given.left("mail", 5.0) == 25.0
    given.forget("other")
    assert given.left("mail", 5.0) == 15.0
    assert given.left("mail", 50.0) == 0.0
    given.drop("mail")
    assert given.left("mail", 5.0) == 0.0
