"""Programs in TypeScript through the gateway, in real Deno: calls, errors, budgets, helpers."""

import json
from typing import Any

import anyio
import pytest

from toolcrib.facts import ProgramCalled, ProgramEnded
from toolcrib.settings import CodeSettings, FlowRule
from toolcrib.testing.coded_server import (
    CodedServer,
    CodingHost,
    coded,
    structured,
    text_of,
    texts,
    value_of,
)
from toolcrib.testing.scripted import tool

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
NO_QUOTA = "no quota\nfor `you` <b> [1]"


def typescript(**others: Any) -> CodeSettings:
    """The settings of a gateway that takes TypeScript first."""
    return CodeSettings(languages=("typescript", "python"), **others)


async def no_quota(_: dict[str, Any]) -> dict[str, Any]:
    return texts(NO_QUOTA, failed=True)


STRUCTURED: dict[str, Any] = {
    "content": [],
    "structuredContent": {"why": "é", "n": -0.0},
    "resultType": "complete",
}
FAILURES: list[tuple[dict[str, Any], str]] = [
    (texts(NO_QUOTA, failed=True), NO_QUOTA),
    (texts("", failed=True), ""),
    (texts("a", "b", failed=True), "a\nb"),
    (texts("1", failed=True), "1"),
    ({**STRUCTURED, "isError": True}, '{"why": "é", "n": -0.0}'),
    ({"content": [], "isError": True, "resultType": "complete"}, "the tool failed and did not say"),
]
"""What a tool answers, and what a program is told of it."""


def shop() -> CodedServer:
    return CodedServer({"boom": no_quota}, tool("echo", x=STRING), tool("add", n=INTEGER))


# ---- calls ----


async def test_a_program_gets_what_direct_calls_get() -> None:
    server = shop()
    code = (
        'import { call } from "toolcrib";\nimport { echo, add } from "shop";\n'
        'const one = await echo({ x: "é" });\n'
        "const rest = await Promise.all([...Array(5).keys()].map((n) => add({ n })));\n"
        'return [one, rest.map((each) => each.n), await call("shop", "echo")];'
    )
    async with coded({"shop": server}, code=typescript()) as (host, gateway):
        direct = await gateway.call("shop__echo", x="é")
        assert await host.value(code) == [direct["structuredContent"], [0, 1, 2, 3, 4], {}]
        through = server.calls[1:]
        assert through[0] == server.calls[0]
        assert server.called == ["echo", "echo", *["add"] * 5, "echo"]
        (ended,) = gateway.recorder.of(ProgramEnded)
        assert (ended.why, ended.calls) == ("finished", 7)
        lines = {it.outcome for it in gateway.recorder.of(ProgramCalled)}
        assert lines == {"returned"}


async def test_the_language_is_the_first_configured_one_or_what_is_asked_for() -> None:
    async with coded({"shop": shop()}, code=typescript()) as (host, _):
        assert await host.value("const x: number = 3;\nreturn x;") == 3
        for language, code in (
            ("typescript", "import { echo } from 'shop';\nreturn await echo({ x: 'a' });"),
            ("python", "from shop import echo\nreturn await echo(x='a')"),
        ):
            assert value_of(await host.tool("run_code", code=code, language=language)) == {"x": "a"}
        unknown = text_of(await host.tool("run_code", code="1", language="ruby"))
        assert "it may be typescript, python" in unknown


async def test_where_typescript_is_not_configured_it_is_not_run() -> None:
    async with coded({"shop": shop()}) as (host, _):
        said = text_of(await host.tool("run_code", code="return 1;", language="typescript"))
        assert "language is" in said
        assert "it may be python" in said


async def test_calls_that_are_gathered_are_under_way_together() -> None:
    arrived, all_there = 0, anyio.Event()

    async def meet(arguments: dict[str, Any]) -> dict[str, Any]:
        nonlocal arrived
        arrived += 1
        if arrived == 6:
            all_there.set()
        with anyio.fail_after(5):
            await all_there.wait()
        return structured(arguments)

    code = (
        "import { meet } from 's';\n"
        "return await Promise.all([1, 2, 3, 4, 5, 6].map((n) => meet({ n })));"
    )
    server = CodedServer({"meet": meet})
    async with coded({"s": server}, code=typescript(in_flight=6)) as (host, _):
        assert await host.value(code) == [{"n": n} for n in range(1, 7)]


LONG = 10**4_300 - 1
"""The largest integer that Python reads and writes."""
VALUES: list[tuple[dict[str, Any], Any]] = [
    (texts('{"id": 1915883588174806058}'), {"id": 1915883588174806058}),
    (structured({"id": 1915883588174806058}), {"id": 1915883588174806058}),
    (texts("123456789012345678901234567890"), 123456789012345678901234567890),
    (texts("-0.5"), -0.5),
    (texts("-0.0"), -0.0),
    (structured({"a": [-0.0, 0, 1e-7, 1e300]}), {"a": [-0.0, 0, 1e-7, 1e300]}),
    (texts(str(-LONG)), -LONG),
    (structured({"n": LONG}), {"n": LONG}),
    (texts("1e999"), "1e999"),
    (structured([1, True, {"__proto__": 1, "": None}]), [1, True, {"__proto__": 1, "": None}]),
    (texts('{"a": NaN}'), '{"a": NaN}'),
    (texts("two", "texts"), ["two", "texts"]),
    (texts("null"), None),
    (texts(""), ""),
    (texts("line\u2028 \u2029 \x00 ${a} `b`"), "line\u2028 \u2029 \x00 ${a} `b`"),
    (structured({"a": "x\ud800y"}), {"a": "x\ufffdy"}),
    ({"content": [], "resultType": "complete"}, None),
]


async def test_values_arrive_exactly_and_go_out_again_unchanged() -> None:
    async def give(arguments: dict[str, Any]) -> dict[str, Any]:
        result, _ = VALUES[int(arguments["n"])]
        return result

    code = (
        "import { give, take } from 's';\nconst found = [];\n"
        f"for (let n = 0; n < {len(VALUES)}; n++) found.push(await give({{ n }}));\n"
        "for (const each of found) await take({ found: each });\nreturn found.length;"
    )
    server = CodedServer({"give": give}, tool("take"))
    async with coded({"s": server}, code=typescript()) as (host, _):
        assert await host.value(code) == len(VALUES)
        sent = [params["arguments"] for _, params in server.calls[len(VALUES) :]]
        assert json.dumps(sent) == json.dumps([{"found": seen} for _, seen in VALUES])


async def test_a_large_integer_is_no_number_and_is_reckoned_with_as_what_it_is() -> None:
    async def give(_: dict[str, Any]) -> dict[str, Any]:
        return structured({"id": 2**53 + 1})

    server = CodedServer({"give": give}, tool("take", id=INTEGER))
    code = "import { give, take } from 's';\nconst { id } = await give();\n"
    async with coded({"s": server}, code=typescript()) as (host, _):
        assert await host.value(f"{code}return await take({{ id: id + 1n }});") == {"id": 2**53 + 2}
        assert await host.value(f"{code}return Number(id) + 1;") == 2**53
        assert "TypeError: Cannot mix BigInt" in await host.failure(f"{code}return id + 1;")


NOT_JSON = {
    "NaN": "nan",
    "1 / 0": "inf",
    "Math.log(0)": "-inf",
    "new Number(NaN)": "nan",
    "new Date('never')": "nan",
    "Float64Array.of(1, NaN)[1]": "nan",
}


@pytest.mark.parametrize("written", NOT_JSON)
async def test_a_number_that_json_has_not_is_named_and_never_sent(written: str) -> None:
    server = shop()
    said = f"is {NOT_JSON[written]}, which JSON has not"
    code = f"import {{ call }} from 'toolcrib';\nawait call('shop', 'echo', {{ x: [{written}] }});"
    async with coded({"shop": server}, code=typescript()) as (host, _):
        assert f"x[0] {said}" in await host.failure(code)
        code = f"import {{ echo }} from 'shop';\nawait echo({{ y: {{ z: {written} }} }});"
        failed = await host.failure(code)
        assert "Error: toolcrib.bad_arguments: " in failed
        assert f"y.z {said}" in failed
        assert server.calls == []
        code = f"import {{ add }} from 'shop';\nawait add({{ n: 1 }});\nreturn {{ a: {written} }};"
        told = text_of(await host.run(code))
        assert said in told
        assert json.loads(told.partition("\n")[0]) == {"a": None}


@pytest.mark.parametrize("digits", [4_301, 20_000])
async def test_an_integer_that_no_reader_takes_is_told_and_never_sent(digits: int) -> None:
    server = shop()
    long = f"-(10n ** {digits - 1}n)"
    async with coded({"shop": server}, code=typescript()) as (host, _):
        code = f"import {{ call }} from 'toolcrib';\nawait call('shop', 'echo', {{ x: {long} }});"
        assert "x is a BigInt, which JSON has not" in await host.failure(code)
        assert server.calls == []
        told = text_of(await host.run(f"return [{long}];"))
        assert "-1" + "0" * (digits - 1) in told


async def test_a_tool_called_then_makes_no_promise_of_the_module_of_its_server() -> None:
    server = CodedServer({}, tool("then", n=INTEGER), tool("take", x=INTEGER))
    async with coded({"s": server}, code=typescript()) as (host, gateway):
        code = "import { take } from 's';\nreturn await take({ x: 1 }).then((it) => it.x);"
        assert await host.value(code) == 1
        assert await host.value("const s = await import('s');\nreturn await s.take({ x: 2 });") == {
            "x": 2
        }
        told = text_of(await gateway.call("get_tool_details", names=["s__then"]))
        assert "in programs s.then_)" in told
        assert await host.value("import * as s from 's';\nreturn await s.then_({ n: 3 });") == {
            "n": 3
        }


async def test_names_that_no_identifier_holds_are_called_and_sent_as_they_are() -> None:
    odd = ["look-up", "3d", "查-x", "c d", "delete", "default"]
    properties = {"from": STRING, "x-Y": STRING, "class": STRING, "城": STRING, "__proto__": STRING}
    asked = {
        "name": "ask",
        "inputSchema": {"type": "object", "properties": properties, "required": ["from"]},
    }
    server = CodedServer({}, *(tool(name) for name in odd), asked)
    sent = {"from": "a", "x-Y": "d", "class": "b", "城": "e", "__proto__": "f"}
    async with coded({"my-server": server}, code=typescript()) as (host, gateway):
        shown = [each["name"] for each in (await gateway.ask("tools/list"))["tools"]]
        assert not any("look" in name for name in shown)
        found = text_of(await gateway.call("search_tools", query="look-up 3d delete default c d"))
        assert "(module my_server)" in found
        code = (
            'import { ask } from "my_server";\nimport * as all from "my_server";\n'
            "return await ask(JSON.parse(" + json.dumps(json.dumps(sent)) + "));"
        )
        assert await host.value(code) == sent
        raw = 'import { call } from "toolcrib";\nreturn await call("my-server", NAME, {});'
        for name in odd:
            await host.value(raw.replace("NAME", json.dumps(name)))
        assert server.called == ["ask", *odd]


@pytest.mark.parametrize(
    ("name", "spoken"),
    [("look-up", "look_up"), ("delete", "delete_"), ("default", "default_"), ("get.it", "get_it")],
)
async def test_a_tool_whose_name_is_no_identifier_is_imported_by_the_name_that_is_shown(
    name: str, spoken: str
) -> None:
    server = CodedServer({}, tool(name, x=STRING))
    code = f'import {{ {spoken} }} from "s";\nreturn await {spoken}({{ x: "a" }});'
    async with coded({"s": server}, code=typescript()) as (host, gateway):
        assert f"in programs {spoken}" in text_of(await gateway.call("search_tools", query=name))
        assert await host.value(code) == {"x": "a"}
        assert server.called == [name]


# ---- what stops a call, and a program ----


async def test_the_text_of_a_failing_tool_arrives_unaltered_and_the_program_goes_on() -> None:
    code = (
        "import { boom, echo } from 'shop';\nconst r: unknown[] = [];\n"
        "try {\n  await boom();\n} catch (e) {\n  r.push(e.message, e instanceof Error);\n}\n"
        "r.push(await echo({ x: 'ok' }));\nreturn r;"
    )
    async with coded({"shop": shop()}, code=typescript()) as (host, _):
        assert await host.value(code) == [NO_QUOTA, True, {"x": "ok"}]
        failed = await host.failure("import { boom } from 'shop';\n\nawait boom();")
        assert failed.startswith("Error: no quota\n    for `you` <b> [1]")
        assert "line 3: await boom();" in failed
        assert "1. `shop` `boom` (line 3) raised: no quota" in failed


async def test_every_failure_can_be_caught_and_the_next_call_is_made() -> None:
    async def fail(arguments: dict[str, Any]) -> dict[str, Any]:
        result, _ = FAILURES[int(arguments["n"])]
        return result

    code = (
        "import { fail, take } from 's';\nconst said: string[] = [];\n"
        f"for (let n = 0; n < {len(FAILURES)}; n++) {{\n"
        "  try {\n    await fail({ n });\n  } catch (e) {\n    said.push(e.message);\n  }\n}\n"
        "return [said, await take({ x: 1 })];"
    )
    server = CodedServer({"fail": fail}, tool("take"))
    async with coded({"s": server}, code=typescript()) as (host, _):
        said, took = await host.value(code)
        assert took == {"x": 1}
        assert server.called == ["fail"] * len(FAILURES) + ["take"]
        for (_, told), heard in zip(FAILURES, said, strict=True):
            assert heard.startswith(told)
            assert len(heard) <= len(told) + 10


async def test_what_stopped_a_call_is_told_in_the_program() -> None:
    code = (
        "import { tryCall, call } from 'toolcrib';\nimport { echo } from 'shop';\n"
        "const tried = [echo({ x: 1 }), call('shop', 'ecko'), call('shopp', 'echo'),"
        " (echo as any)('a'), (echo as any)({ x: 'a' }, 2), call('shop', 'echo', [1])];\n"
        "return await Promise.all(tried.map(async (each) => (await tryCall(each)).error));"
    )
    server = shop()
    async with coded({"shop": server}, code=typescript()) as (host, _):
        said = await host.value(code)
        starts = ["bad_arguments", "tool_gone", "tool_gone", *["bad_arguments"] * 3]
        assert [it.partition(":")[0] for it in said] == [f"toolcrib.{it}" for it in starts]
        assert "`x`" in said[0]
        assert "did you mean `echo`" in said[1]
        assert "did you mean `shop`" in said[2]
        assert server.calls == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import { echoo } from 'shop';", "shop has no function echoo"),
        ("let y: number = ;\nlet z = 1;", "SyntaxError: Expression expected\n  line 3: let y"),
        ("import { echo } from 'shopp';", 'there is no module "shopp"'),
        ("import fs from 'node:fs';", 'there is no module "node:fs"'),
        ("let x = ;", "SyntaxError"),
        ("/*" + "x" * 70_000 + "*/", "code.source_bytes"),
    ],
)
async def test_what_cannot_run_is_told_and_nothing_is_executed(code: str, said: str) -> None:
    server = shop()
    source = f"import {{ add }} from 'shop';\nawait add({{ n: 1 }});\n{code}"
    async with coded({"shop": server}, code=typescript()) as (host, _):
        failed = await host.failure(source)
        assert said in failed
        assert failed.endswith("Nothing was executed.")
        assert server.calls == []


async def test_a_tool_that_has_just_come_is_there_for_a_program() -> None:
    server = CodedServer({}, tool("old"))
    async with coded({"s": server}, code=typescript()) as (host, _):
        assert await host.value("import * as s from 's'; return await s.old();") == {}
        server.latency = 1.2
        server.change([tool("old", x=INTEGER), tool("fresh")])
        code = "import { fresh, old } from 's';\nawait fresh();\nreturn await old({ x: 1 });"
        assert await host.value(code) == {"x": 1}


# ---- budgets and limits ----


async def test_budgets_are_told_in_the_program_and_it_may_go_on() -> None:
    async def large(arguments: dict[str, Any]) -> dict[str, Any]:
        return structured({"a": {"b": {"c": {"d": 1}}}} if arguments else {"a": "x" * 1_000})

    code = (
        "import { tryCall } from 'toolcrib';\nimport { large } from 's';\nconst said = [];\n"
        "for (const a of [{}, { x: 1 }, { x: 2 }, {}])\n"
        "  said.push((await tryCall(large(a))).error);\n"
        "return said;"
    )
    server = CodedServer({"large": large})
    settings = typescript(calls=3, answer_bytes=1_000, answer_depth=3)
    async with coded({"s": server}, code=settings) as (host, _):
        first, second, _, last = await host.value(code)
        assert "code.answer_bytes allows 1,000; the tool ran" in first
        assert "code.answer_depth allows (3); the tool ran" in second
        assert last == "toolcrib.limit_exceeded: a program may make 3 calls (code.calls)"
        assert len(server.calls) == 3


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("while (true) {}", "code.turn_seconds"),
        ("const x = []; while (true) x.push(new Array(1e5).fill(x.length));", "code."),
        ("await new Promise((r) => setTimeout(r, 9e4));", "code.sleep_seconds"),
        ("const f = (): number => f() + 1;\nf();", "Maximum call stack"),
        ("import { slow } from 's';\nawait slow();", "code.wall_seconds"),
        ("return [1n, Symbol.iterator, { get a() { throw new Error('mine'); } }];", "mine"),
        ("null.x", "TypeError"),
        ("import * as s from 's';\nreturn [s.echo()];", "await"),
    ],
    ids=["turn", "memory", "sleep", "depth", "wall", "getter", "type", "await"],
)
async def test_what_ends_a_program_is_named_and_the_next_one_runs(code: str, said: str) -> None:
    async def slow(_: dict[str, Any]) -> dict[str, Any]:
        await anyio.sleep_forever()
        return {}

    bounds = typescript(turn_seconds=0.5, wall_seconds=4, resident_bytes=160 * 1024 * 1024)
    server = CodedServer({"slow": slow}, tool("echo"))
    async with coded({"s": server}, code=bounds) as (host, _):
        assert said in await host.failure(code)
        assert await host.value("return 2;") == 2


async def test_what_one_server_said_goes_to_another_only_as_the_rules_say() -> None:
    a, b = CodedServer({"boom": no_quota}, tool("read")), CodedServer({}, tool("write"))
    code = (
        "import { tryCall } from 'toolcrib';\nimport { read } from 'a';\n"
        "import { write } from 'b';\n"
        "await write({ n: 1 });\nawait read();\nreturn (await tryCall(write({ n: 2 }))).error;"
    )
    settings = typescript(flows=(FlowRule("a", "b", "deny"),))
    async with coded({"a": a, "b": b}, code=settings) as (host, _):
        said = await host.value(code)
        assert said.startswith("toolcrib.not_allowed: what `a` answered may not go into calls")
        assert len(b.calls) == 1


# ---- the module toolcrib ----


async def test_the_helpers_call_settle_and_keep_to_their_limit() -> None:
    under_way = most = 0

    async def work(arguments: dict[str, Any]) -> dict[str, Any]:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await anyio.sleep(0.01)
        under_way -= 1
        if arguments["n"] == 3:
            return texts("three", failed=True)
        return structured(arguments)

    code = (
        "import { call, tryCall, gatherSettled, mapLimit } from 'toolcrib';\n"
        "const one = (n: number) => call('s', 'work', { n });\n"
        "const many = await mapLimit(one, [4, 5, 6, 7, 8, 9], 2);\n"
        "return { many: many.map((it) => it.n), one: await tryCall(one(3)),\n"
        "  both: await gatherSettled(one(1), one(3)) };"
    )
    async with coded({"s": CodedServer({"work": work})}, code=typescript()) as (host, _):
        failed = {"ok": False, "value": None, "error": "three"}
        assert await host.value(code) == {
            "many": [4, 5, 6, 7, 8, 9],
            "one": failed,
            "both": [{"ok": True, "value": {"n": 1}, "error": ""}, failed],
        }
        assert most == 2


# ---- its end ----


async def test_what_it_prints_and_returns_is_told_and_large_values_are_kept_whole() -> None:
    code = (
        "console.log('hi', { a: 1 });\nreturn [...Array(5000).keys()].map((n) => ({ n, é: 'é' }));"
    )
    async with coded({}, code=typescript(result_bytes=2_000)) as (host, gateway):
        line, told, *printed = text_of(await host.run(code)).split("\n")
        assert json.loads(line)[0] == {"n": 0, "é": "é"}
        assert "code.result_bytes" in told
        assert printed == ["[toolcrib: printed]", "hi { a: 1 }"]
        handle = told[told.index("toolcrib://") : -2]
        contents = (await gateway.ask("resources/read", {"uri": handle}))["contents"]
        assert contents[0]["text"].startswith('[{"n":0,"é":"é"},{"n":1')


async def test_several_programs_run_apart_and_a_cancelled_one_leaves_nothing() -> None:
    entered, forgotten = anyio.Event(), anyio.Event()

    async def slow(_: dict[str, Any]) -> dict[str, Any]:
        entered.set()
        try:
            await anyio.sleep_forever()
        finally:
            forgotten.set()
        return {}

    server = CodedServer({"slow": slow}, tool("echo"))
    async with coded({"s": server}, code=typescript(programs=2)) as (host, gateway):
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(host.run, "import { slow } from 's';\nawait slow();")
                await entered.wait()
                code = "globalThis.x = (globalThis.x ?? 0) + 1;\nreturn globalThis.x;"
                assert [await host.value(code) for _ in range(2)] == [1, 1]
                tasks.cancel_scope.cancel()
            assert forgotten.is_set()
        assert await CodingHost(gateway).value("return 1;") == 1
