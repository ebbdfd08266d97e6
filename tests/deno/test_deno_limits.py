"""The limits of programs in TypeScript: each ends the program and names its setting."""

import pytest

from toolcrib.ports import Returned
from toolcrib.testing.deno_rig import deno, program
from toolcrib.testing.program_host import run_in

MIB = 1024 * 1024
SLEEP = "await new Promise((r) => setTimeout(r, {}));\n"
IMPORTS = 'import { create_issue } from "github";\n'


@pytest.mark.parametrize(
    ("settings", "source", "why", "named"),
    [
        ({"turn_seconds": 0.2}, "for (;;);", "interpreter_seconds", "code.turn_seconds: 0.2"),
        (
            {"interpreter_seconds": 0.3},
            "for (;;);",
            "interpreter_seconds",
            "code.interpreter_seconds: 0.3",
        ),
        ({"sleep_seconds": 0.2}, SLEEP.format(9e9), "sleep_seconds", "code.sleep_seconds: 0.2"),
        ({"sleep_seconds": 0.2}, SLEEP.format(40) * 9, "sleep_seconds", "code.sleep_seconds: 0.2"),
        (
            {"memory_bytes": 32 * MIB},
            "const a = []; for (;;) a.push({ a: [a.length] });",
            "memory",
            f"code.memory_bytes: {32 * MIB}",
        ),
        (
            {"resident_bytes": 150 * MIB},
            "const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1));",
            "memory",
            f"code.resident_bytes: {150 * MIB}",
        ),
        ({}, "const f = () => f() + 1;\nf();", "depth", "call stack"),
        ({"answer_bytes": 100}, "return 'x'.repeat(101);", "raised", "code.answer_bytes"),
        (
            {"answer_bytes": 100},
            f"{IMPORTS}await create_issue({{ a: 'x'.repeat(101) }});",
            "raised",
            "code.answer_bytes",
        ),
        (
            {"calls": 2},
            f"{IMPORTS}for (;;) await create_issue({{}});",
            "suspensions",
            "code.calls: 2",
        ),
    ],
    ids=[f"limit{at}" for at in range(10)],
)
async def test_a_limit_ends_the_program_and_is_named(
    settings: dict[str, float], source: str, why: str, named: str
) -> None:
    async with deno(**settings) as sandbox:
        failed = (await run_in(sandbox, program(source))).failed
    assert failed.why == why, failed
    assert named in failed.message


async def test_a_sleep_that_is_too_long_has_its_line() -> None:
    async with deno(sleep_seconds=0.1) as sandbox:
        failed = (await run_in(sandbox, program(f"\n{SLEEP.format(5000)}"))).failed
    assert failed.message.startswith("TimeoutError: ")
    assert failed.trace[-1].line == 2


async def test_waiting_for_a_call_is_no_sleep_and_no_computing() -> None:
    source = f"{IMPORTS}const t = setTimeout(() => {{}}, 9e9);\nclearTimeout(t);\n" + (
        "await create_issue({});\n" * 5
    )
    async with deno(sleep_seconds=0.05, turn_seconds=0.2) as sandbox:
        ran = await run_in(sandbox, program(source + "return 1;"))
    assert ran.value == 1


async def test_a_turn_begins_anew_with_each_answer() -> None:
    busy = "for (const end = Date.now() + 150; Date.now() < end;);\nawait create_issue({});\n"
    async with deno(turn_seconds=0.5) as sandbox:
        ran = await run_in(sandbox, program(IMPORTS + busy * 9 + "return 1;"))
    assert ran.value == 1


async def test_too_much_printed_text_is_counted_and_ends_nothing() -> None:
    source = "for (let i = 0; i < 1000; i++) console.log('x'.repeat(99));\nreturn 1;"
    async with deno(print_bytes=1000) as sandbox:
        ran = await run_in(sandbox, program(source))
    assert ran.value == 1
    assert len(ran.printed) == 4000
    assert len(ran.printed) + ran.dropped == 100_000


async def test_a_large_answer_goes_in_and_comes_out() -> None:
    large = {"rows": ["ü" * 1000] * 3000}
    source = f"{IMPORTS}const a = await create_issue({{}});\nreturn a.rows.length;"
    async with deno() as sandbox:
        ran = await run_in(sandbox, program(source), lambda _: Returned(large))
    assert ran.value == 3000
