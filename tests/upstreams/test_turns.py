"""Calls to one server: so many at a time, so many in the queue, and the next one is refused."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.errors import TooBusy
from toolcrib.ports import RequestContext
from toolcrib.settings import Limits
from toolcrib.testing.rounds_rig import CALLER, DONE, FORM
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib
from toolcrib.upstreams.turns import Turn, Turns

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
        except TooBusy:
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
        with pytest.raises(TooBusy) as refused:
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
            except TooBusy:
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


# ---- calls that wait for a person ----


NOTHING: dict[str, Any] = {}


class Thinker:
    """A call that asks its person once, for as long as they think."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.answered = anyio.Event()
        self.ending = anyio.Event()
        self.state = "queued"

    async def ask(self, method: str, _: Mapping[str, Any]) -> dict[str, Any]:
        self.state = "asking"
        await self.answered.wait()
        return {"answered": method}

    async def call(self, questions: int = 1) -> None:
        async with self._turns.take() as turn:
            async with anyio.create_task_group() as tasks:
                for _ in range(questions):
                    tasks.start_soon(asked_by, turn, self)
            self.state = "answered"
            await self.ending.wait()
        self.state = "over"


async def asked_by(turn: Turn, thinker: Thinker) -> None:
    """Ask in the way of a server whose request has this turn."""
    context = turn.pausing(RequestContext(ask=thinker.ask))
    assert context is not None
    assert context.ask is not None
    await context.ask("q", NOTHING)


async def free_turns(turns: Turns, most: int = 10) -> int:
    """How many calls could begin now."""
    begun = 0
    async with anyio.create_task_group() as tasks:

        async def one() -> None:
            nonlocal begun
            async with turns.take():
                begun += 1
                await anyio.sleep_forever()

        for _ in range(most):
            tasks.start_soon(one)
        await settle()
        tasks.cancel_scope.cancel()
    return begun


THINKING = Limits(calls_per_server=2, queue_per_server=20, parked_calls=3)


@pytest.mark.parametrize("questions", [1, 3])
async def test_a_call_whose_person_thinks_leaves_its_turn_to_others(questions: int) -> None:
    turns = Turns("s", THINKING)
    thinkers = [Thinker(turns) for _ in range(3)]
    async with anyio.create_task_group() as tasks:
        for thinker in thinkers:
            tasks.start_soon(thinker.call, questions)
            await settle()
        assert [thinker.state for thinker in thinkers] == ["asking"] * 3
        assert await free_turns(turns) == 2
        for left, thinker in zip([1, 0, 0], thinkers, strict=True):
            thinker.answered.set()
            await settle()
            assert thinker.state == "answered", "also where all turns are taken"
            assert await free_turns(turns) == left
        for freed, thinker in zip([0, 1, 2], thinkers, strict=True):
            thinker.ending.set()
            await settle()
            assert thinker.state == "over"
            assert await free_turns(turns) == freed


async def test_an_answer_does_not_wait_behind_calls_that_came_meanwhile() -> None:
    turns = Turns("s", Limits(calls_per_server=1, queue_per_server=2))
    thinker, callers = Thinker(turns), Callers(turns)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(thinker.call)
        await settle()
        for number in range(3):
            tasks.start_soon(callers.call, number)
            await settle()
        assert callers.begun == [0]
        thinker.answered.set()
        await settle()
        assert thinker.state == "answered"
        callers.end(0)
        await settle()
        assert callers.begun == [0], "two were open: one has to end without a successor"
        thinker.ending.set()
        await settle()
        assert callers.begun == [0, 1]
        for number in (1, 2):
            callers.end(number)
            await settle()
        assert callers.begun == [0, 1, 2]


async def test_no_more_turns_are_left_to_others_than_calls_may_be_parked() -> None:
    turns = Turns("s", THINKING)
    thinkers = [Thinker(turns) for _ in range(6)]
    async with anyio.create_task_group() as tasks:
        for thinker in thinkers:
            tasks.start_soon(thinker.call)
            await settle()
        states = [thinker.state for thinker in thinkers]
        assert states == ["asking"] * 5 + ["queued"], "three without a turn, two with theirs"
        tasks.cancel_scope.cancel()
    assert await free_turns(turns) == 2


@pytest.mark.parametrize("when", ["while it asks", "after it asked"])
async def test_a_call_that_is_given_up_has_its_turn_once(when: str) -> None:
    turns = Turns("s", THINKING)
    thinker = Thinker(turns)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(thinker.call)
        await settle()
        if when == "after it asked":
            thinker.answered.set()
            await settle()
        tasks.cancel_scope.cancel()
    assert await free_turns(turns) == 2


async def test_an_answer_that_comes_when_the_call_is_over_takes_no_turn() -> None:
    turns = Turns("s", THINKING)
    thinker = Thinker(turns)
    async with anyio.create_task_group() as tasks:
        async with turns.take() as turn:
            tasks.start_soon(asked_by, turn, thinker)
            await settle()
        assert await free_turns(turns) == 2
        tasks.start_soon(asked_by, turn, thinker)
        await settle()
        thinker.answered.set()
    assert await free_turns(turns) == 2


async def test_a_question_for_a_call_that_is_over_gives_no_turn_away() -> None:
    turns = Turns("s", THINKING)
    thinker = Thinker(turns)
    async with turns.take() as turn:
        pass
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asked_by, turn, thinker)
        await settle()
        assert await free_turns(turns) == 2
        thinker.answered.set()
    assert await free_turns(turns) == 2


async def test_a_call_has_its_turn_again_when_its_last_question_is_answered() -> None:
    turns = Turns("s", THINKING)
    one, other = Thinker(turns), Thinker(turns)
    async with turns.take() as turn, anyio.create_task_group() as tasks:
        for left, thinker in [(2, one), (2, other)]:
            tasks.start_soon(asked_by, turn, thinker)
            await settle()
            assert await free_turns(turns) == left
        for left, thinker in [(2, one), (1, other)]:
            thinker.answered.set()
            await settle()
            assert await free_turns(turns) == left


async def test_whoever_is_asked_stays_the_same_for_whoever_compares() -> None:
    turns = Turns("s", THINKING)
    first, second = Thinker(turns), Thinker(turns)
    async with turns.take() as one, turns.take() as two:
        asks = [
            turn.pausing(RequestContext(ask=thinker.ask))
            for turn, thinker in [(one, first), (two, first), (one, second)]
        ]
        same, again, other = [context.ask for context in asks if context is not None]
        assert same == again
        assert hash(same) == hash(again)
        assert same != other
        assert one.pausing(None) is None
        nobody = RequestContext()
        assert one.pausing(nobody) is nobody


async def test_people_who_think_do_not_keep_a_server_from_others() -> None:
    script = ScriptedUpstream([tool("ask"), tool("quick")], era="handshake")
    thought = anyio.Event()
    done: list[str] = []

    async def answer(_: str, params: Mapping[str, Any]) -> dict[str, Any]:
        context = script.contexts[-1]
        if params["name"] == "ask":
            assert context is not None
            assert context.ask is not None
            await context.ask("elicitation/create", {})
        return {"content": []}

    async def ask(*_: object) -> dict[str, Any]:
        await thought.wait()
        return {"action": "cancel"}

    script.on_call = answer
    async with scripted_crib({"s": script}, limits=FEW) as (crib, _):
        catalogs = crib.catalogs()

        async def call(name: str) -> None:
            params = {"name": name, "arguments": NOTHING}
            await catalogs.request("s", "tools/call", params, context=RequestContext(ask=ask))
            done.append(name)

        with anyio.fail_after(1_000):
            async with anyio.create_task_group() as tasks:
                for _ in range(10):
                    tasks.start_soon(call, "ask")
                    await anyio.sleep(0.1)
                await call("quick")
                assert done == ["quick"]
                thought.set()
    assert done.count("ask") == 10


async def test_a_standing_stream_takes_no_turn() -> None:
    script = ScriptedUpstream([tool("quick")])

    async def answer(method: str, _: Mapping[str, Any]) -> dict[str, Any]:
        if method == "subscriptions/listen":
            await anyio.sleep_forever()
        return {"content": []}

    script.on_call = answer
    async with scripted_crib({"s": script}, limits=FEW) as (crib, _):
        catalogs = crib.catalogs()
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(catalogs.request, "s", "subscriptions/listen", NOTHING)
                await anyio.wait_all_tasks_blocked()
                await catalogs.request("s", "tools/call", {"name": "quick"})
                tasks.cancel_scope.cancel()


async def test_parked_calls_do_not_keep_a_server_from_others() -> None:
    script = ScriptedUpstream([tool("ask"), tool("quick")], era="handshake")

    async def answer(_: str, params: Mapping[str, Any]) -> dict[str, Any]:
        context = script.contexts[-1]
        assert context is not None
        if params["name"] == "ask" and context.ask is not None:
            await context.ask("elicitation/create", dict(FORM))
        return dict(DONE)

    script.on_call = answer
    asked: list[dict[str, Any]] = []
    limits = Limits(calls_per_server=1, queue_per_server=0)
    async with scripted_crib({"s": script}, limits=limits) as (crib, _):
        with anyio.fail_after(60):
            await crib.catalogs().reach()
            asked += [await crib.call(("s", "ask"), requester=CALLER) for _ in range(5)]
            assert (await crib.call(("s", "quick")))["content"] == DONE["content"]
    assert [result["resultType"] for result in asked] == ["input_required"] * 5
