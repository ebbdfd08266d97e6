from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.catalog.access import PublishedChange
from toolcrib.catalog.reading import Reading
from toolcrib.core.snapshot import Kind
from toolcrib.errors import (
    CatalogTooOld,
    RequestTimedOut,
    ToolcribError,
    UpstreamRefused,
    UpstreamUnreachable,
)
from toolcrib.facts import CallForwarded
from toolcrib.settings import Limits, Waits
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib, server_settings

pytestmark = pytest.mark.virtual_time


def names(reading: Reading) -> list[str] | None:
    return None if reading.snapshot is None else [item.key for item in reading.snapshot.items]


async def never(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
    """Answers no request."""
    await anyio.sleep_forever()
    raise AssertionError


# ---- which servers there are ----


async def test_servers_are_in_the_order_of_their_code_points() -> None:
    ids = ["beta", "Alpha", "älpha", "10", "9", "a-b", "a_b", "alpha"]
    scripts = {server: ScriptedUpstream([tool(server)]) for server in ids}
    async with scripted_crib(scripts) as (crib, _):
        catalogs = crib.catalogs()
        assert list(catalogs.server_ids()) == sorted(ids)
        readings = await catalogs.read(Kind.TOOLS)
        assert [reading.server for reading in readings] == sorted(ids)


async def test_an_id_is_taken_once() -> None:
    async with scripted_crib({"s": ScriptedUpstream()}) as (crib, _):
        with pytest.raises(ValueError, match="'s' is open already"):
            crib.catalogs().add(server_settings("s"))


async def test_an_unknown_server_is_a_key_error_and_no_fact() -> None:
    async with scripted_crib({"s": ScriptedUpstream()}) as (crib, world):
        catalogs = crib.catalogs()
        for ask in (catalogs.status, catalogs.server, catalogs.remove):
            with pytest.raises(KeyError):
                ask("x")
        with pytest.raises(KeyError):
            catalogs.peek("x", Kind.TOOLS)
        with pytest.raises(KeyError):
            await catalogs.read_one("x", Kind.TOOLS)
        with pytest.raises(KeyError):
            await catalogs.request("x", "tools/call", {"name": "a"})
        catalogs.invalidate("x", Kind.TOOLS, why="it is gone")
        assert world.recorder.of(CallForwarded) == []


async def test_a_removed_server_is_told_as_gone_and_an_added_one_as_come() -> None:
    scripts = {"a": ScriptedUpstream([tool("one")]), "b": ScriptedUpstream([tool("two")])}
    changes: list[PublishedChange] = []
    async with scripted_crib(scripts) as (crib, _):
        catalogs = crib.catalogs()
        for kind in (Kind.TOOLS, Kind.PROMPTS):
            await catalogs.read(kind)
        catalogs.on_published(changes.append)
        catalogs.remove("a")
        assert catalogs.server_ids() == ("b",)
        gone = {(c.server, c.kind, c.after) for c in changes}
        assert gone == {("a", Kind.TOOLS, None), ("a", Kind.PROMPTS, None)}
        changes.clear()
        catalogs.add(server_settings("a"))
        (one, two) = await catalogs.read(Kind.TOOLS)
        assert (names(one), names(two)) == (["one"], ["two"])
        assert [(c.server, c.kind) for c in changes] == [("a", Kind.TOOLS)]


async def test_what_a_removed_server_still_says_is_heard_by_nobody() -> None:
    script = ScriptedUpstream([tool("one")])
    changes: list[PublishedChange] = []
    async with scripted_crib({"a": script}) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.read(Kind.TOOLS)
        catalogs.remove("a")
        catalogs.on_published(changes.append)
        script.change([tool("two")])
        await anyio.sleep(10)
        assert changes == []
        assert await catalogs.read(Kind.TOOLS) == ()


# ---- reading ----


async def test_servers_are_read_side_by_side() -> None:
    scripts = {f"s{n}": ScriptedUpstream([tool("a")], latency=0.5) for n in range(20)}
    async with scripted_crib(scripts) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.reach()
        began = anyio.current_time()
        readings = await catalogs.read(Kind.PROMPTS)
        assert [names(reading) for reading in readings] == [[]] * 20
        assert anyio.current_time() - began < 2 * 0.5


async def test_fresh_catalogs_are_answered_without_waiting_for_the_others() -> None:
    scripts = {
        "fresh": ScriptedUpstream([tool("a")], ttl_ms=3_600_000),
        "slow": ScriptedUpstream([tool("b")], latency=10),
    }
    async with scripted_crib(scripts) as (crib, _):
        catalogs = crib.catalogs()
        fresh, slow = await catalogs.read(Kind.TOOLS)
        assert names(fresh) == ["a"]
        assert slow.snapshot is None
        assert anyio.current_time() == pytest.approx(3.0)
        await anyio.sleep(100)
        fresh, slow = await catalogs.read(Kind.TOOLS)
        assert names(slow) == ["b"]
        assert scripts["fresh"].walks[Kind.TOOLS] == 1


async def test_reaching_waits_for_those_who_come_and_for_the_failure_of_the_others() -> None:
    dead = ScriptedUpstream(latency=1)
    dead.faults.connect = UpstreamUnreachable("refused")
    scripts = {"quick": ScriptedUpstream(), "slow": ScriptedUpstream(latency=2), "dead": dead}
    async with scripted_crib(scripts) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.reach()
        assert [catalogs.status(server).state for server in ("quick", "slow")] == ["ready"] * 2
        assert catalogs.status("dead").detail == "refused"
        await catalogs.reach(["quick"])


async def test_a_call_is_admitted_from_what_is_too_old_to_be_listed_and_refused_later() -> None:
    script = ScriptedUpstream([tool("a")])
    waits = Waits(max_stale_list=3600, max_stale=7200)
    settings = {"s": server_settings("s", waits=waits)}
    async with scripted_crib({"s": script}, settings=settings) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.read(Kind.TOOLS)
        script.faults.lists = UpstreamUnreachable("down")
        await anyio.sleep(5000)
        assert catalogs.peek("s", Kind.TOOLS).snapshot is None
        assert names(await catalogs.read_one("s", Kind.TOOLS)) == ["a"]
        await anyio.sleep(5000)
        with pytest.raises(CatalogTooOld, match=r"more than max_stale \(7200 s\)") as refused:
            await catalogs.read_one("s", Kind.TOOLS)
        assert refused.value.server == "s"
        assert refused.value.remedy
        script.faults.lists = None
        await anyio.sleep(120)
        assert names(await catalogs.read_one("s", Kind.TOOLS)) == ["a"]


async def test_where_nothing_was_ever_held_a_call_is_not_called_too_old() -> None:
    script = ScriptedUpstream()
    script.faults.connect = UpstreamUnreachable("refused")
    async with scripted_crib({"s": script}) as (crib, _):
        reading = await crib.catalogs().read_one("s", Kind.TOOLS)
        assert (reading.snapshot, reading.age) == (None, None)


# ---- requests ----


async def test_a_request_connects_first_where_needed() -> None:
    script = ScriptedUpstream([tool("a")], latency=1)
    settings = {"s": server_settings("s", connect="lazy")}
    async with scripted_crib({"s": script}, settings=settings) as (crib, _):
        result = await crib.catalogs().request("s", "tools/call", {"name": "a", "arguments": {}})
        assert result["content"]
        assert script.calls == [("tools/call", {"name": "a", "arguments": {}})]
        assert script.requests[Kind.TOOLS] == 0


OUTCOMES: Mapping[str, tuple[dict[str, Any] | ToolcribError, str]] = {
    "a result": ({"content": []}, "ok"),
    "an error of the tool": ({"content": [], "isError": True}, "tool_error"),
    "a word that is no flag": ({"content": [], "isError": "true"}, "ok"),
    "an error of the server": (UpstreamRefused("oops", rpc_code=-32603), "server_error"),
    "a time-out": (RequestTimedOut("late"), "timeout"),
    "a broken pipe": (UpstreamUnreachable("died"), "server_unavailable"),
}


@pytest.mark.parametrize("case", OUTCOMES)
async def test_each_request_is_one_fact_with_its_outcome(case: str) -> None:
    answer, outcome = OUTCOMES[case]

    async def answered(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        await anyio.sleep(2)
        if isinstance(answer, ToolcribError):
            raise answer
        return answer

    script = ScriptedUpstream()
    script.on_call = answered
    async with scripted_crib({"s": script}) as (crib, world):
        catalogs = crib.catalogs()
        await catalogs.reach()
        call = catalogs.request("s", "tools/call", {"name": "a", "arguments": {"secret": 1}})
        if isinstance(answer, ToolcribError):
            with pytest.raises(type(answer)):
                await call
        else:
            assert await call == answer
        (fact,) = world.recorder.of(CallForwarded)
        assert (fact.server, fact.method, fact.name) == ("s", "tools/call", "a")
        assert (fact.outcome, fact.seconds) == (outcome, pytest.approx(2.0))
        assert "secret" not in repr(fact)


async def test_a_cancelled_request_is_a_fact_too() -> None:
    script = ScriptedUpstream()
    script.on_call = never
    async with scripted_crib({"s": script}) as (crib, world):
        with anyio.move_on_after(1):
            await crib.catalogs().request("s", "prompts/get", {"name": ["odd"]})
        (fact,) = world.recorder.of(CallForwarded)
        assert (fact.outcome, fact.name) == ("cancelled", "")


@pytest.mark.parametrize(("given", "seconds"), [(None, 50.0), (7.0, 7.0)])
async def test_a_request_has_the_time_of_a_call_unless_told(
    given: float | None, seconds: float
) -> None:
    script = ScriptedUpstream()
    script.on_call = never
    limits = Limits(call_seconds=50.0)
    async with scripted_crib({"s": script}, limits=limits) as (crib, _):
        await crib.catalogs().reach()
        began = anyio.current_time()
        with pytest.raises(RequestTimedOut):
            await crib.catalogs().request("s", "tools/call", {"name": "a"}, timeout=given)
        assert anyio.current_time() - began == pytest.approx(seconds)


async def test_a_contradicted_catalog_is_refreshed_at_once() -> None:
    script = ScriptedUpstream([tool("a")], ttl_ms=3_600_000)
    async with scripted_crib({"s": script}) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.read(Kind.TOOLS)
        script.change([tool("b")], signal=False)
        catalogs.invalidate("s", Kind.TOOLS, why="unknown tool a")
        assert not catalogs.peek("s", Kind.TOOLS).fresh
        (reading,) = await catalogs.read(Kind.TOOLS)
        assert names(reading) == ["b"]


async def test_changes_reach_listeners_until_they_leave() -> None:
    script = ScriptedUpstream([tool("a")])
    one: list[PublishedChange] = []
    two: list[PublishedChange] = []
    async with scripted_crib({"s": script}) as (crib, _):
        catalogs = crib.catalogs()
        leave = catalogs.on_published(one.append)
        catalogs.on_published(two.append)
        await catalogs.read(Kind.TOOLS)
        await anyio.sleep(10)
        leave()
        script.change([tool("b")])
        await anyio.sleep(10)
        assert len(one) == 1
        assert len(two) == 2
        assert [change.generation for change in two] == sorted({c.generation for c in two})
