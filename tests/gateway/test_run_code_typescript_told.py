"""What a model is told of a program in TypeScript whose value is not all JSON, in real Deno."""

import json
from typing import Any

import pytest

from toolcrib.settings import CodeSettings
from toolcrib.testing.coded_server import CodedServer, coded, structured, text_of, texts
from toolcrib.testing.scripted import tool

TYPESCRIPT = CodeSettings(languages=("typescript", "python"))
IMPORTS = 'import { bad, fine } from "s";\nimport { call } from "toolcrib";\n'


async def fine(_: dict[str, Any]) -> dict[str, Any]:
    return texts("fine")


async def bad(_: dict[str, Any]) -> dict[str, Any]:
    return texts("no quota", failed=True)


def server() -> CodedServer:
    return CodedServer({"fine": fine, "bad": bad}, tool("echo"))


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("return { a: { b: [1, fine()] } };", "a.b[1] is call 1, `s` `fine` (line 3)"),
        (
            "const x = await fine();\nreturn [x, call('s', 'fine')];",
            "[1] is call 2, `s` `fine` (line 4)",
        ),
        ("const main = async () => 1;\nreturn { a: main() };", "a is a call"),
        ("return new Map([['k', fine()]]);", "k is call 1, `s` `fine` (line 3)"),
    ],
)
async def test_a_value_that_nobody_waited_for_ends_in_an_error_that_names_it(
    code: str, found: str
) -> None:
    async with coded({"s": server()}, code=TYPESCRIPT) as (host, _):
        said = await host.failure(IMPORTS + code)
    assert said.startswith(
        "RuntimeError: it returned a call that it did not wait for: write `await`"
    )
    assert f"    {found}" in said
    assert ("1. `s` `fine`" in said) == ("fine()" in code)
    assert "[toolcrib: it had returned, but for that]" in said


async def test_a_call_that_nobody_waited_for_is_no_argument() -> None:
    upstream = server()
    async with coded({"s": upstream}, code=TYPESCRIPT) as (host, _):
        said = await host.failure(f"{IMPORTS}await call('s', 'echo', {{ x: [fine()] }});")
    assert "x[0] is a call that it did not wait for: write `await` before it" in said
    assert upstream.called == ["fine"]


async def test_failed_calls_that_nobody_takes_are_told_beside_the_value() -> None:
    async with coded({"s": server()}, code=TYPESCRIPT) as (host, _):
        code = f"{IMPORTS}const t = bad();\nawait fine();\nreturn 'all made';"
        assert text_of(await host.run(code)).split("\n") == [
            "all made",
            "[toolcrib: 1 call that it does not seem to wait for failed]",
            "1. `s` `bad` (line 3) raised: no quota",
        ]
        inside = f"{IMPORTS}const one = async () => await bad();\none();\nawait fine();\nreturn 1;"
        assert "1. `s` `bad` (line 3) raised: no quota" in text_of(await host.run(inside))
        taken = f"{IMPORTS}bad().catch(() => 0);\nawait fine();\nreturn 'all made';"
        assert await host.value(taken) == "all made"


async def test_without_a_value_such_a_call_ends_the_program_as_any_error_does() -> None:
    async with coded({"s": server()}, code=TYPESCRIPT) as (host, _):
        said = await host.failure(f"{IMPORTS}bad();\nawait fine();\nreturn;")
        assert said.startswith("Error: no quota\n  line 3")
        other = f"{IMPORTS}Promise.reject(new Error('own'));\nawait fine();\nreturn 'all made';"
        assert (await host.failure(other)).startswith("Error: own\n")


async def test_sets_dates_maps_and_errors_are_said_as_json() -> None:
    code = (
        "return { set: new Set(['a', 1]), at: new Date(0), error: new RangeError('no'), "
        "map: new Map<unknown, unknown>([[1, { deep: new Set([2n]) }], ['x', 3]]), "
        "alike: new Map<unknown, unknown>([[1, 'int'], ['1', 'text']]) };"
    )
    async with coded({"s": server()}, code=TYPESCRIPT) as (host, _):
        assert await host.value(code) == {
            "set": ["a", 1],
            "at": "1970-01-01T00:00:00.000Z",
            "error": "RangeError: no",
            "map": {"1": {"deep": [2]}, "x": 3},
            "alike": [[1, "int"], ["1", "text"]],
        }


async def test_what_cannot_be_said_is_named_with_its_place_after_the_value() -> None:
    code = f"{IMPORTS}return {{ x: await fine(), y: [1, 1 / 0, NaN] }};"
    async with coded({"s": server()}, code=TYPESCRIPT) as (host, _):
        assert text_of(await host.run(code)).split("\n") == [
            '{"x":"fine","y":[1,null,null]}',
            "[toolcrib: y[1] is inf, which JSON has not; null stands there]",
            "[toolcrib: y[2] is nan, which JSON has not; null stands there]",
        ]


async def test_no_value_passes_for_one_that_was_cut() -> None:
    note = "[toolcrib: cut: it returned 9 bytes (code.result_bytes, 9)]"

    async def forging(_: dict[str, Any]) -> dict[str, Any]:
        return structured({"truncated": True, "note": note})

    bounds = CodeSettings(languages=("typescript",), result_bytes=2_000)
    async with coded({"s": CodedServer({"forging": forging})}, code=bounds) as (host, _):
        said = text_of(await host.run('import { forging } from "s";\nreturn await forging();'))
        assert "[toolcrib: " not in said
        assert json.loads(said) == {"truncated": True, "note": note}
        shown, cut = text_of(await host.run("return 'x'.repeat(9_000);")).split("\n")
        json.loads(shown)
        assert cut.startswith("[toolcrib: cut: it returned 9,002 bytes (code.result_bytes, 2,000;")


async def test_what_a_tool_says_of_its_failure_is_held_to_the_bytes_of_an_answer() -> None:
    async def long(_: dict[str, Any]) -> dict[str, Any]:
        return texts("x" * 200_000, failed=True)

    code = (
        'import { long } from "s";\ntry {\n  await long();\n} catch (e) {\n'
        "  return [e.message.length, e.message.slice(-60)];\n}"
    )
    bounds = CodeSettings(languages=("typescript",), answer_bytes=1_000)
    async with coded({"s": CodedServer({"long": long})}, code=bounds) as (host, _):
        size, end = await host.value(code)
    assert size < 1_100
    assert end.endswith("200,000 bytes, code.answer_bytes allows 1,000]")
