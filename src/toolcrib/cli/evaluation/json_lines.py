"""Files with one JSON object in each line, read with every fault at its line."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolcrib.cli.exits import UsageError
from toolcrib.config.problem import Problem
from toolcrib.core.jsontypes import is_object


class Line:
    """One object, and where it stands; `say` is how its faults are told."""

    def __init__(self, file: str, number: int, members: Mapping[str, Any]) -> None:
        self.file = file
        self.number = number
        self.members = members

    def problem(self, message: str, remedy: str) -> Problem:
        """A fault of this line."""
        return Problem(self.file, self.number, None, message, remedy)

    def text(self, name: str) -> str:
        """The text of a member; empty where it is null, absent, or no text."""
        value = self.members.get(name)
        return value if isinstance(value, str) else ""


def read_lines(path: Path) -> tuple[list[Line], list[Problem]]:
    """The objects of a file, and a problem for each line that is none; empty lines are skipped.

    Raises:
        UsageError: It cannot be read.
    """
    lines: list[Line] = []
    problems: list[Problem] = []
    try:
        # Not by splitlines: a JSON text may hold a line separator of Unicode as it is.
        rows = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read: {error}", remedy="name a folder of data sets"
        ) from error
    for number, row in enumerate(rows, 1):
        if not row.strip():
            continue
        try:
            value = json.loads(row)
        except ValueError as error:
            problems.append(_no_object(path, number, f"the line is no JSON: {error}"))
            continue
        if is_object(value):
            lines.append(Line(str(path), number, value))
        else:
            problems.append(_no_object(path, number, "the line is no JSON object"))
    return lines, problems


def _no_object(path: Path, number: int, message: str) -> Problem:
    return Problem(str(path), number, None, message, "write one object in each line")
