"""The example configuration starts on any checkout, without keys and without a network."""

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from toolcrib.config.loading import load
from toolcrib.settings import StdioLaunch

ROOT = Path(__file__).resolve().parents[2]
FILES = ("mcp.json", "tickets.json", "goods.toml")


def entries(name: str) -> dict[str, dict[str, Any]]:
    """The servers of a file, as they are written."""
    text = (ROOT / "examples" / name).read_text()
    return (
        tomllib.loads(text)["servers"] if name.endswith("toml") else json.loads(text)["mcpServers"]
    )


WRITTEN = {server: entry for name in FILES for server, entry in entries(name).items()}
SERVERS = {
    server.id: server.launch
    for server in load([ROOT / "examples" / name for name in FILES], {}, Path()).settings.servers
}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "house", "version": "0"},
    },
}


def test_every_server_of_every_file_is_looked_at() -> None:
    assert SERVERS.keys() == WRITTEN.keys()
    assert len(SERVERS) == 9


@pytest.mark.parametrize("server", SERVERS)
def test_an_example_names_no_absolute_path(server: str) -> None:
    words = [WRITTEN[server]["command"], *WRITTEN[server]["args"]]
    assert [it for it in words if Path(it).is_absolute()] == []


@pytest.mark.peers
@pytest.mark.parametrize("server", SERVERS)
def test_an_example_server_answers_wherever_it_is_started(server: str, tmp_path: Path) -> None:
    launch = SERVERS[server]
    assert isinstance(launch, StdioLaunch)
    with subprocess.Popen(
        [launch.command, *launch.args],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as peer:
        assert peer.stdin
        assert peer.stdout
        peer.stdin.write(json.dumps(INITIALIZE) + "\n")
        peer.stdin.flush()
        answer = json.loads(peer.stdout.readline())
        peer.terminate()
    assert answer["result"]["protocolVersion"] == "2025-11-25"
    assert "tools" in answer["result"]["capabilities"]
