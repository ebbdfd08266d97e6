"""What Monty is found to lack: all of it is refused before a program runs, and nothing else is."""

import importlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from pydantic_monty import MontySession

from toolcrib.adapters.jail.bubblewrap import NoJail
from toolcrib.adapters.monty import survey
from toolcrib.adapters.monty.members import missing_modules
from toolcrib.adapters.monty.probes import ARGUMENTS, LIMITS, PROBES, argument, lacks
from toolcrib.adapters.monty.sandbox import MontySandbox
from toolcrib.adapters.monty.workers import Workers
from toolcrib.core.program.python import Bounds, Checked, check_python
from toolcrib.ports import Abilities
from toolcrib.settings import CodeSettings
from toolcrib.testing.monty_rig import monty, program
from toolcrib.testing.program_host import run_in

BOUNDS = Bounds(64 * 1024, 200)


@asynccontextmanager
async def able() -> AsyncGenerator[tuple[MontySandbox, Abilities]]:
    async with monty() as sandbox:
        yield sandbox, await sandbox.abilities()


def looked_through(source: str, abilities: Abilities) -> Checked:
    return check_python(
        source,
        BOUNDS,
        lacking=abilities.lacks,
        missing=abilities.missing_modules,
        modules={"github": (), "toolcrib": ()},
    )


def used(name: str) -> str:
    """A program that uses what is lacking by that name."""
    bare = name.removeprefix("builtins.").removesuffix(" as a value")
    if name in PROBES:
        return PROBES[name]
    if name in ARGUMENTS:
        return argument(name)
    if bare.startswith("."):
        return f"x = f()\ng(x{bare})"
    module = name.partition(".")[0]
    return f"g({bare})" if module == "builtins" else f"import {module}\ng({bare})"


def test_what_is_tried_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    held = workers()
    try:
        survey.survey(lambda: held.to_try(LIMITS))
    finally:
        held.close()
    assert capfd.readouterr() == ("", "")


async def test_everything_that_is_lacking_is_found_in_a_text_that_uses_it() -> None:
    async with able() as (_, abilities):
        unseen = [it for it in abilities.lacks if not looked_through(used(it), abilities).problems]
        imported = [f"import {name}" for name in abilities.missing_modules]
        unseen += [it for it in imported if not looked_through(it, abilities).problems]
    assert len(abilities.lacks) > 1_000
    assert unseen == []


WORKS = {
    "class inheritance": "class A:\n  x = 1\nassert A().x == 1",
    "exception classes": "try:\n  raise RuntimeError('a: b')\nexcept RuntimeError as e:\n"
    "  assert str(e) == 'a: b'",
    "metaclasses": "class A:\n  pass\nassert A()",
    "yield": "def f():\n  return [1]\nassert list(f()) == [1]",
    "async generators": "async def f():\n  return [1]\nassert await f() == [1]",
    "del": "x = {1: 2}\nx.pop(1)\nassert not x",
    "except*": "try:\n  pass\nexcept ValueError:\n  pass",
    "type statement": "X = list[int]\nassert X",
    "async with": "class A:\n  def __enter__(self):\n    return 1\n"
    "  def __exit__(self, *a):\n    pass\nwith A() as a:\n  assert a == 1",
    "async for": "async def f():\n  return [1]\nfor x in await f():\n  assert x == 1",
    "star import": "from math import floor, ceil\nassert ceil(0.5)",
    "property": "class A:\n  def x(self):\n    return 1\nassert A().x() == 1",
    "decorated methods": "class A:\n  def x(self):\n    return 1\ndef d(f):\n  return f\n@d\n"
    "def f():\n  return 1\nassert f() == A().x()",
    "next(generator)": "assert next(iter(x for x in [1])) == 1\nnext(iter([]), None)",
    "object()": "x = []\nassert x is x",
    "exceptions of other than one text": "assert str(ValueError('a')) == 'a'",
    "raise SystemExit": "try:\n  raise SystemExit\nexcept SystemExit:\n  pass",
    "open": "assert 'x'.upper() == 'X'",
    "re.sub(function)": "import re\nassert re.sub('a', 'b', 'a') == re.compile('a').sub('b', 'a')",
}


async def test_beside_each_lacking_construct_a_form_works_and_is_not_refused() -> None:
    async with able() as (sandbox, abilities):
        assert WORKS.keys() == PROBES.keys() & set(abilities.lacks)
        for name, source in WORKS.items():
            assert looked_through(source, abilities).problems == (), name
            assert (await run_in(sandbox, program(source + "\nreturn 5"))).value == 5, name


async def test_each_probe_of_what_is_there_is_not_refused() -> None:
    async with able() as (_, abilities):
        there = [*PROBES.keys() - set(abilities.lacks), *ARGUMENTS.keys() - set(abilities.lacks)]
        refused = [it for it in there if looked_through(used(it), abilities).problems]
    assert len(there) > 60
    assert [it for it in refused if "main" not in used(it)] == []


RUNS = [
    "return ', '.join(map(str, [1, 2]))",
    "return [hasattr(1, 'x'), getattr(1, 'x', 2), format(1.5, '.1f'), list(filter(None, [0, 1]))]",
    "try:\n  {}['a']\nexcept (ImportError, PermissionError, KeyError):\n  return 1",
    "from datetime import datetime\nreturn datetime.strptime('2026-01-02', '%Y-%m-%d').isoformat()",
    "import datetime as dt\nreturn dt.datetime.now(dt.timezone.utc).year",
    "from collections import Counter\nreturn Counter('aab').most_common(1)[0]",
    "return sorted({'a': 2}.items(), key=lambda it: it[1])",
    "QUERY = 'abc'\nif QUERY:\n  return 1",
    "class A:\n  def __init__(self, title):\n    self.title = title\nreturn A('x').title",
    "from dataclasses import dataclass\n@dataclass\nclass A:\n  name: str\nreturn A('x').name",
    "def f(x: 'list[int]') -> int:\n  return 1\nreturn f([])",
    'r = {\'a\': 1}\nx = f"{r["a"]}"',
    "def f[T](x: T) -> T:\n  return x\nx = f(3)",
    "a, *b = 1, 2, 3",
    "d = {}\nd['a'] = 1",
    "x = 0\nif x > 5:\n  return 'big'\ny = x + 1",
    "x = 0\nif not x:\n  x = 'none'",
]


@pytest.mark.parametrize("source", RUNS)
async def test_what_monty_has_is_refused_by_no_check_and_has_a_value(source: str) -> None:
    async with able() as (sandbox, abilities):
        checked = looked_through(source, abilities)
        assert checked.problems == ()
        assert (await run_in(sandbox, program(checked.source, checked=True))).value is not None


FAILS = [
    "xs = [1]\nx = next(x for x in xs if x)",
    "g = (x for x in [1])\nnext(g)",
    "sorted(['b'], key=str.lower)",
    "raise SystemExit(0)",
    "raise SystemExit",
    "exit()",
    "import sys\nsys.exit(0)",
    "import re\nre.sub('a', lambda m: 'b', 'a')",
    "import re\ndef f(m):\n  return 'b'\nre.compile('a').sub(f, 'a')",
    "import re\nre.compile('a', re.VERBOSE)",
    "from collections.abc import Mapping\nx = 1",
    "from typing import TypedDict\nx = 1",
    "from datetime import UTC\nx = 1",
    "x = str.maketrans('a', 'b')",
    "'a'.translate({})",
    "add = [].append\nadd(1)",
    "import json\njson.dumps({1}, default=list)",
    "ValueError('a', 1)",
    "try:\n  1 / 0\nexcept ZeroDivisionError as e:\n  print(e.__cause__)",
    "import os\nos.environ",
]


@pytest.mark.parametrize("source", FAILS)
async def test_what_monty_lacks_fails_when_it_runs_and_is_told_before(source: str) -> None:
    async with able() as (sandbox, abilities):
        problems = looked_through(source, abilities).problems
        assert problems
        assert all(problem.kind == "unsupported" and problem.line for problem in problems)
        assert (await run_in(sandbox, program(source))).failed.why in {"raised", "unsupported"}


def workers() -> Workers:
    return Workers(CodeSettings(), NoJail("it is not needed here"))


async def test_every_name_and_public_member_that_monty_has_passes_all_checks() -> None:
    async with able() as (sandbox, abilities):
        names = [it for it in dir(importlib.import_module("builtins")) if it.isidentifier()]
        there = [it for it in names if f"builtins.{it}" not in abilities.lacks and it[0] != "_"]
        source = "\n".join(f"[{it}]" for it in there)
        assert looked_through(source, abilities).problems == ()
        assert (await run_in(sandbox, program(source + "\nreturn 5", checked=True))).value == 5
        assert {"map", "filter", "hasattr", "format", "UnicodeDecodeError"} <= set(there)
        for module in ("os", "typing", "datetime", "collections", "re", "json", "asyncio", "sys"):
            members = [it for it in dir(importlib.import_module(module)) if it[0] != "_"]
            told = [it for it in members if f"{module}.{it}" not in abilities.lacks]
            source = "\n".join(f"from {module} import {it} as x_{it}" for it in told)
            assert looked_through(source, abilities).problems == (), module
            ran = await run_in(sandbox, program(source + "\nreturn 5", checked=True))
            assert ran.value == 5, module


def _no_session() -> MontySession:
    raise AssertionError("nothing is to be tried")


def test_it_is_tried_once_for_each_version(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[survey.Sessions] = []
    one = survey.Lacking((), frozenset())

    def counted(sessions: survey.Sessions) -> survey.Lacking:
        tried.append(sessions)
        return one

    monkeypatch.setattr(survey, "survey", counted)
    for version in ("one of a test", "one of a test", "another of a test"):
        assert survey.surveyed(version, _no_session) is one
    assert len(tried) == 2


def test_what_a_limit_kept_from_being_tried_is_not_lacking() -> None:
    held = workers()
    try:
        with held.to_try({"max_feed_duration_secs": 0.05}) as session:
            assert not lacks(session, "while True: pass")
        with held.to_try(LIMITS) as session:
            assert lacks(session, "1 / 0")
    finally:
        held.close()


def test_what_one_name_is_tried_with_is_there_for_no_other() -> None:
    held = workers()
    there = {"len", "from math import sqrt"}
    try:
        found = held.defined.among([*there, "sqrt", "e", "raised", "from os import nothing"])
        assert set(found) == there
    finally:
        held.close()


def test_one_text_that_ends_its_session_hides_no_other() -> None:
    held = workers()
    try:
        assert "socket" in missing_modules(lambda: held.to_try(LIMITS))
        assert set(held.defined.among(["map", "zzz", "from os import walk", "ValueError(1)"])) == {
            "map",
            "from os import walk",
        }
    finally:
        held.close()


async def test_a_check_that_takes_too_long_names_its_limit_and_leaves_a_worker() -> None:
    source = "x = " + "[" * 100 + "]" * 100
    async with monty(check_seconds=0.3) as sandbox:
        await run_in(sandbox, program("return 1", checked=True))
        failed = (await run_in(sandbox, program(source, checked=True))).failed
        assert (failed.why, failed.executed) == ("check_seconds", False)
        assert "code.check_seconds: 0.3" in failed.message
        assert "flatter literals" in failed.message
        assert (await run_in(sandbox, program("return 1"))).value == 1
