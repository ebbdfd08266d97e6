"""A scripted server in a process of its own: the same, behind a control port."""

import json
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, cast, get_args

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from toolcrib.settings import HttpLaunch, Launch, Secret, StdioLaunch
from toolcrib.testing.server.behaviour import Group
from toolcrib.testing.server.handle import Perform
from toolcrib.testing.server.http_server import HttpServer
from toolcrib.testing.server.opening import open_here
from toolcrib.testing.server.remote import ControlPort, RemoteControl
from toolcrib.testing.server.rulebook import Wire

__all__ = ["main", "open_apart"]

_MODULE: Final = "toolcrib.testing.scripted_server"
_START_SECONDS: Final = 20.0
_END_SECONDS: Final = 5.0
_LINE: Final = 65_536


@asynccontextmanager
async def open_apart(wire: Wire, groups: Sequence[Group]) -> AsyncGenerator[tuple[Launch, Perform]]:
    """A server that is up in another process while the context lasts."""
    process = await anyio.open_process([sys.executable, "-m", _MODULE, wire], stderr=None)
    async with process:
        try:
            with anyio.fail_after(_START_SECONDS):
                ready = await _read_line(process)
            control = RemoteControl(ready["control"])
            await control("set", groups=groups)
            yield _launch_of(ready), control
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)


async def _read_line(process: Process) -> dict[str, Any]:
    if process.stdout is None:
        raise RuntimeError("the process was started without pipes")
    reader = BufferedByteReceiveStream(process.stdout)
    return json.loads(await reader.receive_until(b"\n", _LINE))


async def _end(process: Process) -> None:
    if process.stdin is not None:
        await process.stdin.aclose()
    with anyio.move_on_after(_END_SECONDS):
        await process.wait()
        return
    process.kill()
    await process.wait()


def _launch_of(ready: Mapping[str, Any]) -> Launch:
    launch = ready["launch"]
    if "command" in launch:
        return StdioLaunch(launch["command"], tuple(launch["args"]))
    return HttpLaunch(Secret(launch["url"]), transport=launch["transport"])


def _describe(launch: Launch) -> dict[str, Any]:
    if isinstance(launch, StdioLaunch):
        return {"command": launch.command, "args": launch.args}
    return {"url": launch.url.reveal(), "transport": launch.transport}


async def _serve(wire: Wire) -> None:
    """Serve until stdin ends."""
    async with open_here(wire, ()) as (launch, perform), anyio.create_task_group() as tasks:
        control = HttpServer(ControlPort(perform).serve)
        await control.start(tasks)
        ready = {"launch": _describe(launch), "control": control.port}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        await anyio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        tasks.cancel_scope.cancel()


def main() -> None:
    """Serve `stdio`, `http` or `sse` until stdin ends; one line of JSON says where."""
    wires = get_args(Wire)
    wire = sys.argv[-1]
    if wire not in wires:
        sys.exit(f"usage: python -m {_MODULE} {'|'.join(wires)}")
    anyio.run(_serve, cast("Wire", wire))
