"""`toolcrib run`: programs over scripted servers, in the real runtime of Python."""

import io
import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from typer.testing import CliRunner

from toolcrib.adapters.jail.bubblewrap import NoJail
from toolcrib.adapters.monty.sandbox import MontySandbox
from toolcrib.adapters.monty.workers import VERSION
from toolcrib.cli import opening, verb_run
from toolcrib.cli.app import app
from toolcrib.cli.asking import CAPABILITIES, AskingTerminal, TerminalAsk
from toolcrib.cli.exits import Exit, UsageError
from toolcrib.cli.opening import Source
from toolcrib.cli.output import Output
from toolcrib.cli.person import Person
from toolcrib.cli.program_view import CallLines, ran_view
from toolcrib.cli.verb_run import Script, run
from toolcrib.codemode.ran import Ran
from toolcrib.compose import Parts
from toolcrib.config.keys import InstallationKey
from toolcrib.errors import SandboxUnavailable, ScriptFailed
from toolcrib.facts import Fact, ProgramCalled, ProgramCalling, StoreDegraded
from toolcrib.settings import CodeSettings, Language, Settings
from toolcrib.testing.rounds_rig import FORM, eliciting
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import ScriptedWorld

TOML = """
[servers.shop]
command = "shop"
[[approval.rules]]
verdict = "ask"
tools = ["buy"]
[[approval.rules]]
verdict = "deny"
tools = ["burn"]
"""
NUMBER = {"type": "integer"}


async def priced(_: str, params: Mapping[str, Any]) -> dict[str, Any]:
    n = params["arguments"].get("n", 0)
    if n < 0:
        return {"content": [{"type": "text", "text": "no such thing"}], "isError": True}
    return {"content": [{"type": "text", "text": str(n * 10)}]}


class Desk:
    """A command line whose person writes these lines (None: nobody is there)."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shop = ScriptedUpstream([tool("price", n=NUMBER), tool("buy", n=NUMBER), tool("burn")])
        self.shop.on_call = priced
        self.path = tmp_path
        config = tmp_path / "toolcrib.toml"
        config.write_text(TOML)
        self.source = Source((config,), patience=5.0)
        self.lines: list[str] | None = None
        self.stdin = io.StringIO()
        self.stdout, self.stderr = io.StringIO(), io.StringIO()
        self.output = Output(as_json=False, stdout=self.stdout, stderr=self.stderr, env={})
        monkeypatch.setattr(opening, "open_parts", self._parts)
        monkeypatch.setattr(opening, "installation_key", lambda: (InstallationKey(b"k" * 32), None))
        monkeypatch.setattr(verb_run, "asking_on", self._asking)
        monkeypatch.setattr(verb_run.sys, "stdin", self.stdin)

    async def run(self, text: str, name: str = "p.py", **source: Any) -> Exit:
        (self.path / name).write_text(text)
        script = Script.of(str(self.path / name), None)
        with anyio.fail_after(20):
            return await run(Source(self.source.files, **source), self.output, script)

    def json(self) -> "Desk":
        self.output = Output(as_json=True, stdout=self.stdout, stderr=self.stderr, env={})
        return self

    @property
    def document(self) -> Any:
        return json.loads(self.stdout.getvalue())

    @property
    def told(self) -> list[str]:
        """Standard error, with seconds as `_`."""
        words = (line.split(" ") for line in self.stderr.getvalue().splitlines())
        return [" ".join("_" if _is_time(word) else word for word in line) for line in words]

    @contextmanager
    def _parts(self, settings: Settings, **others: Any) -> Generator[Parts]:
        del settings
        world = ScriptedWorld({"shop": self.shop}, None)
        yield replace(world.parts(), observer=others["observer"])

    def _asking(self, output: Output, *_: object) -> AskingTerminal:
        if self.lines is None:
            return AskingTerminal()
        return AskingTerminal(TerminalAsk(Person(output, self._line), output), CAPABILITIES)

    async def _line(self) -> str:
        await anyio.lowlevel.checkpoint()
        return f"{self.lines.pop(0)}\n" if self.lines else ""


def _is_time(word: str) -> bool:
    whole, dot, part = word.partition(".")
    return bool(dot) and whole.isdecimal() and part.isdecimal()


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


async def test_calls_are_told_as_they_happen_and_then_what_it_printed_and_returned(
    desk: Desk,
) -> None:
    text = "from shop import price\nfirst = await price(n=1)\nprint('one:', first)\nfirst + 1"
    assert await desk.run(text) is Exit.FINE
    assert desk.stdout.getvalue() == "one: 10\n11\n"
    assert desk.told == [
        "1. shop price (line 2)",
        "1. shop price returned in _ s",
        "1 call in _ s",
    ]


async def test_for_programs_it_is_one_document_and_nothing_is_told_meanwhile(desk: Desk) -> None:
    text = "from shop import price\nprint('hi')\n{'got': [await price(n=2)]}"
    assert await desk.json().run(text) is Exit.FINE
    document = desk.document
    assert document.keys() == {"value", "printed", "calls", "seconds"}
    assert (document["value"], document["printed"]) == ({"got": [20]}, "hi\n")
    assert document["seconds"] > 0
    assert document["calls"] == [
        {
            "number": 1,
            "server": "shop",
            "tool": "price",
            "line": 3,
            "outcome": "returned",
            "detail": "",
        }
    ]
    assert desk.told == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("None", "The program returned nothing.\n"),
        ("print('a')", "a\n"),
        ("'x\\ny'", "x\ny\n"),
        ("x = [1]", "[\n  1\n]\n"),
        ("'\\x1b[31m'", "\\x1b[31m\n"),
        ("print('\\x1b[2J')", "\\x1b[2J\n"),
    ],
)
async def test_what_it_brought_is_shown_without_acting_on_the_terminal(
    desk: Desk, text: str, shown: str
) -> None:
    assert await desk.run(text) is Exit.FINE
    assert desk.stdout.getvalue() == shown


async def test_a_value_is_whole_and_what_is_printed_beyond_its_bound_is_said(desk: Desk) -> None:
    assert await desk.json().run("print('y' * 100_000)\n'x' * 100_000") is Exit.FINE
    assert len(desk.document["value"]) == 100_000
    assert len(desk.document["printed"]) == 32 * 1024
    assert desk.told == [
        "warning: it printed 100,001 bytes; the first 32,768 are kept (code.print_bytes)"
    ]


async def test_an_error_lists_the_calls_that_were_made(desk: Desk) -> None:
    text = "from shop import price\nawait price(n=1)\nawait price(n=-1)"
    with pytest.raises(ScriptFailed) as caught:
        await desk.run(text)
    assert desk.output.fail(caught.value) is Exit.FOUND
    assert "error: RuntimeError: no such thing" in desk.told
    assert "  line 3: await price(n=-1)" in desk.told
    assert desk.told[-2:] == [
        "1. `shop` `price` (line 2) returned",
        "2. `shop` `price` (line 3) raised: no such thing",
    ]
    assert len(desk.shop.calls) == 2


async def test_what_its_check_finds_is_told_and_nothing_is_called(desk: Desk) -> None:
    text = "from shop import price\nawait price(n=1)\nawait price(n='one')"
    with pytest.raises(ScriptFailed, match="Nothing was executed") as caught:
        await desk.json().run(text)
    assert caught.value.details["why"] == "types"
    desk.output.fail(caught.value)
    assert desk.document["error"]["code"] == "script_failed"
    assert desk.document["error"]["details"]["calls"] == []
    assert desk.shop.calls == []


# ---------------------------------------------------------------- questions


BUYING = "from shop import buy\nfor n in range(3):\n    await buy(n=n)\n'done'"


async def test_at_a_terminal_one_yes_holds_for_all_calls_of_a_kind(desk: Desk) -> None:
    desk.lines = ["1"]
    assert await desk.run(BUYING) is Exit.FINE
    assert desk.lines == []
    assert len(desk.shop.calls) == 3
    assert desk.stdout.getvalue() == "done\n"


async def test_a_no_is_raised_and_nothing_is_sent(desk: Desk) -> None:
    desk.lines = ["2", "unread"]
    with pytest.raises(ScriptFailed, match=r"toolcrib\.not_allowed"):
        await desk.run(BUYING)
    assert desk.lines == ["unread"]
    assert desk.shop.calls == []


@pytest.mark.parametrize("as_json", [False, True])
async def test_where_nobody_is_there_the_question_waits_and_the_remedy_is_told(
    desk: Desk, *, as_json: bool
) -> None:
    with pytest.raises(ScriptFailed, match=r"needs_confirmation.*`toolcrib approve ") as caught:
        await (desk.json() if as_json else desk).run(BUYING)
    remedy = caught.value.remedy or ""
    assert remedy.startswith("or run it with --yes")
    assert ("where you are asked" in remedy) is not as_json
    assert desk.shop.calls == []


async def test_a_yes_beforehand_covers_what_is_asked_and_not_what_is_denied(desk: Desk) -> None:
    assert await desk.run(BUYING, consent=True) is Exit.FINE
    assert len(desk.shop.calls) == 3
    with pytest.raises(ScriptFailed, match=r"toolcrib\.not_allowed") as caught:
        await desk.run("from shop import burn\nawait burn()", consent=True)
    assert caught.value.remedy is None
    assert len(desk.shop.calls) == 3


async def test_no_line_of_a_call_breaks_into_what_a_person_writes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    answered = anyio.Event()

    async def line() -> str:
        before = len(desk.told)
        await answered.wait()
        await anyio.wait_all_tasks_blocked()
        shown.extend(desk.told[before:])
        return "1\n"

    async def answer(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if params["name"] == "price":
            answered.set()
        return await priced(method, params)

    monkeypatch.setattr(desk, "_line", line)
    desk.shop.on_call, desk.lines = answer, []
    text = "import asyncio\nfrom shop import buy, price\nawait asyncio.gather(buy(n=1), price(n=2))"
    assert await desk.run(text) is Exit.FINE
    assert shown == []
    assert "2. shop price returned in _ s" in desk.told
    assert len(desk.shop.calls) == 2


async def test_what_a_server_wants_to_know_is_asked_in_the_middle(desk: Desk) -> None:
    answered: list[Mapping[str, Any]] = []

    async def ask(_: str, params: Mapping[str, Any]) -> dict[str, Any]:
        responses = params.get("inputResponses")
        if responses is None:
            return eliciting(FORM, state="s")
        answered.extend(responses.values())
        return {"content": [{"type": "text", "text": "thanks"}]}

    desk.shop.on_call = ask
    (field,) = FORM["requestedSchema"]["properties"]
    desk.lines = ["Ada", "y"]
    assert await desk.run("from shop import price\nawait price(n=1)") is Exit.FINE
    assert desk.stdout.getvalue() == "thanks\n"
    assert answered == [{"action": "accept", "content": {field: "Ada"}}]


# ---------------------------------------------------------------- the program


@pytest.mark.parametrize(
    ("path", "language"),
    [("a.ts", "typescript"), ("a.mts", "typescript"), ("a.py", "python"), ("-", "python")],
)
def test_the_language_is_told_by_the_end_of_the_name(path: str, language: str) -> None:
    assert Script.of(path, None).language == language
    assert Script.of(path, "typescript").language == "typescript"
    assert Script.of(path, "python").language == "python"


async def test_a_dash_is_standard_input(desk: Desk) -> None:
    desk.stdin.write("from shop import price\nawait price(n=4)")
    desk.stdin.seek(0)
    with anyio.fail_after(20):
        assert await run(desk.source, desk.output, Script.of("-", None)) is Exit.FINE
    assert desk.stdout.getvalue() == "40\n"


def test_a_program_that_cannot_be_read_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes(b"x = '\xe9'")
    for name, why in (("none.py", "No such file"), (".", "directory"), ("latin.py", "byte 5")):
        with pytest.raises(UsageError, match=why):
            Script.of(str(tmp_path / name), None).read(io.StringIO())


async def test_a_language_that_cannot_run_here_says_what_to_do(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable(*_: object) -> None:
        raise SandboxUnavailable("no TypeScript here", remedy="install it")

    monkeypatch.setattr("toolcrib.compose.LateSandboxes.sandbox", unavailable)
    with pytest.raises(SandboxUnavailable) as caught:
        await desk.run("1", "p.ts")
    assert desk.output.fail(caught.value) is Exit.FOUND
    assert desk.told == ["error: no TypeScript here", "install it"]


async def test_a_program_in_typescript_runs_without_any_setting(desk: Desk) -> None:
    text = "import { price } from 'shop';\nconst n: number = 2;\nreturn await price({ n });"
    assert await desk.run(text, "p.ts") is Exit.FINE
    assert desk.stdout.getvalue() == "20\n"
    assert desk.told[0] == "1. shop price (line 3)"


@pytest.mark.parametrize("as_json", [False, True])
async def test_that_programs_run_without_a_jail_is_told_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, *, as_json: bool
) -> None:
    def unjailed(_: Language, settings: CodeSettings) -> MontySandbox:
        return MontySandbox(settings, find=lambda: NoJail("there is no bubblewrap"))

    monkeypatch.setattr("toolcrib.compose._sandbox", unjailed)
    if as_json:
        desk.json()
    await desk.run("return 1")
    told = [line for line in desk.told if line.startswith("warning: ")]
    assert told == [
        f"warning: programs in python run without a jail (monty {VERSION}): there is no bubblewrap"
    ]


@pytest.mark.parametrize("words", [["--url", "http://x/mcp", "p.py"], ["--language", "perl", "p"]])
def test_options_that_there_are_not_are_refused(words: list[str]) -> None:
    assert CliRunner().invoke(app, ["run", *words]).exit_code == Exit.USAGE


# ---------------------------------------------------------------- lines of calls


def called(number: int) -> list[Fact]:
    about = ("r", number, "s\x1b[2J", "t\nt")
    return [ProgramCalling(*about, 1), ProgramCalled(*about, "returned", 0.5)]


def lines_on(stderr: io.StringIO) -> tuple[CallLines, list[Fact]]:
    output = Output(as_json=False, stdout=io.StringIO(), stderr=stderr, env={})
    heard: list[Fact] = []
    return CallLines(output, heard.append), heard


def test_so_many_lines_of_calls_are_told_and_no_more() -> None:
    stderr = io.StringIO()
    lines, heard = lines_on(stderr)
    for number in range(1, 301):
        for fact in called(number):
            lines.note(fact)
    told = stderr.getvalue().splitlines()
    assert len(told) == 200
    assert told[-1] == "further calls are not shown"
    assert len(heard) == 600


def test_a_name_cannot_act_on_the_terminal_or_forge_a_line() -> None:
    stderr = io.StringIO()
    lines, _ = lines_on(stderr)
    for fact in called(1):
        lines.note(fact)
    assert stderr.getvalue() == (
        "1. s\\x1b[2J t t (line 1)\n1. s\\x1b[2J t t returned in 0.500 s\n"
    )


def test_lines_wait_while_a_person_answers() -> None:
    stderr = io.StringIO()
    lines, _ = lines_on(stderr)
    first, last = called(1)
    with lines.person(), lines.person():
        lines.note(first)
        assert stderr.getvalue() == ""
    lines.note(last)
    assert len(stderr.getvalue().splitlines()) == 2


def test_facts_that_are_of_no_call_only_go_on() -> None:
    stderr = io.StringIO()
    lines, heard = lines_on(stderr)
    lines.note(StoreDegraded("gone"))
    assert (len(heard), stderr.getvalue()) == (1, "")


def test_a_document_has_what_was_returned_whatever_it_is() -> None:
    values: list[Any] = [None, 0, "", [], {"a": None}]
    for value in values:
        assert ran_view(Ran(value, "", 0, (), 0.0)).document["value"] == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from shop import price\nx = (1,\n", "{}:2:5: this '(' is not closed\n"),
        ("from shop import price\nawait price(n='a')", "{}:2:13: "),
        ("import requests\nx = 1\nclass A(Exception):\n    pass", "{}:1: there is no module"),
    ],
)
async def test_what_is_found_before_a_run_names_the_file_that_was_given(
    text: str, said: str, desk: Desk
) -> None:
    with pytest.raises(ScriptFailed) as caught:
        await desk.run(text, "report.py")
    assert caught.value.message.startswith(said.format(desk.path / "report.py"))
    assert "script.py" not in caught.value.message
    assert caught.value.details["executed"] is False


async def test_what_a_program_says_of_another_file_stays_as_it_is(desk: Desk) -> None:
    with pytest.raises(ScriptFailed) as caught:
        await desk.run("raise ValueError('x\\nscript.py:3: no')", "report.py")
    assert "script.py:3: no" in caught.value.message


async def test_what_json_has_not_is_told_beside_the_value(desk: Desk) -> None:
    assert await desk.run("return {'set': {2, 1}, 'odd': [float('nan')]}") is Exit.FINE
    assert json.loads(desk.stdout.getvalue()) == {"set": [1, 2], "odd": [None]}
    assert any("odd[0] is nan, which JSON has not" in line for line in desk.told)
