"""What programs in Python do: calls, prints, sleeps, ends, and where they say it was."""

from typing import Any

import anyio
import pytest

from toolcrib.adapters.monty.running import MontyRunning
from toolcrib.errors import TooBusy
from toolcrib.ports import (
    Answer,
    Called,
    Failed,
    Finished,
    Place,
    Printed,
    Program,
    Raised,
    Returned,
    SandboxModule,
    Unawaited,
    Waits,
)
from toolcrib.testing.monty_rig import monty, program
from toolcrib.testing.program_host import run_in, to_the_end, until

BOTH_LOOPS = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


@BOTH_LOOPS
async def test_a_program_calls_and_returns_what_came_back() -> None:
    source = (
        "from github import create_issue\n"
        'issue = await create_issue(title="é", body="b")\n'
        'print("made", issue["number"])\n'
        "return [issue]"
    )
    async with monty() as sandbox:
        ran = await run_in(sandbox, program(source), lambda _: Returned({"number": 7}))
    [called] = ran.calls
    assert (called.module, called.function, called.args) == ("github", "create_issue", ())
    assert called.kwargs == {"title": "é", "body": "b"}
    assert called.place == Place(2, 15, 'issue = await create_issue(title="é", body="b")')
    assert ran.printed == "made 7\n"
    assert ran.value == [{"number": 7}]


@pytest.mark.parametrize(
    "source",
    [
        "return 3",
        "1 + 2",
        "import asyncio\nasync def main():\n    return 3\nreturn asyncio.run(main())",
        "import asyncio\nasync def main():\n    return 3\nasyncio.run(main())",
        "async def main():\n    return 3\nawait main()",
        "def main():\n    return 3\nif True:\n    return main()\nreturn 4",
    ],
)
@pytest.mark.parametrize("checked", [False, True])
async def test_a_program_may_return_from_wherever_it_is(source: str, *, checked: bool) -> None:
    async with monty() as sandbox:
        assert (await run_in(sandbox, program(source, checked=checked))).value == 3


async def test_gathered_calls_are_all_out_before_anything_comes_back() -> None:
    source = (
        "import asyncio\nfrom github import create_issue\n"
        "return await asyncio.gather(*[create_issue(title=str(i)) for i in range(5)])"
    )
    async with monty() as sandbox, sandbox.open(program(source)) as running:
        calls = [await until(running, Called) for _ in range(5)]
        waits = await running.next()
        assert isinstance(waits, Waits)
        assert sorted(waits.ids) == [called.id for called in calls]
        for called in reversed(calls):
            running.answer(called.id, Returned(called.kwargs["title"]))
        ran = await to_the_end(running)
    assert ran.value == ["0", "1", "2", "3", "4"]


async def test_an_answer_lets_its_task_go_on_while_others_wait() -> None:
    source = (
        "import asyncio\nfrom github import create_issue\n"
        "async def one(title):\n"
        "    await create_issue(title=title)\n"
        "    return await create_issue(title=title + title)\n"
        'return await asyncio.gather(one("a"), one("b"))'
    )
    async with monty() as sandbox, sandbox.open(program(source)) as running:
        first, second = await until(running, Called), await until(running, Called)
        await until(running, Waits)
        running.answer(second.id, Returned(1))
        third = await until(running, Called)
        assert third.kwargs == {"title": "bb"}
        assert set((await until(running, Waits)).ids) == {first.id, third.id}


async def test_an_answer_may_come_before_anybody_waits() -> None:
    source = "from github import create_issue\nreturn await create_issue(title='a')"
    async with monty() as sandbox, sandbox.open(program(source)) as running:
        called = await until(running, Called)
        running.answer(called.id, Returned(5))
        assert (await to_the_end(running)).value == 5


async def test_what_a_call_raises_can_be_caught_with_its_text() -> None:
    text = "ToolError[github.create_issue/tool_error]: it's “full” \\n { } \x00 ünïcode"
    source = (
        "from github import create_issue\n"
        "try:\n    await create_issue(title='a')\nexcept RuntimeError as e:\n    return str(e)"
    )
    async with monty() as sandbox:
        ran = await run_in(sandbox, program(source), lambda _: Raised(text))
    assert ran.value == text


async def test_what_nobody_catches_tells_its_line_and_functions() -> None:
    source = (
        "from github import create_issue\n"
        "async def inner(x):\n"
        "    return await create_issue(title=x)\n"
        "async def outer():\n"
        "    await inner('é')\n"
        "\n"
        "await outer()"
    )
    async with monty() as sandbox:
        ran = await run_in(sandbox, program(source), lambda _: Raised("no quota"))
    assert ran.failed.why == "raised"
    assert ran.failed.executed
    assert ran.failed.message == "RuntimeError: no quota"
    assert [(place.line, place.function) for place in ran.failed.trace] == [
        (7, ""),
        (5, "outer"),
        (3, "inner"),
    ]
    assert ran.failed.trace[-1].text == "    return await create_issue(title=x)"


async def test_half_a_character_in_an_answer_breaks_nothing() -> None:
    source = (
        "from github import create_issue\n"
        "try:\n    await create_issue(title='a')\nexcept Exception as e:\n    return 'caught'"
    )
    answers: list[Answer] = [Raised("half \ud800"), Returned("half \ud800"), Returned("whole")]
    async with monty() as sandbox:
        for answer in answers:
            ran = await run_in(sandbox, program(source), lambda _, a=answer: a)
            assert isinstance(ran.end, Finished) or ran.failed.why == "raised"


async def test_functions_of_a_module_that_run_inside_are_imported_like_others() -> None:
    source = (
        "import toolcrib as t\n"
        "from github import create_issue\n"
        "from toolcrib import try_call, gather_settled as together\n"
        "asyncio = call = None\n"  # what it replaces is its own
        "one = await try_call('gh', 'x')\n"
        "return [one, await together(t.call('gh', 'y'), create_issue(title='bad'))]"
    )

    def answer(called: Called) -> Answer:
        return Raised("bad") if called.module == "github" else Returned(called.args[1])

    async with monty() as sandbox:
        ran = await run_in(sandbox, program(source), answer)
    assert ran.value == [
        {"ok": True, "value": "x"},
        [{"ok": True, "value": "y"}, {"ok": False, "error": "bad"}],
    ]
    assert [called.module for called in ran.calls] == ["toolcrib", "toolcrib", "github"]
    assert ran.calls[1].place.line == 6


@pytest.mark.parametrize("module", ["toolcrib", "github", "nothing"])
async def test_a_name_that_a_module_does_not_have_is_an_import_error(module: str) -> None:
    async with monty() as sandbox:
        ran = await run_in(sandbox, program(f"\nfrom {module} import nothing_such"))
    assert ran.failed.message.startswith(("ImportError: ", "ModuleNotFoundError: "))
    assert ran.failed.trace[0].line == 2


async def test_sleeps_beside_each_other_overlap_and_calls_come_back_meanwhile() -> None:
    source = (
        "import asyncio, time\nfrom github import create_issue\n"
        "async def nap():\n    await asyncio.sleep(0.05)\n    return 'slept'\n"
        "time.sleep(0.01)\n"
        "return await asyncio.gather(nap(), nap(), create_issue(title='a'))"
    )
    async with monty() as sandbox, sandbox.open(program(source)) as running:
        called = await until(running, Called)
        running.answer(called.id, Returned("answered"))
        with anyio.fail_after(5):
            ran = await to_the_end(running)
    assert ran.value == ["slept", "slept", "answered"]


async def test_a_flood_of_text_is_cut_and_counted_and_ends_nothing() -> None:
    async with monty(print_bytes=1000) as sandbox:
        ran = await run_in(sandbox, program("for i in range(100): print('x' * 999)\nreturn 1"))
    assert ran.value == 1
    assert len(ran.printed) == 4000
    assert ran.dropped == 100 * 1000 - 4000


async def test_text_of_a_program_that_fails_is_told_as_well() -> None:
    async with monty() as sandbox:
        ran = await run_in(sandbox, program("print('before')\n1 / 0"))
    assert ran.printed == "before\n"
    assert ran.failed.message == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ("c", Unawaited(1)),
        ("[c]", [Unawaited(1)]),
        ("(1, c)", [1, Unawaited(1)]),
        ("{'a': {'b': [c]}}", {"a": {"b": [Unawaited(1)]}}),
        ("{'a': main()}", {"a": Unawaited(function="main")}),
        ("[asyncio.gather(main()), asyncio.sleep(1)]", None),
    ],
)
async def test_what_is_returned_instead_of_awaited_is_told_apart(value: str, seen: Any) -> None:
    source = (
        "import asyncio\nfrom github import create_issue\nasync def main():\n    pass\n"
        f"c = create_issue(title='a')\nreturn {value}"
    )
    async with monty() as sandbox:
        ran = await run_in(sandbox, program(source, checked=True))
    both = [Unawaited(function="asyncio.gather"), Unawaited(function="asyncio.sleep")]
    assert ran.value == (both if seen is None else seen)


async def test_a_text_that_looks_like_a_call_is_a_text() -> None:
    async with monty() as sandbox:
        ran = await run_in(sandbox, program("return '<coroutine external_future(1)>'"))
    assert ran.value == "<coroutine external_future(1)>"


async def test_clock_and_random_numbers_are_the_same_each_time_where_that_is_asked_for() -> None:
    source = (
        "import random, time\nfrom datetime import datetime\n"
        "return [time.time(), datetime.now().isoformat(), random.random(), random.randint(0, 9**9)]"
    )
    fixed = program(source, started_at=1_790_000_000.25, seed="s")
    async with monty() as sandbox:
        first = (await run_in(sandbox, fixed)).value
        second = (await run_in(sandbox, fixed)).value
        other = (await run_in(sandbox, program(source))).value
    assert first == second
    assert first != other
    assert isinstance(first, list)
    assert first[:2] == [1_790_000_000.25, "2026-09-21T14:13:20.250000"]


async def test_programs_run_beside_each_other_and_one_too_many_is_told_so() -> None:
    async with monty(programs=2, wait_seconds=0.01) as sandbox:
        source = program("from github import create_issue\nreturn await create_issue(title='a')")
        async with sandbox.open(source) as one, sandbox.open(source) as two:
            first, second = await until(one, Called), await until(two, Called)
            with pytest.raises(TooBusy, match=r"code\.programs"):
                async with sandbox.open(source):
                    pass
            one.answer(first.id, Returned(1))
            two.answer(second.id, Returned(2))
            assert (await to_the_end(one)).value == 1
            assert (await to_the_end(two)).value == 2
        async with sandbox.open(source):
            pass


async def test_nothing_runs_before_the_first_event_is_asked_for() -> None:
    async with monty() as sandbox, sandbox.open(program("print('x')")) as running:
        await anyio.sleep(0.02)
        assert isinstance(running, MontyRunning)
        assert not running._events  # pyright: ignore[reportPrivateUsage]
        assert await running.next() == Printed("x\n")
        assert isinstance(await running.next(), Finished)
        with pytest.raises(RuntimeError, match="ended"):
            await running.next()


async def test_a_name_that_nobody_defined_calls_nothing() -> None:
    async with monty() as sandbox:
        ran = await run_in(sandbox, program("nothing(1)"))
    assert ran.calls == []
    assert ran.failed == Failed(
        "raised", "NameError: name 'nothing' is not defined", (Place(1, 1, "nothing(1)"),)
    )


async def test_places_inside_of_a_module_are_not_told() -> None:
    module = SandboxModule("", frozenset(), "async def fail():\n    return 1 / 0\n")
    source = "import broken\n\nawait broken.fail()"
    async with monty() as sandbox:
        ran = await run_in(sandbox, Program(source, {"broken": module}, checked=False))
    assert ran.failed.message.startswith("ZeroDivisionError: ")
    assert ran.failed.trace == (Place(3, 1, "await broken.fail()"),)
