"""What is wrong with a configuration: where, what, and what to do; never a value."""

from dataclasses import dataclass
from typing import Literal

from toolcrib.config.document import Node
from toolcrib.errors import ConfigError

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing a person should put right in a configuration."""

    file: str
    line: int | None
    """Counted from 1; None where the file as a whole is meant."""
    entry: str | None
    """The server id it is about; None where it is about the file."""
    message: str
    remedy: str
    severity: Severity = "error"
    """An error costs the entry (or the setting) it is about; a warning costs nothing."""

    @property
    def place(self) -> str:
        """`file:line`, or the file alone."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def __str__(self) -> str:
        who = "" if self.entry is None else f"server {self.entry}: "
        return f"{self.place}: {self.severity}: {who}{self.message} ({self.remedy})"

    def as_error(self) -> ConfigError:
        """The same, for those who must stop because of it."""
        return ConfigError(f"{self.place}: {self.message}", server=self.entry, remedy=self.remedy)


class Report:
    """Collects the problems of one entry, or of a file."""

    def __init__(self, entry: str | None = None) -> None:
        self.entry = entry
        self.problems: list[Problem] = []

    @property
    def failed(self) -> bool:
        """Whether an error was reported."""
        return any(problem.severity == "error" for problem in self.problems)

    def error(self, node: Node, message: str, remedy: str) -> None:
        """Reports an error; the path of the node opens the message."""
        self._add(node, message, remedy, "error")

    def warn(self, node: Node, message: str, remedy: str) -> None:
        """Reports a warning; the path of the node opens the message."""
        self._add(node, message, remedy, "warning")

    def _add(self, node: Node, message: str, remedy: str, severity: Severity) -> None:
        subject = f"{node.path} {message}" if node.path else message
        self.problems.append(Problem(node.file, node.line, self.entry, subject, remedy, severity))
