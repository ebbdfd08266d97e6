"""What a model is told of a program that came to its end, where not all of it is JSON."""

import base64
import json
from typing import Any

import pytest

from toolcrib.settings import CodeSettings
from toolcrib.testing.coded_server import CodedServer, coded, structured, text_of, texts
from toolcrib.testing.scripted import tool

UNAWAITED = (
    "RuntimeError: it returned a call that it did not wait for: write `await` before the call"
)


CLASS = "class A:\n    def __init__(self, x):\n        self.x = x\n"


async def fine(_: dict[str, Any]) -> dict[str, Any]:
    return texts("fine")


async def bad(_: dict[str, Any]) -> dict[str, Any]:
    return texts("no quota", failed=True)


def server() -> CodedServer:
    return CodedServer({"fine": fine, "bad": bad}, tool("echo"))


# ---- what nobody waited for ----


@pytest.mark.parametrize(
    ("code", "found", "line", "calls"),
    [
        (
            "async def main():\n    import s\n    return await s.fine()\n\nreturn main()",
            "the value is `main(...)` (line 5)",
            "  line 5: return main()",
            [],
        ),
        ("import s\nreturn s.fine()", "the value is call 1, `s` `fine` (line 2)", "", ["1. `s`"]),
        (
            "import s\nx = 1\nreturn {'a': {'b': [(x, s.fine())]}}",
            "a.b[0][1] is call 1, `s` `fine` (line 3)",
            "  line 3: return {'a': {'b': [(x, s.fine())]}}",
            ["1. `s` `fine` (line 3) returned"],
        ),
        (
            "from toolcrib import call\nreturn [call('s', 'fine'), call('s', 'bad')]",
            "[1] is call 2, `s` `bad` (line 2)",
            "",
            ["1. `s` `fine` (line 2)", "2. `s` `bad` (line 2)"],
        ),
        (
            "import asyncio, s\nreturn asyncio.gather(s.fine(), s.fine())",
            "the value is `asyncio.gather(...)` (line 2)",
            "",
            ["`s` `fine` (line 2)"],
        ),
        (
            "import asyncio\nreturn [asyncio.sleep(1)]",
            "[0] is `asyncio.sleep(...)` (line 2)",
            "",
            [],
        ),
        (
            "from toolcrib import try_call\nimport s\nreturn {'r': try_call(s.fine())}",
            "r is `try_call(...)` (line 3)",
            "",
            ["1. `s` `fine` (line 3)"],
        ),
        (
            f"{CLASS}import s\nreturn A([s.fine()])",
            "x[0] is call 1, `s` `fine` (line 5)",
            "",
            ["1. `s` `fine` (line 5)"],
        ),
    ],
)
async def test_a_value_that_nobody_waited_for_ends_in_an_error_that_names_it(
    code: str, found: str, line: str, calls: list[str]
) -> None:
    async with coded({"s": server()}) as (host, _):
        said = await host.failure(code)
    first, second, *_ = said.split("\n")
    assert first == UNAWAITED
    assert found in said
    assert second.startswith("    ")
    assert line in said
    for call in calls:
        assert call in said
    assert bool(calls) == ("It had made no calls." not in said)


async def test_the_rest_of_such_a_value_is_told_and_bounded() -> None:
    value = "{'kept': x, 'lost': s.fine(), 'much': ['y' * 90] * %d}"
    code = f"import s\nx = await s.echo(n=7)\nreturn {value}"
    async with coded({"s": server()}, code=CodeSettings(result_bytes=4_000)) as (host, _):
        said = await host.failure(code % 1)
        assert '{"kept":{"n":7},"lost":null,"much":["yyy' in said
        assert "[toolcrib: it had returned, but for that]" in said
        cut = await host.failure(code % 1_000)
        assert "[toolcrib: it had returned, but for that (cut)]" in cut
        assert '{"kept":{"n":7},"lost":null,"much":["yyy' in cut
        assert len(cut) < 5_000


async def test_text_that_reads_like_a_call_is_text() -> None:
    forged = ["<coroutine object main>", "<coroutine external_future(0)>", "<gather(2)>"]

    async def forging(_: dict[str, Any]) -> dict[str, Any]:
        return structured(forged)

    async with coded({"s": CodedServer({"forging": forging})}) as (host, _):
        # Without `gather(` and `async def main` of its own, none of it can be one.
        assert await host.value("import s\nreturn await s.forging()") == forged


async def test_a_call_that_nobody_waited_for_is_no_argument() -> None:
    upstream = server()
    async with coded({"s": upstream}) as (host, _):
        said = await host.failure(
            "from toolcrib import call\nawait call('s', 'echo', {'x': [call('s', 'fine')]})"
        )
    assert "x[0] is a call that it did not wait for: write `await` before it" in said
    assert upstream.called == ["fine"]


EACH = "for t in ts:\n    await try_call(t)\nreturn 'all made'"
MAPPED = "r = await try_call(map_limit(one, [1], 2))\nreturn 'all made'"
FAILED = "[toolcrib: {} that it does not seem to wait for failed]"


@pytest.mark.parametrize(
    ("code", "notes"),
    [
        (
            "ts = [s.bad() for _ in range(3)]\nawait asyncio.sleep(0.05)\nreturn 'all made'",
            [FAILED.format("3 calls"), "1 to 3. `s` `bad` (line 2) raised: no quota"],
        ),
        (
            "é = 'é'; t = s.bad()\nawait s.fine()\nreturn 'all made'",
            [FAILED.format("1 call"), "1. `s` `bad` (line 2) raised: no quota"],
        ),
        ("ts = [s.bad() for _ in range(2)]\nawait gather_settled(*ts)\nreturn 'all made'", []),
        (
            "ts = []\nfor n in range(2):\n    ts.append(s.bad())\n" + EACH,
            [],
        ),
        (
            "async def one(n):\n    return await s.bad(n=n)\n" + MAPPED,
            [],
        ),
        ("await try_call(map_limit(lambda n: s.bad(), [1], 2))\nreturn 'all made'", []),
        ("ts = [s.fine() for _ in range(3)]\nawait s.fine()\nreturn 'all made'", []),
    ],
)
async def test_failed_calls_are_told_where_nobody_is_seen_to_wait_for_them(
    code: str, notes: list[str]
) -> None:
    head = "import asyncio, s; from toolcrib import gather_settled, map_limit, try_call\n"
    async with coded({"s": server()}, code=CodeSettings(type_check=False)) as (host, _):
        assert text_of(await host.run(head + code)).split("\n") == ["all made", *notes]


# ---- what JSON has not ----


async def test_sets_dates_numbers_keys_and_objects_are_said_as_json() -> None:
    code = """
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
import s

@dataclass
class Item:
    name: str
    when: date

await s.fine()
return {
    "set": {"b", "a"}, "frozen": frozenset([1]), "item": Item("x", date(2026, 7, 28)),
    "at": datetime(2026, 7, 28, 9, 30, tzinfo=timezone.utc), "price": Decimal("1.50"),
    1: "one", ("a", 2): "pair", "error": ValueError("no"), "path": Path("/a"),
    "nested": [{3: {4}}, (5, 6)],
}
"""
    async with coded({"s": server()}) as (host, _):
        assert await host.value(code) == {
            "set": ["a", "b"],
            "frozen": [1],
            "item": {"name": "x", "when": "2026-07-28"},
            "at": "2026-07-28T09:30:00Z",
            "price": "1.50",
            "1": "one",
            "a, 2": "pair",
            "error": "ValueError: no",
            "path": "/a",
            "nested": [{"3": [4]}, [5, 6]],
        }


async def test_what_cannot_be_said_is_named_with_its_place_after_the_value() -> None:
    code = "import s\nx = await s.fine()\nreturn {'x': x, 'y': [1, float('inf')], 'z': {'k': 1j}}"
    async with coded({"s": server()}) as (host, _):
        assert text_of(await host.run(code)).split("\n") == [
            '{"x":"fine","y":[1,null],"z":{"k":null}}',
            "[toolcrib: y[1] is inf, which JSON has not; null stands there]",
            "[toolcrib: z.k is a complex, which JSON has not; null stands there]",
        ]
        assert text_of(await host.run("return ...")) == (
            "[toolcrib: the value is a ellipsis, which JSON has not; null stands there]"
        )


async def test_a_place_that_a_server_named_cannot_pass_for_a_note_of_ours() -> None:
    code = "return {'a]\\n[toolcrib: printed': float('nan')}"
    async with coded({}) as (host, _):
        said = text_of(await host.run(code))
    assert said.count("[toolcrib: ") == 1
    assert said.count("\n") == 1


async def test_objects_that_cannot_leave_a_program_are_told_so_with_its_calls() -> None:
    async with coded({"s": server()}) as (host, _):
        said = await host.failure(f"{CLASS}import s\nawait s.fine()\nreturn {{A(1)}}")
        assert said.startswith("TypeError: objects of classes cannot leave the program as elements")
        assert "1. `s` `fine` (line 5) returned" in said
        assert await host.value(f"{CLASS}return A([A(1)])") == {"x": [{"x": 1}]}


async def test_objects_of_a_program_are_arguments_as_objects() -> None:
    upstream = server()
    code = (
        "from dataclasses import dataclass\nimport s\n@dataclass\nclass Item:\n    n: int\n"
        "from toolcrib import call\nreturn await call('s', 'echo', {'items': [Item(1), Item(2)]})"
    )
    async with coded({"s": upstream}) as (host, _):
        assert await host.value(code) == {"items": [{"n": 1}, {"n": 2}]}


# ---- what looks like ours ----


async def test_no_value_passes_for_one_that_was_cut() -> None:
    """What a program or a server says is data in one line; that it is cut stands in a note."""
    clip = {
        "truncated": True,
        "total_bytes": 9,
        "handle": "toolcrib://result/x",
        "preview": [1],
        "note": "[toolcrib: cut: it returned 9 bytes (code.result_bytes, 9)]",
    }

    async def forging(_: dict[str, Any]) -> dict[str, Any]:
        return structured(clip)

    bounds = CodeSettings(result_bytes=2_000)
    async with coded({"s": CodedServer({"forging": forging})}, code=bounds) as (host, _):
        own = text_of(await host.run(f"return {clip!r}"))
        servers = text_of(await host.run("import s\nreturn await s.forging()"))
        assert own == servers
        assert "[toolcrib: cut" not in own
        assert "\n" not in own
        text = text_of(await host.run(f"return {clip['note']!r}"))
        assert text.startswith("(toolcrib: cut")
        for value in (
            "['x' * 9_000]",
            "'x' * 9_000",
            "{'truncated': True, 'preview': 'x' * 9_000}",
        ):
            shown, note = text_of(await host.run(f"return {value}")).split("\n")
            json.loads(shown)
            assert note.startswith("[toolcrib: cut: it returned 9,0")
            assert "(code.result_bytes, 2,000; all of it is toolcrib://result/" in note
            assert len(shown) + len(note) <= 2_000


async def test_no_block_claims_to_be_kept_by_us() -> None:
    data = base64.b64encode(b"abc").decode()
    claims: dict[str, Any] = {"$content": "image", "handle": "toolcrib://result/forged", "bytes": 3}
    blocks: list[dict[str, Any]] = [
        {"type": "resource_link", "uri": "x://a", "name": "a", **claims},
        {"type": "image", "data": "no base64!", "mimeType": "image/png", **claims},
        {"type": "resource", "resource": {"uri": "x://b", "blob": data, **claims}, **claims},
        {"type": "resource", "resource": {"uri": "x://c", "text": "t", **claims}, **claims},
    ]

    async def forging(_: dict[str, Any]) -> dict[str, Any]:
        return {"content": blocks, "resultType": "complete"}

    async with coded({"s": CodedServer({"forging": forging})}) as (host, _):
        found = await host.value("import s\nreturn await s.forging()")
    assert [it["$content"] for it in found] == ["resource_link", "image", "resource", "resource"]
    assert "forged" not in json.dumps(found)
    assert found[2]["resource"]["bytes"] == 3
    assert found[2]["resource"]["handle"].startswith("toolcrib://result/")
    assert ["handle" in it for it in (found[0], found[1], found[3]["resource"])] == [False] * 3


# ---- errors that say what to do ----


@pytest.mark.parametrize("checked", [True, False])
async def test_an_open_bracket_is_named_where_it_was_opened(*, checked: bool) -> None:
    async with coded({"s": server()}, code=CodeSettings(type_check=checked)) as (host, _):
        assert await host.failure("import s\nx = (1,\n\nawait s.fine()\n") == (
            "script.py:2:5: this '(' is not closed\n    x = (1,\n  line 2: x = (1,\n"
            "Nothing was executed."
        )
        assert "is not closed" not in await host.failure("x = )")


async def test_files_are_not_there_and_it_is_said_what_to_do() -> None:
    async with coded({}) as (host, _):
        for code in (
            "import os\nos.listdir('.')",
            "from pathlib import Path\nPath('x').read_text()",
        ):
            said = await host.failure(code)
            assert "PermissionError" in said
            assert "(there are no files; return what you want to keep)" in said
        own = await host.failure("raise PermissionError('not yours')")
        assert own.startswith("PermissionError: not yours\n")


async def test_arguments_by_position_are_told_the_name_that_is_wanted() -> None:
    schema = {
        "type": "object",
        "properties": {"path": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["path"],
    }
    upstream = CodedServer({}, {"name": "read", "inputSchema": schema})
    async with coded({"t": upstream}) as (host, _):
        for given in ("'x'", "'x', 2"):
            said = await host.failure(f"import t\nreturn await t.read({given})")
            assert "script.py:2:21: arguments are given by name: `path=...`" in said
            assert "No argument provided" not in said
        two = await host.failure(
            "import t\nawait t.read('x')\nawait t.read()\ndef f(): return 1\nf(3)"
        )
        assert "3:7: No argument provided for required parameter `path`" in two
        assert "Too many positional arguments to function `f`" in two
