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
from typing import Any

import anyio
import pytest

from toolcrib.cli.app import app
from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.settings import ExposureSettings, Secret, StdioLaunch
from toolcrib.testing.conformance import Suite
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
SUITE = ROOT / "peers/node_modules/@modelcontextprotocol/conformance"


def fences(language: str) -> list[str]:
    return [text for lang, text in FENCE.findall(README) if lang == language]


def commands() -> list[str]:
    """Everything that follows a prompt, in order."""
    lines = [line for text in fences("console") for line in text.splitlines()]
    assert all(line.startswith("$ ") for line in lines)
    return [line.removeprefix("$ ") for line in lines]


def commands_with(*words: str) -> list[str]:
    """Those that name one of these."""
    return [line for line in commands() if any(word in line for word in words)]


AT_THE_GATEWAY = ("make run", "--url")
AT_A_HOST = ("claude mcp add",)
AT_THE_EXPOSURE = ("--exposure", "--tokens", "add two numbers")
AT_A_PROGRAM = ("toolcrib run",)
AT_A_SCRIPT = ("examples/stale_call.py",)
AT_THE_INBOX = ("examples/ask.toml", "toolcrib approve")


def test_every_command_is_run_by_one_of_these_tests() -> None:
    groups = (AT_THE_GATEWAY, AT_A_HOST, AT_THE_EXPOSURE, AT_A_PROGRAM, AT_A_SCRIPT, AT_THE_INBOX)
    parts = [commands_with(*words) for words in groups]
    assert [len(part) for part in parts] == [4, 1, 3, 1, 1, 3]
    assert [line for part in parts for line in part] == commands()


def run_here(line: str, room: Room) -> "subprocess.CompletedProcess[str]":
    """Run what follows a prompt, with the programs of this environment."""
    words = shlex.split(line)
    words[0] = str(BIN / Path(words[0]).name)
    return subprocess.run(
        words,
        cwd=ROOT,
        env=room.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


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
def test_what_is_asked_of_the_running_gateway_works_as_it_stands(room: Room) -> None:
    first, *others = commands_with(*AT_THE_GATEWAY)
    assert first == "make run"
    port = free_port()
    kept = [word for stamp in STAMPS for word in ("--old-file", stamp)]
    run = ["make", *kept, f"ADDRESS=127.0.0.1:{port}", "run"]
    with in_background(run, room, until="refreshed server=time"):
        assert len(others) == 3
        ran = [run_here(line.replace(f":{PORT}/", f":{port}/"), room) for line in others]
    assert [done.returncode for done in ran] == [0, 0, 0], ran
    listed, found, called = (done.stdout for done in ran)
    for server in json.loads((ROOT / "examples/mcp.json").read_text())["mcpServers"]:
        assert f"{server}__" in listed
    assert "time__get_current_time" in found.splitlines()[3]
    assert json.loads(called)["timezone"] == "UTC"


@pytest.mark.peers
@pytest.mark.timeout(120)
def test_what_is_said_of_the_exposure_works_as_it_stands(room: Room) -> None:
    serve, *looks = commands_with(*AT_THE_EXPOSURE)
    command = shlex.split(serve.replace(f":{PORT}", ":0"))
    command[0] = str(BIN / Path(command[0]).name)
    with in_background(command, room, until="serving") as said:
        (url,) = re.findall(r"http://\S+", said[-1])
        listed = run_here(f"toolcrib list --url {url} --json", room)
    names = {tool["name"] for tool in json.loads(listed.stdout)["tools"]}
    assert names == {"search_tools", "get_tool_details", "call_tool"}
    assert "`search_tools`, `get_tool_details`, `call_tool` |" in README
    tokens, found = (run_here(line, room) for line in looks)
    assert (tokens.returncode, found.returncode) == (0, 0)
    assert "exposure full: all definitions cost" in tokens.stdout
    assert "everything__get-sum" in found.stdout


def test_the_exposure_search_costs_what_is_said_whatever_the_tools() -> None:
    counting = "import anyio, context; context.SIZES = (10,); anyio.run(context.main, {})"
    done = subprocess.run(
        [sys.executable, "-c", counting],
        cwd=ROOT / "bench",
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    cost = json.loads(done.stdout)["value"]
    (row,) = (line for line in README.splitlines() if line.startswith("| `search` |"))
    assert row.endswith(f"| {cost} |")
    assert f"Under `search` it is {cost} for any number of tools" in README
    assert f"up to {ExposureSettings().share:.0%} of the model's".replace("%", " %") in README


@pytest.mark.peers
@pytest.mark.timeout(120)
def test_the_program_is_the_one_that_is_shown_and_brings_what_is_shown(room: Room) -> None:
    (line,) = commands_with(*AT_A_PROGRAM)
    program = ROOT / shlex.split(line)[-1]
    assert program.read_text() == fences("python")[0]
    assert f"`{program.relative_to(ROOT)}`" in README
    done = run_here(line, room)
    assert (done.returncode, done.stdout) == (0, fences("text")[0])
    assert done.stderr.splitlines()[0] == "1. files list_directory (line 11)"
    assert re.match(r"3 calls in \d+\.\d+ s", done.stderr.splitlines()[-1])


def test_the_tokens_of_a_task_are_those_of_the_page_on_code_mode() -> None:
    page = (ROOT / "docs/code-mode.md").read_text()
    rows = [line.split("|") for line in page.splitlines() if "2,000 log entries |" in line]
    direct, program = (row[5].strip() for row in rows)
    assert f"takes {program} prompt tokens so, and {direct} by direct" in " ".join(README.split())


def test_a_stale_call_gets_what_is_shown(room: Room) -> None:
    (line,) = commands_with(*AT_A_SCRIPT)
    done = run_here(line, room)
    assert (done.returncode, done.stderr) == (0, "")
    told, _, after = done.stdout.partition("Calls that reached the server: 0\n")
    assert "Calls that reached the server: 1\n" in after
    real = json.loads(told[told.index("{") :])
    (text,) = fences("jsonc")
    assert_shortened(json.loads(text), real)


def assert_shortened(shown: object, real: object) -> None:
    """What is shown is what there is, but for what stands at each `…` in a text."""
    if is_object(shown) and is_object(real):
        assert shown.keys() == real.keys()
        for name, member in shown.items():
            assert_shortened(member, real[name])
    elif is_array(shown) and is_array(real):
        assert len(shown) == len(real)
        for one, other in zip(shown, real, strict=True):
            assert_shortened(one, other)
    elif isinstance(shown, str) and isinstance(real, str):
        pattern = ".*".join(map(re.escape, shown.split("…")))
        assert re.fullmatch(pattern, real, re.DOTALL), (shown, real)
    else:
        assert shown == real


@pytest.mark.peers
@pytest.mark.timeout(120)
def test_a_person_is_asked_and_their_yes_is_good_for_one_call(room: Room) -> None:
    call, look, say_yes = commands_with(*AT_THE_INBOX)
    refused = run_here(call, room)
    assert refused.returncode == 1
    error = json.loads(refused.stdout)["error"]
    assert error["code"] == "needs_confirmation"
    waiting = run_here(look, room)
    assert (waiting.returncode, waiting.stderr) == (0, "")
    (question,) = {
        word for word in waiting.stdout.split() if f"approve {word}`" in error["message"]
    }
    # At a terminal there is somebody who says yes.
    approved = run_here(f"{say_yes.replace('ID', question)} --yes", room)
    assert (approved.returncode, approved.stderr) == (0, "")
    assert "Echo: hi" in run_here(call, room).stdout
    assert json.loads(run_here(call, room).stdout)["error"]["code"] == "needs_confirmation"
    assert "yes may last: for this call, or --for run, or up to --for 8h" in waiting.stdout


def test_the_rules_that_are_shown_are_those_of_the_example() -> None:
    (shown,) = fences("toml")
    assert (ROOT / "examples/ask.toml").read_text().endswith(shown)


@pytest.mark.peers
def test_the_conformance_that_is_claimed_is_what_the_suite_requires_and_the_tests_play() -> None:
    nowhere = Path()
    suite = Suite(nowhere, SUITE, nowhere, {})
    counts = [
        len(suite.required(revision, side))
        for side in ("server", "server", "client")
        for revision in ("2025-11-25", "2026-07-28")
    ]
    claimed = [(int(a), int(b)) for a, b in re.findall(r"\| (\d+) of (\d+)(?= \|)", README)]
    assert [of for _, of in claimed] == counts
    missing = [of - passed for passed, of in claimed]
    played = (ROOT / "tests/conformance/test_server_side.py").read_text()
    left_out = played.partition("OF_ROUNDS = (\n")[2].partition("\n)")[0].splitlines()
    assert missing == [0, 0, 0, len(left_out), 0, 0]
    version = json.loads((SUITE / "package.json").read_text())["version"]
    assert f"`@modelcontextprotocol/conformance` {version}" in README


def test_the_address_of_make_run_is_the_one_it_says() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert f"ADDRESS ?= 127.0.0.1:{PORT}\n" in makefile
    assert "CONFIG ?= examples/mcp.json\n" in makefile


def with_paths_of_here(text: str) -> str:
    """The full paths that a reader is told to write."""
    command, config = BIN / "toolcrib", ROOT / "examples/mcp.json"
    text = text.replace("/path/to/toolcrib", str(command))
    return text.replace("/path/to/your/mcp.json", str(config))


def entry() -> dict[str, Any]:
    (text,) = fences("json")
    return json.loads(with_paths_of_here(text))["mcpServers"]["toolcrib"]


@pytest.mark.peers
async def test_a_host_that_is_given_the_entry_has_the_tools(room: Room) -> None:
    launch = StdioLaunch(
        entry()["command"],
        tuple(entry()["args"]),
        {name: Secret(value) for name, value in room.env.items()},
        str(room.path),
    )
    with anyio.fail_after(40):
        async with raw_pipe(launch) as pipe:
            names: set[str] = set()
            while not names & {"time__get_current_time"}:
                tools = (await pipe.ask("tools/list"))["result"]["tools"]
                names = {tool["name"] for tool in tools}
            moment = {"name": "time__get_current_time", "arguments": {"timezone": "UTC"}}
            assert not (await pipe.ask("tools/call", moment))["result"].get("isError")
            await pipe.stdin.aclose()
            assert await pipe.process.wait() == 0
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,48}", name) for name in names)


def test_what_claude_code_is_told_is_the_entry() -> None:
    (line,) = commands_with(*AT_A_HOST)
    assert f"$ {line}\n" in (ROOT / "docs/hosts.md").read_text()
    words = shlex.split(with_paths_of_here(line))
    assert words[words.index("--") + 1 :] == [entry()["command"], *entry()["args"]]


def test_the_chapters_are_in_the_order_of_a_newcomer() -> None:
    chapters = re.findall(r"^## (.+)$", README, re.MULTILINE)
    assert chapters[:3] == ["Try it", "Use it with your host", "What the model sees"]


def output_of(program: str, room: Room) -> list[str]:
    """The lines that a program prints, which has nothing to complain about."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=room.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.peers
def test_the_program_in_python_runs(room: Room) -> None:
    lines = dict(line.split(" ", 1) for line in output_of(fences("python")[1], room))
    assert lines.keys() == {"everything", "files", "git", "time"}
    assert "'get_current_time'" in lines["time"]


@pytest.mark.peers
def test_the_program_that_answers_a_server_runs(room: Room) -> None:
    asked, result = output_of(fences("python")[2], room)
    assert asked.startswith("everything asks for ['name', ")
    assert "Ada" in result


def test_every_program_is_run() -> None:
    assert len(fences("python")) == 3


def verbs() -> dict[str, set[str]]:
    """Every verb with its options."""
    page = (ROOT / "docs/cli.md").read_text()
    sections = re.split(r"^## toolcrib (\w+)(?: \w+)?$", page, flags=re.MULTILINE)[1:]
    return {
        verb: set(re.findall(r"--[a-z-]+", text))
        for verb, text in zip(sections[::2], sections[1::2], strict=True)
    }


def test_every_command_that_is_mentioned_exists_with_its_options() -> None:
    known = verbs()
    assert len(known) == len(app.registered_commands) + len(app.registered_groups)
    said = [shlex.split(text) for text in INLINE.findall(README) if text.startswith("toolcrib ")]
    said += [shlex.split(line) for line in commands() if line.split()[0].endswith("/toolcrib")]
    used = {(words[1], word) for words in said for word in words[2:] if word.startswith("--")}
    assert {words[1] for words in said} == known.keys()
    assert [(verb, option) for verb, option in used if option not in known[verb]] == []
    for verb, options in known.items():
        assert "--json" in options, verb
        assert ("--config" in options) == (verb != "bench"), verb
        others = {"serve", "diff", "run", "approve", "login", "bench"}
        assert ("--url" in options) == (verb not in others), verb
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
