"""Workers are shared by caller: no flood, and no two who work together, keep a third one out."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
import pytest

from toolcrib.calls.call import Requester, ToolCall
from toolcrib.codemode.program_run import Done
from toolcrib.codemode.turns import Turns
from toolcrib.core.partition import LOCAL, Principal
from toolcrib.errors import TooBusy
from toolcrib.settings import CodeSettings, Language
from toolcrib.testing.program_rig import ProgramRig, text_result
from toolcrib.testing.scripted_sandbox import World

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]

ADA, BO, CY, DI = (Principal("issuer", who) for who in ("ada", "bo", "cy", "di"))
PATIENT = CodeSettings(wait_seconds=1e6, queued=1_000)


async def for_ever(_: ToolCall) -> dict[str, Any]:
    await anyio.sleep_forever()
    raise AssertionError


async def work(world: World) -> object:
    return await world.call("s", "work")


async def hang(world: World) -> object:
    return await world.call("s", "hang")


async def nothing(_: World) -> object:
    return "nothing"


@dataclass(eq=False)
class House:
    """Callers and their programs, and what became of these, in order."""

    settings: CodeSettings = PATIENT
    ended: list[str] = field(default_factory=list[str])
    begun: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """Whose call, and how many programs had ended before it."""
    refused: list[TooBusy] = field(default_factory=list[TooBusy])
    rig: ProgramRig = field(init=False)

    def __post_init__(self) -> None:
        self.rig = ProgramRig({"s.work": self._ten_seconds, "s.hang": for_ever}, self.settings)

    async def _ten_seconds(self, call: ToolCall) -> dict[str, Any]:
        self.begun.append((call.requester.principal.subject, len(self.ended)))
        await anyio.sleep(10 + len(self.begun) / 1_000)  # so that no two end at once
        return text_result("done")

    async def run(self, who: Principal, script: Callable[..., Any] = work) -> None:
        try:
            ending = await self.rig.run(script, requester=Requester(who))
        except TooBusy as busy:
            self.refused.append(busy)
        else:
            assert isinstance(ending, Done)
            self.ended.append(who.subject)


@pytest.mark.parametrize("programs", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("flood", [10, 100])
async def test_whoever_comes_after_a_flood_waits_for_so_many_programs_as_there_are_callers(
    programs: int, flood: int
) -> None:
    house = House(CodeSettings(programs=programs, wait_seconds=1e6, queued=1_000))
    waited: list[int] = []

    async def one_after_the_other(who: Principal) -> None:
        for _ in range(5):
            before = len(house.ended)
            await house.run(who)
            [*_, begun] = [ended for name, ended in house.begun if name == who.subject]
            waited.append(begun - before)

    async with anyio.create_task_group() as tasks:
        for _ in range(flood):
            tasks.start_soon(house.run, ADA)
        await anyio.wait_all_tasks_blocked()
        for who in (BO, CY):
            tasks.start_soon(one_after_the_other, who)
    assert len(house.ended) == flood + 10
    assert max(waited) <= 3


async def test_two_who_work_together_cannot_keep_a_third_one_out() -> None:
    house = House()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for who in (ADA, BO):
                for _ in range(50):
                    tasks.start_soon(house.run, who, hang)
                await anyio.wait_all_tasks_blocked()
            assert len(house.rig.calls) == 3
            for _ in range(3):
                await house.run(CY, nothing)
            tasks.cancel_scope.cancel()
    assert house.ended == ["cy"] * 3


async def test_where_all_workers_are_taken_the_next_one_goes_to_who_has_none() -> None:
    house = House()
    async with anyio.create_task_group() as tasks:
        for who in (ADA, BO, CY):
            for _ in range(50):
                tasks.start_soon(house.run, who)
            await anyio.wait_all_tasks_blocked()
        assert len(house.rig.calls) == 4
        await house.run(DI)
        assert len(house.ended) <= 8
        tasks.cancel_scope.cancel()


async def test_who_runs_the_process_has_all_workers_alone_and_shares_them_with_others() -> None:
    house = House()
    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(house.run, LOCAL)
        await anyio.wait_all_tasks_blocked()
        assert len(house.rig.calls) == 4
        tasks.start_soon(house.run, ADA)
        await anyio.sleep(11)
        assert [call.requester.principal for call in house.rig.calls[4:]] == [ADA, LOCAL, LOCAL]
    assert sorted(house.ended) == ["ada", *["local"] * 6]


async def test_one_caller_with_many_clients_and_rights_is_one_caller() -> None:
    turns = Turns(PATIENT)
    clients = [
        Principal("issuer", "ada", client=f"c{n}", audience=f"a{n}", scopes=(f"s{n}",))
        for n in range(3)
    ]
    async with AsyncExitStack() as stack:
        for client in clients[:2]:
            await stack.enter_async_context(turns.turn(client, "python"))
        with anyio.move_on_after(100) as waiting:
            await stack.enter_async_context(turns.turn(clients[2], "python"))
        assert waiting.cancelled_caught
        for other in (Principal("another", "ada"), Principal("issuer", "ada", tenant="t")):
            await stack.enter_async_context(turns.turn(other, "python"))


async def test_each_runtime_has_its_own_workers() -> None:
    turns = Turns(CodeSettings(programs=1))
    async with turns.turn(ADA, "python"), turns.turn(ADA, "typescript"):
        for language in ("python", "typescript"):
            with pytest.raises(TooBusy):
                await take(turns, language)


async def take(turns: Turns, language: Language, who: Principal = ADA) -> None:
    async with turns.turn(who, language):
        pass


async def test_what_is_refused_names_its_setting_and_what_to_do() -> None:
    house = House(CodeSettings(programs=3, queued=5, wait_seconds=30))
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(house.run, ADA, hang)
        await anyio.wait_all_tasks_blocked()
        assert [str(busy) for busy in house.refused] == [
            "5 of your programs wait for a worker already, as many as code.queued allows"
        ] * 13
        await house.run(BO, nothing)  # it is another's flood
        await anyio.sleep(31)
        told = (
            "no worker became free for this program within 30 s (code.wait_seconds); 2 of your "
            "programs run already, of 3 that may run at a time (code.programs)"
        )
        assert [str(busy) for busy in house.refused[13:]] == [told] * 5
        tasks.cancel_scope.cancel()
    at_once, late = house.refused[0].remedy or "", house.refused[-1].remedy or ""
    assert "code.queued" in at_once
    assert "code.wait_seconds" in late


@pytest.mark.parametrize("ends_first", [False, True])
async def test_a_program_that_is_cancelled_while_it_waits_takes_no_place_with_it(
    ends_first: bool,  # noqa: FBT001 - pytest hands it over
) -> None:
    turns = Turns(CodeSettings(programs=1, wait_seconds=1e6))
    for _ in range(10):
        async with anyio.create_task_group() as tasks:
            async with turns.turn(ADA, "python"):
                tasks.start_soon(partial(take, turns, "python", BO))
                await anyio.wait_all_tasks_blocked()
                if not ends_first:
                    tasks.cancel_scope.cancel()
            tasks.cancel_scope.cancel()  # the place has been given to it by now
    with anyio.fail_after(1):
        await take(turns, "python")


async def test_a_program_that_fails_gives_its_place_back() -> None:
    turns = Turns(CodeSettings(programs=1, wait_seconds=1))
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            async with turns.turn(ADA, "python"):
                raise ZeroDivisionError
