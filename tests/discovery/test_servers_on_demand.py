"""When servers on demand are connected, and for whom their tools are there."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.calls.call import Requester
from toolcrib.catalog.access import PublishedChange
from toolcrib.core.partition import ANONYMOUS, LOCAL, Principal
from toolcrib.core.snapshot import Kind
from toolcrib.errors import NotAllowed, UpstreamUnreachable
from toolcrib.settings import DynamicSettings, Settings, Waits
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.servers_rig import ServersRig, servers_rig
from toolcrib.testing.virtual_clock import LoopClock

pytestmark = pytest.mark.virtual_time

ANNA = Principal("https://login", "anna")
BEN = Principal("https://login", "ben")
IDLE = 100.0
SOON = DynamicSettings(idle_seconds=IDLE)


def upstream(*names: str, **changes: Any) -> ScriptedUpstream:
    return ScriptedUpstream([tool(name) for name in names], **changes)


def held(rig: ServersRig, server: str) -> list[str] | None:
    """What is published of a server's tools, for a search to find."""
    snapshot = rig.catalogs.peek(server, Kind.TOOLS).snapshot
    return None if snapshot is None else [item.key for item in snapshot.items]


async def called(rig: ServersRig, server: str, name: str) -> None:
    await rig.servers.need(rig.requester, server)
    await rig.catalogs.request(server, "tools/call", {"name": name, "arguments": {}})


# ---- before anybody needs it ----


@pytest.mark.duty("D5")
async def test_a_server_on_demand_is_not_connected_until_somebody_enables_it() -> None:
    mail = upstream("send")
    async with servers_rig({"mail": mail}, {"git": upstream("status")}) as rig:
        await anyio.sleep(1_000)
        assert (mail.connects, rig.servers.dynamic) == (0, True)
        assert list(rig.servers.listed()) == ["git"]
        assert list(await rig.servers.searchable(rig.requester)) == ["git"]
        await rig.servers.enable(rig.requester, ["mail"])
        assert (mail.connects, mail.live) == (1, 1)
        assert list(await rig.servers.searchable(rig.requester)) == ["git", "mail"]
        assert held(rig, "mail") == ["send"]


@pytest.mark.duty("trap 1")
async def test_enabling_changes_nothing_of_what_is_listed() -> None:
    async with servers_rig({"mail": upstream("send")}, {"git": upstream("status")}) as rig:
        before = (tuple(rig.servers.listed()), rig.servers.dynamic)
        await rig.servers.enable(rig.requester, ["mail"])
        await rig.servers.searchable(rig.requester)
        await called(rig, "mail", "send")
        assert (tuple(rig.servers.listed()), rig.servers.dynamic) == before
        await rig.servers.disable(rig.requester, "mail")
        assert (tuple(rig.servers.listed()), rig.servers.dynamic) == before


async def test_without_servers_on_demand_there_is_nothing_to_enable() -> None:
    async with servers_rig({}, {"git": upstream("status")}) as rig:
        assert not rig.servers.dynamic
        assert list(await rig.servers.searchable(rig.requester)) == ["git"]
        await rig.servers.need(rig.requester, "git")


async def test_a_call_of_a_server_that_is_not_enabled_is_refused_and_connects_nothing() -> None:
    mail = upstream("send")
    async with servers_rig({"mail": mail}) as rig:
        with pytest.raises(NotAllowed, match="call enable_server for it first"):
            await rig.servers.need(rig.requester, "mail")
        assert mail.connects == 0


# ---- whose it is ----


@pytest.mark.duty("trap 1")
async def test_callers_do_not_find_what_others_enabled() -> None:
    async with servers_rig({"mail": upstream("send")}, principal=ANONYMOUS) as rig:
        one, other = Requester(ANONYMOUS, "one"), Requester(ANONYMOUS, "other")
        await rig.servers.enable(one, ["mail"])
        assert list(await rig.servers.searchable(one)) == ["mail"]
        for stranger in (other, Requester(ANONYMOUS)):
            assert list(await rig.servers.searchable(stranger)) == []
            with pytest.raises(NotAllowed):
                await rig.servers.need(stranger, "mail")


async def test_a_server_is_connected_as_long_as_any_caller_has_it_enabled() -> None:
    mail = upstream("send")
    async with servers_rig({"mail": mail}, principal=ANNA, dynamic=SOON) as rig:
        one, other = Requester(ANNA, "one"), Requester(ANNA, "other")
        await rig.servers.enable(one, ["mail"])
        await rig.servers.enable(other, ["mail"])
        assert mail.connects == 1
        assert await rig.servers.disable(one, "mail")
        await anyio.sleep(10)
        assert (mail.live, rig.ended) == (1, [])
        assert await rig.servers.disable(other, "mail")
        await anyio.sleep(IDLE + 10)
        assert (mail.live, rig.ended) == (0, ["mail"])
        assert rig.catalogs.server_ids() == ()


async def test_principals_share_a_connection_and_neither_takes_it_from_the_other() -> None:
    mail = upstream("send")
    async with servers_rig({"mail": mail}, principal=ANNA, dynamic=SOON) as anna:
        ben = anna.sharing(BEN)
        await anna.servers.enable(anna.requester, ["mail"])
        assert list(await ben.servers.searchable(ben.requester)) == []
        await ben.servers.enable(ben.requester, ["mail"])
        assert (mail.connects, mail.live) == (1, 1)
        await anna.servers.disable(anna.requester, "mail")
        for _ in range(2):
            await anyio.sleep(0.6 * IDLE)
            await called(ben, "mail", "send")
        assert (anna.ended, mail.live, mail.connects) == (["mail"], 1, 1)
        await ben.servers.disable(ben.requester, "mail")
        await anyio.sleep(IDLE + 10)
        assert mail.live == 0


async def test_what_one_principal_uses_does_not_idle_for_another() -> None:
    mail = upstream("send")
    async with servers_rig({"mail": mail}, principal=ANNA, dynamic=SOON) as anna:
        ben = anna.sharing(BEN)
        for rig in (anna, ben):
            await rig.servers.enable(rig.requester, ["mail"])
        for _ in range(10):
            await anyio.sleep(0.6 * IDLE)
            await called(ben, "mail", "send")
        assert mail.connects == 1


async def test_a_session_that_ends_gives_back_what_it_enabled() -> None:
    mail = upstream("send")
    async with servers_rig({"mail": mail}, principal=ANONYMOUS) as rig:
        session = Requester(ANONYMOUS, "s", durable=False)
        await rig.servers.enable(session, ["mail"])
        assert mail.live == 1
        rig.servers.forget(session)
        await anyio.sleep(10)
        assert mail.live == 0


async def test_another_process_finds_what_was_enabled_before_its_server_is_up() -> None:
    store = MemoryStore(LoopClock())
    async with servers_rig({"mail": upstream("send")}, store=store) as first:
        await first.servers.enable(first.requester, ["mail"])
        slow = upstream("send", latency=30.0)
        async with servers_rig({"mail": slow}, store=store) as second:
            started = anyio.current_time()
            assert list(await second.servers.searchable(second.requester)) == ["mail"]
            assert held(second, "mail") == ["send"], "as the first one listed it"
            assert anyio.current_time() - started < 1


async def test_a_process_that_comes_later_connects_at_the_first_call() -> None:
    store = MemoryStore(LoopClock())
    async with servers_rig({"mail": upstream("send")}, store=store) as first:
        await first.servers.enable(first.requester, ["mail"])
    mail = upstream("send")
    async with servers_rig({"mail": mail}, store=store) as second:
        await called(second, "mail", "send")
        assert (mail.connects, len(mail.calls)) == (1, 1)


async def test_an_enabling_that_expired_ends_the_connection() -> None:
    mail = upstream("send")
    times = DynamicSettings(idle_seconds=IDLE, enabled_seconds=10 * IDLE)
    async with servers_rig({"mail": mail}, dynamic=times) as rig:
        await rig.servers.enable(rig.requester, ["mail"])
        await anyio.sleep(12 * IDLE)
        assert rig.ended == ["mail"]
        with pytest.raises(NotAllowed):
            await rig.servers.need(rig.requester, "mail")


# ---- idleness ----


@pytest.mark.duty("D4")
async def test_an_idle_connection_ends_its_tools_stay_and_a_call_brings_it_back() -> None:
    mail = upstream("send")
    changes: list[PublishedChange] = []
    async with servers_rig({"mail": mail}, dynamic=SOON) as rig:
        await rig.servers.enable(rig.requester, ["mail"])
        rig.catalogs.on_published(changes.append)
        await anyio.sleep(3 * IDLE)
        assert (mail.live, mail.connects) == (0, 1)
        assert list(await rig.servers.searchable(rig.requester)) == ["mail"]
        assert held(rig, "mail") == ["send"]
        assert mail.connects == 1, "searching is answered from what was listed"
        await called(rig, "mail", "send")
        assert (mail.live, mail.connects, len(mail.calls)) == (1, 2, 1)
        assert changes == [], "nobody notices"


async def test_reading_the_catalogs_wakes_nothing_that_idles() -> None:
    mail = upstream("send")
    async with servers_rig({"mail": mail}, dynamic=SOON) as rig:
        await rig.servers.enable(rig.requester, ["mail"])
        rig.catalogs.watch(Kind.TOOLS)
        await anyio.sleep(3 * IDLE)
        for _ in range(20):
            await rig.catalogs.read(Kind.TOOLS)
            await anyio.sleep(500)
        assert mail.connects == 1


async def test_what_changed_while_it_idled_is_seen_when_it_is_needed() -> None:
    mail = upstream("send")
    async with servers_rig({"mail": mail}, dynamic=SOON) as rig:
        await rig.servers.enable(rig.requester, ["mail"])
        await anyio.sleep(3 * IDLE)
        mail.change([tool("deliver")])
        await rig.servers.need(rig.requester, "mail")
        await anyio.sleep(1)
        assert held(rig, "mail") == ["deliver"]


async def test_a_connection_in_use_does_not_end() -> None:
    mail = upstream("send")
    async with servers_rig({"mail": mail}, dynamic=SOON) as rig:
        await rig.servers.enable(rig.requester, ["mail"])
        for _ in range(20):
            await anyio.sleep(0.6 * IDLE)
            await called(rig, "mail", "send")
        assert mail.connects == 1


async def test_a_long_call_keeps_its_connection_and_idleness_counts_from_its_end() -> None:
    mail = upstream("send")
    release = anyio.Event()

    async def slowly(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        await release.wait()
        return {"content": [{"type": "text", "text": f"{method} {params}"}]}

    mail.on_call = slowly
    async with servers_rig(
        {"mail": mail}, dynamic=SOON, configured={"mail": {"call_seconds": 1e6}}
    ) as rig:
        await rig.servers.enable(rig.requester, ["mail"])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(called, rig, "mail", "send")
            await anyio.sleep(10 * IDLE)
            assert mail.live == 1
            release.set()
        await anyio.sleep(0.9 * IDLE)
        assert mail.live == 1
        await anyio.sleep(2 * IDLE)
        assert mail.live == 0


async def test_idleness_counts_from_the_end_of_a_call_to_the_second() -> None:
    mail = upstream("send")

    async def slowly(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        await anyio.sleep(0.99 * IDLE)
        return {"content": [{"type": "text", "text": f"{method} {params}"}]}

    mail.on_call = slowly
    async with servers_rig({"mail": mail}, dynamic=SOON) as rig:
        await rig.servers.enable(rig.requester, ["mail"])
        await anyio.sleep(0.5 * IDLE)
        await called(rig, "mail", "send")
        await anyio.sleep(0.98 * IDLE)
        assert mail.live == 1
        await anyio.sleep(0.1 * IDLE)
        assert mail.live == 0


async def test_enabling_it_again_is_a_use_too() -> None:
    mail = upstream("send")
    async with servers_rig({"mail": mail}, dynamic=SOON) as rig:
        for _ in range(10):
            await rig.servers.enable(rig.requester, ["mail"])
            await anyio.sleep(0.6 * IDLE)
        assert mail.connects == 1


async def test_a_need_without_a_call_is_a_use_too() -> None:
    mail = upstream("send")
    async with servers_rig({"mail": mail}, dynamic=SOON) as rig:
        await rig.servers.enable(rig.requester, ["mail"])
        for _ in range(10):
            await anyio.sleep(0.6 * IDLE)
            await rig.servers.need(rig.requester, "mail")
        assert mail.connects == 1


# ---- servers that cannot be reached (known faults, RC3) ----


async def test_a_server_that_comes_up_later_is_found_without_being_enabled_again() -> None:
    mail = upstream("send")
    mail.faults.connect = UpstreamUnreachable("connection refused", server="mail")
    async with servers_rig({"mail": mail}) as rig:
        (standing,) = await rig.servers.enable(rig.requester, ["mail"])
        assert (standing.tools, standing.trouble) == (None, "connection refused")
        await anyio.sleep(60)
        mail.faults.connect = None
        await anyio.sleep(90)
        assert list(await rig.servers.searchable(rig.requester)) == ["mail"]
        assert held(rig, "mail") == ["send"]


@pytest.mark.parametrize("kind", ["ordinary", "on demand"])
async def test_enabling_forces_the_attempt_that_was_put_off(kind: str) -> None:
    script = upstream("send")
    script.faults.connect = UpstreamUnreachable("connection refused", server="mail")
    servers = {"mail": script}
    on_demand = servers if kind == "on demand" else {"x": upstream()}
    ordinary = servers if kind == "ordinary" else None
    async with servers_rig(on_demand, ordinary, dynamic=DynamicSettings(1e6)) as rig:
        await rig.servers.enable(rig.requester, ["mail"])
        await anyio.sleep(3_600)
        script.faults.connect = None
        before = anyio.current_time()
        (standing,) = await rig.servers.enable(rig.requester, ["mail"])
        assert (standing.tools, standing.connected) == (("send",), True)
        assert anyio.current_time() - before < 1


async def test_attempts_are_forced_once_in_a_while_only() -> None:
    script = upstream("send")
    script.faults.connect = UpstreamUnreachable("connection refused", server="mail")
    async with servers_rig({"mail": script}) as rig:
        await rig.servers.enable(rig.requester, ["mail"])
        await anyio.sleep(600)
        before = script.connects
        for _ in range(100):
            await rig.servers.enable(rig.requester, ["mail"])
        assert script.connects <= before + 1


async def test_a_server_that_hangs_is_waited_for_no_longer_than_cold_wait() -> None:
    mail = upstream("send", latency=1_000.0)
    waits = {"mail": {"waits": Waits(cold_wait=2.0)}}
    async with servers_rig({"mail": mail}, configured=waits) as rig:
        before = anyio.current_time()
        (standing,) = await rig.servers.enable(rig.requester, ["mail"])
        assert (standing.tools, standing.connected) == (None, False)
        assert anyio.current_time() - before == pytest.approx(2.0)


async def test_attempts_for_a_server_that_nobody_needs_end() -> None:
    mail = upstream("send")
    mail.faults.connect = UpstreamUnreachable("connection refused", server="mail")
    async with servers_rig({"mail": mail}, dynamic=SOON) as rig:
        await rig.servers.enable(rig.requester, ["mail"])
        await anyio.sleep(3 * IDLE)
        connects = mail.connects
        await anyio.sleep(10_000)
        assert mail.connects == connects


# ---- another configuration ----


async def test_what_is_configured_later_can_be_enabled_and_what_is_gone_can_not() -> None:
    async with servers_rig({"mail": upstream("send")}) as rig:
        rig.world.servers.add("files", upstream("read"))
        await rig.servers.enable(rig.requester, ["mail"])
        rig.catalogs.remove("mail")
        rig.servers.configure(Settings(servers=(server_settings("files", on_demand=True),)))
        assert list(await rig.servers.searchable(rig.requester)) == []
        await rig.servers.enable(rig.requester, ["files"])
        assert list(await rig.servers.searchable(rig.requester)) == ["files"]


async def test_a_server_that_is_on_demand_no_more_is_there_for_everybody() -> None:
    async with servers_rig({"mail": upstream("send")}, principal=LOCAL) as rig:
        rig.servers.configure(Settings(servers=(server_settings("mail"),)))
        assert list(rig.servers.listed()) == ["mail"]
        await rig.servers.need(Requester(LOCAL, "anybody"), "mail")
        assert not rig.servers.dynamic


async def test_a_server_that_was_always_there_and_is_on_demand_now_is_closed() -> None:
    mail = upstream("send")
    async with servers_rig({}, {"mail": mail}, dynamic=SOON) as rig:
        await rig.catalogs.reach()
        now = (server_settings("mail", on_demand=True),)
        rig.servers.configure(Settings(servers=now, dynamic=SOON))
        await anyio.sleep(IDLE)
        assert (mail.live, rig.ended) == (0, ["mail"])
        mail.faults.connect = UpstreamUnreachable("connection refused", server="mail")
        rig.catalogs.add(now[0])
        await anyio.sleep(2 * IDLE)
        assert rig.ended == ["mail", "mail"]


async def test_a_server_that_is_switched_off_is_not_there() -> None:
    async with servers_rig({"mail": upstream("send")}) as rig:
        off = server_settings("mail", on_demand=True, disabled=True)
        rig.servers.configure(Settings(servers=(off,)))
        assert not rig.servers.dynamic
        assert list(rig.servers.configured) == []


# ---- what nobody foresaw ----


@pytest.mark.parametrize("what", ["rest", "close", "_remembered"])
async def test_a_fault_of_ours_ends_neither_the_process_nor_the_care_for_other_servers(
    what: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ill, well = upstream("draft"), upstream("send")
    async with servers_rig({"a-ill": ill, "well": well}, dynamic=SOON) as rig:
        connections = rig.servers._connections  # pyright: ignore[reportPrivateUsage] - breaks
        broken = rig.servers if what == "_remembered" else connections
        right = getattr(broken, what)
        breaks = True

        def faulty(_: object, server: str, *others: Any) -> Any:
            if server == "a-ill" and breaks:
                raise ValueError("never foreseen")
            return right(server, *others)

        monkeypatch.setattr(type(broken), what, faulty)
        await rig.servers.enable(rig.requester, ["a-ill", "well"])
        await anyio.sleep(10)
        await rig.servers.disable(rig.requester, "well")
        await rig.servers.disable(rig.requester, "a-ill")
        await anyio.sleep(IDLE + 10)
        assert (well.live, "well" in rig.ended) == (0, True)
        assert "a-ill" in caplog.text
        assert "never foreseen" in caplog.text
        breaks = False
        await anyio.sleep(120)
        assert (ill.live, "a-ill" in rig.ended) == (0, True)
