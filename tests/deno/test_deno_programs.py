"""What programs in TypeScript do: import, call, print, sleep, end, and where they say it was."""

import json
import math
from collections.abc import AsyncGenerator
from typing import Any, cast

import anyio
import pytest

from toolcrib.adapters.deno.command import RUNNER
from toolcrib.adapters.deno.frames import BigInt
from toolcrib.adapters.deno.sandbox import DenoSandbox
from toolcrib.errors import SnapshotRefused, TooBusy
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
from toolcrib.testing.deno_rig import MODULES, deno, program
from toolcrib.testing.program_host import run_in, to_the_end, until

IMPORTS = 'import { create_issue } from "github";\n'


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for all of them, and so one sandbox."""
    return "asyncio"


@pytest.fixture(scope="module")
async def sandbox() -> AsyncGenerator[DenoSandbox]:
    async with deno() as sandbox:
        yield sandbox


async def test_a_program_calls_and_returns_what_came_back(sandbox: DenoSandbox) -> None:
    source = (
        f"{IMPORTS}"
        'const issue = await create_issue({ title: "é", body: "b" });\n'
        'console.log("made", issue.number);\n'
        "return [issue];"
    )
    ran = await run_in(sandbox, program(source), lambda _: Returned({"number": 7}))
    [called] = ran.calls
    assert (called.id, called.module, called.function) == (1, "github", "create_issue")
    assert called.args == ({"title": "é", "body": "b"},)
    assert called.kwargs == {}
    line = 'const issue = await create_issue({ title: "é", body: "b" });'
    assert called.place == Place(2, 21, line)
    assert ran.printed == "made 7\n"
    assert ran.value == [{"number": 7}]


VALUES = {
    "return 3;": 3,
    "if (true) { return 3; }\nreturn 4;": 3,
    "1 + 2": 3,
    "const x: number = 3;": 3,
    "let a = 1\nlet b = a + 2": 3,
    "await Promise.resolve(3)": 3,
    "async function main() { return 3; }\nmain()": 3,
    "async function main(): Promise<number> {\n  return 3;\n}\nawait main();": 3,
    "export default 3;": 3,
    "export default async () => 3;": 3,
    "export default async function main() { return 3; }": 3,
    "const x = 3;\nexport { x as default };": 3,
    "enum E { A = 3 }\nreturn E.A;": 3,
    "interface A { b: number }\ntype C = A;\nconst a: C = { b: 3 };\nreturn a.b;": 3,
    "export const a = 3;\nexport type B = string;\nreturn a;": 3,
    "const f = (x: number) => {\n  return x;\n}\nf(3)": 3,
    "const a = 2 +\n  1": 3,
    "const a = [3]\n  .map((x) => x)\nreturn a[0]": 3,
    "for (const x of [3]) { if (x) { return x; } }": 3,
    "let n = 0;\nwhile (n < 3)\n  n++\nreturn n": 3,
    "const { a } = { a: 3 } as { a: number };\na": 3,
    "const r = /[/'`{]/;\nconst t = `a${`}` + '{'}b`;\nreturn r.test('{') ? 3 : t;": 3,
    "const n = 6; const g = 1;\nreturn n / 2 / g; // '": 3,
    "x: for (;;) { break x; }\nreturn 3": 3,
    "const m = new Map([['a', 3]]); return { m, s: new Set([1]) };": {"m": {"a": 3}, "s": [1]},
    "return [undefined, null, () => 1];": [None] * 3,
    "return [1 / 0, -1 / 0, 10n ** 4299n];": [math.inf, -math.inf, 10**4299],
    "": None,
    "// nothing": None,
    "console.log('a')": None,
    "return () => 1;": None,
    "return 'import x from \"y\"; export default 5; return'": (
        'import x from "y"; export default 5; return'
    ),
}


@pytest.mark.parametrize("source", VALUES, ids=[f"value{at}" for at in range(len(VALUES))])
async def test_a_program_may_give_its_value_in_any_of_these_ways(
    source: str, sandbox: DenoSandbox
) -> None:
    assert (await run_in(sandbox, program(source))).value == VALUES[source]


IMPORTED = [
    """import { create_issue } from "github";
return await create_issue({ title: "a" });""",
    """import {create_issue} from 'github'
return await create_issue({ title: 'a' })""",
    """import {
  create_issue as make, // a comment, with a comma
  type Issue,
} from "github";
const i: Issue = await make({ title: "a" });
return i;""",
    """import * as github from "github";
return await github.create_issue({ title: "a" });""",
    """import github from "github";
return await github.create_issue({ title: "a" });""",
    """import type { Issue } from "github";
import { Issue as I, create_issue } from "github";
const i: Issue & I = await create_issue({ title: "a" });
return i;""",
    """const { create_issue } = await import("github");
return await create_issue({ title: "a" });""",
    """import "github";
import { call } from "toolcrib";
return await call("github", "create-issue", { title: "a" });""",
    """main();
async function main() { return await make({ title: "a" }); }
import { create_issue as make } from "github";
return main();""",
]


@pytest.mark.parametrize("source", IMPORTED, ids=[f"import{at}" for at in range(len(IMPORTED))])
async def test_modules_are_imported_in_every_way(source: str, sandbox: DenoSandbox) -> None:
    ran = await run_in(sandbox, program(source), lambda _: Returned({"number": 7}))
    assert ran.value == {"number": 7}


@pytest.mark.parametrize(
    ("source", "why", "words", "line"),
    [
        ("\nimport fs from 'node:fs';", "unsupported", "import github, toolcrib", 2),
        ('import { nothing } from "github";', "types", "has no function nothing", 1),
        ("const a = 1;\nconst a = 2;", "syntax", "", 0),
        ("let x = 1;\nlet y = ;\n", "syntax", "SyntaxError: Expression expected", 2),
        ("let x = 1;\nconst y;\nlet z;", "syntax", "SyntaxError: Missing initializer", 2),
        ("let x = 1;\nx = {\n  y: 1\n\n", "syntax", "SyntaxError: Expected '}'", 3),
        ("\nimport { a } from 'empty';", "types", "no function a; nor any other that it names", 2),
        ("return 1;\n}", "syntax", "closes nothing", 2),
        ("import { a.b } from 'github';", "syntax", "no name", 1),
    ],
)
async def test_what_cannot_run_is_told_before_anything_ran(
    source: str, why: str, words: str, line: int, sandbox: DenoSandbox
) -> None:
    modules = {**MODULES, "empty": SandboxModule("", frozenset())}
    script = Program(f"console.log('ran');\n{source}", modules)
    failed = (await run_in(sandbox, script)).failed
    assert (failed.why, failed.executed) == (why, False)
    assert words in failed.message
    assert "blob:" not in failed.message
    assert " |" not in failed.message
    assert failed.message.count("SyntaxError") == (why == "syntax")
    if line:
        assert failed.trace[0].line == line + 1


async def test_gathered_calls_are_all_out_before_anything_comes_back(sandbox: DenoSandbox) -> None:
    source = (
        f"{IMPORTS}return await Promise.all([0, 1, 2, 3, 4].map((i) => create_issue({{ i }})));"
    )
    async with sandbox.open(program(source)) as running:
        calls = [await until(running, Called) for _ in range(5)]
        waits = await running.next()
        assert waits == Waits(tuple(called.id for called in calls)) == Waits((1, 2, 3, 4, 5))
        for called in reversed(calls):
            running.answer(called.id, Returned(called.args[0]["i"]))
        ran = await to_the_end(running)
    assert ran.value == [0, 1, 2, 3, 4]


async def test_an_answer_lets_its_promise_go_on_while_others_wait(sandbox: DenoSandbox) -> None:
    source = (
        f"{IMPORTS}const one = async (t: string) => {{\n"
        "  await create_issue({ title: t });\n  return await create_issue({ title: t + t });\n};\n"
        'return await Promise.all([one("a"), one("b")]);'
    )
    async with sandbox.open(program(source)) as running:
        first, second = await until(running, Called), await until(running, Called)
        await until(running, Waits)
        running.answer(second.id, Returned(1))
        third = await until(running, Called)
        assert third.args == ({"title": "bb"},)
        assert third.place.line == 4
        assert set((await until(running, Waits)).ids) == {first.id, third.id}


async def test_a_script_that_awaits_nothing_is_done_when_its_work_is(sandbox: DenoSandbox) -> None:
    source = (
        f"{IMPORTS}async function main() {{\n  await new Promise((r) => setTimeout(r, 5));\n"
        "  console.log(await create_issue({ title: 'a' }));\n}\nmain();\n[1].push(2);"
    )
    ran = await run_in(sandbox, program(source))
    assert ran.printed == "{ number: 1 }\n"
    assert ran.value == 2


async def test_a_return_waits_for_nothing(sandbox: DenoSandbox) -> None:
    source = f"{IMPORTS}create_issue({{}});\nsetTimeout(() => {{}}, 60_000);\nreturn 1;"
    assert (await run_in(sandbox, program(source), lambda _: None)).value == 1


async def test_a_raised_answer_has_the_line_of_its_call(sandbox: DenoSandbox) -> None:
    source = f"{IMPORTS}\nconst f = async () => {{\n  await create_issue({{}});\n}};\nawait f();"
    ran = await run_in(sandbox, program(source), lambda _: Raised("no quota: ü\nline 2"))
    failed = ran.failed
    assert (failed.why, failed.message) == ("raised", "Error: no quota: ü\nline 2")
    assert failed.trace[-1] == Place(4, 9, "  await create_issue({});", "f")
    assert failed.trace[0].line == 6


async def test_a_program_catches_what_a_call_raised(sandbox: DenoSandbox) -> None:
    source = (
        f"{IMPORTS}try {{\n  await create_issue({{}});\n}} catch (e) {{\n"
        "  return [e.message, e instanceof Error, String(e)];\n}"
    )
    ran = await run_in(sandbox, program(source), lambda _: Raised("no"))
    assert ran.value == ["no", True, "Error: no"]


async def test_an_error_that_nobody_awaits_ends_the_program(sandbox: DenoSandbox) -> None:
    source = f"{IMPORTS}create_issue({{}});\nawait new Promise((r) => setTimeout(r, 5));"
    ran = await run_in(sandbox, program(source), lambda _: Raised("unheard"))
    # The call is answered while a timer waits only once that has run.
    assert ran.failed.message == "Error: unheard"
    assert ran.failed.trace[0].line == 2


async def test_an_error_that_is_awaited_late_is_caught(sandbox: DenoSandbox) -> None:
    source = (
        f"{IMPORTS}const a = create_issue({{}});\nconst b = create_issue({{}});\nawait b;\n"
        "try { await a; } catch (e) { return e.message; }"
    )

    def answering(called: Called) -> Answer:
        return Raised("early") if called.id == 1 else Returned(1)

    assert (await run_in(sandbox, program(source), answering)).value == "early"


@pytest.mark.parametrize(
    ("thrown", "message"),
    [
        ("new TypeError('a')", "TypeError: a"),
        ("'text'", 'Error: "text"'),
        ("{ a: 1 }", "Error: { a: 1 }"),
        ("null", "Error: null"),
    ],
)
async def test_whatever_is_thrown_is_told_with_its_line(
    thrown: str, message: str, sandbox: DenoSandbox
) -> None:
    failed = (await run_in(sandbox, program(f"\n\nthrow {thrown};"))).failed
    assert failed.message == message
    if "new" in thrown:
        assert failed.trace == (Place(3, 7, f"throw {thrown};"),)


async def test_the_column_of_a_last_expression_is_its_own(sandbox: DenoSandbox) -> None:
    failed = (await run_in(sandbox, program("const a: any = null\na.b.c"))).failed
    assert failed.trace == (Place(2, 3, "a.b.c"),)


async def test_what_the_console_is_given_is_printed_as_it_would_be(sandbox: DenoSandbox) -> None:
    source = (
        "console.log('a %s %d %j %%', 'b', 1.5, { c: 1 }, 'd');\n"
        "console.error([1, { a: 'b' }], new Map([[1, 2]]));\nconsole.group('g');\n"
        "console.info('in\\ner');\nconsole.groupEnd();\nconsole.assert(false, 'x');\n"
        "console.count();\nconsole.count();\nconsole.table([1]);\nconsole.time('a');"
    )
    ran = await run_in(sandbox, program(source))
    assert ran.printed == (
        'a b 1.5 {"c":1} % d\n[ 1, { a: "b" } ] Map(1) { 1 => 2 }\ng\n  in\n  er\n'
        "Assertion failed x\ndefault: 1\ndefault: 2\n[ 1 ]\n"
    )


async def test_numbers_that_no_double_holds_come_and_go_digit_by_digit(
    sandbox: DenoSandbox,
) -> None:
    source = f"{IMPORTS}const a = await create_issue({{}});\nreturn [a, typeof a.id, typeof a.n];"
    big = {"id": 9007199254740993, "n": 1234567890123456, "s": "9007199254740993", "f": 0.1}
    ran = await run_in(sandbox, program(source), lambda _: Returned(big))
    assert ran.value == [big, "bigint", "number"]


async def test_nothing_that_a_number_can_be_is_lost_on_its_way_out(sandbox: DenoSandbox) -> None:
    source = f"{IMPORTS}const it = [-0, NaN, 10n ** 4300n];\nawait create_issue(it);\nreturn it;"
    ran = await run_in(sandbox, program(source))
    for zero, nan, long in (ran.calls[0].args[0], cast("list[Any]", ran.value)):
        assert json.dumps(zero) == "-0.0"
        assert math.isnan(nan)
        assert (str(long), type(long)) == ("1" + "0" * 4300, BigInt)


async def test_names_of_keys_are_kept_whatever_they_are(sandbox: DenoSandbox) -> None:
    source = f"{IMPORTS}return await create_issue(await create_issue({{}}));"
    odd: dict[str, object] = {
        "__proto__": 1,
        "constructor": [],
        "toJSON": "x",
        "": None,
        "\ud800": "\udfff\u2028",
    }
    ran = await run_in(sandbox, program(source), lambda _: Returned(odd))
    assert ran.calls[1].args == (odd,)
    assert ran.value == odd


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ("create_issue({})", 1),
        ("[create_issue({})]", [Unawaited(1)]),
        ("{ a: [create_issue({})] }", {"a": [Unawaited(1)]}),
        ("{ a: (async () => 1)() }", {"a": Unawaited()}),
    ],
)
async def test_a_value_that_holds_a_call_is_awaited_or_told_apart(
    value: str, seen: Any, sandbox: DenoSandbox
) -> None:
    ran = await run_in(sandbox, program(f"{IMPORTS}return {value};"), lambda _: Returned(1))
    assert ran.value == seen


async def test_the_helpers_of_toolcrib_run_inside(sandbox: DenoSandbox) -> None:
    source = (
        'import { call, tryCall, gatherSettled, mapLimit } from "toolcrib";\n'
        'const tried = await tryCall(call("a", "b"));\n'
        'const both = await gatherSettled(call("a", "c"), call("a", "bad"));\n'
        'const many = await mapLimit((x) => call("a", "d", { x }), [1, 2, 3], 2);\n'
        "return [tried.value, both.map((each) => each.ok), both[1].error, many];"
    )

    def answering(called: Called) -> Answer:
        return Raised("bad") if called.args[1] == "bad" else Returned(called.args[-1])

    ran = await run_in(sandbox, program(source), answering)
    assert ran.value == ["b", [True, False], "bad", [{"x": 1}, {"x": 2}, {"x": 3}]]
    assert [called.place.line for called in ran.calls[:3]] == [2, 3, 3]
    assert {called.function for called in ran.calls} == {"call"}


async def test_helpers_whose_names_begin_with_a_line_cannot_be_imported(
    sandbox: DenoSandbox,
) -> None:
    module = SandboxModule(
        "", frozenset({"call"}), "export function _in() {}\nexport function out() { return 3; }"
    )
    good = Program("import { out } from 'm'; return out();", {"m": module})
    assert (await run_in(sandbox, good)).value == 3
    bad = Program("import { _in } from 'm'; return _in();", {"m": module})
    assert (await run_in(sandbox, bad)).failed.why == "types"


UNSURE = (
    "const t = Temporal.Now.instant().toString();\nconst id = crypto.randomUUID();\n"
    "const f = new Intl.DateTimeFormat('en').format();\n"
    "await new Promise((r) => setTimeout(r, 2));\n"
    "return [Date.now(), new Date().toISOString(), Date(), t, id, f, performance.now(), "
    "Math.random(), Math.random(), [...crypto.getRandomValues(new Uint8Array(4))], "
    "new (new Date().constructor)().getTime(), new Date(2020, 1).getTime()];"
)


async def values(sandbox: DenoSandbox, **others: Any) -> list[Any]:
    value: Any = (await run_in(sandbox, program(UNSURE, **others))).value
    return value


async def test_the_same_start_and_seed_give_the_same_steps(sandbox: DenoSandbox) -> None:
    one = await values(sandbox, started_at=1.5e9, seed="run-1")
    two = await values(sandbox, started_at=1.5e9, seed="run-1")
    other = await values(sandbox, started_at=1.6e9, seed="run-2")
    assert one == two
    assert one[0] == 1_500_000_000_000
    assert one[3] == "2017-07-14T02:40:00Z"
    differing = [a != b for a, b in zip(one, other, strict=True)]
    assert differing == [True] * 6 + [False] + [True] * 4 + [False]


async def test_without_a_seed_chance_is_chance_and_the_clock_goes(sandbox: DenoSandbox) -> None:
    one, two = [await values(sandbox) for _ in range(2)]
    assert one[4] != two[4]
    assert one[7] != two[7]
    assert one[0] > 1.7e12


async def test_programs_run_beside_each_other_up_to_their_number() -> None:
    source = f"{IMPORTS}return await create_issue({{}});"
    async with deno(programs=2, wait_seconds=0.05) as sandbox:
        async with sandbox.open(program(source)) as one, sandbox.open(program(source)) as two:
            calls = [await until(running, Called) for running in (one, two)]
            with pytest.raises(TooBusy, match=r"code\.programs"):
                async with sandbox.open(program(source)):
                    pass
            for running, called in zip((two, one), calls, strict=True):
                running.answer(called.id, Returned(3))
                assert (await to_the_end(running)).value == 3
        assert (await run_in(sandbox, program("return 4;"))).value == 4


async def test_nothing_of_a_program_runs_before_its_first_event_is_wanted(
    sandbox: DenoSandbox,
) -> None:
    async with sandbox.open(program("console.log('a');")) as running:
        with pytest.raises(RuntimeError):
            await running.snapshot()
        assert isinstance(await running.next(), Printed)
        assert isinstance(await running.next(), Finished)
        with pytest.raises(RuntimeError):
            await running.next()


async def test_there_are_no_snapshots_and_it_says_so(sandbox: DenoSandbox) -> None:
    abilities = await sandbox.abilities()
    assert (abilities.language, abilities.snapshots) == ("typescript", False)
    assert abilities.version.startswith("deno 2.9.")
    assert abilities.jail.startswith("bubblewrap ")
    with pytest.raises(SnapshotRefused):
        async with sandbox.open(program("return 1;"), snapshot=b"x"):
            pass


async def test_answers_to_nothing_and_twice_are_not_heard(sandbox: DenoSandbox) -> None:
    source = f"{IMPORTS}return await create_issue({{}});"
    async with sandbox.open(program(source)) as running:
        running.answer(1, Returned("early"))
        running.answer(99, Returned("nobody"))
        await until(running, Waits)
        running.answer(1, Returned(float("nan")))
        running.answer(1, Returned("second"))
        with anyio.fail_after(5):
            ran = await to_the_end(running)
    assert isinstance(ran.end, Failed)
    assert ran.end.message == "Error: the answer is no JSON"


async def test_traces_name_no_path_of_this_machine(sandbox: DenoSandbox) -> None:
    source = (
        "const f = () => new Error('a').stack;\n"
        "return [f(), await import('x').catch((e) => e.stack)];"
    )
    ran = await run_in(sandbox, program(source))
    assert "/runner/main.js" in str(ran.value)
    assert str(RUNNER.parent) not in str(ran.value)
    assert "site-packages" not in str(ran.value)
