"""The example configuration starts on any checkout, without keys and without a network."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SERVERS: dict[str, dict[str, Any]] = json.loads((ROOT / "examples" / "mcp.json").read_text())[
    "mcpServers"
]
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


def command_of(server: str) -> list[str]:
    entry = SERVERS[server]
    return [entry["command"], *entry.get("args", [])]


@pytest.mark.parametrize("server", SERVERS)
def test_an_example_names_no_absolute_path(server: str) -> None:
    assert [part for part in command_of(server) if Path(part).is_absolute()] == []


@pytest.mark.peers
@pytest.mark.parametrize("server", SERVERS)
def test_an_example_server_answers_from_the_project_root(server: str) -> None:
    program, *arguments = command_of(server)
    found = shutil.which(program) or str(ROOT / program)
    with subprocess.Popen(
        [found, *arguments],
        cwd=ROOT,
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
