"""The end of what a server wrote to stderr: bounded, for diagnosis, never for a model."""

from toolcrib.adapters.redaction import Redaction
from toolcrib.adapters.stdio.telling_line import telling_line

_LINE = 300
"""Characters of one line that a message quotes."""


class StderrTail:
    """Keeps the last bytes of a stream. MCP 2026-07-28, stdio: stderr is no sign of an error."""

    def __init__(self, limit: int, redaction: Redaction) -> None:
        self._limit = limit
        self._redaction = redaction
        self._kept = bytearray()
        self._cut = False

    def feed(self, chunk: bytes) -> None:
        """Take more of the stream."""
        self._kept += chunk
        if len(self._kept) > 2 * self._limit:
            del self._kept[: -self._limit]
            self._cut = True

    @property
    def text(self) -> str:
        """The last `limit` bytes at most, as text that may be shown to an operator."""
        kept = bytes(self._kept[-self._limit :]) if self._limit else b""
        if self._cut or len(self._kept) > self._limit:
            kept = self._from_whole_line(kept)
        return self._redaction(kept.decode("utf-8", "replace"))

    def _from_whole_line(self, kept: bytes) -> bytes:
        """Drop the beginning that may hold the rest of a secret which was cut in two."""
        skip = 4 * self._redaction.longest
        start = kept.find(b"\n", skip) + 1
        return kept[start or skip :]

    @property
    def telling_line(self) -> str:
        """The line that most likely says what went wrong, clipped; empty when there is none."""
        line = telling_line(self.text.splitlines())
        return line if len(line) <= _LINE else line[: _LINE - 1] + "…"
