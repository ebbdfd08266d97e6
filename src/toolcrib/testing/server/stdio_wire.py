"""The scripted server on stdio: any number of processes, each with its pipes to this script."""

import json
import secrets
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, assert_never, cast

import anyio
from anyio.abc import SocketStream, TaskGroup, TaskStatus
from anyio.streams.buffered import BufferedByteReceiveStream

from toolcrib.core.snapshot import Kind
from toolcrib.settings import StdioLaunch
from toolcrib.testing.server.actions import Cut, Drop, Exit, Forget, Garble, Hang, Noise, Refuse
from toolcrib.testing.server.exchange import Broken
from toolcrib.testing.server.http_server import port_of
from toolcrib.testing.server.outlets import Outlet, cancelled, changed
from toolcrib.testing.server.revision import INVALID_REQUEST, UNSUPPORTED_VERSION, Rejection
from toolcrib.testing.server.script import Script
from toolcrib.testing.server.serving import attend, serve
from toolcrib.testing.server.tally import Heard

__all__ = ["ProcessSeen", "StdioWire"]

_CHILD: Final = Path(__file__).with_name("pipe_child.py")
_HEADER: Final = struct.Struct(">cI")
_GONE: Final = (
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    anyio.IncompleteRead,
)


@dataclass(frozen=True, slots=True)
class ProcessSeen:
    """A process that was started, as it introduced itself."""

    pid: int
    cwd: str
    env: Mapping[str, str] = field(repr=False)
    """Its whole environment. Out of the repr: it may hold secrets."""


class StdioWire:
    """Accepts the processes that the launch starts, whoever starts them."""

    def __init__(self, script: Script) -> None:
        self.seen: list[ProcessSeen] = []
        """Every process that was started so far."""
        self._script = script
        self._key = secrets.token_hex(16)
        self._port = 0
        self._up = True
        self._processes: dict[_Process, None] = {}

    @property
    def launch(self) -> StdioLaunch:
        """Starts one more process of this server."""
        args = ("-I", "-S", str(_CHILD), str(self._port), self._key)
        return StdioLaunch(command=sys.executable, args=args)

    async def open(self, tasks: TaskGroup) -> None:
        """Begin to accept processes."""
        await tasks.start(self._listen)

    async def _listen(self, *, task_status: TaskStatus[None]) -> None:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        self._port = port_of(listener)
        async with listener:
            task_status.started()
            await listener.serve(self._accept)

    async def start(self) -> None:
        """Processes that start from now on stay up."""
        self._up = True

    async def stop(self) -> None:
        """Every process exits, and those that start exit at once."""
        self._up = False
        await self.drop()

    async def drop(self) -> None:
        """Every process exits."""
        for process in tuple(self._processes):
            await process.exit(1)

    async def signal_unasked(self, kind: Kind, count: int) -> None:
        """Write `list_changed` on every pipe, subscribed or not."""
        for process in tuple(self._processes):
            await process.say(changed(kind), count)

    async def _accept(self, stream: SocketStream) -> None:
        process = _Process(self._script, stream)
        async with stream:
            try:
                introduction = await process.introduction(self._key)
                if introduction is None:
                    return
                self.seen.append(introduction)
                self._processes[process] = None
                self._script.tally.add(connects=1, live=1)
                if not self._up:
                    await process.exit(1)
                await process.run()
            except _GONE:
                return
            finally:
                if self._processes.pop(process, process) is None:
                    self._script.tally.add(live=-1)


class _Process:
    """One process: what it reads from its stdin comes here, what it writes is decided here."""

    def __init__(self, script: Script, stream: SocketStream) -> None:
        self.era: Literal["modern", "handshake"] | None = None
        """Set by the first request, for the life of the process (MCP 2026-07-28, versioning)."""
        self.pid = 0
        self._script = script
        self._stream = stream
        self._reader = BufferedByteReceiveStream(stream)
        self._lock = anyio.Lock()

    async def introduction(self, key: str) -> ProcessSeen | None:
        """Who connected; None for somebody else's connection."""
        kind, payload = await self._read_frame()
        words: dict[str, Any] = json.loads(payload) if kind == b"H" else {}
        if words.get("key") != key:
            return None
        self.pid = words["pid"]
        return ProcessSeen(words["pid"], words["cwd"], words["env"])

    async def run(self) -> None:
        """Serve until the process is gone."""
        if self._script.profile.stubborn:
            await self._tell(b"S")
        actions = self._script.rules.take("connect", request=False)
        for action in actions:
            if isinstance(action, Noise):
                await self.make_noise(action.line, action.to)
        match await attend(self._script, actions):
            case Exit(status):
                await self.exit(status)
            case Drop():
                await self.close_output()
            case Hang():
                await self._read(None)
            case _:
                pass
        with self._script.outlets.opened(Outlet(self._say_unasked), stream=False):
            async with anyio.create_task_group() as tasks:
                try:
                    await self._read(tasks)
                finally:
                    tasks.cancel_scope.cancel()

    # ------------------------------------------------------------ what comes in

    async def _read_frame(self) -> tuple[bytes, bytes]:
        kind, size = _HEADER.unpack(await self._reader.receive_exactly(_HEADER.size))
        return kind, await self._reader.receive_exactly(size) if size else b""

    async def _read(self, tasks: TaskGroup | None) -> None:
        """Take the client's lines until the process is gone; without a task group, ignore them."""
        begun = b""
        while True:
            try:
                kind, payload = await self._read_frame()
            except _GONE:
                return
            if kind == b"Z":
                if not self._script.profile.stubborn:
                    await self.exit(0)
                continue
            *lines, begun = (begun + payload).split(b"\n")
            for line in lines:
                if tasks is not None:
                    await self._take(line, tasks)

    async def _take(self, line: bytes, tasks: TaskGroup) -> None:
        try:
            message: object = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            self._script.tally.add(unreadable=1)
            return
        fields = cast("dict[str, Any]", message)
        if "method" in fields and "id" in fields:
            tasks.start_soon(serve, self._script, fields, _PipeExchange(self, fields))
        else:
            tasks.start_soon(self._notice, fields)

    async def _notice(self, message: Mapping[str, Any]) -> None:
        heard = Heard(str(message.get("method", "")), message, pid=self.pid)
        actions = self._script.notice(message, heard, self)
        match await attend(self._script, actions):
            case Exit(status):
                await self.exit(status)
            case Drop():
                await self.close_output()
            case _:
                pass

    # ------------------------------------------------------------ what goes out

    async def _tell(self, kind: bytes, payload: bytes = b"") -> None:
        async with self._lock:
            try:
                await self._stream.send(_HEADER.pack(kind, len(payload)) + payload)
            except _GONE:
                return

    async def write(self, payload: bytes) -> None:
        """Write to its stdout."""
        await self._tell(b"O", payload)

    async def say(self, message: Mapping[str, Any], count: int = 1) -> None:
        """Write a message to its stdout, so many times."""
        await self.write((json.dumps(message).encode() + b"\n") * count)

    async def _say_unasked(self, message: Mapping[str, Any], count: int) -> None:
        """Signals flow on the bare pipe in the handshake era; a modern client listens for them."""
        if self.era == "handshake":
            await self.say(message, count)

    async def make_noise(self, line: str, to: str) -> None:
        """Write a line that is no message."""
        await self._tell(b"E" if to == "stderr" else b"O", line.encode() + b"\n")

    async def close_output(self) -> None:
        """It closes its stdout, and lives on."""
        await self._tell(b"C")

    async def exit(self, status: int) -> None:
        """It exits."""
        await self._tell(b"X", bytes([status]))


class _PipeExchange:
    """One request of one process."""

    def __init__(self, process: _Process, request: Mapping[str, Any]) -> None:
        self.peer: object = process
        self.heard = Heard(str(request["method"]), request, pid=process.pid)
        self._process = process
        self._id = request["id"]

    def reject(self, request: Mapping[str, Any], *, modern: bool) -> Rejection | None:
        """Refuse what belongs to the other era than the one the process was opened in."""
        process = self._process
        if process.era is None:
            process.era = "modern" if modern else "handshake"
            return None
        if process.era == "modern" and request["method"] == "initialize":
            return Rejection(UNSUPPORTED_VERSION, "this process was opened without a handshake")
        if process.era == "handshake" and modern:
            return Rejection(INVALID_REQUEST, "this process was opened with a handshake")
        return None

    async def accept(self) -> None:
        """Nothing to do."""

    async def open(self) -> None:
        """Nothing to do: every message belongs to the one stream."""

    async def say(self, message: Mapping[str, Any], count: int = 1) -> None:
        """Write the message."""
        await self._process.say(message, count)

    async def answer(self, message: Mapping[str, Any], status: int) -> None:
        """Write the answer."""
        await self._process.say(message)

    async def make_noise(self, line: str, to: str) -> None:
        """Write the line."""
        await self._process.make_noise(line, to)

    async def hang_up(self) -> None:
        """Cancel the request from the server's side: it has no stream of its own to end."""
        await self._process.say(cancelled(self._id))

    async def end(self, how: Broken, message: Mapping[str, Any]) -> None:
        """End it as told."""
        match how:
            case Garble():
                await self._process.write(how.text.encode() + b"\n")
            case Cut():
                line = json.dumps(message).encode()
                await self._process.write(line[: len(line) // 2])
                await self._process.exit(1)
            case Drop():
                await self._process.close_output()
            case Exit():
                await self._process.exit(how.status)
            case Refuse() | Forget():
                raise AssertionError("the rulebook lets no such rule be made on stdio")
            case _:
                assert_never(how)
