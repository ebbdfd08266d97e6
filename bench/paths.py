"""Starts the processes of a measured path and connects the measuring client to its near end."""

import json
import socket
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, Popen

import anyio
import psutil
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from wire import Peer, connect

PYTHON = sys.executable
TOOLCRIB = str(Path(PYTHON).parent / "toolcrib")


@dataclass(frozen=True, slots=True)
class Route:
    """One way to the echo server: directly, through the bare relay, or through the gateway."""

    name: str
    peer: Peer
    tool: str
    pid: int | None
    """The process in the middle; None for the direct route."""

    def cpu(self) -> float:
        """Seconds of processor time the middle process has used so far."""
        if self.pid is None:
            return 0.0
        times = psutil.Process(self.pid).cpu_times()
        return times.user + times.system


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def process(*command: str, port: int, within: float = 30) -> AsyncGenerator[int]:
    """A server process that listens on that port, after so many seconds at most.

    It is ended by its id.
    """
    child = Popen(command, stdout=DEVNULL, stderr=DEVNULL)  # noqa: ASYNC220 - own scripts
    try:
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            try:
                async with await anyio.connect_tcp("127.0.0.1", port):
                    break
            except OSError:
                await anyio.sleep(0.05)
        yield child.pid
    finally:
        child.terminate()
        child.wait(10)


def child_running(script: str) -> int:
    """The process id of our child that runs that script."""
    for child in psutil.Process().children():
        if any(script in part for part in child.cmdline()):
            return child.pid
    raise LookupError(script)


def config(entry: dict[str, object]) -> str:
    """A configuration file with one server, `echo`."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump({"mcpServers": {"echo": entry}}, file)
    return file.name


@asynccontextmanager
async def stdio_routes(era: str) -> AsyncGenerator[list[Route]]:
    """Direct, relay and gateway, each over pipes on both hops."""
    entry = config({"command": PYTHON, "args": ["bench/echo_server.py"]})
    direct = StdioServerParameters(command=PYTHON, args=["bench/echo_server.py"])
    relay = StdioServerParameters(
        command=PYTHON, args=["bench/relay.py", "--upstream", "stdio", "--era", era]
    )
    gateway = StdioServerParameters(
        command=TOOLCRIB, args=["serve", "--config", entry, "--exposure", "full", "--no-store"]
    )
    async with (
        connect(stdio_client(direct), era) as to_direct,
        connect(stdio_client(relay), era) as to_relay,
        connect(stdio_client(gateway), era) as to_gateway,
    ):
        yield [
            Route("direct", to_direct, "echo", None),
            Route("relay", to_relay, "echo", child_running("relay.py")),
            Route("gateway", to_gateway, "echo__echo", child_running("toolcrib")),
        ]


@asynccontextmanager
async def http_routes(era: str) -> AsyncGenerator[list[Route]]:
    """Direct, relay and gateway, each over Streamable HTTP on both hops."""
    echo_port, relay_port, gateway_port = free_port(), free_port(), free_port()
    echo_url = f"http://127.0.0.1:{echo_port}/mcp"
    entry = config({"url": echo_url})
    echo = [PYTHON, "bench/echo_server.py", "--port", str(echo_port)]
    relay = [PYTHON, "bench/relay.py", "--upstream", echo_url, "--era", era]
    gateway = [TOOLCRIB, "serve", "--config", entry, "--exposure", "full", "--no-store"]
    async with (
        process(*echo, port=echo_port),
        process(*relay, "--port", str(relay_port), port=relay_port) as relay_pid,
        process(*gateway, "--http", f"127.0.0.1:{gateway_port}", port=gateway_port) as gateway_pid,
        connect(streamable_http_client(echo_url), era) as to_direct,
        connect(streamable_http_client(f"http://127.0.0.1:{relay_port}/mcp"), era) as to_relay,
        connect(streamable_http_client(f"http://127.0.0.1:{gateway_port}/mcp"), era) as to_gateway,
    ):
        yield [
            Route("direct", to_direct, "echo", None),
            Route("relay", to_relay, "echo", relay_pid),
            Route("gateway", to_gateway, "echo__echo", gateway_pid),
        ]
