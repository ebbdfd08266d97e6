"""Servers in every form that hosts write them in; one bad entry costs nobody else."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.config.loading import Loaded, interpret
from toolcrib.config.problem import Problem
from toolcrib.config.sources import parse_source
from toolcrib.settings import HttpLaunch, StdioLaunch

HOME = Path("/home/me")
TIME = {"command": "mcp-server-time"}


def loaded(
    said: str | bytes | Mapping[str, Any],
    env: Mapping[str, str] | None = None,
    name: str = "mcp.json",
) -> Loaded:
    """What one file of the folder /project says."""
    text = json.dumps(said) if isinstance(said, Mapping) else said
    raw = text if isinstance(text, bytes) else text.encode()
    return interpret([parse_source(Path("/project", name), raw)], env or {}, HOME)


def one(entry: Any, env: Mapping[str, str] | None = None) -> Loaded:
    """What an entry named `s` says that stands beside a sound one."""
    found = loaded({"mcpServers": {"s": entry, "sound": TIME}}, env)
    assert found.entries["sound"] == "ready"
    return found


def stdio(found: Loaded, server_id: str = "s") -> StdioLaunch:
    launch = next(it.launch for it in found.settings.servers if it.id == server_id)
    assert isinstance(launch, StdioLaunch)
    return launch


def http(found: Loaded, server_id: str = "s") -> HttpLaunch:
    launch = next(it.launch for it in found.settings.servers if it.id == server_id)
    assert isinstance(launch, HttpLaunch)
    return launch


def the_problem(found: Loaded) -> Problem:
    assert len(found.problems) == 1, found.problems
    return found.problems[0]


# ---- forms of files ----


@pytest.mark.parametrize(
    "said",
    [
        {"mcpServers": {"time": TIME}},
        {"servers": {"time": TIME}, "inputs": [{"id": "k", "type": "promptString"}]},
        {"mcp": {"servers": {"time": TIME}, "inputs": []}},
        {"mcp": {"mcpServers": {"time": TIME}}},
        {"mcp.servers": {"time": TIME}, "editor.fontSize": 12},
        {"mcp": {"time": {"type": "local", "command": ["mcp-server-time"], "enabled": True}}},
    ],
)
def test_servers_are_found_in_every_form(said: Mapping[str, Any]) -> None:
    found = loaded(said)
    assert dict(found.entries) == {"time": "ready"}
    assert stdio(found, "time").command == "mcp-server-time"
    assert found.problems == ()


def test_several_forms_in_one_file_are_all_read() -> None:
    said = {"servers": {"b": TIME}, "mcpServers": {"a": TIME}, "mcp": {"servers": {"c": TIME}}}
    assert list(loaded(said).entries) == ["a", "b", "c"]


def test_a_server_may_be_called_servers() -> None:
    said = {"mcp": {"servers": {"type": "local", "command": ["x"]}}}
    assert dict(loaded(said).entries) == {"servers": "ready"}


def test_a_team_file_with_comments_and_questions_is_read_and_the_unanswered_one_is_told() -> None:
    text = """{
      // asked once by the editor
      "inputs": [{"type": "promptString", "id": "api-key", "password": true}],
      "servers": {
        "Wiki": {"url": "https://wiki.example.test/mcp"},
        "Jobs": {"type": "stdio", "command": "python",
                 "env": {"API_KEY": "${input:api-key}"}},
      }
    }"""
    found = loaded(text, name=".vscode/mcp.json")
    assert dict(found.entries) == {"Wiki": "ready", "Jobs": "unusable"}
    problem = the_problem(found)
    assert (problem.entry, problem.line) == ("Jobs", 7)
    assert problem.message.startswith("servers.Jobs.env.API_KEY ")
    assert "TOOLCRIB_INPUT_API_KEY" in problem.remedy

    answered = loaded(text, {"TOOLCRIB_INPUT_API_KEY": "k"}, name=".vscode/mcp.json")
    assert dict(answered.entries) == {"Wiki": "ready", "Jobs": "ready"}
    assert stdio(answered, "Jobs").env["API_KEY"].reveal() == "k"


def test_a_byte_order_mark_comments_and_trailing_commas_are_read() -> None:
    text = """\ufeff{ "mcpServers": { // "no": {}
      /* "off": {"command": "x"} */
      "a": {"command": "npx", "args": ["-y", "http://h//p",],},
    },}"""
    found = loaded(text)
    assert stdio(found, "a").args == ("-y", "http://h//p")
    assert list(found.entries) == ["a"]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('{"mcpServers": {\n "a": {"command": "x"}\n "b": {}}}', 3, "comma"),
        ('{"mcpServers": {\n "a": {"command": "C:\\Program"}}}', 2, "backslash"),
        ('{"mcpServers": {"a": {}', 1, "not closed"),
        ("", 1, "empty"),
        (b'{"a": "\xff"}', 1, "UTF-8"),
    ],
)
def test_a_broken_file_is_told_with_line_column_and_hint(
    text: str | bytes, line: int, said: str
) -> None:
    found = loaded(text)
    problem = the_problem(found)
    assert (problem.file, problem.line, problem.entry) == ("/project/mcp.json", line, None)
    assert said in problem.message
    assert "column" in problem.message
    assert problem.remedy
    assert found.settings.servers == ()


@pytest.mark.parametrize(
    ("said", "message", "remedy"),
    [
        ("{}", "holds no servers", "mcpServers"),
        ('{"theme": "dark"}', "holds no servers", "mcpServers"),
        ("[]", "is a list, not an object", "mcpServers"),
        ('{"mcpServers": []}', "mcpServers is a list, not an object of servers", "command"),
        ('{"servers": "x"}', "servers is text, not an object of servers", "command"),
        ('{"mcp": 3}', "mcp is a number", "command"),
    ],
)
def test_a_file_without_servers_says_how_to_write_them(
    said: str, message: str, remedy: str
) -> None:
    problem = the_problem(loaded(said))
    assert message in problem.message
    assert remedy in problem.remedy
    assert problem.severity == "error"


def test_a_slip_in_a_key_is_told_with_the_key_that_was_meant() -> None:
    wrong: dict[str, Any] = {"command": "x", "agrs": [], "zzz": 1}
    said = {"mcpServers": {"a": {"comand": "x"}, "b": wrong}}
    remedies = {
        problem.message.split()[0]: problem.remedy
        for problem in loaded(said).problems
        if problem.severity == "warning"
    }
    assert remedies == {
        "mcpServers.a.comand": "did you mean command?",
        "mcpServers.b.agrs": "did you mean args?",
        "mcpServers.b.zzz": "check its spelling, or remove it",
    }


def test_a_server_that_is_written_twice_is_told_and_the_last_one_counts() -> None:
    found = loaded('{"mcpServers": {\n "a": {"command": "x"},\n "a": {"command": "y"}}}')
    assert stdio(found, "a").command == "y"
    problem = the_problem(found)
    assert (problem.line, problem.severity) == (2, "warning")
    assert "mcpServers.a is written twice" in problem.message
    assert "last one counts" in problem.remedy


def test_a_server_in_two_forms_of_one_file_is_told_and_the_first_one_counts() -> None:
    found = loaded({"mcpServers": {"a": TIME}, "servers": {"a": {"command": "y"}}})
    assert stdio(found, "a").command == "mcp-server-time"
    assert "servers.a is configured in /project/mcp.json:1 already" in the_problem(found).message


# ---- programs ----


def test_a_program_keeps_its_arguments_environment_and_directory_as_written() -> None:
    entry = {
        "type": "stdio",
        "command": "./bin/run me",
        "args": ["--a", "b c", ""],
        "env": {"A": "1", "EMPTY": ""},
        "cwd": "sub/dir",
    }
    found = one(entry)
    launch = stdio(found)
    assert launch.command == "./bin/run me"
    assert launch.args == ("--a", "b c", "")
    assert {name: value.reveal() for name, value in launch.env.items()} == {"A": "1", "EMPTY": ""}
    assert launch.cwd == "sub/dir"
    assert found.problems == ()


def test_a_command_may_be_a_list_and_the_environment_may_be_spelled_out() -> None:
    entry = {"command": ["npx", "-y", "p"], "args": ["z"], "environment": {"A": "1", "B": "1"}}
    launch = stdio(one({**entry, "env": {"B": "2"}}))
    assert (launch.command, launch.args) == ("npx", ("-y", "p", "z"))
    assert {name: value.reveal() for name, value in launch.env.items()} == {"A": "1", "B": "2"}


def test_numbers_and_truth_values_become_the_text_that_json_writes() -> None:
    entry = {"command": "x", "args": ["--port", 80, True], "env": {"P": 80, "D": False, "F": 1.5}}
    launch = stdio(one(entry))
    assert launch.args == ("--port", "80", "true")
    assert {name: value.reveal() for name, value in launch.env.items()} == {
        "P": "80",
        "D": "false",
        "F": "1.5",
    }


def test_null_is_the_same_as_leaving_out() -> None:
    found = one({"command": "x", "url": None, "env": None, "cwd": None, "disabled": None})
    assert found.entries["s"] == "ready"
    assert found.problems == ()


def test_a_command_line_in_command_is_told_and_tried_as_it_is() -> None:
    found = one({"command": "npx -y package"})
    assert stdio(found).command == "npx -y package"
    problem = the_problem(found)
    assert problem.severity == "warning"
    assert "mcpServers.s.command looks like a whole command line" in problem.message
    assert "args" in problem.remedy
    assert one({"command": "C:\\Program Files\\x.exe"}).problems == ()
    assert one({"command": "my tool", "args": []}).problems == ()


# ---- remote servers ----


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        ({"url": "https://h.test/mcp"}, "auto"),
        ({"serverUrl": "https://h.test/mcp"}, "auto"),
        ({"httpUrl": "https://h.test/mcp"}, "streamable"),
        ({"type": "http", "url": "https://h.test/mcp"}, "auto"),
        ({"type": "remote", "url": "https://h.test/mcp"}, "auto"),
        ({"type": "streamable-http", "url": "https://h.test/mcp"}, "streamable"),
        ({"type": "streamableHttp", "url": "https://h.test/mcp"}, "streamable"),
        ({"type": "streamable_http", "url": "https://h.test/mcp"}, "streamable"),
        ({"transport": "streamable-http", "url": "https://h.test/mcp"}, "streamable"),
        ({"type": "sse", "url": "https://h.test/mcp"}, "sse"),
        ({"type": "SSE", "serverUrl": "https://h.test/mcp"}, "sse"),
        ({"type": "sse", "httpUrl": "https://h.test/mcp"}, "sse"),
        ({"type": "sse", "transport": "sse", "url": "https://h.test/mcp"}, "sse"),
    ],
)
def test_every_spelling_of_a_remote_server_is_understood(
    entry: Mapping[str, str], transport: str
) -> None:
    found = one(entry)
    assert http(found).url.reveal() == "https://h.test/mcp"
    assert http(found).transport == transport
    assert found.problems == ()


@pytest.mark.parametrize("kind", ["stdio", "local"])
def test_every_spelling_of_a_local_server_is_understood(kind: str) -> None:
    assert stdio(one({"type": kind, "command": "x"})).command == "x"


def test_keys_of_the_other_kind_are_told_and_have_no_effect() -> None:
    remote = one({"url": "http://localhost:8000/mcp", "env": {"K": "v"}, "args": ["a"]})
    assert http(remote).url.reveal() == "http://localhost:8000/mcp"
    assert [(it.severity, it.message) for it in remote.problems] == [
        ("warning", "mcpServers.s.args has no effect here"),
        ("warning", "mcpServers.s.env has no effect here"),
    ]
    local = one({"command": "x", "headers": {"A": "b"}})
    assert "env" in the_problem(local).remedy


# ---- what is wrong with an entry ----


@pytest.mark.parametrize(
    ("entry", "message", "remedy"),
    [
        ({}, "s has neither command nor url", '"command"'),
        ({"args": ["x"]}, "s has neither command nor url", '"url"'),
        ({"command": "x", "url": "http://h"}, "s has both command and url", "keep command"),
        ({"url": "http://h", "httpUrl": "http://h"}, "both url and httpUrl", "one address"),
        ("npx x", "s is text, not an object", '"command"'),
        (["npx"], "s is a list, not an object", '"command"'),
        (None, "s is null, not an object", '"command"'),
        ({"type": "ws", "url": "http://h"}, "s.type is no type of server", "streamable-http"),
        ({"type": 1, "url": "http://h"}, "s.type is no type of server", "streamable-http"),
        ({"type": "stdio", "url": "http://h"}, "has url, but its type says", "need command"),
        ({"type": "http", "command": "x"}, "has command, but its type says", "need url"),
        ({"type": "sse", "transport": "http", "url": "http://h"}, "that differ", "keep type"),
        ({"command": ""}, "s.command is empty", "program"),
        ({"command": []}, "s.command is empty", "program"),
        ({"command": ["", "x"]}, "s.command is empty", "program"),
        ({"command": {"x": 1}}, "s.command is an object, not a text", "quotes"),
        ({"command": "x", "args": "-y a"}, "s.args is text, not a list", "own text"),
        ({"command": "x", "args": [["a"]]}, "s.args[0] is a list, not a text", "quotes"),
        ({"command": "x", "args": [None]}, "s.args[0] is null, not a text", "quotes"),
        ({"command": "x", "env": ["A=1"]}, "s.env is a list, not an object", "NAME"),
        ({"command": "x", "env": {"A": None}}, "s.env.A is null, not a text", "quotes"),
        ({"command": "x", "env": {"A": {}}}, "s.env.A is an object, not a text", "quotes"),
        ({"command": "x", "env": {"A=B": "1"}}, 's.env["A=B"] is no name', "letters"),
        ({"command": "x", "env": {"": "1"}}, 's.env[""] is no name', "letters"),
        ({"command": "x", "env": {"A": "a\0b"}}, "s.env.A holds a NUL", "u0000"),
        ({"command": "x", "args": ["\ud800"]}, "s.args[0] holds something", "UTF-8"),
        ({"command": "x", "cwd": ""}, "s.cwd is empty", "leave it out"),
        ({"command": "x", "cwd": 1.5, "disabled": "no"}, "s.disabled is text", "true or false"),
        ({"command": "x", "enabled": 1}, "s.enabled is a number", "true or false"),
        ({"url": "h.test/mcp"}, "s.url is no http:// or https:// address", "https://"),
        ({"url": "ftp://h/x"}, "s.url is no http:// or https:// address", "https://"),
        ({"url": "http://"}, "s.url is no http:// or https:// address", "https://"),
        ({"url": "http://h:port/"}, "s.url is no http:// or https:// address", "https://"),
        ({"url": "http://h/a b"}, "s.url is no http:// or https:// address", "https://"),
        ({"url": ""}, "s.url is no http:// or https:// address", "https://"),
        ({"url": ["http://h"]}, "s.url is a list, not a text", "quotes"),
        ({"url": "http://h", "headers": {"A b": "c"}}, 's.headers["A b"] is no header', "letters"),
        ({"url": "http://h", "headers": {"A": ""}}, "s.headers.A is empty", "never sent"),
        ({"url": "http://h", "headers": {"A": "  "}}, "s.headers.A is empty", "never sent"),
        ({"url": "http://h", "headers": {"A": "a\r\nB: c"}}, "no header may carry", "ASCII"),
        ({"url": "http://h", "headers": {"A": "schlüssel"}}, "no header may carry", "ASCII"),
        ({"url": "http://h", "headers": "A: b"}, "s.headers is text, not an object", "NAME"),
    ],
)
def test_a_bad_entry_is_told_by_its_path_with_a_remedy_and_costs_nobody_else(
    entry: Any, message: str, remedy: str
) -> None:
    found = one(entry)
    errors = [it for it in found.problems if it.severity == "error"]
    assert len(errors) == 1
    assert message in errors[0].message
    assert errors[0].message.startswith("mcpServers.s")
    assert remedy in errors[0].remedy
    assert (errors[0].entry, errors[0].file, errors[0].line) == ("s", "/project/mcp.json", 1)
    assert dict(found.entries) == {"s": "unusable", "sound": "ready"}
    assert [it.id for it in found.settings.servers] == ["sound"]


def test_everything_that_is_wrong_with_an_entry_is_told_at_once() -> None:
    found = one({"command": "${A}", "args": ["${B}"], "env": {"C": "${C}"}, "cwd": "${D}"})
    assert [it.message.split()[0] for it in found.problems] == [
        "mcpServers.s.command",
        "mcpServers.s.args[0]",
        "mcpServers.s.env.C",
        "mcpServers.s.cwd",
    ]


@pytest.mark.parametrize("name", ["", "a\nb", "a\x1b[2J"])
def test_a_server_needs_a_name_that_prints(name: str) -> None:
    problem = the_problem(loaded({"mcpServers": {name: TIME}}))
    assert "unusable name" in problem.message
    assert "printable" in problem.remedy


@pytest.mark.parametrize("name", ["Docs", "my server", "ünï", "a__b", "x/y"])
def test_names_are_kept_as_written(name: str) -> None:
    assert [it.id for it in loaded({"mcpServers": {name: TIME}}).settings.servers] == [name]


def test_a_problem_reads_as_one_line_for_a_terminal_and_as_an_error() -> None:
    problem = the_problem(loaded('{"mcpServers":\n{"s": {}}}'))
    assert str(problem) == (
        "/project/mcp.json:2: error: server s: mcpServers.s has neither command nor url "
        '(add "command" for a local program or "url" for a remote server)'
    )
    error = problem.as_error()
    assert error.code == "config_error"
    assert error.for_operator() == (
        "s: /project/mcp.json:2: mcpServers.s has neither command nor url "
        '(add "command" for a local program or "url" for a remote server)'
    )


# ---- switches ----


@pytest.mark.parametrize("switch", [{"disabled": True}, {"enabled": False}])
def test_a_server_that_is_switched_off_is_kept_as_disabled(switch: Mapping[str, bool]) -> None:
    found = one({"command": "x", **switch})
    assert found.entries["s"] == "disabled"
    assert [(it.id, it.disabled) for it in found.settings.servers] == [
        ("s", True),
        ("sound", False),
    ]


def test_nothing_is_said_of_what_is_wrong_with_a_server_that_is_switched_off() -> None:
    found = one({"command": "x", "env": {"A": "${MISSING}"}, "disabled": True})
    assert found.problems == ()
    assert found.entries["s"] == "disabled"
    assert [it.id for it in found.settings.servers] == ["sound"]


# ---- unknown keys ----


def test_an_unknown_key_is_a_warning_once_per_file() -> None:
    entries = {name: {"command": "x", "tiemout": 3} for name in ("a", "b", "c")}
    found = loaded({"mcpServers": entries, "unrelated": 1})
    problem = the_problem(found)
    assert problem.severity == "warning"
    assert problem.message == "mcpServers.a.tiemout is not used, and 2 more like it"
    assert problem.remedy
    assert len(found.settings.servers) == 3


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("timeout", "request_seconds"),
        ("envFile", "${NAME}"),
        ("disabledTools", "tools.deny"),
        ("excludeTools", "tools.deny"),
        ("includeTools", "tools.allow"),
    ],
)
def test_a_key_that_toolcrib_has_elsewhere_says_where(key: str, remedy: str) -> None:
    assert remedy in the_problem(one({"command": "x", key: "y"})).remedy


def test_keys_that_only_concern_the_host_are_passed_over() -> None:
    entry = {
        "command": "x",
        "description": "d",
        "autoApprove": ["a"],
        "alwaysAllow": [],
        "$schema": "",
    }
    assert one(entry).problems == ()


# ---- references ----


def test_references_are_replaced_in_every_field() -> None:
    env = {"A": "1", "H": "h.test"}
    local = one(
        {
            "command": "${workspaceFolder}/run",
            "args": ["--a=${A}", "${env:A}", "${B:-d}"],
            "env": {"X": "x${A}"},
            "cwd": "${userHome}/w",
        },
        env,
    )
    launch = stdio(local)
    assert launch.command == "/project/run"
    assert launch.args == ("--a=1", "1", "d")
    assert launch.env["X"].reveal() == "x1"
    assert launch.cwd == "/home/me/w"
    remote = one({"url": "https://${H}/mcp?k=${A}", "headers": {"X-A": "Bearer ${A}"}}, env)
    assert http(remote).url.reveal() == "https://h.test/mcp?k=1"
    assert http(remote).headers["X-A"].reveal() == "Bearer 1"


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ({"command": "${MISSING}"}, "command"),
        ({"command": ["x", "${MISSING}"]}, "command[1]"),
        ({"command": "x", "args": ["a", "${MISSING}"]}, "args[1]"),
        ({"command": "x", "env": {"K": "a${MISSING}"}}, "env.K"),
        ({"command": "x", "environment": {"K": "a${MISSING}"}}, "environment.K"),
        ({"command": "x", "cwd": "${env:MISSING}/x"}, "cwd"),
        ({"url": "https://h/${MISSING}"}, "url"),
        ({"httpUrl": "https://${MISSING}/"}, "httpUrl"),
        ({"url": "https://h/", "headers": {"K": "Bearer ${MISSING}"}}, "headers.K"),
        ({"url": "https://h/", "headers": {"K": "Bearer ${MISSING:-}"}}, "headers.K"),
        ({"url": "https://h/?k=${MISSING:-}"}, "url"),
    ],
)
def test_a_missing_variable_costs_its_entry_and_names_the_field(entry: Any, path: str) -> None:
    found = one(entry)
    problem = the_problem(found)
    assert problem.message.startswith(f"mcpServers.s.{path} needs the environment variable MISSING")
    assert "set MISSING" in problem.remedy
    assert found.entries["s"] == "unusable"


def test_an_empty_default_is_meant_where_only_a_program_sees_it() -> None:
    launch = stdio(one({"command": "x", "args": ["${M:-}"], "env": {"K": "${M:-}"}}))
    assert launch.args == ("",)
    assert launch.env["K"].reveal() == ""


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("mcp.json", "/project"),
        (".vscode/mcp.json", "/project"),
        (".cursor/mcp.json", "/project"),
        ("conf/mcp.json", "/project/conf"),
    ],
)
def test_the_workspace_is_the_folder_of_the_file_or_above_an_editors(
    name: str, folder: str
) -> None:
    found = loaded({"servers": {"s": {"command": "${workspaceFolder}"}}}, name=name)
    assert stdio(found).command == os.path.normpath(folder)


def test_only_the_form_that_has_them_takes_references_without_a_dollar() -> None:
    bare = {"mcp": {"s": {"type": "remote", "url": "https://h/", "headers": {"A": "{env:T}"}}}}
    assert http(loaded(bare, {"T": "tok"})).headers["A"].reveal() == "tok"
    assert "needs the environment variable T" in the_problem(loaded(bare)).message
    other = {"mcp": {"servers": {"s": {"url": "https://h/", "headers": {"A": "{env:T}"}}}}}
    assert http(loaded(other)).headers["A"].reveal() == "{env:T}"


# ---- anything at all ----

_KEYS = ["command", "args", "env", "cwd", "url", "headers", "type", "disabled", "httpUrl", "zzz"]
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["x", "${A}", "http://h", "", "sse"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=5) | _VALUES)
def test_whatever_an_entry_holds_it_is_ready_or_disabled_or_has_an_error(entry: Any) -> None:
    found = one(entry)
    errors = [it for it in found.problems if it.severity == "error"]
    assert (found.entries["s"] == "unusable") == bool(errors)
    assert all(it.entry == "s" and it.remedy for it in errors)
    ids = [it.id for it in found.settings.servers if not it.disabled]
    assert ids == (["s", "sound"] if found.entries["s"] == "ready" else ["sound"])
