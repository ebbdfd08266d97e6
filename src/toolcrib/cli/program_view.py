"""A program as a person at a terminal sees it: its calls while it runs, and what it brought."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from toolcrib.cli.json_text import json_text
from toolcrib.cli.output import Output, View, warning_view
from toolcrib.cli.tables import DIM, UNSURE
from toolcrib.cli.terminal_text import clipped, visible
from toolcrib.cli.watch_lines import unjailed
from toolcrib.codemode.ran import Ran
from toolcrib.facts import Fact, ProgramCalled, ProgramCalling, RuntimeStarted

_LINES: Final = 200
"""Lines of calls of one program."""
_NAME: Final = 60


class CallLines:
    """An observer that tells the calls of a program on standard error, as they happen.

    So many lines are told and no more; with `as_json` none is. That they run without a jail is told
    in any case.

    Args:
        output: Where they go.
        others: Hears every fact, too.
    """

    def __init__(self, output: Output, others: Callable[[Fact], None]) -> None:
        self._output = output
        self._others = others
        self._told = 0
        self._answering = 0
        self._kept: list[Text] = []

    def note(self, fact: Fact) -> None:
        """Tells it, if it is of a call."""
        self._others(fact)
        if isinstance(fact, RuntimeStarted) and not fact.jail:
            self._output.complain(warning_view(unjailed(fact)))
        if self._output.as_json:
            return
        match fact:
            case ProgramCalling():
                where = f" (line {fact.line})" if fact.line else ""
                self._tell(Text(f"{_name(fact)}{where}", DIM))
            case ProgramCalled():
                said = f"{_name(fact)} {fact.outcome} in {fact.seconds:.3f} s"
                self._tell(Text(said, DIM if fact.outcome == "returned" else UNSURE))
            case _:
                pass

    @contextmanager
    def person(self) -> Generator[None]:
        """Keeps lines back while a person answers, so that none breaks into what they write."""
        self._answering += 1
        try:
            yield
        finally:
            self._answering -= 1
            if not self._answering:
                kept, self._kept = self._kept, []
                for line in kept:
                    self._output.complain(View(line, {}))

    def _tell(self, line: Text) -> None:
        self._told += 1
        if self._told > _LINES:
            return
        if self._told == _LINES:
            line = Text("further calls are not shown", DIM)
        if self._answering:
            self._kept.append(line)
        else:
            self._output.complain(View(line, {}))


def ran_view(ran: Ran) -> View:
    """What it printed and what it returned."""
    document = {
        "value": ran.value,
        "printed": ran.printed,
        "calls": list(ran.calls),
        "seconds": round(ran.seconds, 6),
    }
    return View(Group(*_parts(ran)), document)


def summary(ran: Ran) -> View:
    """How many calls it made, in a line."""
    count = len(ran.calls)
    return View(Text(f"{count} call{'s' * (count != 1)} in {ran.seconds:.3f} s", DIM), {})


def _parts(ran: Ran) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if ran.printed:
        parts.append(Text(visible(ran.printed.removesuffix("\n"))))
    if ran.value is not None:
        parts.append(_value(ran.value))
    return parts or [Text("The program returned nothing.", DIM)]


def _value(value: Any) -> RenderableType:
    return Text(visible(value)) if isinstance(value, str) else json_text(value)


def _name(fact: ProgramCalling | ProgramCalled) -> str:
    return f"{fact.number}. {clipped(fact.server, _NAME)} {clipped(fact.tool, _NAME)}"
