"""Command lines that cannot be carried out: what is said, where, and the exit code."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from toolcrib.cli.app import app
from toolcrib.version import __version__


@dataclass(frozen=True)
class Ended:
    code: object
    out: str
    err: str

    @property
    def error(self) -> dict[str, Any]:
        return json.loads(self.out)["error"]


Run = Callable[..., Ended]

SLEEPER = {"mcpServers": {"one": {"command": "sleep", "args": ["100"]}}}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line in this process, in an empty home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Ended:
        with pytest.raises(SystemExit) as ended:
            app(list(words), prog_name="toolcrib")
        captured = capsys.readouterr()
        return Ended(ended.value.code, captured.out, captured.err)

    return run


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "servers.json"
    path.write_text(json.dumps(SLEEPER))
    return str(path)


def test_the_version_is_told(run: Run) -> None:
    assert run("--version") == Ended(0, f"toolcrib {__version__}\n", "")


def test_without_a_verb_there_is_help(run: Run) -> None:
    ended = run()
    assert ended.code == 2
    for verb in ("serve", "list", "show", "call", "watch", "diff", "probe"):
        assert f"\n  {verb} " in ended.out + ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lst",), "No such command 'lst'"),
        (("list", "--bogus"), "No such option: --bogus"),
        (("show",), "Missing argument 'NAME'"),
        (("serve", "--names", "short"), "Invalid value for '--names'"),
        (("probe", "--walks", "0"), "Invalid value for '--walks'"),
        (("watch", "--for", "soon"), "Invalid value for '--for'"),
    ],
)
def test_what_is_no_command_line_is_said_with_its_usage(
    run: Run, words: tuple[str, ...], said: str
) -> None:
    ended = run(*words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.startswith("Usage: toolcrib ")


@pytest.mark.parametrize(
    ("words", "message", "remedy"),
    [
        (("list", "--kind", "tool"), "there is no kind 'tool'", "one of tools, prompts"),
        (("show", "x", "--kind", "tool"), "there is no kind 'tool'", "one of tools, prompts"),
        (("watch", "--kind", "tool"), "there is no kind 'tool'", "one of tools, prompts"),
        (("list", "--url", "http://x/mcp"), "--url and --config exclude each other", "give one"),
        (("probe", "two"), "there is no server 'two'", "configured: one"),
        (("diff", "two"), "there is no server 'two'", "configured: one"),
        (("call", "x", "path"), "argument 'path' has no value", "write name=value"),
        (("call", "x", "n:=1,"), "the value of argument n is no JSON", "quote it"),
        (("call", "x", "--args", "[1]"), "--args", "{"),
        (("call", "x", "--args", "@nowhere.json"), "nowhere.json", ""),
        (("serve", "--http", "8770"), "'8770' is no HOST:PORT", "write 127.0.0.1:8770"),
    ],
)
def test_what_cannot_be_meant_is_an_error_of_usage(
    run: Run, config: str, words: tuple[str, ...], message: str, remedy: str
) -> None:
    ended = run(*words, "--config", config)
    assert (ended.code, ended.out) == (2, "")
    first, *rest = ended.err.splitlines()
    assert first.startswith("error: ")
    assert message in first
    assert remedy in " ".join(rest)
    if words[0] != "serve":
        programs = run(*words, "--config", config, "--json")
        assert (programs.code, programs.err) == (2, "")
        assert message in programs.error["message"]


def test_nothing_is_served_without_a_file(run: Run) -> None:
    ended = run("serve", "--json")
    assert (ended.code, ended.out) == (2, "")
    assert "error: no server is configured\n" in ended.err


def test_what_waits_is_looked_at_without_a_file(run: Run) -> None:
    ended = run("approve", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out) == {"waiting": []}
    unknown = run("approve", "abc", "--yes", "--json")
    assert unknown.code == 2
    assert "no question waits under" in unknown.error["message"]
    assert "--config" in unknown.error["remedy"]
    assert run("approve", "--changes", "--json").error["message"] == "no server is configured"


def test_what_waits_is_looked_at_though_no_server_can_be_used(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "broken.json"
    config.write_text('{"mcpServers": {"a": {"command": ""}}}')
    ended = run("approve", "--config", str(config), "--json")
    assert json.loads(ended.out) == {"waiting": []}
    assert "broken.json" in ended.err, "what is wrong with the file is told all the same"


@pytest.mark.parametrize("verb", [("list",), ("show", "x"), ("call", "x"), ("diff",), ("probe",)])
def test_without_a_configuration_it_is_told_where_one_was_looked_for(
    run: Run, tmp_path: Path, verb: tuple[str, ...]
) -> None:
    ended = run(*verb, "--json")
    assert ended.code == 2
    assert ended.error["message"] == "no server is configured"
    assert "--config" in ended.error["remedy"]
    assert ".vscode/mcp.json" in ended.err
    assert str(tmp_path / ".config/toolcrib/toolcrib.toml") in ended.err


@pytest.mark.parametrize(
    ("servers", "message"),
    [
        ('{"a": {"command": ""}, "b": {}}', "no configured server can be used"),
        ('{"a": {"command": "x", "disabled": true}}', "every configured server is disabled"),
        ("{}", "no server is configured"),
    ],
)
def test_a_configuration_that_leaves_nobody_says_why(
    run: Run, tmp_path: Path, servers: str, message: str
) -> None:
    (tmp_path / "mcp.json").write_text(f'{{"mcpServers": {servers}}}')
    ended = run("list")
    assert ended.code == 2
    assert f"error: {message}\n" in ended.err
    assert ended.err.count("error: mcp.json:1: server ") == servers.count('""') + servers.count(
        "{}}"
    )


@pytest.mark.parametrize(
    ("files", "remedy"),
    [
        ({}, "put right what is told above"),
        ({"nope.json": None}, "put right what is told above"),
        ({"broken.json": "{"}, "put right what is told above"),
        ({"slip.json": '{"mcpServer": {"a": {"command": "x"}}}'}, "put right what is told above"),
        ({"broken.toml": "x = "}, "put right what is told above"),
        ({"empty.json": '{"mcpServers": {}}'}, "add one to empty.json"),
        ({"only.toml": ""}, "add one to only.toml"),
        (
            {"only.toml": "[limits]\nqueue_per_server = -1", "empty.json": '{"servers": {}}'},
            "add one to only.toml or empty.json",
        ),
    ],
)
def test_the_last_remedy_does_not_contradict_what_was_told_before(
    run: Run, tmp_path: Path, files: Mapping[str, str | None], remedy: str
) -> None:
    for name, text in files.items():
        if text is not None:
            (tmp_path / name).write_text(text)
    named = [word for name in files or (".",) for word in ("--config", name)]
    ended = run("list", *named)
    assert ended.code == 2
    *before, what, last = ended.err.strip().splitlines()
    assert what == "error: no server is configured"
    assert last == remedy
    assert bool(before) is ("above" in remedy or "limits" in str(files))


def test_a_broken_file_is_told_by_line_and_column(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text('{\n  "mcpServers": {,}\n}')
    ended = run("list")
    assert ended.code == 2
    assert ended.err.startswith("error: mcp.json:2: the file ")
    assert "(column 18)" in ended.err


def test_watching_ends_by_itself_after_the_seconds_it_was_given(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"mute": {"command": "cat"}}}')
    ended = run("watch", "--for", "0.5", "--json")
    assert (ended.code, ended.err) == (0, "")
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert events[0]["event"] == "connection_changed"
    assert (events[0]["server"], events[0]["state"]) == ("mute", "connecting")


def test_disabled_and_unusable_servers_are_listed_with_their_state(
    run: Run, tmp_path: Path
) -> None:
    servers = {
        "off": {"command": "x", "disabled": True},
        "bad": {"command": ""},
        "gone": {"command": "no-such-command-anywhere"},
    }
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    ended = run("list", "--servers", "--json", "--wait", "1")
    assert ended.code == 1
    rows = {row["id"]: row["state"] for row in json.loads(ended.out)["servers"]}
    assert rows == {"bad": "unusable", "gone": "backoff", "off": "disabled"}
