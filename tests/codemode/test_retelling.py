"""What is kept for a program that may have to be told everything again: bounded, and let go."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.calls.call import Retry, ToolCall
from toolcrib.calls.results.encoding import encode
from toolcrib.codemode.journal import Row
from toolcrib.codemode.program_run import Aside, Broken, Done
from toolcrib.codemode.retelling import Retelling
from toolcrib.ports import Answer, Raised, Returned
from toolcrib.settings import ApprovalRule, ApprovalSettings, CodeSettings
from toolcrib.testing.coded_server import CodedServer, coded, structured
from toolcrib.testing.program_rig import ProgramRig, asking_result, text_result
from toolcrib.testing.scripted import tool
from toolcrib.testing.scripted_sandbox import World

MOST = 1_000


async def large(call: ToolCall) -> dict[str, Any]:
    return {"content": [], "structuredContent": "x" * call.arguments["size"]}


async def fails(call: ToolCall) -> dict[str, Any]:
    return text_result("x" * call.arguments["size"], failed=True)


async def echo(call: ToolCall) -> dict[str, Any]:
    return {"content": [], "structuredContent": call.arguments["text"]}


async def quiet(call: ToolCall) -> dict[str, Any]:
    del call
    return {"content": []}


async def person_first(call: ToolCall) -> dict[str, Any]:
    return asking_result() if call.retry is None else {"content": []}


TOOLS = {
    "a.large": large,
    "a.fails": fails,
    "a.quiet": quiet,
    "a.echo": echo,
    "b.ask": person_first,
}


def rig(most: int = MOST, *, snapshots: bool = False) -> ProgramRig:
    return ProgramRig(TOOLS, CodeSettings(replayed_bytes=most), snapshots)


def calling(name: str, times: int, **arguments: Any) -> Any:
    """A program that makes the same call some times, and then one that asks a person."""

    async def script(world: World) -> object:
        lengths: list[int] = []
        for _ in range(times):
            try:
                lengths.append(len(str(await world.call("a", name, **arguments))))
            except RuntimeError as error:
                lengths.append(len(str(error)))
        await world.call("b", "ask")
        return lengths

    return script


CALLS: dict[str, dict[str, Any]] = {
    "large": {"size": 400},
    "fails": {"size": 400},
    "quiet": {"text": "x" * 400},
    "echo": {"text": "x" * 200},
}


@pytest.mark.anyio
@pytest.mark.virtual_time
@pytest.mark.parametrize("name", CALLS)
async def test_what_is_within_the_bound_is_told_again(name: str) -> None:
    here, script = rig(), calling(name, 2, **CALLS[name])
    aside = await here.run(script)
    assert isinstance(aside, Aside)
    done = await here.run(script, before=aside.progress, retries={3: Retry("state")})
    assert isinstance(done, Done), done
    assert len(here.calls) == 4


@pytest.mark.anyio
@pytest.mark.virtual_time
@pytest.mark.parametrize("name", CALLS)
async def test_what_is_beyond_the_bound_cannot_wait_and_the_error_names_it(name: str) -> None:
    """Arguments and errors count as results do."""
    here = rig()
    broken = await here.run(calling(name, 3, **CALLS[name]))
    assert isinstance(broken, Broken)
    assert broken.why == "not_kept"
    assert broken.message == (
        "a person has to be asked, and the program cannot wait: its calls and what they brought "
        "have more bytes than code.replayed_bytes allows (1,000)"
    )
    outcomes = [row.outcome for row in broken.progress.rows]
    assert outcomes[-1] == "stopped"
    assert set(outcomes[:-1]) <= {"returned", "raised"}
    assert {(row.answer is None, len(row.arguments)) for row in broken.progress.rows} == {(True, 0)}


@pytest.mark.anyio
@pytest.mark.virtual_time
async def test_a_program_that_needs_no_person_is_not_bounded_by_it() -> None:
    async def script(world: World) -> object:
        return [len(await world.call("a", "large", size=400)) for _ in range(9)]

    done = await rig().run(script)
    assert isinstance(done, Done)
    assert done.value == [400] * 9
    assert [row.answer for row in done.progress.rows] == [None] * 9


@pytest.mark.anyio
@pytest.mark.virtual_time
async def test_a_runtime_that_can_put_programs_aside_is_not_bounded_by_it() -> None:
    here = rig(snapshots=True)
    assert isinstance(await here.run(calling("large", 5, size=400)), Aside)


@pytest.mark.anyio
@pytest.mark.virtual_time
async def test_what_was_told_before_counts_when_it_goes_on() -> None:
    async def script(world: World) -> object:
        for _ in range(2):
            await world.call("a", "large", size=400)
        await world.call("b", "ask", n=1)
        await world.call("a", "large", size=400)
        return await world.call("b", "ask", n=2)

    here = rig()
    aside = await here.run(script)
    assert isinstance(aside, Aside)
    broken = await here.run(script, before=aside.progress, retries={3: Retry("state")})
    assert isinstance(broken, Broken)
    assert "code.replayed_bytes" in broken.message
    assert len(here.calls) == 6


@pytest.mark.anyio
@pytest.mark.virtual_time
async def test_a_bound_that_was_made_smaller_lets_nothing_go_that_is_still_to_be_told() -> None:
    script = calling("large", 2, size=400)
    aside = await rig().run(script)
    assert isinstance(aside, Aside)
    small = rig(100)
    done = await small.run(script, before=aside.progress, retries={3: Retry("state")})
    assert isinstance(done, Done)
    assert done.value == [400, 400]
    assert [call.key for call in small.calls] == ["ask"]


ANSWERS = st.one_of(
    st.text("ab", max_size=40).map(Raised), st.text("ab", max_size=40).map(Returned)
)


@given(st.lists(st.tuples(st.text("xy", max_size=30), ANSWERS), max_size=12), st.integers(0, 200))
def test_either_everything_is_kept_or_nothing_and_never_more_than_allowed(
    calls: list[tuple[str, Answer]], most: int
) -> None:
    rows = [Row(number, "a", "t", {"x": text}) for number, (text, _) in enumerate(calls, 1)]
    kept = Retelling((), most)
    held = 0
    for row, (_, told) in zip(rows, calls, strict=True):
        if isinstance(told, Returned):
            row.size = len(encode(told.value))
        held += len(encode(row.arguments))
        held += len(told.message) if isinstance(told, Raised) else row.size
        kept.keep(row, told)
        assert bool(kept.lost) == (held > most)
        there = rows[: row.number]
        if kept.lost:
            held = most + 1  # for good
            assert [(each.answer, each.arguments) for each in there] == [(None, {})] * len(there)
        else:
            assert [each.answer for each in there] == [told for _, told in calls[: len(there)]]


async def test_a_typescript_program_is_told_that_it_cannot_wait_and_what_it_had_called() -> None:
    async def give(_: dict[str, Any]) -> dict[str, Any]:
        return structured({"text": "x" * 900})

    server = CodedServer({"give": give}, tool("wipe"))
    code = 'import { give, wipe } from "s";\nawait give();\nawait give();\nawait wipe();'
    settings = CodeSettings(languages=("typescript",), replayed_bytes=1_500)
    rules = ApprovalSettings((ApprovalRule("ask", tools=("wipe",)),))
    async with coded({"s": server}, code=settings, approval=rules) as (host, _):
        assert await host.failure(code) == (
            "a person has to be asked, and the program cannot wait: its calls and what they "
            "brought have more bytes than code.replayed_bytes allows (1,500)\n"
            "It had made 3 calls; they are not undone:\n"
            "1. `s` `give` (line 2) returned\n"
            "2. `s` `give` (line 3) returned\n"
            "3. `s` `wipe` (line 4) stopped: its question was not answered"
        )
    assert server.called == ["give", "give"]
