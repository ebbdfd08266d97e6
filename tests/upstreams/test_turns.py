"""Calls to one server: so many at a time, so many in the queue, and the next one is refused."""

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.errors import LimitExceeded
from toolcrib.settings import Limits
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib
from toolcrib.upstreams.turns import Turns

FEW = Limits(calls_per_server=2, queue_per_server=3)

pytestmark = pytest.mark.virtual_time


class Callers:
    """Calls that go on until they are told to end."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.begun: list[int] = []
        self.refused: list[int] = []
        self._ends: dict[int, anyio.Event] = {}

    async def call(self, number: int) -> None:
        self._ends[number] = anyio.Event()
        try:
            async with self._turns.take():
                self.begun.append(number)
                await self._ends[number].wait()
        except LimitExceeded:
            self.refused.append(number)

    def end(self, number: int) -> None:
        self._ends[number].set()


async def settle() -> None:
    await anyio.wait_all_tasks_blocked()


async def test_calls_beyond_the_bound_wait_in_order_and_beyond_the_queue_are_refused() -> None:
    callers = Callers(Turns("s", FEW))
    async with anyio.create_task_group() as tasks:
        for number in range(7):
            tasks.start_soon(callers.call, number)
            await settle()
        assert callers.begun == [0, 1]
        assert callers.refused == [5, 6]
        callers.end(1)
        await settle()
        assert callers.begun == [0, 1, 2]
        tasks.start_soon(callers.call, 7)
        await settle()
        assert callers.refused == [5, 6]
        for number in (0, 2, 3, 4, 7):
            callers.end(number)
            await settle()
        assert callers.begun == [0, 1, 2, 3, 4, 7]


async def test_a_caller_that_goes_away_leaves_the_queue() -> None:
    callers = Callers(Turns("s", FEW))
    async with anyio.create_task_group() as tasks:
        scopes = [anyio.CancelScope() for _ in range(5)]
        for number, scope in enumerate(scopes):
            tasks.start_soon(_within, scope, callers, number)
            await settle()
        scopes[-1].cancel()
        await settle()
        tasks.start_soon(callers.call, 5)
        await settle()
        assert callers.refused == []
        for number in (0, 1, 2, 3, 5):
            callers.end(number)
            await settle()
        assert callers.begun == [0, 1, 2, 3, 5]


async def _within(scope: anyio.CancelScope, callers: Callers, number: int) -> None:
    with scope:
        await callers.call(number)


async def test_without_a_queue_a_call_is_refused_as_soon_as_all_turns_are_taken() -> None:
    callers = Callers(Turns("s", Limits(calls_per_server=1, queue_per_server=0)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(callers.call, 0)
        await settle()
        tasks.start_soon(callers.call, 1)
        await settle()
        assert (callers.begun, callers.refused) == ([0], [1])
        callers.end(0)


async def test_the_refusal_names_the_limit_and_what_to_do() -> None:
    turns = Turns("git", Limits(calls_per_server=1, queue_per_server=0))
    async with turns.take():
        with pytest.raises(LimitExceeded) as refused:
            async with turns.take():
                raise AssertionError("there was no turn left")
    assert refused.value.server == "git"
    assert "queue_per_server" in refused.value.message
    assert refused.value.remedy


async def test_a_crib_keeps_to_the_bounds_and_listing_is_not_bound_by_them() -> None:
    script = ScriptedUpstream([tool("slow")])
    most, under_way = 0, 0

    async def slowly(*_: object) -> dict[str, object]:
        nonlocal most, under_way
        under_way += 1
        most = max(most, under_way)
        await anyio.sleep(10)
        under_way -= 1
        return {"content": []}

    script.on_call = slowly
    refused = 0

    async with scripted_crib({"s": script}, limits=FEW) as (crib, _):
        catalogs = crib.catalogs()
        await catalogs.read(Kind.TOOLS)

        async def call() -> None:
            nonlocal refused
            try:
                await catalogs.request("s", "tools/call", {"name": "slow", "arguments": {}})
            except LimitExceeded:
                refused += 1

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(call)
            await anyio.sleep(1)
            walks = script.walks[Kind.TOOLS]
            script.change([tool("slow"), tool("new")])
            await anyio.sleep(5)
            assert script.walks[Kind.TOOLS] > walks
    assert (most, refused) == (2, 3)
