"""`on_change = "ask"`: what nobody has seen is not served, across processes and restarts."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.calls.approval.unapproved import awaits_approval
from toolcrib.catalog.access import PublishedChange
from toolcrib.catalog.approvals import APPROVED, Approvals
from toolcrib.config.keys import InstallationKey
from toolcrib.core.snapshot import Item, Kind, Snapshot
from toolcrib.crib import Crib
from toolcrib.errors import StoreUnreachable
from toolcrib.facts import ItemQuarantined
from toolcrib.settings import ServerSettings, Settings, ToolFilter
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import ScriptedWorld, scripted_crib, server_settings
from toolcrib.testing.virtual_clock import LoopClock

pytestmark = pytest.mark.virtual_time

ASKS = server_settings("s", on_change="ask")


def reworded(name: str) -> Mapping[str, Any]:
    return {**tool(name), "description": "now it says something else"}


def changed(name: str) -> Mapping[str, Any]:
    return {**tool(name), "inputSchema": {"type": "object", "required": ["new"]}}


@asynccontextmanager
async def opened(
    script: ScriptedUpstream, store: MemoryStore | None = None, settings: ServerSettings = ASKS
) -> AsyncGenerator[tuple[Crib, ScriptedWorld]]:
    async with scripted_crib({"s": script}, settings={"s": settings}, store=store) as (crib, world):
        await crib.catalogs().reach()
        yield crib, world


async def shown(crib: Crib) -> Snapshot:
    with anyio.fail_after(5):
        (reading,) = await crib.catalogs().read(Kind.TOOLS)
    assert reading.snapshot is not None
    return reading.snapshot


async def names(crib: Crib) -> list[str]:
    return [item.key for item in (await shown(crib)).items]


async def approve_all(crib: Crib) -> None:
    waiting = crib.catalogs().server("s").waiting()
    await crib.approve_definitions("s", [one.after for one in waiting])


async def test_a_new_server_serves_nothing_until_a_person_has_seen_it() -> None:
    async with opened(ScriptedUpstream([tool("a"), tool("b")])) as (crib, world):
        snapshot = await shown(crib)
        assert snapshot.items == ()
        assert [it.reason for it in snapshot.quarantined] == ["not_approved"] * 2
        await approve_all(crib)
        assert await names(crib) == ["a", "b"]
        assert crib.catalogs().server("s").waiting() == ()
        told = [(it.key, it.reason) for it in world.recorder.of(ItemQuarantined)]
        assert sorted(told) == [("a", "not_approved"), ("b", "not_approved")]


async def test_a_call_never_finds_what_nobody_has_seen() -> None:
    script = ScriptedUpstream([tool("a")])
    async with opened(script) as (crib, _):
        reading = await crib.catalogs().read_one("s", Kind.TOOLS)
        assert reading.snapshot is not None
        assert reading.snapshot.get("a") is None
        refused = awaits_approval("s", "a", reading.snapshot)
        assert refused is not None
        assert refused.code == "needs_confirmation"
        assert refused.details == {"command": "toolcrib approve --changes s"}
        assert "toolcrib approve --changes s" in refused.for_model()
        assert awaits_approval("s", "x", reading.snapshot) is None
        await approve_all(crib)
        reading = await crib.catalogs().read_one("s", Kind.TOOLS)
        assert reading.snapshot is not None
        assert awaits_approval("s", "a", reading.snapshot) is None
        assert reading.snapshot.get("a") is not None


async def test_other_words_wait_while_the_seen_ones_are_served() -> None:
    script = ScriptedUpstream([tool("a")])
    async with opened(script) as (crib, _):
        await shown(crib)
        await approve_all(crib)
        before = (await shown(crib)).get("a")
        script.change([reworded("a")])
        await anyio.sleep(5)
        snapshot = await shown(crib)
        assert snapshot.get("a") == before
        (out,) = snapshot.quarantined
        assert (out.key, out.reason) == ("a", "not_approved")
        assert awaits_approval("s", "a", snapshot) is None
        await approve_all(crib)
        after = (await shown(crib)).get("a")
        assert after is not None
        assert after.definition["description"] == "now it says something else"


async def test_another_contract_is_not_called_until_it_was_seen() -> None:
    script = ScriptedUpstream([tool("a"), tool("b")])
    async with opened(script) as (crib, _):
        await shown(crib)
        await approve_all(crib)
        script.change([changed("a"), tool("b")])
        await anyio.sleep(5)
        assert await names(crib) == ["b"]
        script.change([tool("a"), tool("b")])
        await anyio.sleep(5)
        assert await names(crib) == ["a", "b"], "what was seen once is not asked about again"


async def test_an_approval_elsewhere_is_heard_without_a_question_and_listeners_are_told() -> None:
    script, heard = ScriptedUpstream([tool("a")]), list[PublishedChange]()
    async with opened(script) as (gateway, world):
        assert await names(gateway) == []
        gateway.catalogs().on_published(heard.append)
        async with opened(script, world.store) as (elsewhere, _):
            await shown(elsewhere)
            await approve_all(elsewhere)
        await anyio.sleep(2)
        (change,) = heard
        assert change.after is not None
        assert [item.key for item in change.after.items] == ["a"]
        assert await names(gateway) == ["a"]


@pytest.mark.parametrize("ttl_ms", [0, 3_600_000])
async def test_where_the_hint_is_lost_readers_and_calls_find_the_approval(ttl_ms: int) -> None:
    script = ScriptedUpstream([tool("a")], ttl_ms=ttl_ms)
    async with opened(script) as (gateway, world):
        approvals = Approvals(world.store.entries, keys=InstallationKey(b"k" * 32), most=10)
        assert await names(gateway) == []
        (waiting,) = gateway.catalogs().server("s").waiting()
        await approvals.approve("s", [waiting.after])
        await anyio.sleep(1.5)
        assert await names(gateway) == ["a"]
        script.change([reworded("a"), tool("b")])
        await anyio.sleep(5)
        assert await names(gateway) == ["a"]
        await approvals.approve("s", [it.after for it in gateway.catalogs().server("s").waiting()])
        await anyio.sleep(1.5)
        reading = await gateway.catalogs().read_one("s", Kind.TOOLS)
        assert reading.snapshot is not None
        assert reading.snapshot.get("b") is not None


async def test_an_approval_outlives_the_process() -> None:
    script = ScriptedUpstream([tool("a")])
    async with opened(script) as (crib, world):
        await shown(crib)
        await approve_all(crib)
    await anyio.sleep(40 * 86_400)
    async with opened(script, world.store) as (crib, world):
        assert await names(crib) == ["a"]
        assert world.recorder.of(ItemQuarantined) == []


async def test_an_approval_is_for_one_server() -> None:
    script = ScriptedUpstream([tool("a")])
    scripts = {"s": script, "t": script}
    settings = {name: server_settings(name, on_change="ask") for name in scripts}
    async with scripted_crib(scripts, settings=settings) as (crib, _):
        await crib.catalogs().reach()
        await crib.catalogs().read(Kind.TOOLS)
        await approve_all(crib)
        readings = await crib.catalogs().read(Kind.TOOLS)
        assert [len(it.snapshot.items) for it in readings if it.snapshot is not None] == [1, 0]


async def test_a_denied_tool_does_not_wait() -> None:
    settings = server_settings("s", on_change="ask", tools=ToolFilter(deny=("b",)))
    async with opened(ScriptedUpstream([tool("a"), tool("b")]), settings=settings) as (crib, _):
        await shown(crib)
        assert [it.after.key for it in crib.catalogs().server("s").waiting()] == ["a"]


async def test_without_the_setting_everything_is_served_at_once() -> None:
    settings = server_settings("s")
    async with opened(ScriptedUpstream([tool("a")]), settings=settings) as (crib, _):
        assert await names(crib) == ["a"]
        assert crib.catalogs().server("s").waiting() == ()


async def test_the_setting_can_be_taken_over_while_it_runs() -> None:
    async with opened(ScriptedUpstream([tool("a")]), settings=server_settings("s")) as (crib, _):
        assert await names(crib) == ["a"]
        await crib.apply(Settings((ASKS,)))
        assert await names(crib) == []
        await crib.apply(Settings((server_settings("s"),)))
        assert await names(crib) == ["a"]


class Broken:
    """Entries that cannot be read."""

    def __getattr__(self, name: str) -> Any:
        async def fail(*_: Any, **__: Any) -> Any:
            raise StoreUnreachable("the disk is gone")

        return fail


async def test_where_approvals_cannot_be_read_nothing_unseen_is_served() -> None:
    store = MemoryStore(LoopClock())
    broken: Any = Broken()
    store.entries = broken
    async with opened(ScriptedUpstream([tool("a")]), store) as (crib, _):
        assert await names(crib) == []
        with pytest.raises(StoreUnreachable):
            await approve_all(crib)
        assert await names(crib) == []


async def test_what_another_version_kept_is_not_approved() -> None:
    store = MemoryStore(LoopClock())
    approvals = Approvals(store.entries, keys=InstallationKey(b"k" * 32), most=10)
    item = Item("a", {"name": "a"}, "f", "c", ("note",))
    odd = {"x": b"\xff", "y": b"[]", "z": b'["a","f","c",[],5]', "w": b'{"a":1}'}
    await store.entries.put(APPROVED, approvals.owner("s"), odd, lifetime=9.0, most=10)
    assert await approvals.read("s") == {}
    await approvals.approve("s", [item])
    assert await approvals.read("s") == {"a": item}
    assert await approvals.read("t") == {}
