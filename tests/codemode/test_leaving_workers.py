"""A program that waits for a person leaves its worker to others, and comes back where it was."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from toolcrib.calls.call import Requester, ToolCall
from toolcrib.codemode.program_run import Aside, Broken, Done, Ending
from toolcrib.core.partition import Principal
from toolcrib.errors import SandboxUnavailable, SnapshotRefused, TooBusy
from toolcrib.ports import Answer, Event, Program, Running
from toolcrib.settings import CodeSettings
from toolcrib.testing.program_rig import ProgramRig, asking_result, text_result
from toolcrib.testing.scripted_sandbox import Script, ScriptedSandbox, World

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

ADA, BO, CY, DI = (Principal("issuer", who) for who in ("ada", "bo", "cy", "di"))
ONE = CodeSettings(programs=1, wait_seconds=1e6)


async def ask(world: World) -> object:
    world.print("before ")
    first = await world.call("s", "echo", n=1)
    said = await world.call("s", "ask")
    world.print("after")
    return [first, said, await world.call("s", "echo", n=2)]


async def ask_among_others(world: World) -> object:
    question, slow = world.call("s", "ask"), world.call("s", "ten_seconds")
    return [await slow, await world.call("s", "echo", n=1), await question]


async def quick(world: World) -> object:
    return await world.call("s", "echo", n=7)


async def ten(world: World) -> object:
    return await world.call("s", "ten_seconds")


async def hang(world: World) -> object:
    return await world.call("s", "hang")


async def ask_and_defer(world: World) -> object:
    return await world.call("s", "ask_and_defer")


async def ask_and_work(world: World) -> object:
    return await world.call("s", "ask_and_work")


async def ask_twice(world: World) -> object:
    await world.call("s", "ask")
    for _ in range(20):
        await world.call("s", "ten_seconds")
    return await world.call("s", "ask")


ASKING: tuple[Script, ...] = (ask, ask_among_others, ask_and_defer, ask_and_work, ask_twice)
ASKED: Mapping[Script, list[Any]] = {ask: ["1", "yes", "2"], ask_among_others: ["ten", "1", "yes"]}


class Sandbox(ScriptedSandbox):
    """Counts its workers, and can be slow, full, or broken when a program comes back."""

    snapshot_takes = 0.0
    refuses: Exception | None = None
    loses: Exception | None = None
    opened_again = 0

    @asynccontextmanager
    async def open(
        self, program: Program, *, snapshot: bytes | None = None
    ) -> AsyncGenerator[Running]:
        if snapshot is not None:
            self.opened_again += 1
            if self.loses is not None:
                raise self.loses
        async with super().open(program, snapshot=snapshot) as running:
            yield _Running(self, running)


@dataclass(eq=False)
class _Running:
    sandbox: Sandbox
    running: Running

    async def next(self) -> Event:
        return await self.running.next()

    def answer(self, id_: int, answer: Answer) -> None:
        self.running.answer(id_, answer)

    async def snapshot(self) -> bytes:
        frozen = await self.running.snapshot()
        await anyio.sleep(self.sandbox.snapshot_takes)
        if self.sandbox.refuses is not None:
            raise self.sandbox.refuses
        return frozen


@dataclass(eq=False)
class House:
    """Programs of several callers over one sandbox, and a person who answers when told to."""

    settings: CodeSettings = ONE
    snapshots: bool = True
    endings: dict[str, Ending] = field(default_factory=dict[str, Ending])
    answer: anyio.Event = field(default_factory=anyio.Event)
    asked: int = 0
    sandbox: Sandbox = field(init=False)

    def __post_init__(self) -> None:
        self.sandbox = Sandbox(
            {it.__name__: it for it in (*ASKING, quick, ten, hang)}, snapshots=self.snapshots
        )
        self.rig = ProgramRig(
            {
                "s.ask": self._ask,
                "s.ask_and_defer": self._ask_and_defer,
                "s.ask_and_work": self._ask_and_work,
                "s.echo": self._echo,
                "s.ten_seconds": self._ten_seconds,
                "s.hang": self._hang,
            },
            self.settings,
            snapshots=self.snapshots,
            shared=self.sandbox,
        )

    async def run(
        self, script: Script, who: Principal = ADA, name: str = "", **options: Any
    ) -> None:
        requester = Requester(who, ask=self._person)
        name = name or script.__name__
        self.endings[name] = await self.rig.run(script, requester=requester, **options)

    async def _person(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        del method, params
        self.asked += 1
        await self.answer.wait()
        return {"action": "accept", "content": {"said": "yes"}}

    async def _ask(self, call: ToolCall) -> dict[str, Any]:
        assert call.requester.ask is not None
        said = await call.requester.ask("elicitation/create", {"message": "May I?"})
        return text_result(said["content"]["said"])

    async def _ask_and_defer(self, call: ToolCall) -> dict[str, Any]:
        await self._ask(call)
        return asking_result()

    async def _ask_and_work(self, call: ToolCall) -> dict[str, Any]:
        await self._ask(call)
        return await self._ten_seconds(call)

    async def _echo(self, call: ToolCall) -> dict[str, Any]:
        return text_result(str(call.arguments["n"]))

    async def _ten_seconds(self, _: ToolCall) -> dict[str, Any]:
        await anyio.sleep(10)
        return text_result("ten")

    async def _hang(self, _: ToolCall) -> dict[str, Any]:
        await anyio.sleep_forever()
        raise AssertionError

    def value(self, name: str) -> Any:
        ending = self.endings[name]
        assert isinstance(ending, Done), ending
        return ending.value

    def broken(self, name: str) -> Broken:
        ending = self.endings[name]
        assert isinstance(ending, Broken), ending
        return ending


@pytest.mark.parametrize("script", [ask, ask_among_others])
async def test_others_run_while_a_person_thinks_and_nothing_is_done_twice(script: Script) -> None:
    house = House()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.run, script)
        await anyio.sleep(1)
        for who in (BO, ADA, CY):
            await house.run(quick, who, who.subject)
            assert str(house.value(who.subject)) == "7"
            await anyio.sleep(1_000)
        assert script.__name__ not in house.endings
        house.answer.set()
    name = script.__name__
    assert [str(it) for it in house.value(name)] == ASKED[script]
    progress = house.endings[name].progress
    assert progress.printed == ("before after" if script is ask else "")
    assert progress.seconds < 15
    assert len(progress.rows) == 3
    assert house.asked == 1
    assert len(house.rig.calls) == 3 + 3


async def test_where_nobody_waits_a_program_keeps_its_worker() -> None:
    house = House()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.run, ask)
        await anyio.sleep(1_000)
        assert house.sandbox.live == 1
        house.answer.set()
    assert house.sandbox.opened_again == 0
    house.value("ask")


async def test_a_program_whose_question_was_answered_at_once_keeps_its_worker() -> None:
    house = House()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.run, ask)
        await anyio.lowlevel.checkpoint()
        tasks.start_soon(house.run, quick, BO)
        await anyio.sleep(0.2)
        house.answer.set()
    assert house.sandbox.opened_again == 0


async def test_a_program_whose_call_goes_on_after_the_answer_keeps_its_worker() -> None:
    house = House()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.run, ask_and_work)
        await anyio.sleep(1)
        tasks.start_soon(house.run, quick, BO)
        await anyio.sleep(0.2)
        house.answer.set()
    assert house.sandbox.opened_again == 0
    assert list(house.endings) == ["ask_and_work", "quick"]


async def test_as_many_programs_leave_as_others_wait() -> None:
    house = House(CodeSettings(programs=4, wait_seconds=1e6))
    async with anyio.create_task_group() as tasks:
        for who, name in ((ADA, "a"), (BO, "b"), (CY, "c"), (DI, "d")):
            tasks.start_soon(house.run, ask, who, name)
        await anyio.sleep(5)
        assert house.sandbox.live == 4
        for n in range(2):
            tasks.start_soon(house.run, hang, Principal("issuer", f"new {n}"))
            await anyio.sleep(5)
            assert house.sandbox.live == 4
        assert len(house.rig.calls) == 4 * 2 + 2
        house.answer.set()
        await anyio.sleep(5)
        assert sorted(house.endings) == ["a", "b", "c", "d"]
        assert house.sandbox.opened_again == 2
        tasks.cancel_scope.cancel()


async def test_a_worker_that_would_help_nobody_is_not_left() -> None:
    house = House(CodeSettings(programs=4, wait_seconds=1e6))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.run, ask, BO)
        for _ in range(3):
            tasks.start_soon(house.run, hang, ADA)
        await anyio.sleep(30)
        assert house.sandbox.live == 3  # Ada's third one waits for a place that is kept
        house.answer.set()
        await anyio.sleep(1)
        assert house.sandbox.opened_again == 0
        house.value("ask")
        tasks.cancel_scope.cancel()


async def test_who_comes_back_waits_in_front_and_its_clock_stands_still() -> None:
    house = House(CodeSettings(programs=1, wait_seconds=1e6, wall_seconds=12))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.run, ask)
        await anyio.sleep(1)
        for n in range(3):
            tasks.start_soon(house.run, ten, ADA, f"ten {n}")
            await anyio.sleep(1)
        house.answer.set()
    assert list(house.endings) == ["ten 0", "ask", "ten 1", "ten 2"]
    assert house.endings["ask"].progress.seconds < 1


async def test_an_answer_that_comes_while_the_snapshot_is_taken_is_told_once() -> None:
    house = House()
    house.sandbox.snapshot_takes = 3
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.run, ask)
        await anyio.sleep(1)
        tasks.start_soon(house.run, quick, BO)
        await anyio.sleep(1)
        house.answer.set()
    assert [str(it) for it in house.value("ask")] == ["1", "yes", "2"]
    assert house.sandbox.opened_again == 1
    assert len(house.rig.calls) == 3 + 1


async def test_a_program_that_is_cancelled_away_from_its_worker_leaves_nothing_behind() -> None:
    settings = CodeSettings(programs=1, wait_seconds=1e6, suspended=1)
    house = House(settings)
    for _ in range(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(house.run, ask)
            await anyio.sleep(1)
            await house.run(quick, BO)
            assert "ask" not in house.endings  # as if it could not have left
            tasks.cancel_scope.cancel()
    assert house.sandbox.live == 0
    with anyio.fail_after(1):
        await house.run(quick, BO)


async def test_a_program_can_be_put_aside_while_it_is_away() -> None:
    house = House()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.run, ask_and_defer)
        await anyio.sleep(1)
        tasks.start_soon(house.run, hang, BO)
        await anyio.sleep(2)
        house.answer.set()
        await anyio.sleep(1)
        ending = house.endings["ask_and_defer"]
        assert isinstance(ending, Aside)
        assert ending.progress.snapshot
        assert list(ending.progress.asked) == [1]
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    "lost", [SandboxUnavailable("it is closed"), SnapshotRefused("it is odd"), TooBusy("full")]
)
async def test_what_cannot_come_back_is_told_with_what_it_did(lost: Exception) -> None:
    house = House()
    house.sandbox.loses = lost
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.run, ask)
        await anyio.sleep(1)
        tasks.start_soon(house.run, quick, BO)
        await anyio.sleep(1)
        house.answer.set()
    broken = house.broken("ask")
    assert broken.why == "not_kept"
    assert broken.message.endswith(f"left its worker and cannot go on: {lost}")
    assert [row.outcome for row in broken.progress.rows] == ["returned", "returned"]
    assert broken.executed


async def test_what_finds_no_worker_for_as_long_as_it_may_run_is_told_so() -> None:
    house = House(CodeSettings(programs=1, wait_seconds=1e6, wall_seconds=40))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.run, ask)
        await anyio.sleep(1)
        async with house.rig.turns.turn(BO, "python"):
            house.answer.set()
            await anyio.sleep(39)
            assert not house.endings
            await anyio.sleep(2)
    broken = house.broken("ask")
    assert "no worker became free for it within 40 s (code.programs, " in broken.message
    with anyio.fail_after(1):
        await house.run(quick, BO)


async def test_what_its_runtime_cannot_keep_ends_with_the_reason() -> None:
    house = House()
    house.sandbox.refuses = SnapshotRefused("it holds too much")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.run, ask)
        await anyio.sleep(1)
        await house.run(quick, BO)
    broken = house.broken("ask")
    assert (broken.why, "it holds too much" in broken.message) == ("not_kept", True)


STAYING = {
    "typescript": (CodeSettings(programs=1, wait_seconds=1e6), False, "its runtime cannot"),
    "large": (CodeSettings(programs=1, wait_seconds=1e6, suspended_bytes=8), True, "8 bytes"),
    "many": (CodeSettings(programs=1, wait_seconds=1e6, suspended=0), True, "code.suspended"),
    "full": (
        CodeSettings(programs=1, wait_seconds=1e6, all_suspended_bytes=8),
        True,
        "code.all_suspended_bytes",
    ),
}


@pytest.mark.parametrize("why", STAYING)
async def test_a_question_holds_a_worker_that_cannot_be_left_for_so_long_while_others_wait(
    why: str,
) -> None:
    settings, snapshots, said = STAYING[why]
    house = House(settings, snapshots)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.run, ask)
        await anyio.sleep(1)
        tasks.start_soon(house.run, quick, BO)
        await anyio.sleep(118)
        assert not house.endings
        await anyio.sleep(3)
        assert list(house.endings) == ["ask", "quick"]
        broken = house.broken("ask")
        assert broken.why == "question_seconds"
        assert "code.question_seconds allows (120 s)" in broken.message
        assert (said if why != "large" else "code.suspended_bytes allows 8") in broken.message
        assert [row.outcome for row in broken.progress.rows] == ["returned", "cancelled"]
    assert house.sandbox.live == 0


async def test_a_worker_that_cannot_be_left_is_kept_while_no_other_caller_waits() -> None:
    house = House(CodeSettings(programs=2, wait_seconds=1e6), snapshots=False)
    async with anyio.create_task_group() as tasks:
        for name in "ab":
            tasks.start_soon(house.run, ask, ADA, name)
        await anyio.sleep(1_000)
        assert not house.endings
        tasks.start_soon(house.run, ask, BO, "c")
        await anyio.sleep(1_000)
        assert not house.endings
        house.answer.set()
    assert {name: len(house.value(name)) for name in "abc"} == {"a": 3, "b": 3, "c": 3}


async def test_a_worker_that_would_come_back_to_the_same_caller_is_kept() -> None:
    patient = CodeSettings(programs=4, wait_seconds=1e6, wall_seconds=1e6)
    house = House(patient, snapshots=False)
    async with anyio.create_task_group() as tasks:
        for who, script in (
            (BO, hang),
            (BO, hang),
            (CY, hang),
            (ADA, ask),
            (ADA, quick),
            (BO, hang),
        ):
            tasks.start_soon(house.run, script, who)
            await anyio.sleep(1)
        await anyio.sleep(1_000)
        assert not house.endings
        tasks.cancel_scope.cancel()


async def test_of_several_that_could_be_broken_off_one_is_for_one_who_waits() -> None:
    house = House(CodeSettings(programs=3, wait_seconds=1e6), snapshots=False)
    async with anyio.create_task_group() as tasks:
        for who in (ADA, BO, CY):
            tasks.start_soon(house.run, ask, who, who.subject)
        await anyio.sleep(1_000)
        await house.run(quick, DI)
        await anyio.sleep(1_000)
        assert len(house.endings) == 2
        house.answer.set()
    assert sum(isinstance(it, Broken) for it in house.endings.values()) == 1


async def test_questions_count_together_and_not_while_nobody_is_asked() -> None:
    house = House(CodeSettings(programs=1, wait_seconds=1e6, wall_seconds=1e6), snapshots=False)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(house.run, ask_twice)
        await anyio.sleep(1)
        tasks.start_soon(house.run, quick, BO)
        await anyio.sleep(99)
        house.answer.set()
        await anyio.sleep(1)
        house.answer = anyio.Event()
        await anyio.sleep(215)
        assert not house.endings
        await anyio.sleep(10)
        assert house.endings
    assert house.broken("ask_twice").why == "question_seconds"
