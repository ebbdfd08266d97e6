"""Reads messages from a server's stdout, in the task of whoever asks for them."""

from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import anyio
import anyio.lowlevel
from anyio.abc import ByteReceiveStream
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError

from toolcrib.adapters.jsonrpc_line import answer_of_long_line, read_line
from toolcrib.adapters.line_splitter import LineSplitter, LongLine
from toolcrib.adapters.message_streams import ReadStream
from toolcrib.adapters.redaction import Redaction
from toolcrib.adapters.stdio.noise_count import NoiseCount
from toolcrib.adapters.stdio.process_group import close_pipe
from toolcrib.adapters.unreadable_answer import answer_of_unreadable

_TURN: Final = 64
"""Messages taken without letting other tasks run."""

_ENDED: Final = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError)


class StdoutReader(ReadStream):
    """The read stream of a stdio connection, in the shape that the SDK's dispatcher takes."""

    def __init__(
        self,
        pipe: ByteReceiveStream,
        limit: int,
        noise: NoiseCount,
        redaction: Redaction,
        settle: Callable[[], Awaitable[None]],
    ) -> None:
        self._pipe = pipe
        self._limit = limit
        self._noise = noise
        self._redaction = redaction
        self._settle = settle
        self._splitter = LineSplitter(limit)
        self._lines: deque[bytes | LongLine] = deque()
        self._taken = 0
        self.chunks = 0
        """Chunks read so far: grows as long as something comes."""
        self.over = False
        """Whether the pipe has ended, or nobody reads it any more."""

    async def receive(self) -> SessionMessage:
        """The next message.

        Raises:
            EndOfStream: There will be none; why is known by then.
        """
        while True:
            while self._lines:
                message = self._read(self._lines.popleft())
                if message is not None:
                    await self._take_turns()
                    return message
            if self.over:
                await self._settle()
                raise anyio.EndOfStream
            await self._fill()

    async def interrupt(self) -> None:
        """End the stream although the pipe may still be open; what was read is still delivered."""
        self.over = True
        await close_pipe(self._pipe)

    async def drain(self) -> None:
        """Throw away what still comes, so that a server that is leaving does not block on it."""
        with suppress(OSError, RuntimeError, *_ENDED):
            while True:
                await self._pipe.receive()

    async def aclose(self) -> None:
        """Stop delivering; the pipe stays open for `drain`."""
        self.over = True
        self._lines.clear()
        await anyio.lowlevel.checkpoint()

    async def _fill(self) -> None:
        try:
            chunk = await self._pipe.receive()
        except (OSError, *_ENDED):
            self.over = True
            rest = self._splitter.rest()
            if rest is not None:
                self._lines.append(rest)
        else:
            self.chunks += 1
            self._lines.extend(self._splitter.feed(chunk))

    def _read(self, line: bytes | LongLine) -> SessionMessage | None:
        if isinstance(line, LongLine):
            self._noise.skip_long(line)
            return answer_of_long_line(line, self._limit)
        found = read_line(line)
        if found is None:
            if line and not line.isspace():
                self._noise.skip(line)
                found = answer_of_unreadable(line)
            return found
        self._noise.messages += 1
        if isinstance(found.message, JSONRPCError):
            self._clean(found.message.error)
        return found

    def _clean(self, error: ErrorData) -> None:
        """Errors go to logs and models, so what was configured as secret is not echoed in them."""
        error.message = self._redaction(error.message)
        error.data = self._redaction.value(error.data)

    async def _take_turns(self) -> None:
        """Let others run now and then: a full buffer is read without ever waiting for the pipe."""
        self._taken += 1
        if self._taken % _TURN == 0:
            await anyio.lowlevel.checkpoint()
