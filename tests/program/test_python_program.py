"""What can be said of a Python program before it runs."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.program.hints import CONSTRUCT_HINTS
from toolcrib.core.program.newer import TYPE_STATEMENT
from toolcrib.core.program.python import Bounds, check_python
from toolcrib.core.program.syntax import LOOKS

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
    "property": "class A:\n  @property\n  def x(self):\n    return 1\nA()",
    "decorated methods": "class A:\n  @cached\n  def x(self):\n    return 1\nA()",
    "next(generator)": "next(x for x in y)",
    "open": "open('x')",
    "object()": "x = object()\nx",
    "re.sub(function)": "import re\nre.sub('a', lambda m: 'b', x)",
    "exceptions of other than one text": "raise ValueError(1)",
    "raise SystemExit": "raise SystemExit",
}


def test_every_construct_has_an_example_and_a_hint() -> None:
    assert EXAMPLES.keys() == LOOKS.keys()
    assert CONSTRUCT_HINTS.keys() == {*LOOKS, TYPE_STATEMENT}


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_the_runtime_lacks_is_found_with_its_line_and_a_hint(name: str) -> None:
    source = f"\n{EXAMPLES[name]}"
    found = told(source, name)
    assert any(f"this Python has no {name}: {CONSTRUCT_HINTS[name]}" in line for line in found)
    assert found[0].startswith("script.py:")
    assert told(source) == []


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("async def f():\n  return [y async for y in x]\nf()", "async for"),
        ("x = map(str, y)\nnext(x)", "next(generator)"),
        ("next(zip(a, b), None)", "next(generator)"),
        ("import re\ndef f(m):\n  return 'b'\nre.sub('a', f, x)", "re.sub(function)"),
        ("import re as r\nr.sub(pattern='a', repl=lambda m: 'b', string=x)", "re.sub(function)"),
        ("p.sub(lambda m: 'b', x)", "re.sub(function)"),
        ("raise RuntimeError('a', 1)", "exceptions of other than one text"),
        ("raise KeyError({'a': 1})", "exceptions of other than one text"),
        ("raise SystemExit(0)", "raise SystemExit"),
        ("x = (lambda: (yield))\nx()", "yield"),
    ],
)
def test_a_construct_is_found_in_its_other_forms(source: str, name: str) -> None:
    assert f"this Python has no {name}: {CONSTRUCT_HINTS[name]}" in told(source, name)[0]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("class A(ValueError):\n  pass\nA()", "class inheritance"),
        ("class A:\n  pass\nA()", "exception classes"),
        ("def f():\n  def g():\n    return 1\n  return g\nf()", "yield"),
        ("x = [y for y in z]", "yield"),
        ("@cached\ndef f():\n  return 1\nf()", "decorated methods"),
        ("x = property\nclass A:\n  def f(self):\n    return 1\nA()", "property"),
        ("next(iter(x))", "next(generator)"),
        ("next(iter(y for y in x), None)", "next(generator)"),
        ("def next(x):\n  return x\nnext(y for y in x)", "next(generator)"),
        ("x = (y for y in z)\nx = iter([])\nnext(x)", "next(generator)"),
        ("x.open('a')", "open"),
        ("from jira import open\nopen('a')", "open"),
        ("raise ValueError(f'{x}')", "exceptions of other than one text"),
        ("raise ValueError(x)", "exceptions of other than one text"),
        ("raise ValueError", "exceptions of other than one text"),
        ("def ValueError(*x):\n  return x\nValueError(1, 2)", "exceptions of other than one text"),
        ("try:\n  raise SystemExit\nexcept SystemExit:\n  pass", "raise SystemExit"),
        ("try:\n  raise SystemExit\nexcept:\n  pass", "raise SystemExit"),
        ("import asyncio\nasyncio.gather(a, b)", "asyncio.gather(return_exceptions=)"),
        ("import json\njson.loads(a, default=1)", "json.dumps(default=)"),
        ("def dumps(x, default):\n  return x\ndumps(a, default=str)", "json.dumps(default=)"),
        ("import re\nre.sub('a', 'b', x)", "re.sub(function)"),
        ("import re\nre.sub('a', y, x)", "re.sub(function)"),
        ("import jira\njira.sub(lambda: 1)", "re.sub(function)"),
        ("wait.asyncio()", "asyncio.wait"),
        ("asyncio = x\nasyncio.wait()", "asyncio.wait"),
        ("x.dir()", "builtins.dir"),
        ("def f(dir):\n  return dir\nf(1)", "builtins.dir"),
        ("def f(x: dir) -> dir:\n  y: dir = x\n  return y\nf(1)", "builtins.dir"),
        ("x.upper()", ".upper as a value"),
        ("r['title']", ".title as a value"),
        ("class A:\n  title: str\nA().title", ".title as a value"),
        ("class A:\n  def title(self):\n    return 1\nA().title", ".title as a value"),
        ("a.title = 1\na.title", ".title as a value"),
        ("A = namedtuple('A', 'size title')\nA(1, 2).title", ".title as a value"),
        ("import github\ngithub.translate(x)", ".translate()"),
        ("import github\ndef f(github):\n  github.translate(x)\nf(1)", ".translate()"),
        ("'a'.upper()", "builtins.str.upper()"),
        ("def f(str):\n  return str.upper()\nf(1)", "builtins.str.upper()"),
        ("dict.fromkeys(x)", "builtins.dict.fromkeys as a value"),
        ("import collections\nx = collections.Counter()\nx", "collections.abc"),
    ],
)
def test_what_only_looks_like_it_is_not_found(source: str, name: str) -> None:
    assert told(source, name) == []


@pytest.mark.parametrize(
    ("source", "name", "said"),
    [
        ("import asyncio\nasyncio.create_task(f())", "asyncio.create_task", "use asyncio.gather"),
        ("from asyncio import create_task\nf()", "asyncio.create_task", "use asyncio.gather"),
        ("import asyncio as a\na.create_task(f())", "asyncio.create_task", "use asyncio.gather"),
        ("import datetime as dt\ndt.UTC", "datetime.UTC", "use datetime.timezone.utc"),
        (
            "from datetime import datetime as d\nd.utcnow()",
            "datetime.datetime.utcnow()",
            "use datetime.now(timezone.utc)",
        ),
        ("dir(x)", "builtins.dir", "this Python has no dir: name the members"),
        ("sorted(x, key=str.lower)", "builtins.str.lower()", "call it on the value"),
        ("sorted(x, key=str.lower)", "builtins.str.lower as a value", "write lambda x: x.lower()"),
        ("x = getattr(str, 'upper')", "builtins.str.upper()", "this Python has no str.upper()"),
        ("x = getattr(y, 'upper')", ".upper as a value", "call it: x.upper()"),
        ("f(x.title)", ".title as a value", "a member of a dict is x['title']"),
        ("x.translate(y)", ".translate()", "use .replace()"),
        ("f(x.translate)", ".translate()", "use .replace()"),
        ("e.__cause__", ".__cause__", "keep str(error)"),
        (
            "import asyncio\nasyncio.gather(a, return_exceptions=True)",
            "asyncio.gather(return_exceptions=)",
            "gather_settled",
        ),
        ("from json import dumps as d\nd(a, default=str)", "json.dumps(default=)", "JSON values"),
        ("pow(2, 3, mod=5)", "builtins.pow(mod=)", "this Python has no pow(mod=)"),
        ("def f():\n  import asyncio\n  asyncio.wait(x)\ndef g():\n  import asyncio\nf()",
         "asyncio.wait", "gather_settled"),
    ],
)  # fmt: skip
def test_a_member_or_an_argument_is_found_where_it_is_used(
    source: str, name: str, said: str
) -> None:
    [line] = told(source, name)
    assert said in line


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
        ("import json.scanner\nf()", "this Python has no module `json.scanner`"),
        ("from json.scanner import x\nf()", "this Python has no module `json.scanner`"),
        ("import zzz\nf()", "there is no module `zzz`; those of tools are `github`, `jira`"),
        ("from . import x\nf()", "there are no relative imports"),
    ],
)
def test_a_module_that_is_not_there_is_named_with_what_to_do(source: str, said: str) -> None:
    [line] = told(source, missing=("operator", "shlex", "urllib", "json.scanner"))
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


@pytest.mark.parametrize("source", [" x = 1\n  y = 2", "x = (", "a\0b", "f'{x", "\ud800"])
def test_text_that_does_not_parse_is_left_to_the_runtime(source: str) -> None:
    checked = check_python(source, BOUNDS, lacking=LOOKS)
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
    original = ast.iter_child_nodes

    def counted(node: ast.AST) -> object:
        nonlocal looks
        looks += 1
        return original(node)

    monkeypatch.setattr(ast, "iter_child_nodes", counted)
    assert len(told(source, *LOOKS, ".dumps as a value", "builtins.dir")) <= 10
    assert looks <= 8 * len(source)


@given(st.text(max_size=200))
def test_whatever_the_text_is_it_is_judged(source: str) -> None:
    check_python(source, BOUNDS, lacking=LOOKS, modules=MODULES)
