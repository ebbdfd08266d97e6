"""Homes for real processes, and the one gateway in front of all real servers."""

import json
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import anyio
import pytest

from toolcrib.testing.live.census import residents
from toolcrib.testing.live.gateway import LiveGateway, live_gateway
from toolcrib.testing.live.room import Room

ROOT = Path(__file__).resolve().parents[2]


def taken(_number: int, _frame: FrameType | None) -> None:
    """A signal that changes nothing here."""


@pytest.fixture(scope="session", autouse=True)
def hang_ups() -> Iterator[None]:
    """What tests start takes a hang-up for one, also where the tests run under `nohup`.

    A program inherits that a signal is ignored, but not that it is caught.
    """
    before = signal.getsignal(signal.SIGHUP)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, taken)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """A room; nobody may live in it when the test is over."""
    room = Room(tmp_path)
    yield room
    left = residents(room)
    for resident in left:
        resident.kill()
    assert left == []


@pytest.fixture(scope="session")
def real_servers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The servers of `make run` and the other real ones; their paths begin at the root."""
    folder = ROOT / "examples"
    text = (folder / "mcp.json").read_text().replace("${workspaceFolder}", str(folder))
    example = json.loads(text)["mcpServers"]
    memory = tmp_path_factory.mktemp("memory") / "memory.jsonl"
    module = "peers/node_modules/@modelcontextprotocol/server-memory/dist/index.js"
    return {
        **example,
        "fetch": {
            "command": ".peers/venv/bin/mcp-server-fetch",
            "args": ["--ignore-robots-txt", "--allow-private-ips"],
        },
        "memory": {
            "command": "node",
            "args": [module],
            "env": {"MEMORY_FILE_PATH": str(memory)},
        },
    }


@pytest.fixture(scope="session")
def workshop(
    tmp_path_factory: pytest.TempPathFactory, real_servers: dict[str, dict[str, Any]]
) -> Iterator[tuple[Room, LiveGateway]]:
    """The gateway over HTTP in front of all real servers, all of them connected."""
    room = Room(tmp_path_factory.mktemp("workshop"))
    config = room.configure(real_servers)
    # Fills the store for the local user, from which gateways on stdio answer at once.
    look = partial(room.run, "list", "--servers", "--config", config, "--wait", "30", cwd=ROOT)
    first = anyio.run(look)
    assert first.code == 0, first.err
    with live_gateway(room, "--config", config, cwd=ROOT) as gateway:
        for server in real_servers:
            gateway.wait_for("refreshed", server=server, kind="tools")
        yield room, gateway
