"""docs/hosts.md: a host that is given an entry has the tools, and what is said of HTTP is so."""

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from toolcrib.config.loading import load
from toolcrib.config.locations import config_dir, default_store_path, vault_path
from toolcrib.settings import HttpLaunch, Secret, StdioLaunch
from toolcrib.testing.live.gateway import serving
from toolcrib.testing.live.room import Room
from toolcrib.testing.raw_client import enveloped, headers_of, raw_pipe

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/hosts.md").read_text()
TEXT = " ".join(PAGE.split())
BIN = Path(sys.executable).parent
CONFIG = ROOT / "examples/tickets.json"
SNIPPETS: dict[str, tuple[str, str]] = {
    host: (language, text)
    for host, language, text in re.findall(
        r"^<!-- host: ([\w-]+) -->\n```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE
    )
}
COMMANDS = [
    line.removeprefix("$ ")
    for text in re.findall(r"^```console\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    for line in text.splitlines()
]
ADDRESS = "http://127.0.0.1:8770/mcp"
NODE = ROOT / ".peers/venv/bin/node"
INSPECTOR = ROOT / "peers/node_modules/.bin/mcp-inspector"
TOOLS = {
    "logs__read_entries",
    "tracker__close-ticket",
    "tracker__create_ticket",
    "tracker__on_call",
}


def here(text: str) -> str:
    """With the paths of this checkout."""
    command = str(BIN / "toolcrib")
    return text.replace("/path/to/toolcrib", command).replace("/path/to/your/mcp.json", str(CONFIG))


def entry_of(host: str) -> dict[str, Any]:
    """What a host has under the name of its server."""
    language, text = SNIPPETS[host]
    document: dict[str, Any] = (tomllib if language == "toml" else json).loads(here(text))
    (servers,) = document.values()
    assert [*servers] == ["toolcrib"]
    return servers["toolcrib"]


def words_after(prefix: str) -> list[list[str]]:
    """The words of the commands that begin so, which are left out."""
    said = [here(line) for line in COMMANDS if line.startswith(prefix)]
    assert said
    return [shlex.split(line.removeprefix(prefix)) for line in said]


async def listed(command: str, args: list[str], room: Room, cwd: Path) -> set[str]:
    """The tools that a host has that starts this, once all are there."""
    env = {name: Secret(value) for name, value in room.env.items()}
    with anyio.fail_after(40):
        async with raw_pipe(StdioLaunch(command, tuple(args), env, str(cwd))) as pipe:
            names: set[str] = set()
            while not names >= TOOLS:
                tools = (await pipe.ask("tools/list"))["result"]["tools"]
                names = {tool["name"] for tool in tools}
            await pipe.stdin.aclose()
            await pipe.process.wait()
    return names


def test_every_snippet_is_of_a_host_that_has_a_part() -> None:
    assert [*SNIPPETS] == ["claude-desktop", "cursor", "vscode", "codex", "http"]
    fences = re.findall(r"^```(?:json|toml)$", PAGE, re.MULTILINE)
    assert len(fences) == len(SNIPPETS)


@pytest.mark.parametrize("host", [it for it in SNIPPETS if it != "http"])
def test_an_entry_is_the_command_that_is_started_below(host: str) -> None:
    entry = entry_of(host)
    assert entry.pop("type", "stdio") == "stdio"
    assert entry == {
        "command": str(BIN / "toolcrib"),
        "args": ["serve", "--config", str(CONFIG)],
    }
    assert (host == "vscode") == ('"servers"' in SNIPPETS[host][1])


@pytest.mark.timeout(60)
async def test_a_host_that_is_elsewhere_and_starts_the_entry_has_the_tools(tmp_path: Path) -> None:
    entry = entry_of("cursor")
    room = Room(tmp_path)
    assert await listed(entry["command"], entry["args"], room, tmp_path) == TOOLS


@pytest.mark.timeout(60)
async def test_what_claude_code_is_told_is_the_same_command() -> None:
    stdio, http = words_after("claude mcp add ")
    assert stdio[:4] == ["--scope", "user", "toolcrib", "--"]
    entry = entry_of("claude-desktop")
    assert stdio[4:] == [entry["command"], *entry["args"]]
    assert http == ["--scope", "user", "--transport", "http", "toolcrib", ADDRESS]


@pytest.mark.parametrize("host", SNIPPETS)
def test_toolcrib_itself_understands_an_entry(host: str, tmp_path: Path) -> None:
    language, text = SNIPPETS[host]
    if language == "toml":
        text = json.dumps({"mcpServers": tomllib.loads(text)["mcp_servers"]})
    (tmp_path / "mcp.json").write_text(text)
    found = load([tmp_path / "mcp.json"], {}, tmp_path)
    assert found.problems == ()
    (server,) = found.settings.servers
    assert isinstance(server.launch, HttpLaunch if host == "http" else StdioLaunch)


def test_the_address_is_the_one_that_is_served() -> None:
    assert entry_of("http") == {"url": ADDRESS}
    (serve,) = words_after("toolcrib serve ")
    assert serve == ["--config", str(CONFIG), "--http", "127.0.0.1:8770"]


# ---------------------------------------------------------------- paths


def test_the_folder_of_a_file_is_found_wherever_a_host_starts(tmp_path: Path) -> None:
    plain, inner = tmp_path / "mcp.json", tmp_path / ".vscode" / "mcp.json"
    inner.parent.mkdir()
    entry = {"command": "${workspaceFolder}/serve", "args": ["${workspaceFolder}/server.py"]}
    for place in (plain, inner):
        place.write_text(json.dumps({"mcpServers": {"a": entry}}))
        (server,) = load([place], {}, tmp_path).settings.servers
        assert isinstance(server.launch, StdioLaunch)
        assert server.launch.command == f"{tmp_path}/serve"
        assert server.launch.args == (f"{tmp_path}/server.py",)


@pytest.mark.timeout(60)
async def test_a_relative_path_counts_from_where_toolcrib_is_started(tmp_path: Path) -> None:
    room = Room(tmp_path)
    shutil.copy(ROOT / "examples/servers.py", tmp_path / "servers.py")
    config = room.configure({"logs": {"command": sys.executable, "args": ["servers.py", "logs"]}})
    (elsewhere := tmp_path / "elsewhere").mkdir()
    found = [
        await room.run("list", "--config", config, "--no-store", "--json", cwd=cwd)
        for cwd in (tmp_path, elsewhere)
    ]
    assert [it.code for it in found] == [0, 1]


# ---------------------------------------------------------------- the inspector


@pytest.mark.peers
@pytest.mark.timeout(120)
async def test_the_inspector_lists_what_the_commands_ask_for(tmp_path: Path) -> None:
    stdio, http = words_after("npx @modelcontextprotocol/inspector ")
    room = Room(tmp_path)
    async with serving(room, "--config", CONFIG) as gateway:
        for command in (stdio, [gateway.url if it == ADDRESS else it for it in http]):
            with anyio.fail_after(100):
                done = await anyio.run_process(
                    [str(NODE), str(INSPECTOR), *command], check=False, env=room.env, cwd=ROOT
                )
            assert done.returncode == 0, done.stderr.decode()
            names = {tool["name"] for tool in json.loads(done.stdout)["tools"]}
            assert names == TOOLS


@pytest.mark.timeout(60)
def test_the_command_that_looks_says_how_each_server_is(tmp_path: Path) -> None:
    _, *args = shlex.split(here(next(it for it in COMMANDS if "list --servers" in it)))
    done = subprocess.run(
        [str(BIN / "toolcrib"), *args],
        cwd=tmp_path,
        env=Room(tmp_path).env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^ logs +ready ", done.stdout, re.MULTILINE)


# ---------------------------------------------------------------- HTTP


async def test_whoever_reaches_a_gateway_may_call_and_look(tmp_path: Path) -> None:
    assert "There is no authentication yet" in TEXT
    room = Room(tmp_path)
    call = {"name": "tracker__on_call", "arguments": {"day": "2026-08-03"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": enveloped(call)}
    accept = {"accept": "application/json, text/event-stream"}
    async with (
        serving(room, "--config", CONFIG) as gateway,
        httpx2.AsyncClient(trust_env=False, timeout=30) as http,
    ):
        for name, statuses in (("healthz", {200}), ("readyz", {200, 503}), ("metrics", {200})):
            assert f"`/{name}`" in PAGE
            assert (await http.get(gateway.url.replace("mcp", name))).status_code in statuses
        headers = {**accept, **headers_of(message)}
        answer = await http.post(gateway.url, json=message, headers=headers)
        assert "Ada" in answer.text
        for header, value, status in (
            ("host", "crib.example.com", 421),
            ("origin", "https://page.example.com", 403),
            ("origin", "http://localhost:3000", 200),
        ):
            asked = await http.post(gateway.url, json=message, headers={**headers, header: value})
            assert asked.status_code == status, header


def test_nothing_is_served_over_http_unless_it_is_asked_for(tmp_path: Path) -> None:
    assert load([CONFIG], {}, tmp_path).settings.gateway.http is None


# ---------------------------------------------------------------- files


@pytest.mark.skipif(sys.platform != "linux", reason="the table tells of Linux")
@pytest.mark.timeout(60)
async def test_what_is_written_is_what_the_table_names_and_goes_with_the_directories(
    tmp_path: Path,
) -> None:
    room = Room(tmp_path)
    table = PAGE.partition("table: written -->\n")[2].partition("<!-- end -->")[0].splitlines()[2:]
    store, key, vault = (room.home / line.split("`")[1].removeprefix("~/") for line in table)
    environment: Mapping[str, str] = {}
    assert default_store_path(environment, room.home, "linux") == store
    assert config_dir(environment, room.home, "linux") / "key" == key
    assert vault_path(environment, room.home, "linux") == vault
    assert (await room.run("list", "--config", CONFIG)).code == 0
    written = {it for it in room.home.rglob("*") if it.is_file()}
    assert {it for it in written if not it.name.startswith(store.name)} == {key}
    assert store in written
    assert {stat.S_IMODE(it.stat().st_mode) for it in written} == {0o600}
    assert {stat.S_IMODE(it.stat().st_mode) for it in (store.parent, key.parent)} == {0o700}
    remove = shlex.split(next(it for it in COMMANDS if it.startswith("rm ")))
    for place in remove[2:]:
        shutil.rmtree(room.home / place.removeprefix("~/"))
    assert not any(it.is_file() for it in room.home.rglob("*"))


def test_on_other_systems_the_directories_are_those_that_are_named() -> None:
    home, windows = Path("home"), {"LOCALAPPDATA": "local", "APPDATA": "roaming"}
    mac = home / "Library/Application Support/toolcrib"
    assert default_store_path({}, home, "darwin").parent == config_dir({}, home, "darwin") == mac
    assert default_store_path(windows, home, "win32").parent == Path("local/toolcrib")
    assert config_dir(windows, home, "win32") == Path("roaming/toolcrib")
    assert "`~/Library/Application Support/toolcrib`" in TEXT
    assert "`%LOCALAPPDATA%\\toolcrib` (the store) and `%APPDATA%\\toolcrib`" in TEXT


def test_make_clean_removes_nothing_outside_of_the_checkout() -> None:
    makefile = (ROOT / "Makefile").read_text()
    recipe = makefile.partition("\nclean:")[2].partition("\n\n")[0]
    assert "~" not in recipe
    assert "HOME" not in recipe
    assert os.sep + "." not in recipe.replace(" .", "")
