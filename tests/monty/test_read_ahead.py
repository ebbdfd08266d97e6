"""A session that has read ahead finds what a fresh one finds, and gives nothing away of it."""

import ast
import os
import signal
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psutil
import pytest

from toolcrib.adapters.jail.bubblewrap import NoJail
from toolcrib.adapters.monty.checking import check
from toolcrib.adapters.monty.modules import external_modules
from toolcrib.adapters.monty.places import Source
from toolcrib.adapters.monty.read_ahead import READ_AHEAD
from toolcrib.adapters.monty.workers import Workers
from toolcrib.ports import Failed, Program, SandboxModule
from toolcrib.settings import CodeSettings
from toolcrib.testing.hostile_python import CHECKER
from toolcrib.testing.monty_rig import MODULES, monty
from toolcrib.testing.program_host import run_in

NOWHERE = NoJail("it is not needed here")
SOURCES = (
    *(hostile.source for hostile in CHECKER),
    *(
        "from github import create_issue\n" + rest
        for rest in (
            "await create_issue(titel='a')",
            "await create_issue()",
            "create_issue(title='a')",
            "x = create_issue(title='a')\nreturn x['number']",
            "x: str = (await create_issue(title='a'))['number']",
            "return (await create_issue(title='a'))['nr'].upper()",
        )
    ),
    "from github import delete_issue",
    "from githab import create_issue",
    "def f():\n    import github\n    return github.nothing",
    "import json, re, asyncio\njson.dump(1)\nre.find('a')\nasyncio.gather(1)",
    "import datetime\ndatetime.now()",
    "from collections import Counter\nCounter('a').most_common('b')\nCounter.nothing",
    "counts: dict[str, int] = {}\ncounts['a'] = 'b'\nlines.append(1)\n','.join([1])",
    "class Row:\n    pass\nRow().number\nrow: Row = 1",
    "x = 1 +",
    "from toolcrib import call\nawait call('a')\nreveal_type(call)",
    "return [n for n in 5], max(None), sorted(3), 'a' + 1, f'{undefined}'",
)


@contextmanager
def real(*, ahead: bool) -> Generator[tuple[Workers, list[Future[Any]]]]:
    """Workers, and the sessions that read ahead."""
    reading: list[Future[Any]] = []
    with ThreadPoolExecutor(4) as threads:

        def soon(work: Any) -> Future[Any]:
            reading.append(threads.submit(work))
            return reading[-1]

        workers = Workers(CodeSettings(), NOWHERE, soon if ahead else None)
        try:
            yield workers, reading
        finally:
            workers.close()


def verdict(workers: Workers, source: str, modules: dict[str, SandboxModule]) -> Failed | None:
    session = workers.checkers.lent(external_modules(Program(source, modules), {}))
    try:
        return check(session, Source(source, ""), source, modules)
    finally:
        workers.checkers.done(session)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("whole", [True, False])
def test_a_session_that_has_read_ahead_finds_what_a_fresh_one_finds(*, whole: bool) -> None:
    with real(ahead=False) as (fresh, _), real(ahead=True) as (ready, reading):
        for source in SOURCES:
            if whole:
                reading[-1].result()  # all that there is to read; else what it has come to
            assert verdict(ready, source, dict(MODULES)) == verdict(fresh, source, dict(MODULES))
    assert len(reading) == len(SOURCES) + 1  # each had one of its own


@pytest.mark.parametrize("number", range(len(READ_AHEAD)))
def test_what_is_read_ahead_is_good_by_itself_and_is_not_run(number: int) -> None:
    with real(ahead=False) as (workers, _):
        session = workers.checkers.lent({})
        assert check(session, Source("", ""), READ_AHEAD[number]) is None
        assert session.feed_run("5", skip_type_check=True) == 5
        workers.checkers.done(session)


def names_in(text: str) -> set[str]:
    """What a text defines or imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.AsyncFunctionDef | ast.ClassDef | ast.alias):
            found.add(node.name)
    return found


def test_nothing_that_was_read_ahead_is_there_for_a_program() -> None:
    names = sorted({name for text in READ_AHEAD for name in names_in(text)})
    assert {"asyncio", "Row", "rows", "counts", "Counter", "Any"} <= set(names)
    with real(ahead=True) as (workers, reading):
        reading[0].result()
        for first in range(0, len(names), 10):
            some = names[first : first + 10]
            refused = verdict(workers, "\n".join(some), {})
            assert refused is not None
            for name in some:
                assert f"Name `{name}` used when not defined" in refused.message
            reading[-1].result()


async def test_programs_in_a_row_are_checked_against_their_own_modules_and_nothing_else() -> None:
    """As of two principals, whose servers have the same name."""
    secret = SandboxModule(
        "from typing import TypedDict\nclass Salary(TypedDict):\n    amount: int\n"
        "async def salary(*, of: str) -> Salary: ...\n",
        frozenset({"salary"}),
    )
    plain = SandboxModule("async def weather(*, at: str) -> str: ...\n", frozenset({"weather"}))
    theirs = "from s import salary, Salary\nmine: Salary = {'amount': 1}\nprint(salary)"
    prying = (
        "from s import salary",
        "from s import Salary",
        "import s\ns.salary\nawait s.weather(at='a', of='b')",
        "mine['amount']",
        "Salary",
    )
    async with monty() as sandbox:
        for source in prying:
            first = await run_in(sandbox, Program(theirs + "\nmine = 'no'", {"s": secret}))
            assert "amount" in first.failed.message or "Salary" in first.failed.message
            fits = await run_in(sandbox, Program("from s import salary", {"s": secret}))
            assert fits.value is None
            ran = await run_in(sandbox, Program(source, {"s": plain}))
            assert ran.failed.why == "types"
            assert "amount: int" not in ran.failed.message
            assert "Did you mean" not in ran.failed.message
        fits = await run_in(sandbox, Program("from s import weather", {"s": plain}))
        assert fits.value is None


def test_a_session_whose_worker_has_died_while_it_waited_is_not_lent() -> None:
    with real(ahead=True) as (workers, reading):
        ready = reading[0].result()
        dead = ready.session.worker_pid
        os.kill(dead, signal.SIGKILL)
        psutil.wait_procs([psutil.Process(dead)] if psutil.pid_exists(dead) else [], timeout=5)
        refused = verdict(workers, "nothing", {})
        assert refused is not None
        assert refused.why == "types"
