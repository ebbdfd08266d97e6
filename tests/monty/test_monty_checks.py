"""What is found before a program runs, and that nothing of it ran."""

import pytest

from toolcrib.adapters.jail.bubblewrap import NoJail
from toolcrib.adapters.monty.checking import check
from toolcrib.adapters.monty.places import Source
from toolcrib.adapters.monty.workers import Workers
from toolcrib.ports import FailedWhy
from toolcrib.settings import CodeSettings
from toolcrib.testing.monty_rig import monty, program
from toolcrib.testing.program_host import run_in

TYPES: list[tuple[str, int, str]] = [
    ("from github import create_issue\nawait create_issue(titel='a')", 2, "titel"),
    ("from github import create_issue\nawait create_issue()", 2, "title"),
    ("from github import create_issue\nawait create_issue('a')", 2, "positional"),
    ("from github import create_issue\nx = create_issue(title='a')\nreturn x['number']", 3, ""),
    ("from github import create_issue\ncreate_issue(title='a')", 2, "not awaited"),
    ("from github import list_issues\nfor i in list_issues(): pass", 2, "iterable"),
    ("from github import create_issue\nreturn (await create_issue(title='a'))['nr']", 2, "nr"),
    ("from github import delete_issue", 1, "delete_issue"),
    ("import gitlab", 1, "gitlab"),
    ("import github\nawait github.close(1)", 2, "close"),
    ("from toolcrib import call\nawait call('a')", 2, "tool"),
    ("print('é'); x: int = 'é'", 1, "assignable"),
    ("if True:\n    return undefined_name", 2, "undefined_name"),
    ("def f() -> int:\n    return 1\nreturn f() + 'a'", 3, "+"),
]


@pytest.mark.parametrize(
    ("source", "line", "names"), TYPES, ids=[str(i) for i in range(len(TYPES))]
)
async def test_types_that_do_not_fit_are_told_with_the_line_and_nothing_ran(
    source: str, line: int, names: str
) -> None:
    async with monty() as sandbox:
        ran = await run_in(sandbox, program("print('ran')\n" + source, checked=True))
    assert ran.failed.why == "types"
    assert not ran.failed.executed
    assert ran.events == (ran.failed,)
    assert ran.failed.message.startswith(f"script.py:{line + 1}:")
    assert names in ran.failed.message
    assert ran.failed.trace[0].line == line + 1


FITTING = [
    "return 1",
    "from __future__ import annotations\nreturn 1",
    "from github import create_issue\nx = await create_issue(title='a')\nreturn x['number'] + 1",
    (
        "import asyncio\nfrom github import create_issue\n"
        "r = await asyncio.gather(*[create_issue(title=t) for t in 'abc'])\nreturn r[0]['number']"
    ),
    "r = []\nfor x in range(3):\n    if x == 2:\n        return r\n    r.append(x)",
    "x = {'a': 1}\nreturn f'{x[\"a\"]} {x['a']}'",
    "import toolcrib\nreturn await toolcrib.gather_settled(toolcrib.call('a', 'b', {'c': 1}))",
    "x: int | None = None\nif x is None:\n    return 'none'\nreturn x + 1",
    "def f() -> int:  # type: ignore\n    return 1\nreturn f()",
    "",
    "# only a comment",
]


@pytest.mark.parametrize("source", FITTING, ids=[str(i) for i in range(len(FITTING))])
async def test_a_program_whose_types_fit_runs(source: str) -> None:
    async with monty() as sandbox:
        ran = await run_in(sandbox, program(source, checked=True))
    assert ran.value is not None or not source.strip() or source.startswith("#")


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize(
    ("source", "why", "line"),
    [
        ("x = 1\ndef f(:\n    pass", "syntax", 2),
        ("return (", "syntax", 1),
        ("x = 1\n  y = 2", "syntax", 2),
        ("print('ran')\nclass A(Exception): pass", "unsupported", 2),
        ("print('ran')\ndef f():\n    yield 1", "unsupported", 3),
        ("print('ran')\nx = {1: 2}\ndel x[1]", "unsupported", 3),
        ("print('ran')\nfrom math import *", "unsupported", 2),
    ],
)
async def test_source_that_cannot_run_does_not_begin(
    source: str, why: FailedWhy, line: int, *, checked: bool
) -> None:
    async with monty() as sandbox:
        ran = await run_in(sandbox, program(source, checked=checked))
    assert ran.failed.why == why
    assert not ran.failed.executed
    assert ran.events == (ran.failed,)
    assert ran.failed.trace[0].line == line


async def test_what_is_missing_only_when_it_runs_is_an_error_of_the_program() -> None:
    source = "import asyncio\nawait asyncio.gather(asyncio.sleep(0), return_exceptions=True)"
    async with monty() as sandbox:
        ran = await run_in(sandbox, program(source, checked=True))
    assert ran.failed.why == "raised"
    assert ran.failed.executed
    assert ran.failed.message.startswith("NotImplementedError: ")


async def test_syntax_that_the_program_evaluates_itself_is_an_error_of_the_program() -> None:
    async with monty() as sandbox:
        ran = await run_in(sandbox, program("eval('(')", checked=True))
    assert (ran.failed.why, ran.failed.executed) == ("raised", True)


async def test_many_findings_are_told_in_part_and_counted() -> None:
    source = "\n".join(f"x{i}: int = 'a'" for i in range(200))
    async with monty() as sandbox:
        ran = await run_in(sandbox, program(source, checked=True))
    assert ran.failed.message.endswith("and 180 more")
    assert ran.failed.message.count("script.py:") == 20


async def test_the_gate_of_the_check_lets_nothing_through_even_where_all_is_silenced() -> None:
    source = "# ty: ignore\nprint('ran')\nfrom github import create_issue\nreturn 5"
    async with monty() as sandbox:
        ran = await run_in(sandbox, program(source, checked=True))
    assert ran.printed == "ran\n"  # once: when it ran, not when it was checked
    assert ran.value == 5


def test_what_the_checker_lets_through_stops_at_the_gate() -> None:
    """As if a later checker found nothing wrong with the gate: a session that checks nothing."""
    workers = Workers(CodeSettings(), NoJail("it is not needed here"))
    printed: list[str] = []
    try:
        with workers.to_try({}) as session:
            assert check(session, Source("", ""), "print('ran')") is None
            session.feed_run("print('later')", print_callback=lambda _, text: printed.append(text))
    finally:
        workers.close()
    assert printed == ["later\n"]
