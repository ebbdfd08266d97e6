"""What can be said of a Python program before it runs."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.program.lacking import CONSTRUCTS
from toolcrib.core.program.python import Bounds, check_python

BOUNDS = Bounds(64 * 1024, 200)
MODULES = {"github": ("create_issue", "list_issues"), "jira": (), "toolcrib": ()}


def told(source: str, *lacking: str, missing: tuple[str, ...] = ()) -> list[str]:
    checked = check_python(source, BOUNDS, lacking=lacking, missing=missing, modules=MODULES)
    return [problem.told() for problem in checked.problems]


EXAMPLES = {
    "class inheritance": "class A(B):\n  pass",
    "exception classes": "class A(ValueError):\n  pass",
    "metaclasses": "class A(metaclass=type):\n  pass",
    "yield": "def f():\n  yield 1\nf()",
    "async generators": "async def f():\n  yield 1\nf()",
    "del": "del x[1]",
    "except*": "try:\n  pass\nexcept* ValueError:\n  pass",
    "match": "match x:\n  case 1:\n    pass",
    "with": "with x:\n  pass",
    "async with": "async with x:\n  pass",
    "async for": "async for y in x:\n  pass",
    "global": "def f():\n  global x\nf()",
    "nonlocal": "def f():\n  x = 1\n  def g():\n    nonlocal x\nf()",
    "lambda": "f(lambda: 1)",
    "walrus": "(x := 1)",
    "star import": "from math import *\nf()",
    "eval": "eval('1')",
    "input": "input()",
    "globals": "globals()",
    "open": "open('x')",
    "asyncio.gather(return_exceptions=)": "asyncio.gather(a, return_exceptions=True)",
    "json.dumps(default=)": "json.dumps(a, default=str)",
    "json.dumps(indent=)": "json.dumps(a, indent=2)",
    "json.dumps(sort_keys=)": "json.dumps(a, sort_keys=True)",
    "re.sub(function)": "re.sub('a', lambda m: 'b', x)",
}


def test_every_construct_has_an_example_here() -> None:
    assert EXAMPLES.keys() == CONSTRUCTS.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_the_runtime_lacks_is_found_with_its_line_and_a_hint(name: str) -> None:
    source = f"\n{EXAMPLES[name]}"
    found = told(source, name)
    assert any(f"this Python has no {name}: {CONSTRUCTS[name].hint}" in line for line in found)
    assert found[0].startswith("script.py:")
    assert told(source) == []


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("class A(object):\n  pass\nA()", "class inheritance"),
        ("class A(ValueError):\n  pass\nA()", "class inheritance"),
        ("class A:\n  pass\nA()", "exception classes"),
        ("def f():\n  def g():\n    return 1\n  return g\nf()", "yield"),
        ("x = [y for y in z]", "yield"),
        ("evaluate('1')", "eval"),
        ("x.input()", "input"),
        ("asyncio.gather(a, b)", "asyncio.gather(return_exceptions=)"),
        ("json.loads(a, default=1)", "json.dumps(default=)"),
        ("re.sub('a', 'b', x)", "re.sub(function)"),
        ("wait.asyncio()", "asyncio.wait"),
    ],
)
def test_what_only_looks_like_it_is_not_found(source: str, name: str) -> None:
    assert told(source, name) == []


@pytest.mark.parametrize(
    "source", ["import asyncio\nasyncio.create_task(f())", "from asyncio import create_task\nf()"]
)
def test_a_member_of_a_module_is_found_where_it_is_imported_or_read(source: str) -> None:
    [line] = told(source, "asyncio.create_task")
    assert "this Python has no asyncio.create_task: use asyncio.gather" in line


def test_a_member_without_a_hint_is_named_all_the_same() -> None:
    [line] = told("from shlex import quote\nf()", "shlex.quote")
    assert line.splitlines()[0] == "script.py:1: this Python has no shlex.quote"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import operator\nf()", "there is no module `operator` here: use lambda"),
        ("import shlex\nf()", "this Python has no module `shlex`"),
        ("import requests\nf()", "there is no module `requests` here: there is no network"),
        ("from urllib.request import urlopen\nf()", "there is no module `urllib` here"),
        ("import githib\nf()", "there is no module `githib`; did you mean `github`?"),
        ("import zzz\nf()", "there is no module `zzz`; those of tools are `github`, `jira`"),
        ("from . import x\nf()", "there are no relative imports"),
    ],
)
def test_a_module_that_is_not_there_is_named_with_what_to_do(source: str, said: str) -> None:
    [line] = told(source, missing=("operator", "shlex", "urllib"))
    assert said in line


def test_modules_of_servers_and_of_this_python_can_be_imported() -> None:
    assert (
        told("import json, github\nfrom jira import search\nfrom toolcrib import call\nf()") == []
    )


@pytest.mark.parametrize(
    ("source", "call"),
    [
        ("async def main():\n  return 1", "`await main()`"),
        ("import json\ndef f():\n  pass\ndef g():\n  pass", "`g()`"),
    ],
)
def test_a_program_that_only_defines_functions_is_told_to_call_one(source: str, call: str) -> None:
    [line] = told(source)
    assert f"end it with {call}" in line


@pytest.mark.parametrize("source", ["", "x", "# nothing", '"""text"""', "class A:\n  pass"])
def test_a_program_that_does_little_may_run(source: str) -> None:
    assert told(source) == []


@pytest.mark.parametrize(
    ("source", "added"),
    [
        ("x = 1", "x"),
        ("x = 1\n\n# done\n", "x"),
        ("x: int = 1", "x"),
        ("x += 1", "x"),
        ("x = '''a\n'''", "x"),
        ("x", None),
        ("x = 1\nprint(x)", None),
        ("x.y = 1", None),
        ("x, y = 1, 2", None),
        ("if a:\n  return 1\nx = 1", None),
        ("def f():\n  return 1\nx = f()", "x"),
        ("x: int", None),
    ],
)
def test_the_value_of_a_program_that_ends_with_an_assignment_is_what_it_assigned(
    source: str, added: str | None
) -> None:
    checked = check_python(source, BOUNDS)
    if added is None:
        assert checked.source == source
        return
    assert checked.source == f"{source.rstrip()}\n{added}\n"
    assert ast.unparse(ast.parse(checked.source).body[-1]) == added


@pytest.mark.parametrize("source", [" x = 1\n  y = 2", "x = (", "a\0b", "type X = int", "\ud800"])
def test_text_that_does_not_parse_is_left_to_the_runtime(source: str) -> None:
    checked = check_python(source, BOUNDS, lacking=CONSTRUCTS)
    assert (checked.source, checked.problems) == (source, ())


def test_a_program_that_is_too_large_is_told_its_size_and_the_setting() -> None:
    [problem] = check_python("é" * 40_000, BOUNDS).problems
    assert problem.told() == (
        "the program has 80,000 bytes; code.source_bytes allows 65,536: keep data out of it, and "
        "fetch it with tools"
    )


DEEP = {
    "signs": "-" * 60_000 + "1",
    "not": "not " * 16_000 + "1",
    "attributes": "a" + ".a" * 30_000,
    "items": "a" + "[0]" * 20_000,
    "sums": "1+" * 30_000 + "1",
    "calls": "a" + ".b()" * 15_000,
    "elif": "if 1:\n x\n" + "elif 1:\n x\n" * 4_000,
    "lambdas": "lambda:" * 9_000 + "1",
    "sums that just fit the parser": "1+" * 500 + "1",
}


@pytest.mark.parametrize("source", DEEP.values(), ids=DEEP)
def test_a_program_that_is_nested_too_deep_is_refused(source: str) -> None:
    [problem] = check_python(source, BOUNDS).problems
    assert problem.kind == "depth"


WIDE = {
    "comparisons": "1<" * 30_000 + "1",
    "decorators": "@a\n" * 20_000 + "def f(): pass\nf()",
    "targets": "x=" * 20_000 + "1",
    "calls": "json.dumps(a,default=b)\n" * 2_500,
    "imports": "import zzz\n" * 5_000,
    "classes": "class A(B): pass\n" * 3_500,
}


@pytest.mark.parametrize("source", WIDE.values(), ids=WIDE)
def test_a_wide_program_is_checked_with_few_steps_and_few_words(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0
    original = ast.walk

    def counted(tree: ast.AST) -> object:
        nonlocal looks
        looks += 1
        return original(tree)

    monkeypatch.setattr(ast, "walk", counted)
    assert len(told(source, *CONSTRUCTS)) <= 10
    assert looks <= 2


@given(st.text(max_size=200))
def test_whatever_the_text_is_it_is_judged(source: str) -> None:
    check_python(source, BOUNDS, lacking=CONSTRUCTS, modules=MODULES)
