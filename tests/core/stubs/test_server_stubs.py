"""The module of one server: texts that nothing breaks out of, and the way back to the server."""

import ast
import json
from collections.abc import Mapping
from typing import Any

import pytest

from toolcrib.calls.call import Requester
from toolcrib.codemode.callees import Callee, callee_of
from toolcrib.core.fingerprint import contract, fingerprint
from toolcrib.core.snapshot import Item
from toolcrib.core.stubs.python_text import HEADER
from toolcrib.core.stubs.server_stubs import ServerStubs, module_names, server_stubs
from toolcrib.errors import BadArguments, ToolGone
from toolcrib.ports import Called


def item(name: str, properties: dict[str, Any] | None = None, **more: Any) -> Item:
    schema = {"type": "object", "properties": properties or {}}
    definition = {"name": name, "inputSchema": schema, **more}
    return Item(name, definition, fingerprint(definition), contract(definition))


def stubs(*items: Item, server: str = "github") -> ServerStubs:
    return server_stubs(server, module_names([server])[server], items)


def tools(it: ServerStubs) -> dict[str, str]:
    """The names upstream, by identifier."""
    return {name: stub.key for name, stub in it.stubs.items()}


class Known:
    """Implements `Callees` with the functions of one module."""

    def __init__(self, it: ServerStubs) -> None:
        self._it = it

    def named(self, module: str, function: str) -> Callee | None:
        stub = self._it.stubs.get(function)
        return None if stub is None else Callee(module, stub.key, "", stub.renamed)

    async def reach(self, server: str, requester: Requester) -> None:
        raise NotImplementedError

    def in_own_names(self, gone: ToolGone, server: str, tool: str) -> ToolGone:
        raise NotImplementedError


def sent(it: ServerStubs, function: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a call of a program has at the server."""
    return callee_of(Called(1, it.module, function, (), given), Known(it))[1]


HOSTILE = [
    '""" \nimport os\nos.system("x")\n"""',
    "*/ export const x = 1; /*",
    "*\u200b/ evil() /*",
    "\\",
    '\\"',
    "'); import os #",
    "`${1}`",
    "\n\r\u2028\u2029\x00\x1b[31m\x7f",
    "\u202e\u200b\U000e0041",
    "\ud800",
    "\U0001f600 \u4e2d",
    "@jsxImportSource https://example.org/x",
    "*" * 300 + "/",
    "/" * 50,
    "*/*/*/",
    "# type: ignore",
    '/// <reference path="/etc/passwd" />',
    "\\u002a/",
    "{x}",
    "%s",
    "",
]


def python_shape(text: str) -> list[str]:
    """What the statements of a module are; of functions also what their bodies are."""
    shape: list[str] = []
    for node in ast.parse(text).body:
        inner = getattr(node, "body", [])
        shape.append(f"{type(node).__name__}{[type(it).__name__ for it in inner]}")
    return shape


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_server_breaks_out(text: str) -> None:
    def of(word: str) -> ServerStubs:
        key = f"k{word}"
        properties = {
            key: {"enum": [f"v{word}", "b"], "description": word},
            "o": {"type": "object", "properties": {f"x{word}": {"const": f"v{word}"}}},
        }
        one = item(
            f"t{word}",
            properties,
            description=f"Does {word} it",
            title=word,
            outputSchema={
                "type": "object",
                "properties": {f"r{word}": {"type": "string", "title": word}},
                "title": word,
            },
        )
        return stubs(one, server=f"s{word}")

    hostile = of(text)
    python, typescript = hostile.text("python"), hostile.text("typescript")
    assert python.isascii()
    assert typescript.isascii()
    assert all(line.isprintable() for text in (python, typescript) for line in text.split("\n"))
    compile(python, "stub", "exec")
    kinds = {"Assign[]", "ClassDef['AnnAssign']"}
    functions = {"AsyncFunctionDef['Expr']"}
    doc, *rest = python_shape(python)
    assert doc == "Expr[]"
    header, added = python_shape(HEADER), rest[len(python_shape(HEADER)) :]
    assert rest == header + added
    assert set(added) <= kinds | functions
    assert len(added) == 3
    lines = typescript.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["/**", *["export"] * 3, "/**", "export"]
    for line in lines:
        if line.startswith("/**"):
            assert line.endswith(" */")
            assert line.count("*/") == 1
            assert "@" not in line.replace("@ ", "")


def test_a_docstring_is_one_short_line() -> None:
    text = stubs(item("f", description="a\n\n  b" + "x" * 1_000)).text("python")
    function = ast.parse(text).body[-1]
    assert isinstance(function, ast.AsyncFunctionDef)
    doc = ast.get_docstring(function)
    assert doc is not None
    assert doc.startswith("a bxxx")
    assert len(doc) == 400


def test_the_module_says_in_one_line_what_a_call_gives() -> None:
    python, typescript = (stubs(item("f")).text(tongue) for tongue in ("python", "typescript"))
    doc = ast.get_docstring(ast.parse(python))
    assert doc is not None
    assert doc.startswith("Tools of github. A call gives its structured content;")
    assert typescript.startswith("/** Tools of github. A call gives its structured content;")
    assert "-> Any: ..." in python
    assert "Promise<any>;" in typescript


KEYS = ["from", "cik-A", "self", "class", "list", "*", "", "\u57ce\u5e02", "class_", "extra"]


def test_keys_of_arguments_arrive_unchanged_under_either_name() -> None:
    it = stubs(item("filings", {key: {"type": "string"} for key in KEYS}))
    text = it.text("python")
    function = ast.parse(text).body[-1]
    assert isinstance(function, ast.AsyncFunctionDef)
    names = {parameter.arg for parameter in function.args.kwonlyargs}
    assert {"from_", "cik_A", "self", "class_", "list", "extra"} <= names
    assert len(names) == len(KEYS)
    written = dict.fromkeys(names, "x")
    assert set(sent(it, "filings", written)) == set(KEYS)
    assert sent(it, "filings", dict.fromkeys(KEYS, "x")) == dict.fromkeys(KEYS, "x")
    assert 'from_ is \\"from\\"' in text
    assert "cik_A is" not in text


def test_an_argument_under_both_names_is_refused() -> None:
    it = stubs(item("f", {"from": {}}))
    with pytest.raises(BadArguments, match=r"`from_` is given twice"):
        sent(it, "f", {"from": 1, "from_": 2})


def test_arguments_that_no_schema_knows_go_through_as_they_are() -> None:
    assert sent(stubs(item("f", {"from": {}})), "f", {"zz": 1}) == {"zz": 1}


def test_extra_arguments_have_a_name_of_their_own() -> None:
    one = item("f", {"extra": {}}, inputSchema={"properties": {"extra": {}}, "then": {"type": "x"}})
    assert "**extra_: Any" in stubs(one).text("python")
    compile(stubs(one).text("python"), "stub", "exec")


def test_no_tool_is_hidden_and_each_is_found_back() -> None:
    names = [
        "echo-with-dash",
        "echo_with_dash",
        "2fast",
        "\u67e5\u8be2-\u5929\u6c14",
        "a b",
        "list",
    ]
    it = stubs(*map(item, names), server="my-server")
    assert it.module == "my_server"
    assert sorted(tools(it).values()) == sorted(names)
    functions = [
        node.name
        for node in ast.parse(it.text("python")).body
        if isinstance(node, ast.AsyncFunctionDef)
    ]
    assert functions == sorted(it.stubs)
    assert all(f"export function {name}(" in it.text("typescript") for name in functions)


def test_types_of_different_functions_never_share_a_name() -> None:
    inner = {"type": "object", "properties": {"x": {"type": "string"}}}
    names = ["create_issue", "createIssue", "Create_Issue", "CreateIssueArgs", "CreateIssueA"]
    names += ["typed", "not_", "not-", "pro"]
    it = stubs(*(item(name, {"a": inner, "dict": inner, "required": inner}) for name in names))
    body = ast.parse(it.text("python")).body
    defined = [node.name for node in body if isinstance(node, ast.ClassDef | ast.AsyncFunctionDef)]
    defined += [node.targets[0].id for node in body if isinstance(node, ast.Assign)]  # pyright: ignore[reportAttributeAccessIssue,reportUnknownMemberType] - names
    assert len(set(defined)) == len(defined)
    assert not {"TypedDict", "NotRequired"} & set(defined)
    assert set(names) - set(it.stubs) == {"not-"}
    interfaces = [
        line.split(" ")[2]
        for line in it.text("typescript").splitlines()
        if line.startswith("export interface")
    ]
    assert len(set(interfaces)) == len(interfaces)


def test_members_that_would_hide_a_type_are_written_as_keys() -> None:
    inner = {"properties": {"str": {"type": "string"}, "b": {"type": "string"}}}
    text = stubs(item("f", {"a": inner})).text("python")
    assert 'FA = TypedDict("FA", {"b": NotRequired[str], "str": NotRequired[str]})' in text
    own = {"properties": {"FA": {"type": "string"}, "__x": {"type": "string"}}}
    assert 'FA = TypedDict("FA", {"FA": ' in stubs(item("f", {"a": own})).text("python")


def test_typescript_quotes_what_is_no_key() -> None:
    one = item(
        "f",
        {
            "a-b": {"type": "string"},
            "class": {"type": ["integer", "null"]},
            "v": {"enum": ["x", True, 2, 3]},
            "l": {"type": "array", "items": {"type": ["string", "number"]}},
            "m": {"additionalProperties": {"type": "boolean"}},
            "o": {"properties": {"p": {}}, "additionalProperties": True},
        },
        outputSchema={"type": "object", "properties": {"n": {"enum": ["x", 2]}}},
    )
    assert stubs(one).text("typescript").partition("\n")[2] == (
        "export interface FO { p?: any; [key: string]: any }\n"
        'export interface FResult { n?: "x" | 2 }\n'
        'export interface FArgs { "a-b"?: string; class?: number | null; '
        "l?: Array<string | number>; m?: Record<string, boolean>; o?: FO; "
        'v?: "x" | (string & {}) | boolean | number }\n'
        "export function f(args?: FArgs): Promise<FResult>;\n"
    )


def test_functions_without_arguments_take_none_in_either_language() -> None:
    it = stubs(item("f"))
    assert "async def f() -> Any: ...\n" in it.text("python")
    assert "f(args?: Record<string, never>): Promise<any>;\n" in it.text("typescript")


def test_the_same_tools_have_the_same_bytes() -> None:
    items = [item(name, {"b": {"type": "string"}, "a": {}}) for name in ("x", "a-b", "a.b", "y")]
    turned = [
        Item(one.key, json.loads(json.dumps(one.definition, sort_keys=True)), one.fingerprint, "")
        for one in reversed(items)
    ]
    assert stubs(*items) == stubs(*turned)


def test_a_module_can_be_shown_in_part() -> None:
    text = stubs(item("one"), item("two")).text("python", {"two"})
    assert "def two" in text
    assert "def one" not in text


def test_unchanged_tools_are_taken_over_from_an_earlier_listing() -> None:
    first = stubs(item("one"), item("two"), item("a-b"))
    changed = [item("one"), item("two", {"x": {}}), item("a-b"), item("a_b")]
    second = server_stubs("github", "github", changed, first)
    assert second == stubs(*changed)
    assert second.stubs["one"] is first.stubs["one"]
    assert second.stubs["two"] is not first.stubs["two"]
    assert tools(second)["a_b"] == "a_b"


def test_modules_of_servers_are_told_apart() -> None:
    found = module_names(["json", "my-server", "my_server", "\u670d\u52a1"])
    assert found["json"] == "json_"
    assert found["my_server"] == "my_server"
    assert found["my-server"].startswith("my_server_")
    assert found["\u670d\u52a1"].startswith("server_")
