"""Canaries: values of env, headers, URLs and arguments appear in nothing that is printed."""

import json
import logging
import pickle
import traceback
from pathlib import Path
from typing import Any

import pytest

from toolcrib.config.loading import Loaded, interpret
from toolcrib.config.plan import plan
from toolcrib.config.sources import parse_source
from toolcrib.settings import Settings

ENV = {"SECRET": "canary-from-the-environment", "TOOLCRIB_INPUT_K": "canary-from-an-input"}

SOUND: dict[str, Any] = {
    "local": {
        "command": "x",
        "args": ["--key", "canary-argument", "${SECRET}"],
        "env": {"A": "canary-literal", "B": "${SECRET}", "C": "${input:k}"},
    },
    "remote": {
        "url": "https://user:canary-password@h.test/mcp?key=${SECRET}",
        "headers": {"Authorization": "Bearer ${SECRET}", "X-Key": "canary-header"},
    },
}
BROKEN: dict[str, Any] = {
    "nul": {"command": "x", "env": {"A": "canary\0"}},
    "header": {"url": "https://h/canary", "headers": {"A": "canary\n${SECRET}"}},
    "url": {"url": "canary://${SECRET}"},
    "missing": {"url": "https://canary/${SECRET}/${MISSING}"},
    "odd": {"command": "x", "args": ["canary ${"], "env": {"A": "canary ${?}"}},
    "types": {"command": "x", "args": "canary", "env": {"A": ["canary"]}, "cwd": {"canary": 1}},
    "type": {"type": "canary", "url": "https://canary/"},
    "switch": {"command": "x", "disabled": "canary"},
    "both": {"command": "canary", "url": "https://canary/"},
    "text": "canary",
    "unknown": {"command": "x", "apiKey": "canary"},
}
TOML = """
[gateway]
http = "canary"
names = "canary"
[limits]
walk_pages = "canary"
[servers.own]
url = "https://canary/"
headers.A = 3
headers.B = ["canary"]
strategy = "canary"
"""


def said(servers: dict[str, Any], toml: str = "", previous: Loaded | None = None) -> Loaded:
    sources = [
        parse_source(Path("mcp.json"), json.dumps({"mcpServers": servers}).encode()),
        parse_source(Path("toolcrib.toml"), toml.encode()),
    ]
    return interpret(sources, ENV, Path("/home/me"), previous)


def everything_printed(loaded: Loaded) -> str:
    problems = [
        f"{it} {it!r} {it.as_error()!r} {it.as_error().for_operator()}" for it in loaded.problems
    ]
    return "\n".join([repr(loaded), str(loaded), repr(loaded.settings), *problems])


def test_the_canaries_are_really_in_the_settings() -> None:
    launches = {server.id: server.launch for server in said(SOUND).settings.servers}
    revealed = [value.reveal() for value in launches["local"].env.values()]  # type: ignore[union-attr]
    assert revealed == ["canary-literal", ENV["SECRET"], ENV["TOOLCRIB_INPUT_K"]]


def test_no_repr_of_sound_settings_shows_a_value() -> None:
    loaded = said(SOUND)
    assert loaded.problems == ()
    assert "canary" not in everything_printed(loaded)
    assert "canary" not in repr(plan(Settings(), loaded.settings))


def test_no_problem_shows_a_value() -> None:
    loaded = said(BROKEN, TOML)
    assert {it.entry for it in loaded.problems} >= set(BROKEN) - {"unknown"}
    assert "canary" not in everything_printed(loaded)


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": {"a": {"env": {"K": "canary" "L": 1}}}}',
        '{"mcpServers": {"a": {"env": {"K": "canary\n"}}}}',
        '{"mcpServers": {"a": {"env": {"K": "canary\\q"}}}}',
        '{"mcpServers": {"a": {"env": {"K": canary}}}}',
        "{'canary': 1}",
        "canary",
    ],
)
def test_no_broken_document_shows_a_value(text: str) -> None:
    source = parse_source(Path("mcp.json"), text.encode())
    assert source.problem is not None
    assert "canary" not in f"{source!r} {source.problem}"


@pytest.mark.parametrize(
    "text", ['a = "canary', "a = canary", 'a = "canary" "canary"', "a = [canary"]
)
def test_no_broken_toml_shows_a_value(text: str) -> None:
    source = parse_source(Path("toolcrib.toml"), text.encode())
    assert source.problem is not None
    assert "canary" not in f"{source!r} {source.problem}"


def test_no_log_line_and_no_traceback_shows_a_value(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        said(SOUND | BROKEN, TOML, said(SOUND))
    assert "canary" not in caplog.text
    for server in said(SOUND).settings.servers:
        with pytest.raises(TypeError) as caught:
            pickle.dumps(server)
        assert "canary" not in "".join(traceback.format_exception(caught.value))
