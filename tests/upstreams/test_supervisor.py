from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.errors import AuthRequired, RateLimited, ToolcribError, UpstreamUnreachable
from toolcrib.facts import ConnectionChanged
from toolcrib.ports import ClientProfile, ServerFacts
from toolcrib.settings import Connect, Reconnect, ServerSettings, StdioLaunch
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.virtual_clock import LoopClock
from toolcrib.upstreams.listeners import StreamState
from toolcrib.upstreams.supervisor import Supervisor, Wiring

pytestmark = pytest.mark.virtual_time


class Ear:
    """A connection listener that keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def connected(self, facts: ServerFacts) -> None:
        self.heard.append(f"connected {facts.era}")

    def disconnected(self, detail: str) -> None:
        self.heard.append(f"disconnected {detail}")

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        self.heard.append(method)

    def stream_changed(self, state: StreamState) -> None:
        self.heard.append(f"stream {state}")


class World:
    def __init__(self, script: ScriptedUpstream, connect: Connect, rule: Reconnect) -> None:
        self.script = script
        self.clock = LoopClock()
        self.recorder = Recorder()
        self.store = MemoryStore(self.clock)
        settings = ServerSettings("s", StdioLaunch("server"), connect=connect, reconnect=rule)
        self.supervisor = Supervisor(
            settings,
            ClientProfile(),
            Wiring(script, self.store, self.clock, self.recorder),
            note_key="era:s",
        )


@asynccontextmanager
async def supervised(
    script: ScriptedUpstream, connect: Connect = "eager", rule: Reconnect | None = None
) -> AsyncGenerator[World]:
    world = World(script, connect, rule or Reconnect())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(world.supervisor.run)
        yield world
        tasks.cancel_scope.cancel()


async def test_an_eager_server_is_connected_without_being_asked() -> None:
    async with supervised(ScriptedUpstream()) as world:
        await anyio.sleep(1)
        assert world.supervisor.state == "ready"
        assert world.script.connects == 1


async def test_a_lazy_server_is_connected_when_somebody_wants_it() -> None:
    async with supervised(ScriptedUpstream(), "lazy") as world:
        await anyio.sleep(100)
        assert world.script.connects == 0
        await world.supervisor.ready()
        assert world.script.connects == 1


async def test_a_lazy_server_that_was_lost_waits_for_the_next_who_wants_it() -> None:
    async with supervised(ScriptedUpstream(), "lazy") as world:
        await world.supervisor.ready()
        world.script.drop()
        await anyio.sleep(100)
        assert world.script.connects == 1
        assert world.supervisor.state == "idle"
        await world.supervisor.ready()
        assert world.script.connects == 2


async def test_an_eager_server_that_was_lost_is_connected_again() -> None:
    async with supervised(ScriptedUpstream()) as world:
        await anyio.sleep(60)
        world.script.drop()
        await anyio.sleep(2)
        assert world.script.connects == 2
        assert world.supervisor.state == "ready"


@pytest.mark.parametrize("lifetime", [0.0, 0.2, 5.0], ids=["at once", "soon", "after seconds"])
async def test_a_server_that_exits_after_each_handshake_starts_five_times_a_minute_at_most(
    lifetime: float,
) -> None:
    script = ScriptedUpstream()
    async with supervised(script) as world, anyio.create_task_group() as tasks:

        async def crash() -> None:
            while True:
                await world.supervisor.ready()
                await anyio.sleep(lifetime)
                script.drop("exited with status 0")
                await anyio.sleep(0.1)

        async def keep_crashing() -> None:
            while True:
                try:
                    await crash()
                except UpstreamUnreachable:
                    await anyio.sleep(0.05)

        tasks.start_soon(keep_crashing)
        await anyio.sleep(59.9)
        assert 3 <= script.connects <= 5
        tasks.cancel_scope.cancel()


async def test_after_the_cap_only_slow_probing_goes_on() -> None:
    script = ScriptedUpstream()
    script.faults.connect = UpstreamUnreachable("refused")
    async with supervised(script, rule=Reconnect(give_up_after=3, slow_probe=300)) as world:
        await anyio.sleep(60)
        assert world.supervisor.state == "slow_probe"
        before = script.connects
        await anyio.sleep(3000)
        assert script.connects - before <= 10
        script.faults.connect = None
        await anyio.sleep(400)
        assert world.supervisor.state == "ready"


async def test_sustained_uptime_makes_the_backoff_start_anew() -> None:
    script = ScriptedUpstream()
    script.faults.connect = UpstreamUnreachable("refused")
    async with supervised(script) as world:
        await anyio.sleep(15)
        script.faults.connect = None
        await anyio.sleep(120)
        assert world.supervisor.state == "ready"
        before = script.connects
        script.drop()
        await anyio.sleep(1)
        assert script.connects == before + 1


async def test_who_waits_for_a_failing_attempt_gets_its_error() -> None:
    script = ScriptedUpstream(latency=1)
    script.faults.connect = UpstreamUnreachable("no such command")
    async with supervised(script) as world:
        with pytest.raises(UpstreamUnreachable, match="no such command"):
            await world.supervisor.ready()


async def test_who_asks_during_the_backoff_is_told_at_once() -> None:
    script = ScriptedUpstream()
    script.faults.connect = UpstreamUnreachable("down")
    async with supervised(script) as world:
        await anyio.sleep(10)
        assert world.supervisor.state == "backoff"
        asked = anyio.current_time()
        with pytest.raises(UpstreamUnreachable, match="down"):
            await world.supervisor.ready()
        assert anyio.current_time() == asked


async def test_a_cancelled_waiter_does_not_cancel_the_attempt() -> None:
    async with supervised(ScriptedUpstream(latency=2), "lazy") as world:
        with anyio.move_on_after(0.5):
            await world.supervisor.ready()
        await anyio.sleep(5)
        assert world.supervisor.state == "ready"
        assert world.script.connects == 1


async def test_the_era_is_remembered_for_the_next_start() -> None:
    async with supervised(ScriptedUpstream(era="handshake")) as world:
        await anyio.sleep(1)
        note = await world.store.read_note("era:s")
        assert note is not None
        assert b'"handshake"' in note


async def test_listeners_hear_connected_before_anything_else() -> None:
    async with supervised(ScriptedUpstream(latency=1)) as world:
        ear, late = Ear(), Ear()
        world.supervisor.fanout.add(ear)
        await anyio.sleep(2)
        world.supervisor.fanout.add(late)
        world.script.signal()
        world.script.drop()
        await anyio.sleep(0.1)
        assert ear.heard == [
            "connected modern",
            "stream open",
            "notifications/tools/list_changed",
            "disconnected the server hung up",
        ]
        assert late.heard == ear.heard


async def test_every_change_of_state_is_noted_once() -> None:
    async with supervised(ScriptedUpstream()) as world:
        await anyio.sleep(1)
        states = [fact.state for fact in world.recorder.of(ConnectionChanged)]
        assert states == ["connecting", "ready"]


async def test_a_lazy_server_that_becomes_eager_is_connected() -> None:
    async with supervised(ScriptedUpstream(), "lazy") as world:
        await anyio.sleep(10)
        assert world.script.connects == 0
        world.supervisor.retune(replace(world.supervisor.server, connect="eager"))
        await anyio.sleep(1)
        assert world.supervisor.state == "ready"


async def test_an_eager_server_that_becomes_lazy_stays_up_and_is_not_connected_again() -> None:
    async with supervised(ScriptedUpstream()) as world:
        await anyio.sleep(1)
        world.supervisor.retune(replace(world.supervisor.server, connect="lazy"))
        await anyio.sleep(1)
        assert world.supervisor.state == "ready"
        world.script.drop()
        await anyio.sleep(100)
        assert world.script.connects == 1


async def test_another_pace_of_attempts_holds_from_the_next_one_on() -> None:
    script = ScriptedUpstream()
    script.faults.connect = UpstreamUnreachable("refused")
    async with supervised(script, rule=Reconnect(backoff_base=100, backoff_max=1000)) as world:
        await anyio.sleep(1)
        quick = Reconnect(backoff_base=1, backoff_max=1, give_up_after=1000)
        world.supervisor.retune(replace(world.supervisor.server, reconnect=quick))
        await anyio.sleep(200)
        assert script.connects > 50


@pytest.mark.parametrize(
    "crash",
    [ValueError("no JSON"), ExceptionGroup("both", [KeyError("a"), OSError()])],
    ids=lambda each: type(each).__name__,
)
async def test_a_connector_that_breaks_costs_its_server_an_attempt_and_no_more(
    crash: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(ScriptedUpstream):
        def facts(self) -> ServerFacts:
            if self.connects == 1:
                raise crash
            return super().facts()

    async with supervised(Broken()) as world:
        with pytest.raises(UpstreamUnreachable, match=f"broke us: {type(crash).__name__}"):
            await world.supervisor.ready()
        assert "the connection to s broke" in caplog.text
        await anyio.sleep(5)
        assert world.supervisor.state == "ready"
        assert world.supervisor.trouble is None


@pytest.mark.parametrize(
    "error",
    [
        RateLimited("slow down", details={"retry_after": 120.0}),
        AuthRequired("no", details={"retry_after": 120.0}),
        UpstreamUnreachable("HTTP 503", details={"retry_after": 120.0}),
    ],
    ids=lambda each: type(each).__name__,
)
async def test_the_wait_a_server_asks_for_is_kept_whatever_kept_it_from_answering(
    error: ToolcribError,
) -> None:
    script = ScriptedUpstream()
    script.faults.connect = error
    async with supervised(script):
        await anyio.sleep(119)
        assert script.connects == 1
        await anyio.sleep(2)
        assert script.connects == 2
