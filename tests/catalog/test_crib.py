"""A whole crib: principals, a new configuration, the store between starts and between replicas."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.calls.call import Requester
from toolcrib.catalog.access import PublishedChange
from toolcrib.catalog.catalogs import Catalogs
from toolcrib.catalog.reading import Reading
from toolcrib.core.partition import LOCAL, Principal
from toolcrib.core.snapshot import Kind
from toolcrib.errors import ConfigError, UpstreamUnreachable
from toolcrib.ports import EraMemory
from toolcrib.settings import (
    GatewaySettings,
    Limits,
    SearchSettings,
    ServerSettings,
    Settings,
    StdioLaunch,
    ToolFilter,
)
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib, server_settings
from toolcrib.testing.virtual_clock import LoopClock

pytestmark = pytest.mark.virtual_time

ANNA = Principal("https://login", "anna")
BEN = Principal("https://login", "ben")


def names(reading: Reading) -> list[str] | None:
    return None if reading.snapshot is None else [item.key for item in reading.snapshot.items]


async def listed(catalogs: Catalogs) -> dict[str, list[str] | None]:
    return {reading.server: names(reading) for reading in await catalogs.read(Kind.TOOLS)}


def settings_of(*servers: ServerSettings) -> Settings:
    return Settings(servers=servers)


# ---- principals ----


async def test_a_principal_always_gets_the_same_catalogs() -> None:
    async with scripted_crib({"s": ScriptedUpstream()}) as (crib, _):
        assert crib.catalogs() is crib.catalogs(LOCAL)
        assert crib.catalogs(ANNA) is crib.catalogs(Principal("https://login", "anna"))
        assert crib.catalogs(ANNA) is not crib.catalogs(BEN)


async def test_a_disabled_server_is_not_there() -> None:
    settings = {"off": server_settings("off", disabled=True)}
    scripts = {"off": ScriptedUpstream([tool("a")]), "on": ScriptedUpstream([tool("b")])}
    async with scripted_crib(scripts, settings=settings) as (crib, _):
        assert await listed(crib.catalogs()) == {"on": ["b"]}
        assert scripts["off"].connects == 0


# ---- a new configuration ----


async def test_servers_come_go_and_change_while_the_others_stay_connected() -> None:
    scripts = {name: ScriptedUpstream([tool(name)]) for name in ("stay", "go", "anew", "come")}
    changes: list[PublishedChange] = []
    async with scripted_crib(scripts) as (crib, _):
        await crib.apply(settings_of(*(server_settings(s) for s in ("stay", "go", "anew"))))
        assert await listed(crib.catalogs()) == {"stay": ["stay"], "go": ["go"], "anew": ["anew"]}
        connects = scripts["stay"].connects
        crib.catalogs().on_published(changes.append)
        change = await crib.apply(
            settings_of(
                server_settings("stay"),
                server_settings("anew", launch=StdioLaunch("another")),
                server_settings("come"),
            )
        )
        assert change.removed == ("go",)
        assert [server.id for server in change.added] == ["come"]
        assert [server.id for server in change.relaunched] == ["anew"]
        assert (scripts["go"].live, scripts["anew"].live) == (0, 0), "the old ones are gone"
        assert await listed(crib.catalogs()) == {
            "anew": ["anew"],
            "come": ["come"],
            "stay": ["stay"],
        }
        assert scripts["stay"].connects == connects
        assert {c.server for c in changes} == {"go", "anew", "come"}


async def test_what_needs_no_new_connection_is_taken_over_on_the_live_one() -> None:
    script = ScriptedUpstream([tool("read"), tool("write")])
    async with scripted_crib({"s": script}) as (crib, _):
        await crib.catalogs().read(Kind.TOOLS)
        tuned = server_settings(
            "s", tools=ToolFilter(deny=("write",)), strategy="poll", connect="lazy"
        )
        change = await crib.apply(settings_of(tuned))
        assert [server.id for server in change.retuned] == ["s"]
        assert await listed(crib.catalogs()) == {"s": ["read"]}
        assert (script.connects, script.live) == (1, 1)
        script.drop()
        await anyio.sleep(1000)
        assert script.connects == 1, "it is lazy now"


async def test_the_same_configuration_again_changes_nothing() -> None:
    script = ScriptedUpstream([tool("a")])
    async with scripted_crib({"s": script}, search=SearchSettings()) as (crib, _):
        await crib.catalogs().read(Kind.TOOLS)
        before = (script.connects, script.requests[Kind.TOOLS])
        change = await crib.apply(settings_of(server_settings("s", source="another:1")))
        assert change.empty
        await anyio.sleep(1)
        assert (script.connects, script.requests[Kind.TOOLS]) == before


async def test_a_server_is_switched_off_and_on() -> None:
    script = ScriptedUpstream([tool("a")])
    async with scripted_crib({"s": script}) as (crib, _):
        await crib.catalogs().read(Kind.TOOLS)
        await crib.apply(settings_of(server_settings("s", disabled=True)))
        assert crib.catalogs().server_ids() == ()
        assert script.live == 0
        await crib.apply(settings_of(server_settings("s")))
        assert await listed(crib.catalogs()) == {"s": ["a"]}


async def test_what_changes_beside_the_servers_is_named() -> None:
    async with scripted_crib({"s": ScriptedUpstream()}, search=SearchSettings()) as (crib, _):
        new = replace(settings_of(server_settings("s")), limits=Limits(walk_pages=7))
        for _ in range(2):
            assert (await crib.apply(new)).elsewhere == ("limits.walk_pages",)


async def test_what_changes_beside_the_servers_holds_from_the_next_start_on_for_toolsets() -> None:
    async with scripted_crib({"s": ScriptedUpstream([tool("a")])}) as (crib, _):
        new = replace(crib.settings, gateway=GatewaySettings(exposure="search", names="plain"))
        assert (await crib.apply(new)).elsewhere == ("gateway.names", "gateway.exposure")
        assert [it["name"] for it in (await crib.toolset()).for_json()] == ["s__a"]


@pytest.mark.parametrize("exposure", ["serach", "", "Full"])
async def test_an_exposure_that_there_is_not_is_told_with_those_that_there_are(
    exposure: Any,
) -> None:
    scripts = {"s": ScriptedUpstream([tool("a")])}
    remedy = "write one of auto, full, search, code"
    async with scripted_crib(scripts) as (crib, _):
        with pytest.raises(ConfigError, match=f"^exposure is '{exposure}'$") as raised:
            await crib.toolset(exposure=exposure)
        assert raised.value.remedy == remedy
        assert (await crib.toolset(exposure="search")).exposure == "search"
    async with scripted_crib(scripts, gateway=GatewaySettings(exposure=exposure)) as (crib, _):
        with pytest.raises(ConfigError, match=f"^exposure is '{exposure}'$"):
            await crib.toolset()


async def test_a_principal_that_comes_after_a_change_has_the_servers_as_they_are_then() -> None:
    scripts = {name: ScriptedUpstream([tool(name)]) for name in ("old", "new", "later")}
    async with scripted_crib(scripts) as (crib, _):
        later = server_settings("later", on_demand=True)
        await crib.apply(replace(crib.settings, servers=(server_settings("new"), later)))
        discovery = crib.discovery(ANNA)
        who = Requester(ANNA)
        assert set(await discovery.enabling.searchable(who)) == {"new"}
        await discovery.enabling.enable(who, ["later"])
        assert set(await discovery.enabling.searchable(who)) == {"new", "later"}


async def test_a_connection_that_two_principals_share_is_closed_once_for_both() -> None:
    script = ScriptedUpstream([tool("a")])
    async with scripted_crib({"s": script}) as (crib, _):
        for principal in (ANNA, BEN):
            await crib.catalogs(principal).read(Kind.TOOLS)
        assert script.live == 1
        await crib.apply(settings_of())
        assert script.live == 0
        for principal in (ANNA, BEN):
            assert await listed(crib.catalogs(principal)) == {}


async def test_filters_and_new_servers_do_not_wait_for_the_end_of_old_ones() -> None:
    scripts = {name: ScriptedUpstream([tool("a"), tool("b")]) for name in ("old", "kept", "new")}
    scripts["old"].faults.farewell = 60.0
    async with scripted_crib(scripts) as (crib, _):
        await crib.apply(settings_of(server_settings("old"), server_settings("kept")))
        await crib.catalogs().read(Kind.TOOLS)
        tuned = server_settings("kept", tools=ToolFilter(deny=("b",)))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(crib.apply, settings_of(tuned, server_settings("new")))
            await anyio.sleep(1)
            assert await listed(crib.catalogs()) == {"kept": ["a"], "new": ["a", "b"]}


async def test_a_principal_that_comes_during_a_change_is_served_from_the_new_one() -> None:
    scripts = {name: ScriptedUpstream([tool(name)]) for name in ("old", "anew", "new")}
    for name in ("old", "anew"):
        scripts[name].faults.farewell = 30.0
    async with scripted_crib(scripts) as (crib, _):
        await crib.apply(settings_of(server_settings("old"), server_settings("anew")))
        await crib.catalogs(ANNA).read(Kind.TOOLS)
        anew = server_settings("anew", launch=StdioLaunch("another"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(crib.apply, settings_of(anew, server_settings("new")))
            await anyio.sleep(1)
            assert await listed(crib.catalogs(BEN)) == {"anew": ["anew"], "new": ["new"]}
        for principal in (ANNA, BEN):
            assert await listed(crib.catalogs(principal)) == {"anew": ["anew"], "new": ["new"]}
        assert (scripts["old"].live, scripts["anew"].live, scripts["new"].live) == (0, 1, 1)


async def test_a_changed_pooling_gives_each_principal_its_own_connection() -> None:
    script = ScriptedUpstream([tool("a")])
    async with scripted_crib({"s": script}) as (crib, _):
        for principal in (ANNA, BEN):
            await crib.catalogs(principal).read(Kind.TOOLS)
        assert script.live == 1
        await crib.apply(settings_of(server_settings("s", stateful=True)))
        for principal in (ANNA, BEN):
            await crib.catalogs(principal).reach()
            assert await listed(crib.catalogs(principal)) == {"s": ["a"]}
        assert script.live == 2
        await crib.apply(settings_of(server_settings("s")))
        await crib.catalogs(BEN).reach()
        assert script.live == 1


async def test_a_hundred_changes_leave_no_connection_and_no_keeper_behind() -> None:
    scripts = {name: ScriptedUpstream([tool("a")]) for name in ("a", "b")}
    async with scripted_crib(scripts) as (crib, _):
        for turn in range(100):
            launch = StdioLaunch("server", (str(turn),))
            await crib.apply(settings_of(server_settings("ab"[turn % 2], launch=launch)))
            await crib.catalogs().read(Kind.TOOLS)
        await crib.apply(settings_of())
        assert [script.live for script in scripts.values()] == [0, 0]
        assert not crib._holdings._keepers  # pyright: ignore[reportPrivateUsage] - nobody else could tell


# ---- what the store keeps ----


async def test_last_good_is_what_the_store_keeps_however_old() -> None:
    script = ScriptedUpstream([tool("a")])
    async with scripted_crib({"s": script}) as (crib, _):
        server = server_settings("s")
        assert await crib.last_good(server, Kind.TOOLS) is None
        await crib.catalogs().read(Kind.TOOLS)
        script.faults.connect = UpstreamUnreachable("refused")
        script.drop()
        await anyio.sleep(7 * 24 * 3600)
        assert crib.catalogs().peek("s", Kind.TOOLS).snapshot is None
        kept = await crib.last_good(server, Kind.TOOLS)
        assert kept is not None
        assert [item.key for item in kept.items] == ["a"]
        assert await crib.last_good(server, Kind.PROMPTS) is None
        assert await crib.last_good(server, Kind.TOOLS, ANNA) is None, "another principal's"
        another = server_settings("s", launch=StdioLaunch("another"))
        assert await crib.last_good(another, Kind.TOOLS) is None, "another program's"


@pytest.mark.parametrize("trouble", ["refuses", "hangs", "slow"])
async def test_a_new_start_lists_last_good_at_once_before_any_server_is_up(trouble: str) -> None:
    script = ScriptedUpstream([tool("a")])
    store = MemoryStore(LoopClock())
    async with scripted_crib({"s": script}, store=store) as (crib, _):
        await crib.catalogs().read(Kind.TOOLS)
    script.items[Kind.TOOLS] = [tool("b")]
    if trouble == "refuses":
        script.faults.connect = UpstreamUnreachable("refused")
    script.latency = {"refuses": 0.0, "hangs": 1e9, "slow": 5.0}[trouble]
    async with scripted_crib({"s": script}, store=store) as (crib, _):
        began = anyio.current_time()
        (reading,) = await crib.catalogs().read(Kind.TOOLS)
        assert anyio.current_time() == began, "nobody waits"
        assert (names(reading), reading.fresh) == (["a"], False)
        assert reading.trouble == "the server was not reached so far"
        await anyio.sleep(20)
        (reading,) = await crib.catalogs().read(Kind.TOOLS)
        assert names(reading) == (["b"] if trouble == "slow" else ["a"])


async def test_a_new_start_numbers_on_and_keeps_the_number_of_the_same_content() -> None:
    script = ScriptedUpstream([tool("a")])
    store = MemoryStore(LoopClock())
    numbers: list[int] = []
    for names_now in (["a"], ["a"], ["b"], ["b"], ["a"]):
        script.items[Kind.TOOLS] = [tool(name) for name in names_now]
        async with scripted_crib({"s": script}, store=store) as (crib, _):
            await crib.catalogs().reach()
            await anyio.sleep(20)
            (reading,) = await crib.catalogs().read(Kind.TOOLS)
            assert names(reading) == names_now
            numbers.append(reading.generation)
    assert numbers[0] == numbers[1] < numbers[2] == numbers[3] < numbers[4]


async def test_another_launch_or_principal_finds_nothing_of_the_first_one() -> None:
    script = ScriptedUpstream([tool("a")])
    store = MemoryStore(LoopClock())
    async with scripted_crib({"s": script}, store=store) as (crib, _):
        await crib.catalogs(ANNA).read(Kind.TOOLS)
    script.faults.connect = UpstreamUnreachable("refused")
    settings = {"s": server_settings("s", launch=StdioLaunch("another"))}
    async with scripted_crib({"s": script}, store=store, settings=settings) as (crib, _):
        assert await listed(crib.catalogs(ANNA)) == {"s": None}
    async with scripted_crib({"s": script}, store=store) as (crib, _):
        assert await listed(crib.catalogs(BEN)) == {"s": None}
        assert await listed(crib.catalogs(ANNA)) == {"s": ["a"]}


@pytest.mark.duty(17)
async def test_the_era_of_a_server_is_known_at_the_next_start() -> None:
    script = ScriptedUpstream(era="handshake")
    store = MemoryStore(LoopClock())
    for expected in (None, "handshake"):
        async with scripted_crib({"s": script}, store=store) as (crib, _):
            await crib.catalogs().reach()
            found: EraMemory | None = script.remembered
            assert (found.era if found else None) == expected


async def test_a_crib_that_ended_hears_no_hints_any_more() -> None:
    script = ScriptedUpstream([tool("a")])
    store = MemoryStore(LoopClock())
    async with scripted_crib({"s": script}, store=store) as (crib, _):
        await crib.catalogs().read(Kind.TOOLS)
    assert not store.bus
    script.change([tool("b")])
    async with scripted_crib({"s": script}, store=store) as (crib, _):
        await crib.catalogs().reach()
        await anyio.sleep(5)
        assert await listed(crib.catalogs()) == {"s": ["b"]}


# ---- two replicas over one store ----


@asynccontextmanager
async def two_cribs(
    scripts: Mapping[str, ScriptedUpstream],
) -> AsyncGenerator[tuple[Catalogs, Catalogs]]:
    store = MemoryStore(LoopClock())
    async with (
        scripted_crib(scripts, store=store) as (one, _),
        scripted_crib(scripts, store=store) as (two, _),
    ):
        yield one.catalogs(), two.catalogs()


async def test_two_replicas_that_start_together_walk_once_or_twice_and_list_the_same() -> None:
    script = ScriptedUpstream([tool("a")], latency=0.2)
    async with two_cribs({"s": script}) as (one, two):
        async with anyio.create_task_group() as tasks:
            for catalogs in (one, two):
                tasks.start_soon(catalogs.read, Kind.TOOLS)
        (left,), (right,) = await one.read(Kind.TOOLS), await two.read(Kind.TOOLS)
        assert names(left) == names(right) == ["a"]
        assert left.generation == right.generation
        assert script.walks[Kind.TOOLS] <= 3, "each connection makes what is held an old answer"


@pytest.mark.parametrize("latency", [0.0, 0.01, 0.2, 1.0])
async def test_a_change_costs_two_replicas_one_walk_and_reaches_both(latency: float) -> None:
    script = ScriptedUpstream([tool("v0")], latency=latency)
    async with two_cribs({"s": script}) as (one, two):
        for catalogs in (one, two):
            await catalogs.read(Kind.TOOLS)
        await anyio.sleep(30)
        for turn in range(1, 6):
            before = script.walks[Kind.TOOLS]
            script.change([tool(f"v{turn}")])
            await anyio.sleep(10)
            for catalogs in (one, two):
                assert names(catalogs.peek("s", Kind.TOOLS)) == [f"v{turn}"]
            assert script.walks[Kind.TOOLS] - before == 1


async def test_a_signal_that_only_one_replica_hears_reaches_the_other_by_a_hint() -> None:
    deaf = ScriptedUpstream([tool("v0")])
    heard = ScriptedUpstream([tool("v0")])
    store = MemoryStore(LoopClock())
    async with (
        scripted_crib({"s": heard}, store=store) as (one, _),
        scripted_crib({"s": deaf}, store=store) as (two, _),
    ):
        for crib in (one, two):
            await crib.catalogs().read(Kind.TOOLS)
        await anyio.sleep(30)
        deaf.change([tool("v1")], signal=False)
        heard.change([tool("v1")])
        await anyio.sleep(5)
        for crib in (one, two):
            assert names(crib.catalogs().peek("s", Kind.TOOLS)) == ["v1"]
        assert heard.walks[Kind.TOOLS] + deaf.walks[Kind.TOOLS] <= 4


async def test_a_replica_whose_server_is_down_shows_what_the_other_one_listed() -> None:
    up, down = ScriptedUpstream([tool("v0")]), ScriptedUpstream([tool("v0")])
    store = MemoryStore(LoopClock())
    down.faults.connect = UpstreamUnreachable("refused")
    async with (
        scripted_crib({"s": up}, store=store) as (one, _),
        scripted_crib({"s": down}, store=store) as (two, _),
    ):
        await one.catalogs().read(Kind.TOOLS)
        assert await listed(two.catalogs()) == {"s": ["v0"]}
        await anyio.sleep(30)
        up.change([tool("v1")])
        await anyio.sleep(5)
        assert await listed(two.catalogs()) == {"s": ["v1"]}


async def test_two_principals_of_two_replicas_keep_to_their_own() -> None:
    store = MemoryStore(LoopClock())
    mine, yours = ScriptedUpstream([tool("mine")]), ScriptedUpstream([tool("yours")])
    async with (
        scripted_crib({"s": mine}, store=store) as (one, _),
        scripted_crib({"s": yours}, store=store) as (two, _),
    ):
        assert await listed(one.catalogs(ANNA)) == {"s": ["mine"]}
        assert await listed(two.catalogs(BEN)) == {"s": ["yours"]}
        await anyio.sleep(30)
        assert await listed(one.catalogs(ANNA)) == {"s": ["mine"]}


# ---- errors that leave it ----


async def test_an_error_leaves_an_open_crib_as_it_is_with_its_cause() -> None:
    cause = KeyError("why")
    raised = ValueError("left")
    with pytest.raises(ValueError, match="left") as caught:
        async with scripted_crib({"s": ScriptedUpstream([tool("a")])}):
            raise raised from cause
    assert caught.value is raised
    assert raised.__cause__ is cause


async def test_what_else_failed_meanwhile_is_told_with_it() -> None:
    async def broken() -> None:
        raise OSError("another task failed")

    async def leave_with_both() -> None:
        async with scripted_crib({"s": ScriptedUpstream([tool("a")])}) as (crib, _):
            crib._tasks.start_soon(broken)  # pyright: ignore[reportPrivateUsage] - one of its own
            try:
                await anyio.sleep_forever()
            finally:
                raise ValueError("left")

    with pytest.raises(ExceptionGroup) as caught:
        await leave_with_both()
    assert caught.group_contains(ValueError, match="left")
    assert caught.group_contains(OSError, match="another task failed")
