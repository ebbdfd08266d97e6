"""A program that is run again after a person answered: the same steps, in whatever time they take.

Whatever it does otherwise, nothing that it had called is sent twice, and nothing new goes out.
"""

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from toolcrib.calls.call import Retry, ToolCall
from toolcrib.codemode.program_run import Aside, Broken, Done, Ending
from toolcrib.ports import Failed
from toolcrib.testing.program_rig import ProgramRig, asking_result
from toolcrib.testing.scripted_sandbox import Script, World

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

APART = "the program was run again after a person had answered, and did not take the same steps"


async def echo(call: ToolCall) -> dict[str, Any]:
    return {"content": [], "structuredContent": dict(call.arguments)}


async def slow(call: ToolCall) -> dict[str, Any]:
    await anyio.sleep(10)
    return await echo(call)


async def person_first(call: ToolCall) -> dict[str, Any]:
    return asking_result() if call.retry is None else await echo(call)


TOOLS = {"a.echo": echo, "a.slow": slow, "b.ask": person_first}


class Twice:
    """One program that is another one when it is run again."""

    def __init__(self, first: Script, second: Script) -> None:
        self.rig = ProgramRig(TOOLS, snapshots=False)
        self._first = first
        self._second = second

    async def end(self) -> Ending:
        """How it ends at last."""
        aside = await self.rig.run(self._first)
        assert isinstance(aside, Aside)
        self.before = len(self.rig.calls)
        retries = {number: Retry("state") for number in aside.progress.asked}
        return await self.rig.run(self._second, before=aside.progress, retries=retries)

    @property
    def sent_again(self) -> list[Any]:
        """The arguments of what went out in the second run."""
        return [dict(call.arguments) for call in self.rig.calls[self.before :]]


async def three_steps(world: World) -> object:
    return [
        await world.call("a", "echo", n=1),
        await world.call("a", "echo", n=2),
        await world.call("b", "ask", n=3),
    ]


async def leaves_the_first_out(world: World) -> object:
    return [await world.call("a", "echo", n=2), await world.call("b", "ask", n=3)]


async def goes_on_to_the_question(world: World) -> object:
    return await world.call("b", "ask", n=3)


async def returns_at_once(_: World) -> object:
    return "done"


async def calls_and_forgets(world: World) -> object:
    world.call("b", "ask", n=3)
    return "done"


async def asks_for_more(world: World) -> object:
    first = await world.call("a", "echo", n=1)
    await world.call("a", "echo", n=4)
    return first


async def calls_it_twice(world: World) -> object:
    await world.call("a", "echo", n=1)
    await world.call("a", "echo", n=1)
    return await world.call("b", "ask", n=3)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (leaves_the_first_out, "it called `echo` of `a` before, and now it does not"),
        (goes_on_to_the_question, "it called `echo` of `a` before, and now it does not"),
        (returns_at_once, "it called `echo` of `a` before, and now it does not"),
        (calls_and_forgets, "it called `echo` of `a` before, and now it does not"),
        (asks_for_more, "it calls `echo` of `a`, which it did not before"),
        (calls_it_twice, "it calls `echo` of `a`, which it did not before"),
    ],
    ids=lambda it: getattr(it, "__name__", ""),
)
async def test_a_program_that_takes_other_steps_is_stopped_and_sends_nothing(
    other: Script, said: str
) -> None:
    twice = Twice(three_steps, other)
    with anyio.fail_after(5):
        ending = await twice.end()
    assert isinstance(ending, Broken)
    assert ending.why == "not_deterministic"
    assert ending.message == f"{APART}: {said}"
    assert twice.sent_again == []
    rows = ending.progress.rows
    assert [row.outcome for row in rows] == ["returned", "returned", "stopped"]
    assert rows[-1].detail == "its question was not answered"


async def test_a_program_that_fails_otherwise_tells_its_own_failure() -> None:
    async def fails(world: World) -> object:
        await world.call("a", "echo", n=1)
        world.fail(Failed("raised", "RuntimeError: odd"))
        return None

    twice = Twice(three_steps, fails)
    ending = await twice.end()
    assert isinstance(ending, Broken)
    assert (ending.why, ending.message) == ("raised", "RuntimeError: odd")
    assert twice.sent_again == []


def two_parts(late: float, early: float) -> Script:
    """A part that asks, and one that makes calls, each of them after some seconds."""

    async def script(world: World) -> object:
        values: dict[str, object] = {}

        async def asks() -> None:
            await anyio.sleep(late)
            values["asked"] = await world.call("b", "ask", n=3)

        async def calls() -> None:
            await anyio.sleep(early)
            await world.call("a", "echo", n=1)
            values["last"] = [await world.call("a", "echo", n=n) for n in (2, 4)]

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asks)
            tasks.start_soon(calls)
        return values

    return script


@pytest.mark.parametrize("late", [0.0, 1.5])
@pytest.mark.parametrize("early", [0.0, 1.5])
@pytest.mark.parametrize("before", [0.0, 0.5])
async def test_parts_may_take_other_times_than_before(
    before: float, early: float, late: float
) -> None:
    """What one part calls for the first time waits until the other one is where it was."""
    twice = Twice(two_parts(before, 0.2), two_parts(late, early))
    ending = await twice.end()
    assert isinstance(ending, Done)
    assert ending.value == {"asked": {"n": 3}, "last": [{"n": 2}, {"n": 4}]}
    everything = [call.arguments["n"] for call in twice.rig.calls]
    assert sorted(everything) == [1, 2, 3, 3, 4]  # the one that was asked about, with its answer
    assert twice.sent_again[0] in ({"n": 3}, {"n": 1})


async def test_a_program_may_take_its_time_while_nothing_is_called() -> None:
    async def sleeps(world: World) -> object:
        first = await world.call("a", "echo", n=1)
        await anyio.sleep(20)
        return [first, await world.call("a", "echo", n=2), await world.call("b", "ask", n=3)]

    ending = await Twice(three_steps, sleeps).end()
    assert isinstance(ending, Done)
    assert ending.value == [{"n": 1}, {"n": 2}, {"n": 3}]


async def test_an_answer_comes_only_once_those_before_it_have_come_again() -> None:
    """Else a program that takes the first of two would take another one."""

    def script(gone: float) -> Script:
        async def run(world: World) -> object:
            first = world.call("a", "slow", n=1)
            await anyio.sleep(gone)
            await world.gather(first, world.call("a", "echo", n=2))
            await world.call("b", "ask", n=3)
            return list(world.told)

        return run

    twice = Twice(script(5), script(0.5))
    ending = await twice.end()
    assert isinstance(ending, Done)
    assert ending.value == [2, 1, 3]
    assert twice.sent_again == [{"n": 3}]


async def test_what_a_program_calls_ahead_of_its_place_is_bounded() -> None:
    async def floods(world: World) -> object:
        calls = [world.call("a", "echo", x="x" * 4_000_000) for _ in range(9)]
        return await calls[-1]

    twice = Twice(three_steps, floods)
    ending = await twice.end()
    assert isinstance(ending, Broken)
    assert "the arguments of calls without an answer are at most" in ending.message
    assert twice.sent_again == []


@pytest.mark.parametrize("timer", [False, True])
async def test_a_program_is_put_aside_only_once_it_waits(*, timer: bool) -> None:
    """All that it is about to call is written down; one that sleeps does not say that it waits."""

    async def script(world: World) -> object:
        asked = world.call("b", "ask", n=1)
        for _ in range(30):
            await anyio.lowlevel.checkpoint()
        more = [world.call("a", "echo", n=n) for n in (2, 3)]
        if timer:
            await anyio.sleep(3_600)
        return await world.gather(asked, *more)

    rig = ProgramRig(TOOLS, snapshots=False)
    with anyio.fail_after(10):
        aside = await rig.run(script)
    assert isinstance(aside, Aside)
    assert list(aside.progress.asked) == [1]
    assert [row.outcome for row in aside.progress.rows] == ["asking", "held", "held"]
