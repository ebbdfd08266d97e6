"""Each limit ends a program, by its name, and the sandbox goes on."""

from typing import Any

import anyio
import pytest

from toolcrib.ports import Called, FailedWhy, Returned
from toolcrib.testing.monty_rig import monty, program
from toolcrib.testing.program_host import run_in, to_the_end, until

CASES: list[tuple[dict[str, Any], str, FailedWhy, str]] = [
    ({"turn_seconds": 0.1}, "while True: pass", "interpreter_seconds", "code.turn_seconds: 0.1"),
    (
        {"interpreter_seconds": 0.1},
        (
            "from github import create_issue\nwhile True:\n    await create_issue(title='a')\n"
            "    for i in range(100000): pass"
        ),
        "interpreter_seconds",
        "code.interpreter_seconds: 0.1",
    ),
    ({"memory_bytes": 8_000_000}, "x = 'a' * 10**9", "memory", "code.memory_bytes: 8000000"),
    ({"memory_bytes": 8_000_000}, "x = []\nwhile True: x.append('a' * 99)", "memory", "8000000"),
    ({"sleep_seconds": 0.02}, "import time\ntime.sleep(0.03)", "sleep_seconds", "sleep_seconds"),
    (
        {"sleep_seconds": 0.05},
        "import asyncio\nwhile True: await asyncio.sleep(0.02)",
        "sleep_seconds",
        "code.sleep_seconds: 0.05",
    ),
    (
        {"calls": 3},
        "from github import create_issue\nwhile True: await create_issue(title='a')",
        "suspensions",
        "code.calls: 3",
    ),
    ({}, "def f(): return f()\nf()", "depth", "RecursionError"),
]


@pytest.mark.parametrize(
    ("limits", "source", "why", "named"), CASES, ids=[str(i) for i in range(len(CASES))]
)
async def test_a_limit_ends_the_program_and_names_itself(
    limits: dict[str, Any], source: str, why: FailedWhy, named: str
) -> None:
    async with monty(**limits) as sandbox:
        ran = await run_in(sandbox, program(source))
        assert (await run_in(sandbox, program("return 1"))).value == 1
    assert ran.failed.why == why
    assert named in ran.failed.message
    assert ran.failed.executed


@pytest.mark.parametrize("caught", ["except Exception:", "except BaseException:", "finally:"])
async def test_a_program_cannot_catch_the_end_of_its_time(caught: str) -> None:
    source = f"try:\n    while True: pass\n{caught}\n    x = 1\nreturn 'went on'"
    async with monty(turn_seconds=0.1) as sandbox:
        ran = await run_in(sandbox, program(source))
    assert ran.failed.why == "interpreter_seconds"


@pytest.mark.parametrize(
    "raised", ["TimeoutError('turn time limit exceeded')", "NotImplementedError('x')"]
)
async def test_a_program_that_looks_as_if_it_reached_a_limit_did_not(raised: str) -> None:
    async with monty() as sandbox:
        ran = await run_in(sandbox, program(f"raise {raised}"))
    assert ran.failed.why == "raised"
    assert ran.failed.executed


async def test_a_deep_trace_is_told_from_both_ends() -> None:
    source = "def f(n):\n    return f(n - 1) if n else 1 / 0\nf(200)"
    async with monty() as sandbox:
        ran = await run_in(sandbox, program(source))
    assert len(ran.failed.trace) == 20
    assert ran.failed.trace[0].line == 3
    assert ran.failed.trace[-1].function == "f"


async def test_a_call_waits_longer_than_the_program_may_compute() -> None:
    """Time outside is not the interpreter's: the broker has a clock of its own for that."""
    source = program("from github import create_issue\nreturn await create_issue(title='a')")
    async with (
        monty(interpreter_seconds=0.1, turn_seconds=0.1) as sandbox,
        sandbox.open(source) as running,
    ):
        called = await until(running, Called)
        await anyio.sleep(0.3)
        running.answer(called.id, Returned(1))
        assert (await to_the_end(running)).value == 1
