"""Counts what a server prints to stdout besides messages, and reports it sparingly."""

from typing import Final

from toolcrib.adapters.line_splitter import LongLine
from toolcrib.adapters.redaction import Redaction
from toolcrib.facts import Finding, NoiseSkipped
from toolcrib.ports import Observer

_EXCERPT: Final = 200
"""Characters of the first line that are kept."""

_EACH: Final = 8
"""So many lines are reported one by one, later ones at each doubling and at the end."""


class NoiseCount:
    """The lines of one connection that were no message. Blank lines do not count."""

    def __init__(self, server: str, limit: int, redaction: Redaction, observer: Observer) -> None:
        self.messages = 0
        """Lines that were messages: those of a server that sent none were meant for somebody else,
        or its command is no MCP server."""
        self.lines = 0
        self.first = ""
        """The first of them, clipped, without secrets."""
        self.long_lines = 0
        """Lines longer than `Limits.line_bytes`."""
        self._server = server
        self._limit = limit
        self._redaction = redaction
        self._observer = observer
        self._reported = 0

    def skip(self, line: bytes) -> None:
        """Count a line that is no message."""
        self.lines += 1
        if self.lines == 1:
            text = line[: 4 * _EXCERPT].decode("utf-8", "replace")
            self.first = self._redaction.excerpt(text, _EXCERPT)
        if self.lines <= _EACH or self.lines >= 2 * self._reported:
            self.report()

    def skip_long(self, line: LongLine) -> None:
        """Count a line that was too long to be kept."""
        self.long_lines += 1
        text = f"a line of {line.size} bytes on stdout was skipped: over {self._limit} (line_bytes)"
        self._observer.note(Finding(self._server, "line_too_long", text))

    def report(self) -> None:
        """Report the count, if it grew since the last time."""
        if self.lines > self._reported:
            self._reported = self.lines
            self._observer.note(NoiseSkipped(self._server, self.lines, self.first))
