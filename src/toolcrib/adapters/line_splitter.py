"""Cuts a stream of bytes into lines without ever holding more than one line's limit."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_ENDS: Final = 256
"""Bytes kept of either end of a line that is too long."""


@dataclass(frozen=True, slots=True)
class LongLine:
    """A line that was longer than the limit and is gone but for its ends."""

    head: bytes
    tail: bytes
    size: int
    """Bytes, without the line feed."""


class LineSplitter:
    """Turns chunks into lines (without their line feeds) of at most `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._begun = bytearray()
        self._size = 0
        self._tail = b""

    def feed(self, chunk: bytes) -> Iterator[bytes | LongLine]:
        """Yield the lines that end in this chunk; the iterator must be run to its end."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            if self._size or end - start > self._limit:
                self._grow(chunk[start:end])
                yield self._finished()
            else:
                yield chunk[start:end]
            start = end + 1
        if start < len(chunk):
            self._grow(chunk[start:])

    def rest(self) -> bytes | LongLine | None:
        """What came after the last line feed, once the stream has ended."""
        return self._finished() if self._size else None

    def _grow(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._limit:
            self._begun += piece
            return
        if not self._tail:
            self._tail = bytes(self._begun[-_ENDS:])
            self._begun += piece[:_ENDS]
            del self._begun[_ENDS:]
        self._tail = (self._tail + piece[-_ENDS:])[-_ENDS:]

    def _finished(self) -> bytes | LongLine:
        if self._size <= self._limit:
            line: bytes | LongLine = bytes(self._begun)
        else:
            line = LongLine(bytes(self._begun), self._tail, self._size)
        self._begun, self._size, self._tail = bytearray(), 0, b""
        return line
