"""A newcomer who does what the README says gets what it says."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from toolcrib.cli.app import app
from toolcrib.settings import Secret, StdioLaunch
from toolcrib.testing.live.room import Room
from toolcrib.testing.raw_client import raw_pipe

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`([^`\n]+)`")
PORT = "8770"
BIN = Path(sys.executable).parent
STAMPS = [".venv/.run", ".peers/venv/.done", "peers/node_modules/.run"]
"""What `make run` would install again where a lock is younger; a test of the README does not."""


def fences(language: str) -> list[str]:
    return [text for lang, text in FENCE.findall(README) if lang == language]


def commands() -> list[str]:
    """Everything that follows a prompt, in order."""
    lines = [line for text in fences("console") for line in text.splitlines()]
    assert all(line.startswith("$ ") for line in lines)
    return [line.removeprefix("$ ") for line in lines]


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


@contextmanager
def in_background(command: list[str], room: Room, until: str) -> Generator[list[str]]:
    """A command that goes on until Ctrl-C, once it has said that it is there."""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=room.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        said: list[str] = []
        for line in process.stderr:
            said.append(line)
            if until in line:
                break
        drain = threading.Thread(target=said.extend, args=(process.stderr,))
        drain.start()
        try:
            yield said
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(20)
            drain.join(20)


@pytest.mark.peers
@pytest.mark.timeout(120)
def test_what_follows_a_prompt_works_as_it_stands(room: Room) -> None:
    first, *others = commands()
    assert first == "make run"
    port = free_port()
    kept = [word for stamp in STAMPS for word in ("--old-file", stamp)]
    run = ["make", *kept, f"ADDRESS=127.0.0.1:{port}", "run"]
    ran: list[subprocess.CompletedProcess[str]] = []
    with in_background(run, room, until="refreshed server=time"):
        assert len(others) == 2
        for command in others:
            here = shlex.split(command.replace(f":{PORT}/", f":{port}/"))
            here[0] = str(BIN / Path(here[0]).name)
            ran.append(
                subprocess.run(
                    here, cwd=ROOT, env=room.env, capture_output=True, text=True, check=False
                )
            )
    assert [done.returncode for done in ran] == [0, 0], ran
    listed, called = (done.stdout for done in ran)
    for server in json.loads((ROOT / "examples/mcp.json").read_text())["mcpServers"]:
        assert f"{server}__" in listed
    assert json.loads(called)["timezone"] == "UTC"


def test_the_address_of_make_run_is_the_one_it_says() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert f"ADDRESS ?= 127.0.0.1:{PORT}\n" in makefile
    assert "CONFIG ?= examples/mcp.json\n" in makefile


@pytest.mark.peers
async def test_a_host_that_is_given_the_entry_has_the_tools(room: Room) -> None:
    (text,) = fences("json")
    config = str(ROOT / "examples/mcp.json")
    entry = json.loads(text.replace("/path/to/your/mcp.json", config))["mcpServers"]["toolcrib"]
    env = {**room.env, "PATH": f"{BIN}:{room.env['PATH']}"}
    command = BIN / entry["command"]
    launch = StdioLaunch(
        str(command),
        tuple(entry["args"]),
        {name: Secret(value) for name, value in env.items()},
        str(ROOT),
    )
    with anyio.fail_after(40):
        async with raw_pipe(launch) as pipe:
            names: set[str] = set()
            while "time__get_current_time" not in names:
                tools = (await pipe.ask("tools/list"))["result"]["tools"]
                names = {tool["name"] for tool in tools}
            await pipe.stdin.aclose()
            assert await pipe.process.wait() == 0
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,48}", name) for name in names)


@pytest.mark.peers
def test_the_program_in_python_runs(room: Room) -> None:
    (text,) = fences("python")
    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=ROOT,
        env=room.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert lines.keys() == {"everything", "files", "git", "time"}
    assert "'get_current_time'" in lines["time"]


def verbs() -> dict[str, set[str]]:
    """Every verb with its options."""
    page = (ROOT / "docs/cli.md").read_text()
    sections = re.split(r"^## toolcrib (\w+)$", page, flags=re.MULTILINE)[1:]
    return {
        verb: set(re.findall(r"--[a-z-]+", text))
        for verb, text in zip(sections[::2], sections[1::2], strict=True)
    }


def test_every_command_that_is_mentioned_exists_with_its_options() -> None:
    known = verbs()
    assert len(known) == len(app.registered_commands)
    said = [shlex.split(text) for text in INLINE.findall(README) if text.startswith("toolcrib ")]
    said += [shlex.split(line) for line in commands() if "toolcrib" in line]
    used = {(words[1], word) for words in said for word in words[2:] if word.startswith("--")}
    assert {words[1] for words in said} == known.keys()
    assert [(verb, option) for verb, option in used if option not in known[verb]] == []
    for verb, options in known.items():
        assert {"--json", "--config"} <= options, verb
        assert ("--url" in options) == (verb not in {"serve", "diff", "approve", "login"}), verb
    assert "--names" in known["serve"]


def test_every_target_of_make_that_is_mentioned_exists() -> None:
    targets = {text.split()[1] for text in INLINE.findall(README) if text.startswith("make ")}
    makefile = (ROOT / "Makefile").read_text()
    assert targets
    assert [it for it in targets if not re.search(rf"^{it}: .*## ", makefile, re.MULTILINE)] == []


def test_a_wheel_of_the_checkout_is_whole(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(tmp_path), str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("toolcrib-*.whl")
    listing = subprocess.run(
        [sys.executable, "-m", "zipfile", "-l", str(wheel)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in ("toolcrib/py.typed", "toolcrib/__main__.py", "entry_points.txt", "LICENSE"):
        assert name in listing
