"""Serving the host that started this process, over its standard streams.

The descriptors are waited for on the event loop, not in threads: a thread that reads standard input
cannot be told to stop, and would keep the process alive after a signal asked it to end. Files and
other things that cannot be waited for, and platforms that cannot wait for pipes, get the SDK's
transport instead.
"""

import select
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, redirect_stdout
from io import FileIO
from typing import Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from toolcrib.core.partition import Principal
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.lines import LineSplitter, line_of, message_of
from toolcrib.wire.streams import Incoming, Outgoing, serve_streams

CHUNK: Final = 65_536
AT_ONCE: Final = getattr(select, "PIPE_BUF", 512)
"""Bytes that a pipe takes without blocking once it is ready (POSIX)."""

ToServer = MemoryObjectSendStream[SessionMessage | Exception]
ToHost = MemoryObjectSendStream[SessionMessage]


async def serve_stdio(kernel: Kernel, principal: Principal, line_bytes: int) -> None:
    """Serve until standard input ends. Whatever else prints goes to standard error meanwhile."""
    source = FileIO(sys.stdin.fileno(), closefd=False)
    sink = FileIO(sys.stdout.fileno(), "wb", closefd=False)
    can_wait = sys.platform != "win32" and not (source.seekable() or sink.seekable())
    streams = pipes(source, sink, line_bytes) if can_wait else stdio_server()
    async with streams as (incoming, outgoing):
        with redirect_stdout(sys.stderr):
            await serve_streams(kernel, incoming, outgoing, principal)


@asynccontextmanager
async def pipes(
    source: FileIO, sink: FileIO, line_bytes: int
) -> AsyncGenerator[tuple[Incoming, Outgoing]]:
    """Messages from one pipe and to another; a line that is no message is answered with an error.

    Leaving waits until what was said is written; the side that serves must have closed its streams
    by then.
    """
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_host = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as writing:
        writing.start_soon(_write, sink, to_host)
        async with anyio.create_task_group() as reading:
            reading.start_soon(_read, source, to_server, outgoing.clone(), line_bytes)
            yield incoming, outgoing
            reading.cancel_scope.cancel()


async def _read(source: FileIO, to_server: ToServer, to_host: ToHost, line_bytes: int) -> None:
    splitter = LineSplitter(line_bytes)
    async with to_server, to_host:
        while chunk := await _chunk(source):
            for line in splitter.fed(chunk):
                message = message_of(line)
                if isinstance(message, SessionMessage):
                    await to_server.send(message)
                else:
                    await to_host.send(SessionMessage(message))


async def _chunk(source: FileIO) -> bytes:
    """What is there to read, waiting for some; nothing at the end."""
    while True:
        await anyio.wait_readable(source.fileno())
        chunk = source.read(CHUNK)
        if chunk is not None:  # None: somebody else made it non-blocking and was faster
            return chunk


async def _write(sink: FileIO, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async with messages:
        async for message in messages:
            rest = memoryview(line_of(message))
            while rest:
                await anyio.wait_writable(sink.fileno())
                written = sink.write(rest[:AT_ONCE])
                rest = rest[written or 0 :]
