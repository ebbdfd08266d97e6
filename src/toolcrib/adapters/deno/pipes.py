"""The pipes of one process: lines come out, bytes go in, and neither side can block the other."""

import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Final

from toolcrib.adapters.line_splitter import LineSplitter, LongLine

_CHUNK: Final = 256 * 1024
_SAID: Final = 4096
"""Bytes of standard error that are kept, the last ones."""
_LINGER: Final = 0.5
"""Seconds for a process to end that has closed its output."""
_WAIT: Final = 5.0
"""Seconds for a killed process to be gone."""


class Pipes:
    """A process in a session of its own, with all of its pipes.

    Args:
        command: What to start.
        longest: Bytes of a line.
        heard: What else ends a wait: bytes that can be read there.

    Raises:
        OSError: It does not start.
    """

    def __init__(self, command: list[str], longest: int, heard: int) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - bubblewrap and Deno, found by us
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={},
            start_new_session=True,
        )
        self._in, self._out, self._err = (
            _unblocked(pipe)
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._heard = heard
        self._splitter = LineSplitter(longest)
        self._unsent = bytearray()
        self._poll = select.poll()
        self._heeded = {self._out, self._err, heard}
        for each in self._heeded:
            self._poll.register(each, select.POLLIN)
        self.said = ""
        """The end of its standard error."""
        self.ended = False
        """Whether its standard output came to an end."""

    @property
    def pid(self) -> int:
        """Of the process that was started."""
        return self._process.pid

    def send(self, content: bytes) -> None:
        """Write as the process reads."""
        self._unsent += content
        self._write()

    def lines(self, seconds: float | None) -> Iterator[bytes | LongLine]:
        """Wait that long for anything, and give the lines that came."""
        if self._unsent:
            self._poll.register(self._in, select.POLLOUT)
        ready = dict(self._poll.poll(None if seconds is None else seconds * 1000))
        if self._unsent:
            self._poll.unregister(self._in)
        if self._in in ready:
            self._write()
        if self._heard in ready:
            os.read(self._heard, _CHUNK)
        if self._err in ready:
            self._listen()
        if self._out in ready:
            chunk = os.read(self._out, _CHUNK)
            self.ended = not chunk
            yield from self._splitter.feed(chunk)

    def close(self) -> int:
        """Kill the process and all that it started; how it ended."""
        with suppress(ProcessLookupError):
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
        with self._process:
            return self._process.wait(_WAIT)

    def end(self) -> int:
        """Wait for a process that ends by itself; kill it where it does not."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_LINGER)
        self._listen()
        return self.close()

    def _write(self) -> None:
        with suppress(BlockingIOError, BrokenPipeError):
            while self._unsent:
                del self._unsent[: os.write(self._in, self._unsent[:_CHUNK])]

    def _listen(self) -> None:
        with suppress(BlockingIOError):
            said = os.read(self._err, _CHUNK)
            self.said = (self.said + said.decode("utf-8", "replace"))[-_SAID:]
            if not said and self._err in self._heeded:
                self._heeded.discard(self._err)
                self._poll.unregister(self._err)


def _unblocked(pipe: IO[bytes] | None) -> int:
    assert pipe is not None  # noqa: S101 - each was asked for
    os.set_blocking(pipe.fileno(), False)
    return pipe.fileno()
