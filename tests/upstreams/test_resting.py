"""A connection that nobody uses is let go, and comes back when somebody asks."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.errors import UpstreamUnreachable
from toolcrib.facts import ConnectionChanged
from toolcrib.ports import ClientProfile
from toolcrib.settings import Connect, ServerSettings, StdioLaunch
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.virtual_clock import LoopClock
from toolcrib.upstreams.supervisor import Supervisor, Wiring

pytestmark = pytest.mark.virtual_time

AFTER = 60.0


@asynccontextmanager
async def supervised(
    script: ScriptedUpstream, connect: Connect = "eager", *, on_demand: bool = True
) -> AsyncGenerator[tuple[Supervisor, Recorder]]:
    clock, recorder = LoopClock(), Recorder()
    server = ServerSettings("s", StdioLaunch("x"), connect=connect, on_demand=on_demand)
    wiring = Wiring(script, MemoryStore(clock), clock, recorder)
    supervisor = Supervisor(server, ClientProfile(), wiring, note_key="era:s")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervisor.run)
        yield supervisor, recorder
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("connect", ["eager", "lazy"])
async def test_a_connection_that_nobody_used_ends_and_the_next_who_asks_opens_it(
    connect: Connect,
) -> None:
    script = ScriptedUpstream()
    async with supervised(script, connect) as (supervisor, recorder):
        await supervisor.ready()
        await anyio.sleep(AFTER)
        assert supervisor.rest(AFTER) == AFTER
        await anyio.sleep(1_000)
        assert (script.live, script.connects, supervisor.state) == (0, 1, "idle")
        assert supervisor.trouble is None, "it is no failure"
        for _ in range(3):
            assert supervisor.rest(AFTER) == AFTER
            await anyio.sleep(AFTER)
        assert (await supervisor.ready()).closed is False
        assert (script.live, script.connects) == (1, 2)
        states = [fact.state for fact in recorder.of(ConnectionChanged)]
        assert "backoff" not in states


async def test_a_connection_that_was_used_lately_stays_and_says_when_to_look_again() -> None:
    script = ScriptedUpstream()
    async with supervised(script) as (supervisor, _):
        await supervisor.ready()
        await anyio.sleep(100)
        supervisor.use()
        await anyio.sleep(40)
        assert supervisor.rest(AFTER) == pytest.approx(20)
        assert script.live == 1
        await anyio.sleep(20)
        supervisor.rest(AFTER)
        await anyio.sleep(1)
        assert script.live == 0


async def test_a_call_under_way_keeps_it_and_counts_as_a_use() -> None:
    script = ScriptedUpstream()
    async with supervised(script) as (supervisor, _):
        await supervisor.ready()
        async with supervisor.turns.take():
            await anyio.sleep(10 * AFTER)
            assert supervisor.rest(AFTER) == AFTER
        await anyio.sleep(1)
        assert supervisor.rest(AFTER) == pytest.approx(AFTER - 1)
        assert script.live == 1


async def test_whoever_asks_while_it_ends_gets_the_next_connection() -> None:
    script = ScriptedUpstream()
    script.faults.farewell = 5.0
    async with supervised(script) as (supervisor, _):
        old = await supervisor.ready()
        await anyio.sleep(AFTER)
        supervisor.rest(AFTER)
        assert supervisor.upstream is None
        with anyio.fail_after(20):
            new = await supervisor.ready()
        assert new is not old
        assert script.connects == 2


async def test_it_can_be_let_go_at_the_moment_it_comes_up() -> None:
    script = ScriptedUpstream()
    async with supervised(script) as (supervisor, _):
        with anyio.fail_after(20):
            while supervisor.state != "ready":
                await anyio.lowlevel.checkpoint()
        supervisor.rest(0)
        await anyio.sleep(10)
        assert (script.live, supervisor.state) == (0, "idle")
        await supervisor.ready()
        assert script.live == 1


async def test_attempts_to_connect_end_as_well() -> None:
    script = ScriptedUpstream()
    script.faults.connect = UpstreamUnreachable("refused")
    async with supervised(script) as (supervisor, _):
        await anyio.sleep(AFTER)
        assert script.connects > 3
        supervisor.rest(AFTER)
        await anyio.sleep(AFTER)  # what was put off already may still be made
        connects = script.connects
        await anyio.sleep(3_600)
        assert script.connects == connects


async def test_hurrying_makes_the_attempt_that_was_put_off_at_once() -> None:
    script = ScriptedUpstream()
    script.faults.connect = UpstreamUnreachable("refused")
    async with supervised(script) as (supervisor, _):
        await anyio.sleep(600)
        assert supervisor.state == "slow_probe"
        script.faults.connect = None
        with pytest.raises(UpstreamUnreachable):
            await supervisor.ready()
        supervisor.hurry()
        with anyio.fail_after(1):
            await supervisor.ready()


@pytest.mark.parametrize("connect", ["eager", "lazy"])
async def test_hurrying_where_nothing_is_put_off_is_asking_for_a_connection(
    connect: Connect,
) -> None:
    script = ScriptedUpstream()
    async with supervised(script, connect) as (supervisor, _):
        supervisor.hurry()
        await anyio.sleep(1)
        supervisor.hurry()
        await anyio.sleep(100)
        assert (script.connects, script.live) == (1, 1)


async def test_an_attempt_that_was_hurried_and_failed_is_followed_by_the_usual_pause() -> None:
    script = ScriptedUpstream()
    script.faults.connect = UpstreamUnreachable("refused")
    async with supervised(script) as (supervisor, _):
        await anyio.sleep(600)
        before = script.connects
        supervisor.hurry()
        await anyio.sleep(10)
        assert script.connects == before + 1


async def test_other_settings_wake_no_server_on_demand() -> None:
    for on_demand, live in ((True, 0), (False, 1)):
        script = ScriptedUpstream()
        async with supervised(script, on_demand=on_demand) as (supervisor, _):
            await supervisor.ready()
            await anyio.sleep(AFTER)
            supervisor.rest(AFTER)
            await anyio.sleep(1)
            supervisor.retune(supervisor.server)
            await anyio.sleep(10)
            assert script.live == live
