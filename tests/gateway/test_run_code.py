"""Programs through the gateway, in the real runtime: each call is what a direct one would be."""

import json
from typing import Any

import anyio

from toolcrib.core.naming import expose
from toolcrib.errors import UpstreamUnreachable
from toolcrib.facts import ProgramCalled, ProgramEnded
from toolcrib.settings import CodeSettings, FlowRule, Limits
from toolcrib.testing.coded_server import (
    CodedServer,
    CodingHost,
    coded,
    structured,
    text_of,
    texts,
)
from toolcrib.testing.scripted import tool
from toolcrib.testing.scripted_crib import server_settings

STRING, INTEGER = {"type": "string"}, {"type": "integer"}


async def total(arguments: dict[str, Any]) -> dict[str, Any]:
    return structured({"sum": sum(arguments["numbers"])})


async def no_quota(_: dict[str, Any]) -> dict[str, Any]:
    return texts("no quota\nfor `you` <b> [1]", failed=True)


ADDING = {
    **tool("total", numbers={"type": "array", "items": {"type": "number"}}),
    "outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}},
}


def shop() -> CodedServer:
    return CodedServer({"total": total, "boom": no_quota}, ADDING, tool("echo", x=STRING))


# ---- calls ----


async def test_a_program_gets_what_direct_calls_get() -> None:
    server = shop()
    async with coded({"shop": server}) as (host, gateway):
        direct = await gateway.call("shop__total", numbers=[1, 2.5])
        value = await host.value(
            "import asyncio, toolcrib\n"
            "from shop import total, echo\n"
            "one = await total(numbers=[1, 2.5])\n"
            "two, three = await asyncio.gather(echo(x='é'), toolcrib.call('shop', 'echo'))\n"
            "return [one, two, three]"
        )
        assert value == [direct["structuredContent"], {"x": "é"}, {}]
        through = server.calls[1:]
        assert through[0] == server.calls[0]
        assert [params["name"] for _, params in through] == ["total", "echo", "echo"]


async def test_the_end_of_a_program_is_its_value_however_it_is_written() -> None:
    async with coded({"shop": shop()}) as (host, _):
        for code in (
            "from shop import echo\nreturn await echo(x='a')",
            "import shop\nawait shop.echo(x='a')",
            "from shop import echo as e\nfound = await e(x='a')",
            "async def f():\n    from shop import echo\n    return await echo(x='a')\nawait f()",
            (
                "import asyncio, shop\nasync def main():\n    return await shop.echo(x='a')\n"
                "asyncio.run(main())"
            ),
        ):
            assert await host.value(code) == {"x": "a"}
        said = await host.run("print('hi', 1)")
        assert text_of(said) == "[toolcrib: printed]\nhi 1"
        assert "dev.toolcrib/digest" in said["_meta"]
        nothing = text_of(await host.run("return"))
        assert nothing == "[toolcrib: it returned nothing and printed nothing]"


VALUES: list[tuple[dict[str, Any], Any]] = [
    (texts('{"id": 1915883588174806058}'), {"id": 1915883588174806058}),
    (structured({"id": 1915883588174806058}), {"id": 1915883588174806058}),
    (texts("123456789012345678901234567890"), 123456789012345678901234567890),
    (texts("-0.1"), -0.1),
    (structured([1, 1.0, True]), [1, 1.0, True]),
    (texts('[1e999, "x"]'), '[1e999, "x"]'),
    (texts('{"a": NaN}'), '{"a": NaN}'),
    (texts("[" * 5_000), "[" * 5_000),
    (texts("two", "texts"), ["two", "texts"]),
    (texts("null"), None),
    (texts(""), ""),
    (texts('"\\ud83d\\ude00"'), "😀"),
    ({"content": [], "resultType": "complete"}, None),
]


async def test_values_arrive_exactly_and_go_out_again_unchanged() -> None:
    async def give(arguments: dict[str, Any]) -> dict[str, Any]:
        result, _ = VALUES[int(arguments["n"])]
        return result

    server = CodedServer({"give": give}, tool("take"))
    code = "from s import give, take\nfound = await give(n={})\nawait take(found=found)\n[found]"
    async with coded({"s": server}) as (host, _):
        for n, (_, seen) in enumerate(VALUES):
            value = await host.value(code.format(n))
            assert json.dumps(value) == json.dumps([seen])
            sent = server.calls[-1][1]["arguments"]
            assert json.dumps(sent) == json.dumps({"found": seen})


async def test_numbers_that_json_has_not_are_null_or_errors_and_it_is_said_where() -> None:
    server = shop()
    async with coded({"shop": server}) as (host, _):
        code = "x = float('nan')\nreturn {'a': [1, x], 'b': float('inf')}"
        told = text_of(await host.run(code)).split("\n")
        assert told == [
            '{"a":[1,null],"b":null}',
            "[toolcrib: a[1] is nan, which JSON has not; null stands there]",
            "[toolcrib: b is inf, which JSON has not; null stands there]",
        ]
        code = "from toolcrib import call\nawait call('shop', 'echo', {'x': [float('-inf')]})"
        assert "x[0] is -inf, which JSON has not" in await host.failure(code)
        assert server.calls == []
        said = await host.run("import json\nreturn [json.dumps(float('nan'))]")
        assert text_of(said) == '["NaN"]'


async def test_names_that_no_identifier_holds_are_called_and_sent_as_they_are() -> None:
    odd = ["look-up", "look_up", "3d", "查-x", "c d"]
    properties = {"from": STRING, "x-Y": STRING, "class": STRING, "self": STRING, "城": STRING}
    asked = {
        "name": "ask",
        "inputSchema": {"type": "object", "properties": properties, "required": ["from"]},
    }
    server = CodedServer({}, *(tool(name) for name in odd), asked)
    async with coded({"my-server": server}) as (host, gateway):
        shown = [expose("my-server", it, style="qualified", limit=64) for it in odd]
        details = await gateway.call("get_tool_details", names=shown)
        lines = [line for line in text_of(details).splitlines() if line.startswith("## ")]
        spoken = [line.rpartition("in programs my_server.")[2].rstrip(")") for line in lines]
        assert len(set(spoken)) == 5
        assert all(name.isidentifier() for name in spoken)
        for name in spoken:
            await host.value(f"from my_server import {name}\nawait {name}()")
        assert sorted(server.called) == sorted(odd)
        code = "from my_server import ask\nreturn await ask(from_='a', class_='b', self='c'{})"
        assert await host.value(code.format("")) == {"from": "a", "class": "b", "self": "c"}
        more = ", **{'x-Y': 'd', '城': 'e'}"
        sent = {"from": "a", "class": "b", "self": "c", "x-Y": "d", "城": "e"}
        assert await host.value(code.format(more)) == sent


# ---- what stops a call, as a program sees it ----


async def test_the_text_of_a_failing_tool_arrives_unaltered_and_the_program_goes_on() -> None:
    code = (
        "from shop import boom, echo\nr = []\n"
        "try:\n    await boom()\nexcept Exception as e:\n    r.append(str(e))\n"
        "r.append(await echo(x='ok'))\nr"
    )
    async with coded({"shop": shop()}) as (host, _):
        assert await host.value(code) == ["no quota\nfor `you` <b> [1]", {"x": "ok"}]
        failed = await host.failure("from shop import boom\n\nawait boom()")
        assert "RuntimeError: no quota" in failed
        assert "line 3: await boom()" in failed
        assert "1. `shop` `boom` (line 3) raised: no quota" in failed


async def test_what_a_failing_tool_says_is_not_held_to_its_output_schema() -> None:
    async def risky(_: dict[str, Any]) -> dict[str, Any]:
        return {**texts("needs a key", failed=True), "structuredContent": {"error": {"code": 1}}}

    promise = {"type": "object", "properties": {"data": {"type": "object"}}, "required": ["data"]}
    server = CodedServer({"keys": risky}, {**tool("keys"), "outputSchema": promise})
    async with coded({"s": server}) as (host, _):
        assert "RuntimeError: needs a key\n" in await host.failure("import s\nawait s.keys()")


def settled(server: str, call: str) -> str:
    """A program that returns what stopped a call."""
    imports = f"from toolcrib import try_call, call\nfrom {server} import echo\n"
    return f"{imports}return (await try_call({call}))['error']"


async def test_each_call_is_admitted_against_the_catalog_of_its_moment() -> None:
    server = shop()

    async def turn(_: dict[str, Any]) -> dict[str, Any]:
        server.change([tool("echo", x=INTEGER), tool("turn")])
        await anyio.sleep(0.1)
        return texts("turned")

    server.functions["turn"] = turn
    server.change([ADDING, tool("echo", x=STRING), tool("turn")])
    code = (
        "from toolcrib import try_call, call\nfrom shop import echo, turn, total\n"
        "await echo(x='before')\nawait turn()\n"
        "changed = await try_call(echo(x='after'))\n"
        "gone = await try_call(total(numbers=[1]))\n"
        "raw = await try_call(call('shop', 'totla', {}))\n"
        "return [changed, gone, raw]"
    )
    async with coded({"shop": server}) as (host, _):
        changed, gone, raw = await host.value(code)
        assert changed["error"].startswith("toolcrib.schema_changed: ")
        assert "`x`" in changed["error"]
        assert '"integer"' in changed["error"]
        assert gone["error"].startswith("toolcrib.tool_gone: `shop` has no tool `total`")
        assert raw["error"].startswith("toolcrib.tool_gone: `shop` has no tool `totla`")
        assert server.called == ["echo", "turn"]
        again = "from shop import echo\nreturn await echo(x=1)"
        assert await host.value(again) == {"x": 1}


async def test_a_program_is_held_to_the_definitions_that_its_author_saw() -> None:
    """It would pass the check of its types: what changed means something else now."""
    server = CodedServer({}, tool("pay", amount={"type": "integer", "description": "in cents"}))
    pay = "from shop import pay\nreturn await pay(amount=5)"
    async with coded({"shop": server}) as (_, gateway):
        host = CodingHost(gateway, handle="h" * 16)
        await host.tool("get_tool_details", names=["shop__pay"])
        server.change([tool("pay", amount={"type": "integer", "maximum": 10, "minimum": 1})])
        await anyio.sleep(0.1)
        said = await host.failure(pay)
        assert "toolcrib.schema_changed" in said
        assert server.calls == []
        assert await host.value(pay) == {"amount": 5}


async def test_bad_arguments_and_unknown_names_stop_a_program_before_it_runs() -> None:
    server = shop()
    async with coded({"shop": server, "math": CodedServer({}, tool("add"))}) as (host, _):
        for code, said in (
            ("from shop import echo\nawait echo(x=1)", "line 2: await echo(x=1)"),
            ("from shop import echo\nawait echo(y='a')", "`y`"),
            ("from shop import echoo", "has no function `echoo`; did you mean `echo`?"),
            ("import shopp", "there is no module `shopp`; did you mean `shop`?"),
            ("from math import add\nawait add()", "The module of server `math` is `math_`"),
            (" x = 1\n  y = 2", "script.py:1"),
            ("class A(Exception):\n    pass", "raise RuntimeError("),
            ("import urllib.request", "there is no network"),
        ):
            failed = await host.failure(code)
            assert said in failed, failed
            assert failed.endswith("Nothing was executed.")
        untyped = settled("shop", "call('shop', 'echo', {'x': 1})")
        assert (await host.value(untyped)).startswith("toolcrib.bad_arguments: ")
        assert server.calls == []


async def test_a_tool_that_has_just_come_is_there_for_a_program() -> None:
    server = CodedServer({}, tool("old"))
    async with coded({"s": server}) as (host, _):
        assert await host.value("import s\nreturn await s.old()") == {}
        server.latency = 1.2
        server.change([tool("old", x=INTEGER), tool("fresh")])
        code = "from s import fresh, old\nawait fresh()\nreturn await old(x=1)"
        assert await host.value(code) == {"x": 1}


async def test_a_server_that_is_down_is_told_before_or_at_the_call() -> None:
    down, lost = shop(), shop()
    down.faults.connect = UpstreamUnreachable("no route")
    limits = Limits(start_seconds=0.2)
    async with coded({"shop": down, "lost": lost}, limits=limits) as (host, _):
        with anyio.fail_after(5):
            failed = await host.failure("from shop import echo\nawait echo(x='a')")
            assert "the tools of the server `shop` cannot be read now" in failed
            assert failed.endswith("Nothing was executed.")

            async def hang_up(_: dict[str, Any]) -> dict[str, Any]:
                raise UpstreamUnreachable("gone", server="lost")

            lost.functions["echo"] = hang_up
            code = settled("lost", "echo(x='a')")
            assert (await host.value(code)).startswith("toolcrib.server_unavailable: ")


async def test_budgets_are_told_in_the_program_and_it_may_go_on() -> None:
    settings = CodeSettings(calls=3, answer_bytes=1_000, answer_depth=3)

    async def large(arguments: dict[str, Any]) -> dict[str, Any]:
        return structured({"a": {"b": {"c": {"d": 1}}}} if arguments else {"a": "x" * 1_000})

    server = CodedServer({"large": large})
    code = (
        "from toolcrib import try_call\nfrom s import large\n"
        "tried = [await try_call(each) for each in (large(), large(x=1), large(x=2), large())]\n"
        "return [it['error'] for it in tried]"
    )
    async with coded({"s": server}, code=settings) as (host, _):
        first, second, _, last = await host.value(code)
        assert "code.answer_bytes allows 1,000; the tool ran" in first
        assert "code.answer_depth allows (3); the tool ran" in second
        assert last == "toolcrib.limit_exceeded: a program may make 3 calls (code.calls)"
        assert len(server.calls) == 3


async def test_what_one_server_said_goes_to_another_only_as_the_rules_say() -> None:
    a, b = CodedServer({"boom": no_quota}, tool("read")), CodedServer({}, tool("write"))
    rules = CodeSettings(flows=(FlowRule("a", "b", "deny"),))
    code = (
        "from toolcrib import try_call\nimport a, b\n"
        "await b.write(n=1)\n{}\nreturn (await try_call(b.write(n=2)))['error']"
    )
    async with coded({"a": a, "b": b}, code=rules) as (host, _):
        for reading in ("await a.read()", "await try_call(a.boom())"):
            said = await host.value(code.format(reading))
            assert said.startswith("toolcrib.not_allowed: what `a` answered may not go into calls")
        assert await host.value(code.format("await b.write(n=3)")) == ""
        assert [params["arguments"]["n"] for _, params in b.calls] == [1, 1, 1, 3, 2]


async def test_servers_on_demand_are_there_for_those_programs_whose_caller_enabled_them() -> None:
    ours, settings = CodedServer({}, tool("go")), {"far": server_settings("far", on_demand=True)}
    async with coded({"far": ours}, settings=settings) as (_, gateway):
        mine, theirs = (CodingHost(gateway, handle=who * 16) for who in "ab")
        raw = "import toolcrib\nreturn await toolcrib.call('far', 'go')"
        said = await mine.failure(raw)
        assert "toolcrib.not_allowed" in said
        assert "call enable_server" in said
        await mine.tool("enable_server", server="far")
        assert await mine.value("import far\nreturn await far.go(x=1)") == {"x": 1}
        assert "not enabled" in await theirs.failure(raw)
        assert "no module `far`" in await theirs.failure("import far\nawait far.go()")
        assert len(ours.calls) == 1


# ---- its end ----


async def test_cancelling_the_request_ends_the_calls_and_the_worker() -> None:
    begun: list[str] = []
    cancelled: list[str] = []
    started = anyio.Event()

    async def hang(_: dict[str, Any]) -> dict[str, Any]:
        begun.append("hang")
        if len(begun) == 3:
            started.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.append("hang")
        return {}

    server = CodedServer({"hang": hang})
    code = "import asyncio\nfrom s import hang\nawait asyncio.gather(*[hang() for _ in range(3)])"
    async with coded({"s": server}, code=CodeSettings(programs=1)) as (host, gateway):
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(host.run, code)
                await started.wait()
                tasks.cancel_scope.cancel()
            assert cancelled == ["hang"] * 3
            (ended,) = gateway.recorder.of(ProgramEnded)
            assert (ended.why, ended.calls) == ("cancelled", 3)
            assert [it.outcome for it in gateway.recorder.of(ProgramCalled)] == ["cancelled"] * 3
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(host.run, "while True: pass")
                await anyio.sleep(0.3)
                tasks.cancel_scope.cancel()
            assert await host.value("return 1") == 1


async def test_whoever_waits_for_a_program_hears_of_its_calls() -> None:
    told: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        told.append((progress, message))

    async with coded({"shop": shop()}) as (_, gateway), gateway.host() as client:
        code = "from shop import echo\nfor x in 'ab':\n    await echo(x=x)"
        await client.call_tool("run_code", {"code": code}, progress_callback=note)
    assert told == [(1, "call 1: echo of shop (line 3)"), (2, "call 2: echo of shop (line 3)")]
