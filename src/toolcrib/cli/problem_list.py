"""What is wrong with a configuration, for whoever wrote it."""

from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Group
from rich.text import Text

from toolcrib.cli.output import View
from toolcrib.cli.tables import BAD, DIM, UNSURE
from toolcrib.cli.terminal_text import one_line
from toolcrib.config.problem import Problem


def problems_view(problems: Sequence[Problem]) -> View:
    """Every problem with its place and its remedy."""
    shown = Group(*(_shown(problem) for problem in problems))
    return View(shown, {"problems": [asdict(problem) for problem in problems]})


def _shown(problem: Problem) -> Text:
    style = BAD if problem.severity == "error" else UNSURE
    text = Text.assemble((f"{problem.severity}: ", f"bold {style}"))
    text.append(f"{one_line(problem.place)}: ", DIM)
    if problem.entry is not None:
        text.append(f"server {one_line(problem.entry)}: ")
    text.append(one_line(problem.message))
    return text.append(f"\n  {one_line(problem.remedy)}", DIM)
