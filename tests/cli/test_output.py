"""What commands write, and how they end."""

import io
import json
from collections.abc import Mapping

import pytest
from rich.text import Text

from toolcrib.cli.exits import Exit, UsageError, exit_of
from toolcrib.cli.output import Output, View, error_view
from toolcrib.errors import (
    ConfigError,
    NotAllowed,
    ToolcribError,
    ToolGone,
    UpstreamUnreachable,
)

VIEW = View(Text("for people", "bold red"), {"for": "programs", "ü": [1]})


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Written:
    """An output into memory."""

    def __init__(
        self, *, as_json: bool = False, tty: bool = False, env: Mapping[str, str] | None = None
    ) -> None:
        kind = Terminal if tty else io.StringIO
        self.out, self.err = kind(), kind()
        terminal = {"TERM": "xterm-256color", **(env or {})}
        self.output = Output(as_json=as_json, stdout=self.out, stderr=self.err, env=terminal)


def test_people_see_words_and_programs_read_json() -> None:
    people, programs = Written(), Written(as_json=True)
    people.output.show(VIEW)
    programs.output.show(VIEW)
    assert people.out.getvalue() == "for people\n"
    assert json.loads(programs.out.getvalue()) == {"for": "programs", "ü": [1]}
    assert "ü" in programs.out.getvalue()
    assert people.err.getvalue() == programs.err.getvalue() == ""


def test_many_answers_are_one_json_line_each() -> None:
    programs = Written(as_json=True)
    for _ in range(3):
        programs.output.line(VIEW)
    lines = programs.out.getvalue().splitlines()
    assert [json.loads(line) for line in lines] == [{"for": "programs", "ü": [1]}] * 3


def test_a_terminal_has_colours() -> None:
    people = Written(tty=True)
    people.output.show(VIEW)
    assert "\x1b[" in people.out.getvalue()


@pytest.mark.parametrize(
    ("tty", "env"),
    [(False, {}), (True, {"NO_COLOR": "1"}), (True, {"TERM": "dumb"}), (False, {"FORCE": "1"})],
)
def test_there_are_no_colours_where_they_are_not_wanted(
    *, tty: bool, env: Mapping[str, str]
) -> None:
    people = Written(tty=tty, env=env)
    people.output.show(VIEW)
    people.output.fail(ToolGone("it is gone"))
    assert people.out.getvalue() == "for people\n"
    assert "\x1b" not in people.err.getvalue()


def test_an_empty_no_color_means_nothing() -> None:
    people = Written(tty=True, env={"NO_COLOR": ""})
    people.output.show(VIEW)
    assert "\x1b[" in people.out.getvalue()


def test_lines_for_other_programs_are_not_wrapped() -> None:
    people = Written()
    people.output.show(View(Text("word " * 200), None))
    assert people.out.getvalue().count("\n") == 1


def test_a_complaint_goes_to_standard_error_even_among_json() -> None:
    programs = Written(as_json=True)
    programs.output.complain(VIEW)
    assert programs.out.getvalue() == ""
    assert programs.err.getvalue() == "for people\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("what", remedy="do"), Exit.USAGE),
        (ConfigError("what", remedy="do"), Exit.USAGE),
        (UpstreamUnreachable("what", server="git", remedy="do"), Exit.FOUND),
        (ToolGone("what"), Exit.FOUND),
    ],
)
def test_an_error_says_what_and_the_remedy_and_decides_the_exit_code(
    error: ToolcribError, code: Exit
) -> None:
    people, programs = Written(), Written(as_json=True)
    assert people.output.fail(error) is code
    assert exit_of(error) is code
    server = f"{error.server}: " if error.server else ""
    remedy = f"{error.remedy}\n" if error.remedy else ""
    assert people.err.getvalue() == f"error: {server}what\n{remedy}"
    assert people.out.getvalue() == ""
    assert programs.output.fail(error) is code
    assert programs.err.getvalue() == ""
    assert json.loads(programs.out.getvalue()) == {
        "error": {
            "code": error.code,
            "message": "what",
            "server": error.server,
            "remedy": error.remedy,
            "details": dict(error.details),
        }
    }


def test_people_are_shown_what_the_operator_may_read_and_programs_are_not() -> None:
    error = NotAllowed("no", operator_note="denied by a.toml:2", remedy="do")
    people, programs = Written(), Written(as_json=True)
    people.output.fail(error)
    programs.output.fail(error)
    assert people.err.getvalue() == "error: no\ndenied by a.toml:2\ndo\n"
    assert "a.toml" not in programs.out.getvalue()


def test_an_error_cannot_command_the_terminal() -> None:
    people = Written(tty=True, env={"NO_COLOR": "1"})
    people.output.fail(ToolGone("[red]x[/red] \x1b[2J", server="a\x07"))
    assert people.err.getvalue() == "error: a\\x07: [red]x[/red] \\x1b[2J\n"
    assert error_view(ToolGone("x")).document["error"]["code"] == "tool_gone"


def test_exit_codes_are_fixed() -> None:
    assert (Exit.FINE, Exit.FOUND, Exit.USAGE) == (0, 1, 2)


def test_characters_that_an_encoding_lacks_are_escaped_and_not_fatal() -> None:
    raw = io.BytesIO()
    stdout = io.TextIOWrapper(raw, encoding="ascii", newline="\n")
    output = Output(as_json=False, stdout=stdout, stderr=io.StringIO(), env={})
    output.show(View(Text("grün \U0001f389"), None))
    stdout.flush()
    assert raw.getvalue() == b"gr\\xfcn \\U0001f389\n"


def test_progress_shows_on_a_terminal_and_nowhere_else() -> None:
    terminal, pipe, programs = Written(tty=True), Written(), Written(as_json=True, tty=True)
    for written in (terminal, pipe, programs):
        with written.output.progress("starting [3] servers"):
            written.output.show(VIEW)
    assert "starting [3] servers" in terminal.err.getvalue()
    assert pipe.err.getvalue() == programs.err.getvalue() == ""
    assert "for people" in terminal.out.getvalue()


@pytest.mark.parametrize("text", ["a\u202eb", "\x1b[31m", "\x7f", "\u200b", "\U000e0041", "\ud800"])
def test_a_character_that_does_not_print_is_escaped_in_documents(text: str) -> None:
    programs, one_line = Written(as_json=True), Written(as_json=True)
    programs.output.show(View(Text(""), {text: [text, "ü"]}))
    one_line.output.line(View(Text(""), {text: [text, "ü"]}))
    for written in (programs, one_line):
        told = written.out.getvalue()
        assert json.loads(told) == {text: [text, "ü"]}
        assert "ü" in told
        assert all(character.isprintable() or character == "\n" for character in told)
