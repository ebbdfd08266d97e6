"""Reports of the tables in which an error costs nothing but the key: what it is left at is said."""

import dataclasses
import json
import re
from typing import Any, Final

from toolcrib.config.document import Node
from toolcrib.config.problem import Report

_KEY: Final = re.compile(r"[^.\[]+")


class KeptDefault(Report):
    """Adds to every error of a table what becomes of the key.

    Args:
        report: Gets the problems.
        defaults: The record that holds what each key of the table is left at.
    """

    def __init__(self, report: Report, defaults: Any) -> None:
        super().__init__(report.entry)
        self.problems = report.problems
        self._defaults = defaults
        self._known = {field.name for field in dataclasses.fields(defaults)}

    def error(self, node: Node, message: str, remedy: str) -> None:
        """Reports an error and what it leaves."""
        super().error(node, f"{message}, so {self._left(node)}", remedy)

    def _left(self, node: Node) -> str:
        table, _, inner = node.path.partition(".")
        if not inner:
            return f"all of [{table}] is left at its defaults"
        found = _KEY.match(inner)
        key = found[0] if found else inner
        if key not in self._known:
            return "it does nothing"
        what = "it" if inner == key else f"{table}.{key}"
        default = getattr(self._defaults, key)
        if default is None:
            return f"{what} is left unset"
        return f"{what} is left at its default, {_written(default)}"


def _written(value: Any) -> str:
    """A value as a `toolcrib.toml` has it."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False)
