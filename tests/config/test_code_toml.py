"""`[code]`: bounds of programs, and flows that fail closed."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from toolcrib.config.code_toml import CODE_KEYS
from toolcrib.config.loading import Loaded, interpret
from toolcrib.config.plan import plan
from toolcrib.config.sources import parse_source
from toolcrib.settings import CodeSettings, FlowRule

HOSTS = json.dumps({"mcpServers": {"git": {"command": "git-server"}}})


def loaded(*tomls: str) -> Loaded:
    """What these files say of a host's one server."""
    sources = [parse_source(Path(f"{n}.toml"), it.encode()) for n, it in enumerate(tomls)]
    return interpret([*sources, parse_source(Path("mcp.json"), HOSTS.encode())], {}, Path("/"))


def test_every_number_reaches_the_settings() -> None:
    numbers: dict[str, Any] = {
        field.name: 7 if isinstance(field.default, int) else 7.5
        for field in fields(CodeSettings)
        if field.name not in {"languages", "type_check", "flows"}
    }
    lines = "\n".join(f"{key} = {value}" for key, value in numbers.items())
    words = 'type_check = false\nlanguages = ["typescript", "python"]\n'
    found = loaded(f"[code]\n{words}{lines}\n")
    assert found.problems == ()
    languages = ("typescript", "python")
    assert found.settings.code == CodeSettings(languages, type_check=False, **numbers)


def test_the_keys_are_the_fields_of_the_settings() -> None:
    assert CodeSettings.__dataclass_fields__.keys() == CODE_KEYS


def test_without_the_table_the_defaults_hold() -> None:
    assert loaded("").settings.code == CodeSettings()


def test_flows_of_all_files_are_put_one_after_the_other() -> None:
    first = '[[code.flows]]\nsource = "crm"\ntarget = "mail*"\nverdict = "deny"\n'
    second = '[[code.flows]]\nsource = "*"\ntarget = "*"\nverdict = "ask"\n'
    found = loaded(first, second)
    assert found.problems == ()
    assert found.settings.code.flows == (
        FlowRule("crm", "mail*", "deny", "0.toml:1"),
        FlowRule("*", "*", "ask", "1.toml:1"),
    )


@pytest.mark.parametrize(
    "flow",
    [
        'source = "a"\ntarget = "b"',
        'source = "a"\nverdict = "deny"',
        'source = "a"\ntarget = "b"\nverdict = "never"',
        'source = ""\ntarget = "b"\nverdict = "deny"',
        'source = ["a"]\ntarget = "b"\nverdict = "deny"',
        'source = "a"\ntarget = "b"\nverdict = "deny"\nbecause = "x"',
    ],
)
def test_a_flow_that_is_not_understood_costs_all_servers(flow: str) -> None:
    found = loaded(f"[[code.flows]]\n{flow}\n")
    assert found.settings.servers == ()
    assert any("no server is started" in problem.message for problem in found.problems)


def test_flows_that_are_no_list_cost_all_servers() -> None:
    assert loaded('[code]\nflows = "none"\n').settings.servers == ()
    assert loaded('[code]\nflows = ["none"]\n').settings.servers == ()


@pytest.mark.parametrize(
    "line",
    [
        "calls = 0",
        "calls = 1.5",
        "wall_seconds = -1",
        'memory_bytes = "64 MiB"',
        "x = 1",
        "languages = []",
    ],
)
def test_a_number_that_is_wrong_keeps_its_default_and_is_reported_with_its_line(line: str) -> None:
    found = loaded(f"[code]\nin_flight = 3\n{line}\n")
    assert found.settings.code == CodeSettings(in_flight=3)
    assert [server.id for server in found.settings.servers] == ["git"]
    [problem] = found.problems
    assert problem.line == 3


def test_a_change_is_told_to_take_a_restart() -> None:
    old, new = loaded("").settings, loaded("[code]\ncalls = 5\n").settings
    assert plan(old, new).elsewhere == ("code.calls",)
