"""The stdio transport: a server process of ours, and the two streams that a dispatcher takes.

Not the SDK's `stdio_client`, because it cannot do what is needed here: it has no bound on the
length of a line, reports each line of noise as an error with a traceback, hands stderr to a file
instead of keeping its end, does not say how the process ended, and takes a connection for alive
when the server has exited while a descendant still holds its pipes. It also passes every message
through two more tasks, which the path of a call would pay for.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio
from anyio.abc import ByteReceiveStream

from toolcrib.adapters.background import background
from toolcrib.adapters.redaction import Redaction
from toolcrib.adapters.stdio.noise_count import NoiseCount
from toolcrib.adapters.stdio.process_group import ProcessGroup, describe_exit, start
from toolcrib.adapters.stdio.stderr_tail import StderrTail
from toolcrib.adapters.stdio.stdin_writer import StdinWriter
from toolcrib.adapters.stdio.stdout_reader import StdoutReader
from toolcrib.facts import Finding
from toolcrib.ports import Observer
from toolcrib.settings import Limits, StdioLaunch

CLOSED_BY_US: Final = "the connection was closed by this side"

_FLUSH = 0.5
"""Seconds for messages that were accepted to reach the server before its input is closed."""

_STATUS_WAIT = 0.5
"""Seconds between the end of a server's output and its exit, so that the exit can be told."""

_STDERR_WAIT = 0.1
"""Seconds for the last words on stderr after the exit."""

_QUIET = 0.1
_QUIET_ROUNDS = 2
"""So many rounds of so many seconds without output, after the exit or after the input broke, and a
pipe that is still open counts as over. Two, because a busy loop may wake us before it reads."""


class StdioFacts:
    """What is known of a server process: counters while it runs, and how it ended."""

    def __init__(self, pid: int, stderr: StderrTail, noise: NoiseCount) -> None:
        self.pid = pid
        self.exit_status: int | None = None
        """Negative for a signal, None while it runs."""
        self.over = ""
        """Why the connection is over: a sentence that a model may see; empty while it is up."""
        self.noise = noise
        """What was on stdout besides messages."""
        self._stderr = stderr

    @property
    def stderr(self) -> str:
        """The end of stderr, for operators only."""
        return self._stderr.text

    @property
    def operator_note(self) -> str:
        """What an operator should see beside `over`; empty when the server said nothing."""
        said = self._stderr.telling_line
        told = [f"on stderr: {said}"] if said else []
        noise = self.noise
        if noise.first and not noise.messages:
            # Of a server that did send messages, what else it printed is no cause of its end.
            told.append(f"on stdout, where messages are expected: {noise.first}")
        return "; ".join(told)


@asynccontextmanager
async def open_stdio(
    launch: StdioLaunch, *, server: str, limits: Limits, observer: Observer
) -> AsyncGenerator[tuple[StdoutReader, StdinWriter, StdioFacts]]:
    """Start the server and yield the streams of its messages.

    The read stream ends when the server exits, closes its output or stops taking input; by then
    `over` says why. Leaving the context ends the process group, in some five seconds at
    most and in spite of a cancellation.

    Raises:
        ConfigError: The command or directory cannot be used.
        UpstreamUnreachable: The system could not start another process.
    """
    group = await start(launch, server=server)
    # Nothing may be awaited between here and the `try`: a cancellation would lose the process.
    connection = _Connection(group, launch, server, limits, observer)
    async with background() as tasks:
        tasks.start_soon(connection.run)
        try:
            yield connection.stdout, connection.stdin, connection.facts
        finally:
            with anyio.CancelScope(shield=True):
                await connection.close()


class _Connection:
    """One process with its three pipes, and the rule by which its end is noticed."""

    def __init__(
        self,
        group: ProcessGroup,
        launch: StdioLaunch,
        server: str,
        limits: Limits,
        observer: Observer,
    ) -> None:
        stdin, stdout = group.process.stdin, group.process.stdout
        if stdin is None or stdout is None or group.process.stderr is None:
            raise RuntimeError("the process was started without pipes")
        redaction = Redaction(launch.env.values())
        self._group = group
        self._server = server
        self._observer = observer
        self._stderr_pipe: ByteReceiveStream = group.process.stderr
        self._stderr = StderrTail(limits.stderr_bytes, redaction)
        self._closing = anyio.Event()
        self._exited = anyio.Event()
        self._stderr_over = anyio.Event()
        self._cause = "the server closed its output"
        self._scope = anyio.CancelScope(shield=True)
        self.stdin = StdinWriter(stdin)
        self._noise = NoiseCount(server, limits.line_bytes, redaction, observer)
        self.facts = StdioFacts(group.pid, self._stderr, self._noise)
        self.stdout = StdoutReader(stdout, limits.line_bytes, self._noise, redaction, self._settle)

    async def run(self) -> None:
        """Serve the pipes until `close` is through: a cancellation must not stop that."""
        with self._scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.stdin.run)
                tasks.start_soon(self._read_stderr)
                tasks.start_soon(self._watch_input)
                tasks.start_soon(self._watch_exit)
                await self._closing.wait()
                tasks.start_soon(self.stdout.drain)

    async def _read_stderr(self) -> None:
        """Keep the end of stderr; it is read even if nobody looks, or the server would block."""
        with suppress(OSError, anyio.EndOfStream, anyio.ClosedResourceError):
            while True:
                self._stderr.feed(await self._stderr_pipe.receive())
        self._stderr_over.set()

    async def _watch_exit(self) -> None:
        """Notice the exit, even where a descendant keeps the pipes open, and end the rest."""
        self.facts.exit_status = await self._group.wait()
        self._exited.set()
        await self._end_output()
        await self._group.sweep()

    async def _watch_input(self) -> None:
        """A server that takes no more input cannot be asked anything: the connection is over."""
        await self.stdin.done.wait()
        if self.stdin.broken:
            self._cause = "the server closed its input"
            await self._end_output()

    async def _end_output(self) -> None:
        """End the read stream once nothing more comes."""
        quiet = 0
        while quiet < _QUIET_ROUNDS and not self.stdout.over:
            seen = self.stdout.chunks
            await anyio.sleep(_QUIET)
            quiet = quiet + 1 if self.stdout.chunks == seen else 0
        await self.stdout.interrupt()

    async def _settle(self) -> None:
        """Find out why the output ended, before anybody is told that it did."""
        with anyio.move_on_after(_STATUS_WAIT):
            await self._exited.wait()
        if self._exited.is_set():
            with anyio.move_on_after(_STDERR_WAIT):
                await self._stderr_over.wait()
        self._conclude()

    def _conclude(self) -> None:
        if not self.facts.over:
            status = self.facts.exit_status
            self.facts.over = (
                self._cause if status is None else f"the server process {describe_exit(status)}"
            )

    async def close(self) -> None:
        """Flush, end the group, and leave no pipe and no process behind."""
        if not self.facts.over:
            self.facts.over = CLOSED_BY_US
        self._noise.report()
        self.stdin.close()
        with anyio.move_on_after(_FLUSH):
            await self.stdin.done.wait()
        self._closing.set()
        if await self._group.end():
            self.facts.exit_status = self._group.exit_status
        else:
            text = f"process {self._group.pid} is still there after SIGKILL"
            self._observer.note(Finding(self._server, "process_left", text))
        self._scope.cancel()
