"""Lost streams, restarts, replicas and clocks, through the gateway."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
import pytest

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.catalog.access import PublishedChange
from toolcrib.catalog.probe import Probe
from toolcrib.core.snapshot import Item, Kind
from toolcrib.errors import UpstreamUnreachable
from toolcrib.facts import Finding, Refreshed
from toolcrib.ports import ClientProfile, Era
from toolcrib.settings import Limits, ServerSettings, StdioLaunch
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway
from toolcrib.testing.virtual_clock import LoopClock

pytestmark = pytest.mark.virtual_time

HOUR = 3600.0
DAY = 24 * HOUR


def listing(*names: str) -> list[dict[str, Any]]:
    return [tool(name) for name in names]


def held(gateway: ScriptedGateway, server: str = "s") -> list[str]:
    snapshot = gateway.crib.catalogs().peek(server, Kind.TOOLS).snapshot
    assert snapshot is not None
    return [item.key for item in snapshot.items]


def changes_of(gateway: ScriptedGateway) -> list[PublishedChange]:
    changes: list[PublishedChange] = []
    gateway.crib.catalogs().on_published(changes.append)
    return changes


# ---- streams ----


@pytest.mark.parametrize("away", [0.0, 0.5, 30.0, 600.0])
async def test_what_changed_while_the_stream_was_lost_is_found_when_it_is_back(away: float) -> None:
    script = ScriptedUpstream(listing("old"), ttl_ms=300_000)
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        await anyio.sleep(30)
        script.lose_stream()
        reading = gateway.crib.catalogs().peek("s", Kind.TOOLS)
        assert (reading.fresh, reading.ttl_left) == (False, 0), "nobody may rely on it"
        await anyio.sleep(2)
        script.change(listing("new"), signal=False)
        await anyio.sleep(away)
        script.reopen_stream()
        await anyio.sleep(1)
        assert held(gateway) == ["new"]
        script.change(listing("newer"))
        await anyio.sleep(1)
        assert held(gateway) == ["newer"]


async def test_while_there_is_no_stream_the_server_is_polled_by_its_ttl() -> None:
    script = ScriptedUpstream(listing("old"), ttl_ms=120_000)
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        script.lose_stream()
        await anyio.sleep(5)
        before = script.walks[Kind.TOOLS]
        script.change(listing("new"), signal=False)
        await anyio.sleep(115)
        assert script.walks[Kind.TOOLS] == before, "not before its ttl"
        await anyio.sleep(30)
        assert held(gateway) == ["new"]


@pytest.mark.parametrize("ttl", [0, 10, 600])
async def test_a_stream_that_is_lost_without_a_word_costs_the_ttl_at_most(ttl: int) -> None:
    script = ScriptedUpstream(listing("old"), ttl_ms=ttl * 1000)
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        await anyio.sleep(3)
        script.change(listing("new"), signal=False)
        await anyio.sleep(max(0, ttl - 2.9))
        assert await gateway.names() == ["s__new"]


async def test_a_change_between_the_listing_and_the_acknowledgement_is_found() -> None:
    script = ScriptedUpstream(listing("old"), ttl_ms=300_000, stream="silent")
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        script.change(listing("new"), signal=False)
        assert await gateway.names() == ["s__old"], "fresh by its hints"
        script.reopen_stream()
        assert (await gateway.ask("tools/list"))["ttlMs"] <= 300_000
        await anyio.sleep(1)
        assert held(gateway) == ["new"]


# ---- reconnects ----


@pytest.mark.parametrize("signal", [True, False], ids=["with a stream", "without"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["old"], ["new"]),
        (["a", "b"], ["a", "b", "c"]),
        (["a", "b", "c"], ["a"]),
        (["a"], []),
        ([], ["a"]),
        (["a"], ["a"]),
    ],
    ids=str,
)
async def test_a_server_that_comes_back_is_listed_anew_and_only_new_content_counts(
    before: list[str], after: list[str], *, signal: bool
) -> None:
    script = ScriptedUpstream(
        listing(*before), ttl_ms=3_600_000, stream="open" if signal else "refused"
    )
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        await anyio.sleep(60)
        changes = changes_of(gateway)
        generation = gateway.crib.catalogs().peek("s", Kind.TOOLS).generation
        script.change(listing(*after), signal=False)
        script.drop("restarted")
        await anyio.sleep(10)
        reading = gateway.crib.catalogs().peek("s", Kind.TOOLS)
        assert held(gateway) == after
        assert reading.fresh
        assert (reading.generation > generation) == (before != after)
        assert len(changes) == (before != after)


async def test_a_server_that_registers_its_tools_slowly_after_a_restart_loses_none() -> None:
    script = ScriptedUpstream(listing(*(f"t{n:02}" for n in range(17))))
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        await anyio.sleep(60)
        sizes: list[int] = []
        script.change([], signal=False)
        script.drop("restarted")
        for count in (0, 5, 12, 17):
            script.change(listing(*(f"t{n:02}" for n in range(count))), signal=count > 0)
            for _ in range(4):
                await anyio.sleep(0.2)
                sizes.append(len(held(gateway)))
        await anyio.sleep(10)
        assert sizes[-1] == len(held(gateway)) == 17
        assert set(sizes) <= {12, 17}, "with more than half gone it was never believed"


async def test_a_server_that_really_lost_its_tools_is_believed_after_a_second_look() -> None:
    script = ScriptedUpstream(listing("a", "b", "c"))
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        await anyio.sleep(60)
        script.change([], signal=False)
        script.drop("restarted")
        await anyio.sleep(0.9)
        assert held(gateway) == ["a", "b", "c"]
        await anyio.sleep(2)
        assert held(gateway) == []
        script.change(listing("a", "b", "c"))
        await anyio.sleep(30)
        before = script.walks[Kind.TOOLS]
        script.change([])
        await anyio.sleep(0.2)
        assert held(gateway) == [], "without a reconnect at once"
        assert script.walks[Kind.TOOLS] - before == 1


@pytest.mark.parametrize(("first", "then"), [("handshake", "modern"), ("modern", "handshake")])
@pytest.mark.parametrize("same", [True, False], ids=["same tools", "other tools"])
async def test_last_good_survives_an_outage_and_a_change_of_era(
    first: Era, then: Era, *, same: bool
) -> None:
    script = ScriptedUpstream(listing("a"), era=first, ttl_ms=60_000)
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        generation = gateway.crib.catalogs().peek("s", Kind.TOOLS).generation
        script.faults.connect = UpstreamUnreachable("HTTP 503")
        script.drop()
        for _ in range(10):
            await anyio.sleep(10)
            result = await gateway.ask("tools/list")
            assert [each["name"] for each in result["tools"]] == ["s__a"]
            assert result["ttlMs"] == 0
        script.era = then
        if not same:
            script.items[Kind.TOOLS] = list(listing("b"))
        script.faults.connect = None
        await anyio.sleep(120)
        reading = gateway.crib.catalogs().peek("s", Kind.TOOLS)
        assert held(gateway) == (["a"] if same else ["b"])
        assert (reading.generation == generation) == same
        status = gateway.crib.catalogs().status("s")
        assert status.facts is not None
        assert status.facts.era == then
        note = await gateway.world.store.read_note(_note(gateway, "s"))
        assert note is not None
        assert then.encode() in note


def _note(gateway: ScriptedGateway, server: str) -> str:
    keys = gateway.world.parts().keys
    return f"era:{keys.launch_digest(StdioLaunch(server))}"


# ---- replicas of a server ----

Replies = Sequence[list[dict[str, Any]]]

BASE = listing("base")
FULL = listing("base", *(f"x{n}" for n in range(1, 8)))


class Replicas(ScriptedUpstream):
    """Answers each walk from the next of several replicas, in turn."""

    def __init__(self, replies: Replies, **rest: Any) -> None:
        super().__init__(replies[0], **rest)
        self.replies = replies

    def list_page(self, kind: Kind, cursor: str | None) -> dict[str, Any]:
        if cursor is None and kind is Kind.TOOLS:
            self.items[kind] = list(self.replies[self.walks[kind] % len(self.replies)])
        return super().list_page(kind, cursor)


DISAGREEMENTS: Mapping[str, Replies] = {
    "seven tools fewer": (FULL, BASE),
    "one more": (BASE, listing("base", "x1")),
    "another schema": (BASE, [tool("base", x={"type": "string"})]),
    "nothing at all": (FULL, []),
    "each one of its own": (listing("base", "mine"), listing("base", "yours")),
}


async def _polled(gateway: ScriptedGateway, times: int) -> list[list[str]]:
    """What a host sees that lists again and again, three seconds apart."""
    seen: list[list[str]] = []
    for _ in range(times):
        seen.append(await gateway.names())
        await anyio.sleep(3)
    return seen


@pytest.mark.parametrize("case", DISAGREEMENTS)
async def test_replicas_that_disagree_are_reported_and_not_published_each_time(case: str) -> None:
    script = Replicas(DISAGREEMENTS[case], stream="refused")
    async with scripted_gateway({"s": script}) as gateway:
        await _polled(gateway, 8)
        published = len(gateway.world.recorder.of(Refreshed))
        seen = await _polled(gateway, 30)
        assert len(gateway.world.recorder.of(Refreshed)) <= published + 1
        assert len({tuple(names) for names in seen}) == 1, "one of them is kept"
        codes = [fact.code for fact in gateway.world.recorder.of(Finding)]
        assert codes.count("replica_disagreement") == 1


async def test_a_listing_that_stays_is_published_after_a_quiet_minute() -> None:
    script = Replicas((FULL, BASE), stream="refused")
    async with scripted_gateway({"s": script}) as gateway:
        seen = await _polled(gateway, 20)
        script.replies = (listing("base", "new"),)
        await _polled(gateway, 40)
        assert await gateway.names() == ["s__base", "s__new"]
        assert seen[-1] != ["s__base", "s__new"]


@pytest.mark.parametrize("case", DISAGREEMENTS)
async def test_a_tool_of_either_replica_stays_known_to_the_keeper(case: str) -> None:
    replies = DISAGREEMENTS[case]
    script = Replicas(replies, stream="refused")
    async with scripted_gateway({"s": script}) as gateway:
        await _polled(gateway, 12)
        keeper = gateway.crib.catalogs().server("s").keeper(Kind.TOOLS)
        names = {each["name"] for reply in replies for each in reply}
        found: dict[str, Item | None] = {name: keeper.callable_item(name) for name in names}
        assert None not in found.values()
        assert keeper.callable_item("nobody") is None


async def test_a_tool_of_either_replica_stays_callable_for_a_host() -> None:
    replies = DISAGREEMENTS["each one of its own"]
    script = Replicas(replies, stream="refused")
    async with scripted_gateway({"s": script}) as gateway:
        await _polled(gateway, 12)
        for name in {each["name"] for reply in replies for each in reply}:
            assert not (await gateway.call(f"s__{name}")).get("isError"), name


async def test_the_probe_names_replicas_that_disagree_with_their_counts() -> None:
    server = server_settings("s")
    report = await Probe(Replicas((FULL, BASE)), LoopClock(), Limits(), ClientProfile()).run(server)
    assert not report.consistent
    assert [oddity.code for oddity in report.oddities] == ["replica_disagreement"]
    assert "3 times" in report.oddities[0].detail


# ---- clocks ----

JUMPS: Mapping[str, Callable[[float], float]] = {
    "an hour back": lambda at: at - HOUR,
    "an hour ahead": lambda at: at + HOUR,
    "to the epoch": lambda _at: 0.0,
    "a year back": lambda at: at - 365 * DAY,
}


@pytest.mark.parametrize("case", JUMPS)
async def test_a_wall_clock_that_jumps_never_lengthens_what_may_be_relied_on(case: str) -> None:
    script = ScriptedUpstream(listing("a"), ttl_ms=60_000, scope="public")
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        clock = gateway.world.clock
        clock.wall_offset = JUMPS[case](clock.wall_offset)
        for _ in range(20):
            result = await gateway.ask("tools/list")
            assert [each["name"] for each in result["tools"]] == ["s__a"]
            assert 0 <= result["ttlMs"] <= 60_000
            await anyio.sleep(10)
        script.change(listing("b"))
        await anyio.sleep(5)
        assert await gateway.names() == ["s__b"]


@pytest.mark.parametrize("ahead", [60.0, HOUR, DAY, 365 * DAY])
async def test_what_a_store_received_in_the_future_is_stale_and_its_ttl_not_longer(
    ahead: float,
) -> None:
    clock = LoopClock()
    store = MemoryStore(clock)
    script = ScriptedUpstream(listing("a"), ttl_ms=3_600_000)
    clock.wall_offset += ahead
    async with scripted_gateway({"s": script}, store=store) as gateway:
        gateway.world.clock.wall_offset = clock.wall_offset
        assert await gateway.names() == ["s__a"]
    clock.wall_offset -= ahead
    script.faults.connect = UpstreamUnreachable("refused")
    async with scripted_gateway({"s": script}, store=store) as gateway:
        result = await gateway.ask("tools/list")
        assert [each["name"] for each in result["tools"]] == ["s__a"]
        assert result["ttlMs"] == 0
        script.faults.connect = None
        script.items[Kind.TOOLS] = list(listing("b"))
        await anyio.sleep(30)
        result = await gateway.ask("tools/list")
        assert [each["name"] for each in result["tools"]] == ["s__b"]
        assert 0 < result["ttlMs"] <= 3_600_000


async def test_a_crash_loop_is_seen_in_the_status_and_costs_few_starts() -> None:
    script = ScriptedUpstream(listing("a"))
    server: ServerSettings = server_settings("s")
    async with scripted_gateway({"s": script}, settings={"s": server}) as gateway:
        states: set[str] = set()
        async with anyio.create_task_group() as tasks:

            async def crash() -> None:
                while True:
                    await anyio.sleep(0.5)
                    script.drop("exited with status 0")

            tasks.start_soon(crash)
            for _ in range(600):
                await gateway.names()
                states.add(gateway.crib.catalogs().status("s").state)
                await anyio.sleep(0.1)
            tasks.cancel_scope.cancel()
        assert script.connects <= 5
        assert "backoff" in states
        assert "exited with status 0" in gateway.crib.catalogs().status("s").detail
        assert await gateway.names() == ["s__a"], "what it listed before is still there"
