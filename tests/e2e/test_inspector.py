"""The MCP Inspector lists and calls through the gateway, on both wires and in all its eras."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib.core.naming import expose
from toolcrib.testing.live.gateway import LiveGateway
from toolcrib.testing.live.room import COMMAND, Room

ROOT = Path(__file__).resolve().parents[2]
NODE = ROOT / ".peers/venv/bin/node"
INSPECTOR = ROOT / "peers/node_modules/.bin/mcp-inspector"
ERAS = ("legacy", "auto", "modern")
FEW = ("files", "time")
"""One server of each era whose tools do not depend on what the client declares: the inspector does
not declare what the gateway does."""

Servers = dict[str, dict[str, Any]]

pytestmark = pytest.mark.peers


async def inspected(room: Room, target: Sequence[str | Path], *options: str) -> Any:
    """What the inspector prints, having spoken to a target in a home of its own."""
    command = [NODE, INSPECTOR, "--cli", *target, *options]
    with anyio.fail_after(100):
        done = await anyio.run_process(
            [str(word) for word in command], check=False, env=room.env, cwd=ROOT
        )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.fixture
def on_stdio(room: Room, real_servers: Servers) -> list[str | Path]:
    """A gateway that the inspector starts, from a file such as hosts have."""
    config = room.configure({server: real_servers[server] for server in FEW})
    command, *args = [*COMMAND, "serve", "--config", str(config), "--log-level", "error"]
    entry = {"command": command, "args": args, "cwd": str(ROOT), "env": dict(room.env)}
    return ["--config", room.configure({"crib": entry}, "host.json"), "--server", "crib"]


async def tools_of_upstreams(room: Room, servers: Servers) -> dict[str, tuple[Any, Any]]:
    """Names and schemas as the inspector finds them where there is no gateway."""
    found: dict[str, tuple[Any, Any]] = {}
    for server, entry in servers.items():
        variables = [f"-e={name}={value}" for name, value in entry.get("env", {}).items()]
        said = await inspected(
            room, [entry["command"], *entry["args"]], "--method=tools/list", *variables
        )
        found |= {expose(server, tool["name"]): schemas_of(tool) for tool in said["tools"]}
    return found


def schemas_of(tool: dict[str, Any]) -> tuple[Any, Any]:
    return tool["inputSchema"], tool.get("outputSchema")


async def test_the_inspector_finds_what_it_finds_without_a_gateway(
    room: Room,
    workshop: tuple[Room, LiveGateway],
    on_stdio: list[str | Path],
    real_servers: Servers,
) -> None:
    direct = await tools_of_upstreams(room, {server: real_servers[server] for server in FEW})
    orders: list[list[str]] = []
    for target in ([workshop[1].url], on_stdio):
        for era in ERAS:
            said = await inspected(room, target, "--method=tools/list", f"--protocol-era={era}")
            ours = [tool for tool in said["tools"] if tool["name"].split("__")[0] in FEW]
            assert {tool["name"]: schemas_of(tool) for tool in ours} == direct
            orders.append([tool["name"] for tool in ours])
    assert orders == [sorted(direct)] * 6


@pytest.mark.parametrize("era", ERAS)
async def test_the_inspector_calls_through_the_gateway(
    room: Room, workshop: tuple[Room, LiveGateway], on_stdio: list[str | Path], era: str
) -> None:
    for target in ([workshop[1].url], on_stdio):
        said = await inspected(
            room,
            target,
            "--method=tools/call",
            "--tool-name=time__get_current_time",
            "--tool-arg",
            "timezone=UTC",
            f"--protocol-era={era}",
        )
        assert said["structuredContent"]["timezone"] == "UTC"
