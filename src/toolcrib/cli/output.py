"""Where commands write: tables and colours for people, JSON for programs.

Standard output holds the answer and nothing else; complaints and progress go to standard error.
"""

import json
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TextIO

from toolcrib.cli.exits import Exit, exit_of
from toolcrib.cli.terminal_text import visible
from toolcrib.errors import ToolcribError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.status import Status

    from toolcrib.config.problem import Problem

_UNSEEN: Final = re.compile(r"[^\n -~]")
"""What may not print; line breaks are the document's own, those in texts are escaped by then."""

_NOT_WRAPPED: Final = 4_096
"""Columns of what is no terminal: whoever reads it wraps lines as they like."""


@dataclass(frozen=True, slots=True)
class View:
    """One answer, for both kinds of readers."""

    shown: "RenderableType"
    """For people."""
    document: Any
    """For programs: JSON-able."""


class Output:
    """Writes views in the form that was asked for.

    What draws tables is imported when there is one to draw: a gateway starts without it.
    """

    def __init__(
        self, *, as_json: bool, stdout: TextIO, stderr: TextIO, env: Mapping[str, str]
    ) -> None:
        self.as_json = as_json
        self._stdout = _unbreakable(stdout)
        self._stderr = stderr
        self._env = env
        self._spinner: Status | None = None

    @cached_property
    def _out(self) -> "Console":
        return _console(self._stdout, self._env)

    @cached_property
    def _err(self) -> "Console":
        return _console(_unbreakable(self._stderr), self._env)

    def show(self, view: View) -> None:
        """Writes one whole answer: a document, or what people see."""
        if self.as_json:
            self._write_json(view.document, indent=2)
        else:
            _print(self._out, view.shown)

    def line(self, view: View) -> None:
        """Writes one of many answers: a JSON line, or what people see."""
        if self.as_json:
            self._write_json(view.document, indent=None)
        else:
            _print(self._out, view.shown)

    def complain(self, view: View) -> None:
        """Writes a remark to standard error, as people see it, whatever was asked for."""
        _print(self._err, view.shown)

    def complain_whole(self, text: str) -> None:
        """Writes a line to standard error that no width breaks: an address has to be copied."""
        from rich.text import Text

        self._err.print(Text(visible(text)), soft_wrap=True)

    def tell(self, problems: "Sequence[Problem]") -> None:
        """Writes problems of the configuration to standard error; nothing where there are none."""
        if problems:
            from toolcrib.cli.problem_list import problems_view

            self.complain(problems_view(problems))

    def fail(self, error: ToolcribError) -> Exit:
        """Says what went wrong (to programs: as the document) and how the command should end."""
        view = error_view(error)
        if self.as_json:
            self.show(view)
        else:
            self.complain(view)
        return exit_of(error)

    @contextmanager
    def progress(self, doing: str) -> Generator[None]:
        """Shows on a terminal that something takes its time; nothing anywhere else."""
        if self._stderr.isatty() and not self.as_json:
            from rich.text import Text

            self._spinner = self._err.status(Text(visible(doing)))
            try:
                with self._spinner:
                    yield
            finally:
                self._spinner = None
        else:
            yield

    @contextmanager
    def person(self) -> Generator[None]:
        """Keeps the terminal still while a person answers."""
        spinner = self._spinner
        if spinner is not None:
            spinner.stop()
        try:
            yield
        finally:
            if spinner is not None and self._spinner is spinner:
                spinner.start()

    def prompt(self, text: str) -> None:
        """Writes to standard error what a person answers on the same line."""
        from rich.text import Text

        self._err.print(Text(visible(text), "bold"), end="")
        self._stderr.flush()

    def _write_json(self, document: Any, indent: int | None) -> None:
        separators = (",", ":") if indent is None else None
        written = json.dumps(document, ensure_ascii=False, indent=indent, separators=separators)
        if not written.isprintable():
            written = _UNSEEN.sub(_escaped, written)
        self._stdout.write(f"{written}\n")
        self._stdout.flush()


def _escaped(found: re.Match[str]) -> str:
    """The character as JSON writes it for ASCII, unless it prints: a terminal must not obey it."""
    character = found[0]
    return character if character.isprintable() else json.dumps(character)[1:-1]


def _print(console: "Console", shown: "RenderableType") -> None:
    """Prints it; where there are no columns to keep to, no line is broken, and none is padded."""
    if console.is_terminal:
        console.print(shown)
        return
    with console.capture() as printed:
        console.print(shown, soft_wrap=True)
    lines = printed.get().split("\n")
    console.file.write("\n".join(line.rstrip(" ") for line in lines))
    console.file.flush()


def error_view(error: ToolcribError) -> View:
    """An error with its remedy; people are also shown what only the operator may read."""
    from rich.text import Text

    shown = Text.assemble(("error: ", "bold red"))
    if error.server:
        shown.append(f"{visible(error.server)}: ")
    shown.append(visible(error.message))
    for more in filter(None, (error.operator_note, error.remedy)):
        shown.append(f"\n{visible(more)}", "dim")
    document = {
        "code": error.code,
        "message": error.message,
        "server": error.server,
        "remedy": error.remedy,
        "details": dict(error.details),
    }
    return View(shown, {"error": document})


def warning_view(text: str) -> View:
    """A remark about what still works, but worse."""
    from rich.text import Text

    return View(Text.assemble(("warning: ", "bold yellow"), visible(text)), {"warning": text})


def _console(stream: TextIO, env: Mapping[str, str]) -> "Console":
    from rich.console import Console

    terminal = stream.isatty()
    plain = not terminal or bool(env.get("NO_COLOR")) or env.get("TERM") == "dumb"
    return Console(
        file=stream,
        force_terminal=terminal,
        color_system=None if plain else "auto",
        no_color=plain,
        width=None if terminal else _NOT_WRAPPED,
        highlight=False,
        markup=False,
        emoji=False,
    )


def _unbreakable(stream: TextIO) -> TextIO:
    """The stream, where no character can stop the output: what it cannot encode is escaped."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:  # a real file; tests hand in others
        reconfigure(errors="backslashreplace")
    return stream
