"""The installed suite, the fixture server, and the gateway in front of it."""

import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from toolcrib.testing.conformance import Suite
from toolcrib.testing.live.gateway import LiveGateway, live_gateway
from toolcrib.testing.live.room import Room

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "peers/node_modules/@modelcontextprotocol/conformance"
NODE = ROOT / ".peers/venv/bin/node"
SETTINGS = """\
gateway.relay = ["elicitation", "sampling", "roots", "logging"]
limits.stream_seconds = 1
"""


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    results = tmp_path_factory.mktemp("results")
    home = tmp_path_factory.mktemp("home")
    env = {**os.environ, "HOME": str(home), "NO_COLOR": "1", "PYTHONPATH": str(ROOT / "src")}
    return Suite(NODE, PACKAGE, results, env)


@contextmanager
def fixture_server(*options: str) -> Generator[str]:
    """The URL of a fixture server of its own, which is ended by its id."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "fixture.server", *options],
        cwd=Path(__file__).parent,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@contextmanager
def fixture_gateway(home: Path, *options: str) -> Generator[LiveGateway]:
    room = Room(home)
    room.write("toolcrib.toml", SETTINGS)
    with fixture_server(*options) as url:
        config = room.configure({"fixture": {"url": url}})
        with live_gateway(
            room, "--config", config, "--config", room.path / "toolcrib.toml", "--names", "plain"
        ) as gateway:
            gateway.wait_for("serving ")
            gateway.wait_for("refreshed", server="fixture", kind="tools")
            yield gateway


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveGateway]:
    """The gateway in front of a fixture that speaks both eras."""
    with fixture_gateway(tmp_path_factory.mktemp("gateway")) as gateway:
        yield gateway


@pytest.fixture(scope="session")
def older_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveGateway]:
    """The gateway in front of a fixture that knows the handshake alone."""
    with fixture_gateway(tmp_path_factory.mktemp("older"), "--era", "handshake") as gateway:
        yield gateway
