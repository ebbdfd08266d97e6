"""Writes messages to a server's stdin, one per line, without making the callers wait for it."""

from collections import deque
from typing import Final

import anyio
import anyio.lowlevel
from anyio.abc import ByteSendStream
from mcp.shared.message import SessionMessage

from toolcrib.adapters.message_streams import MessageStream
from toolcrib.adapters.rpc_messages import write_message

BACKLOG: Final = 4 * 1024 * 1024
"""Bytes that may wait for a server which does not read; then senders wait too."""


class StdinWriter(MessageStream):
    """The write stream of a stdio connection, in the shape that the SDK's dispatcher takes.

    One task writes, so that a caller who gives up never leaves half a line in the pipe, and the
    notice that it gave up is not stuck behind what the server has not read yet.
    """

    def __init__(self, pipe: ByteSendStream) -> None:
        self._pipe = pipe
        self._lines: deque[bytes] = deque()
        self._waiting = 0
        self._closed = False
        self.broken = False
        """Whether the server has closed its input."""
        self._more = anyio.Event()
        self._room = anyio.Event()
        self.done = anyio.Event()
        """Set once everything accepted is written, or nothing can be written any more."""

    async def send(self, item: SessionMessage, /) -> None:
        """Accept a message; waits only while the backlog is full.

        Raises:
            ClosedResourceError: The stream was closed.
            BrokenResourceError: The server has closed its input.
            ValueError: The message cannot be written as JSON.
        """
        line = write_message(item.message) + b"\n"
        while self._waiting > BACKLOG and not (self._closed or self.broken):
            await self._room.wait()
        if self._closed:
            raise anyio.ClosedResourceError
        if self.broken:
            raise anyio.BrokenResourceError
        self._lines.append(line)
        self._waiting += len(line)
        self._more.set()

    def close(self) -> None:
        """Accept no more; what was accepted is still written."""
        self._closed = True
        self._more.set()
        self._room.set()

    async def aclose(self) -> None:
        """Accept no more."""
        self.close()
        await anyio.lowlevel.checkpoint()

    async def run(self) -> None:
        """Write until closed and empty, or until the pipe breaks."""
        try:
            while await self._some():
                lines = b"".join(self._lines)
                self._lines.clear()
                await self._pipe.send(lines)
                self._waiting -= len(lines)
                self._room.set()
                self._room = anyio.Event()
        except (OSError, RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self.broken = True
            self._lines.clear()
            self._room.set()
        finally:
            self.done.set()

    async def _some(self) -> bool:
        """Wait for lines; False once there are none and never will be."""
        while not self._lines:
            if self._closed:
                return False
            await self._more.wait()
            self._more = anyio.Event()
        return True
