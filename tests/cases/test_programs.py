"""Programs over tools with odd names, parameters and schemas, and programs that are broken."""

import socket
from typing import Any

import pytest

from toolcrib.core.stubs.identifiers import FUNCTIONS, identifiers
from toolcrib.testing.coded_server import CodedServer, CodingHost, coded, structured, texts
from toolcrib.testing.scripted import tool

pytestmark = pytest.mark.anyio

ODD_NAMES = {
    "hyphens and underscores": ["list-rows", "list_rows", "list.rows", "list rows"],
    "digits": ["3d-print", "4", "2nd", "_2nd"],
    "other scripts": ["検索", "検索-結果", "café", "поиск", "ß"],
    "words of the language": ["class", "import", "print", "list", "None", "await", "match"],
    "nothing but signs": ["-", "--", "...", "/"],
    "long ones": ["a" * 128, "a" * 127 + "b", "a" * 127 + "-"],
}


@pytest.mark.parametrize("names", ODD_NAMES.values(), ids=ODD_NAMES)
async def test_every_tool_has_a_function_of_its_own_whatever_it_is_called(names: list[str]) -> None:
    async def own(_: dict[str, Any]) -> dict[str, Any]:
        return structured({"was": server.params["name"]})

    server = CodedServer(dict.fromkeys(names, own))
    functions = identifiers(names, FUNCTIONS, "my-server")
    assert len(set(functions.values())) == len(names)
    imports = "".join(f"from my_server import {it}\n" for it in functions.values())
    calls = ", ".join(f"(await {it}())['was']" for it in functions.values())
    raw = ", ".join(f"(await toolcrib.call('my-server', {it!r}))['was']" for it in functions)
    async with coded({"my-server": server}) as (host, _):
        assert await host.value(f"import toolcrib\n{imports}return [{calls}, {raw}]") == [
            *functions,
            *functions,
        ]


ODD_PARAMETERS = [
    "to",
    "from",
    "user-Id",
    "self",
    "async",
    "dict",
    "?",
    "",
    "地址",
    "$filter",
    "to_",
]


@pytest.mark.parametrize("checked", [True, False], ids=["checked", "by its own key"])
async def test_keys_that_no_parameter_can_have_reach_the_server_unchanged(*, checked: bool) -> None:
    schema = {"type": "object", "properties": {key: {"type": "string"} for key in ODD_PARAMETERS}}
    server = CodedServer({}, {"name": "send", "inputSchema": {**schema, "required": ["from"]}})
    async with coded({"mail": server}) as (host, _):
        if checked:
            text = "from mail import send\nreturn await send(from_='me', self='s', to_='x', to='y')"
            wanted = {"from": "me", "self": "s", "to_": "x", "to": "y"}
        else:
            wanted = {key: f"value of {key}" for key in ODD_PARAMETERS}
            text = f"import toolcrib\nreturn await toolcrib.call('mail', 'send', {wanted!r})"
        assert await host.value(text) == wanted
        assert server.calls[-1][1]["arguments"] == wanted


FAILURES = ["no room", "E42: try\nagain", "", '{"code": 7}', "Error: 名前"]


@pytest.mark.parametrize("said", FAILURES)
async def test_a_call_that_failed_can_be_caught_and_the_next_one_is_made(said: str) -> None:
    async def full(_: dict[str, Any]) -> dict[str, Any]:
        return texts(said, failed=True)

    async def two(_: dict[str, Any]) -> dict[str, Any]:
        return texts("2")

    async with coded({"box": CodedServer({"put": full, "count": two})}) as (host, _):
        by_name = await host.value(
            "from box import put, count\n"
            "seen = []\n"
            "try:\n    await put()\nexcept Exception as error:\n    seen.append(str(error))\n"
            "seen.append(await count())\n"
            "return seen"
        )
        by_raw_name = await host.value(
            "import toolcrib\n"
            "failed = await toolcrib.try_call(toolcrib.call('box', 'put'))\n"
            "return [failed['error'], await toolcrib.call('box', 'count')]"
        )
        assert by_name == by_raw_name == [said, 2]


BROKEN = {
    "indented": ("  a = 1\n b = 2", 1),
    "a bracket too much": ("a = 1\nb = 2)\n", 2),
    "two words": ("a = 1\nb = 2 3\n", 2),
    "unfinished text": ("a = 1\n\nb = 'x\n", 3),
    "a tab among blanks": ("if True:\n    a = 1\n\tb = 2\n", 3),
    "another language": ("const a = 1;\n", 1),
    "a fence around it": ("```python\nreturn 1\n```", 1),
}


@pytest.mark.parametrize(("code", "line"), BROKEN.values(), ids=BROKEN)
async def test_a_program_that_is_no_program_is_told_its_line_and_that_nothing_ran(
    code: str, line: int
) -> None:
    async with coded({"box": CodedServer({"put": _never})}) as (host, _):
        text = await host.failure(code)
        assert f"line {line}" in text or f"script.py:{line}" in text
        assert "Nothing was executed." in text


async def _never(_: dict[str, Any]) -> dict[str, Any]:
    raise AssertionError("a program that does not run called")


LEAF = {"type": "object", "properties": {"id": {"type": "string"}}}
RECURSIVE = {
    "in an array of the result": {
        "outputSchema": {
            "type": "object",
            "properties": {"top": {"$ref": "#/$defs/Folder"}},
            "$defs": {
                "Folder": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "folders": {"type": "array", "items": {"$ref": "#/$defs/Folder"}},
                    },
                }
            },
        }
    },
    "in a member of the arguments": {
        "inputSchema": {
            "type": "object",
            "properties": {"top": {"$ref": "#/$defs/cell"}},
            "$defs": {"cell": {"type": "object", "properties": {"rest": {"$ref": "#/$defs/cell"}}}},
        }
    },
    "between two definitions": {
        "inputSchema": {
            "type": "object",
            "properties": {"top": {"$ref": "#/$defs/a"}},
            "$defs": {
                "a": {"anyOf": [{"$ref": "#/$defs/b"}, LEAF]},
                "b": {"type": "array", "items": {"$ref": "#/$defs/a"}},
            },
        }
    },
    "to the whole schema": {
        "inputSchema": {
            "type": "object",
            "properties": {"top": {"$ref": "#"}, "value": {"type": "integer"}},
        }
    },
    "to itself and nothing else": {
        "inputSchema": {
            "type": "object",
            "properties": {"top": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"$ref": "#/$defs/a"}},
        }
    },
}


@pytest.mark.parametrize("definition", RECURSIVE.values(), ids=RECURSIVE)
async def test_a_schema_that_refers_to_itself_is_shown_and_its_tool_is_called(
    definition: dict[str, Any],
) -> None:
    server = CodedServer({"walk": _folders}, {**tool("walk"), **definition})
    async with coded({"tree": server}) as (host, _):
        shown = await host.tool("get_tool_details", names=["tree__walk"])
        assert not shown.get("isError")
        value = await host.value("from tree import walk\nreturn await walk()")
        assert value["top"]["folders"][0]["name"] == "inner"


async def _folders(_: dict[str, Any]) -> dict[str, Any]:
    inner: dict[str, Any] = {"name": "inner", "folders": []}
    return structured({"top": {"name": "outer", "folders": [inner]}})


ELSEWHERE = [
    "http://127.0.0.1:{port}/schema",
    "//127.0.0.1:{port}/schema",
    "file:///etc/passwd",
    "#/$defs/Gone",
    "other.json#/a",
]


@pytest.mark.parametrize("reference", ELSEWHERE)
async def test_a_reference_to_elsewhere_is_any_value_to_a_program(reference: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        port = listener.getsockname()[1]
        properties = {"a": {"$ref": reference.format(port=port)}, "b": {"type": "integer"}}
        server = CodedServer({}, tool("save", **properties))
        async with coded({"s": server}) as (host, _):
            assert await _saved(host) == VALUES
            assert [params["arguments"] for _, params in server.calls] == [
                {"a": value, "b": 1} for value in VALUES
            ]
            wrong = await host.failure("from s import save\nreturn await save(b='text')")
            assert "Nothing was executed." in wrong
        with pytest.raises(BlockingIOError):
            listener.accept()


VALUES: list[Any] = ["x", [1], None, {"k": 1}]


async def _saved(host: CodingHost) -> list[Any]:
    """What the server says that it was given, for each of the values."""
    saved: list[Any] = []
    for value in VALUES:
        answer = await host.value(f"from s import save\nreturn await save(a={value!r}, b=1)")
        assert answer["b"] == 1
        saved.append(answer["a"])
    return saved
