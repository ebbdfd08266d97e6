from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import pairwise
from typing import Any

import anyio
import pytest

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.config.keys import InstallationKey
from toolcrib.core.partition import LOCAL, Principal
from toolcrib.errors import UpstreamUnreachable
from toolcrib.facts import ConnectionChanged
from toolcrib.ports import ClientProfile, EraMemory, Signals, Upstream
from toolcrib.settings import HttpLaunch, Secret, ServerSettings, StdioLaunch
from toolcrib.testing.recorder import Recorder
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.virtual_clock import LoopClock
from toolcrib.upstreams.pool import SPACING, Pool

pytestmark = pytest.mark.virtual_time

ANNA = Principal("https://login", "anna")
BEN = Principal("https://login", "ben")
PLAIN = ClientProfile()
ASKING = ClientProfile({"elicitation": {"form": {}}})


class Dial:
    """A connector that notes when and for whom it was asked."""

    def __init__(self) -> None:
        self.script = ScriptedUpstream()
        self.asked: list[tuple[str, float]] = []
        self.ended: list[str] = []
        self.farewell = 0.0
        """Seconds that a connection takes to end."""

    def connect(
        self,
        server: ServerSettings,
        profile: ClientProfile,
        signals: Signals,
        remembered: EraMemory | None,
    ) -> AbstractAsyncContextManager[Upstream]:
        return self._connect(server, profile, signals, remembered)

    @asynccontextmanager
    async def _connect(
        self,
        server: ServerSettings,
        profile: ClientProfile,
        signals: Signals,
        remembered: EraMemory | None,
    ) -> AsyncGenerator[Upstream]:
        self.asked.append((server.id, anyio.current_time()))
        try:
            async with self.script.connect(server, profile, signals, remembered) as upstream:
                yield upstream
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(self.farewell)
            self.ended.append(server.id)


class World:
    def __init__(self, pool: Pool, dial: Dial, recorder: Recorder) -> None:
        self.pool = pool
        self.dial = dial
        self.recorder = recorder


@asynccontextmanager
async def pooled() -> AsyncGenerator[World]:
    clock, dial, recorder = LoopClock(), Dial(), Recorder()
    async with anyio.create_task_group() as tasks:
        pool = Pool(
            tasks,
            connector=dial,
            store=MemoryStore(clock),
            keys=InstallationKey(b"k" * 32),
            clock=clock,
            observer=recorder,
        )
        yield World(pool, dial, recorder)
        tasks.cancel_scope.cancel()


def stdio(server: str = "s", **changes: Any) -> ServerSettings:
    return ServerSettings(server, StdioLaunch("server"), **changes)


SEATS: Mapping[str, tuple[tuple[Any, ...], tuple[Any, ...], bool]] = {
    "the same caller": ((stdio(), LOCAL, PLAIN), (stdio(), LOCAL, PLAIN), True),
    "two people at a stateless server": ((stdio(), ANNA, PLAIN), (stdio(), BEN, PLAIN), True),
    "two people at a stateful server": (
        (stdio(stateful=True), ANNA, PLAIN),
        (stdio(stateful=True), BEN, PLAIN),
        False,
    ),
    "one person at a stateful server": (
        (stdio(stateful=True), ANNA, PLAIN),
        (stdio(stateful=True), ANNA, PLAIN),
        True,
    ),
    "one person under two scopes": (
        (stdio(stateful=True), ANNA, PLAIN),
        (stdio(stateful=True), Principal("https://login", "anna", scopes=("mail",)), PLAIN),
        False,
    ),
    "another capability class": ((stdio(), LOCAL, PLAIN), (stdio(), LOCAL, ASKING), False),
    "the same capabilities under another name": (
        (stdio(), LOCAL, PLAIN),
        (stdio(), LOCAL, ClientProfile(name="other", version="2")),
        True,
    ),
    "another argument": (
        (stdio(), LOCAL, PLAIN),
        (ServerSettings("s", StdioLaunch("server", ("-v",))), LOCAL, PLAIN),
        False,
    ),
    "another value in the environment": (
        (ServerSettings("s", StdioLaunch("server", env={"K": Secret("a")})), LOCAL, PLAIN),
        (ServerSettings("s", StdioLaunch("server", env={"K": Secret("b")})), LOCAL, PLAIN),
        False,
    ),
    "another directory": (
        (ServerSettings("s", StdioLaunch("server", cwd="/a")), LOCAL, PLAIN),
        (ServerSettings("s", StdioLaunch("server", cwd="/b")), LOCAL, PLAIN),
        False,
    ),
    "another token at one address": (
        (
            ServerSettings(
                "s", HttpLaunch(Secret("https://h/mcp"), {"Authorization": Secret("Bearer a")})
            ),
            LOCAL,
            PLAIN,
        ),
        (
            ServerSettings(
                "s", HttpLaunch(Secret("https://h/mcp"), {"Authorization": Secret("Bearer b")})
            ),
            LOCAL,
            PLAIN,
        ),
        False,
    ),
    "another server of one launch": ((stdio("a"), LOCAL, PLAIN), (stdio("b"), LOCAL, PLAIN), False),
    "other waits": (
        (stdio(), LOCAL, PLAIN),
        (stdio(request_seconds=3.0, source="elsewhere:7"), LOCAL, PLAIN),
        True,
    ),
}


@pytest.mark.parametrize("case", SEATS)
async def test_who_shares_a_connection(case: str) -> None:
    one, other, shared = SEATS[case]
    async with pooled() as world:
        assert (world.pool.supervisor(*one) is world.pool.supervisor(*other)) == shared
        assert len(world.pool) == (1 if shared else 2)
        await anyio.sleep(1)
        assert world.dial.script.live == len(world.pool)


async def test_no_secret_shows_in_a_seat() -> None:
    canary = "hunter2-of-the-operator"
    launch = StdioLaunch("server", (canary,), {"TOKEN": Secret(canary)})
    async with pooled() as world:
        seat = world.pool.seat(ServerSettings("s", launch), LOCAL, PLAIN)
        assert canary not in repr(seat)


async def test_the_connections_of_one_server_are_counted_from_zero() -> None:
    async with pooled() as world:
        for principal in (ANNA, BEN):
            world.pool.supervisor(stdio(stateful=True), principal, PLAIN)
        world.pool.supervisor(stdio("other"), ANNA, PLAIN)
        await anyio.sleep(1)
        ready = [f for f in world.recorder.of(ConnectionChanged) if f.state == "ready"]
        assert sorted((fact.server, fact.connection) for fact in ready) == [
            ("other", 0),
            ("s", 0),
            ("s", 1),
        ]


async def test_connections_start_one_after_the_other_and_a_late_one_at_once() -> None:
    async with pooled() as world:
        for number in range(5):
            world.pool.supervisor(stdio(f"s{number}"), LOCAL, PLAIN)
        await anyio.sleep(10)
        world.pool.supervisor(stdio("late"), LOCAL, PLAIN)
        await anyio.sleep(1)
        *together, late = (at for _, at in world.dial.asked)
        gaps = [then - now for now, then in pairwise(together)]
        assert gaps == pytest.approx([SPACING] * 4)
        assert late == pytest.approx(10.0)


async def test_closing_waits_until_the_connection_is_gone() -> None:
    async with pooled() as world:
        world.dial.farewell = 3.0
        supervisor = world.pool.supervisor(stdio(), LOCAL, PLAIN)
        await supervisor.ready()
        await world.pool.close(supervisor)
        assert world.dial.ended == ["s"]
        assert supervisor.state == "closed"
        assert len(world.pool) == 0
        with pytest.raises(UpstreamUnreachable):
            await supervisor.ready()


async def test_several_connections_end_side_by_side() -> None:
    async with pooled() as world:
        world.dial.farewell = 5.0
        ending = [world.pool.supervisor(stdio(f"s{n}"), LOCAL, PLAIN) for n in range(10)]
        kept = world.pool.supervisor(stdio("kept"), LOCAL, PLAIN)
        for supervisor in (*ending, kept):
            await supervisor.ready()
        began = anyio.current_time()
        await world.pool.close(*ending)
        assert anyio.current_time() - began == pytest.approx(5.0)
        assert len(world.dial.ended) == 10
        assert kept.upstream is not None


async def test_who_comes_while_a_connection_ends_gets_a_new_one() -> None:
    async with pooled() as world:
        world.dial.farewell = 5.0
        old = world.pool.supervisor(stdio(), LOCAL, PLAIN)
        await old.ready()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(world.pool.close, old)
            await anyio.sleep(1)
            new = world.pool.supervisor(stdio(), LOCAL, PLAIN)
            assert new is not old
            await new.ready()
            assert new.upstream is not None


async def test_closing_one_that_is_still_connecting_ends_the_attempt() -> None:
    async with pooled() as world:
        world.dial.script.latency = 60
        supervisor = world.pool.supervisor(stdio(), LOCAL, PLAIN)
        await anyio.sleep(1)
        await world.pool.close(supervisor)
        assert world.dial.ended == ["s"]
        assert supervisor.state == "closed"


async def test_closing_what_was_closed_is_nothing() -> None:
    async with pooled() as world:
        supervisor = world.pool.supervisor(stdio(), LOCAL, PLAIN)
        await world.pool.close(supervisor)
        await world.pool.close(supervisor)
        assert len(world.pool) == 0
