import json
from dataclasses import fields
from pathlib import Path

import pytest

from toolcrib.config.approval_toml import APPROVAL_KEYS, RULE_KEYS
from toolcrib.config.loading import Loaded, interpret
from toolcrib.config.plan import plan
from toolcrib.config.sources import parse_source
from toolcrib.settings import ApprovalRule, ApprovalSettings, GatewaySettings, Settings

HOSTS = json.dumps({"mcpServers": {"git": {"command": "git-server"}}})


def loaded(*tomls: str) -> Loaded:
    """What these files say of a host's one server."""
    sources = [parse_source(Path(f"{n}.toml"), it.encode()) for n, it in enumerate(tomls)]
    return interpret([*sources, parse_source(Path("mcp.json"), HOSTS.encode())], {}, Path("/"))


def rules(toml: str) -> tuple[ApprovalRule, ...]:
    found = loaded(toml)
    assert found.problems == ()
    return found.settings.approval.rules


def test_every_field_of_a_rule_can_be_set() -> None:
    found = loaded("""
[approval]
otherwise = "ask"

[[approval.rules]]
verdict = "deny"
servers = ["git", "db*"]
tools = ["drop_*"]
annotations = { destructiveHint = true, readOnlyHint = false }
arguments = { "path" = "/etc/*", "filter.tags" = "x" }

[[approval.rules]]
verdict = "ask"
remember = "principal"
seconds = 3600

[[approval.rules]]
verdict = "ask"
remember = "run"
""")
    assert found.problems == ()
    assert found.settings.approval == ApprovalSettings(
        otherwise="ask",
        rules=(
            ApprovalRule(
                "deny",
                servers=("git", "db*"),
                tools=("drop_*",),
                annotations={"destructiveHint": True, "readOnlyHint": False},
                arguments={"path": "/etc/*", "filter.tags": "x"},
                source="0.toml:5",
            ),
            ApprovalRule("ask", remember="principal", seconds=3600.0, source="0.toml:12"),
            ApprovalRule("ask", remember="run", source="0.toml:17"),
        ),
    )
    assert {it.name for it in fields(ApprovalRule)} - {"source"} == RULE_KEYS
    assert {it.name for it in fields(ApprovalSettings)} == APPROVAL_KEYS


def test_nothing_said_asks_nobody() -> None:
    assert loaded("").settings.approval == ApprovalSettings()
    assert loaded("[approval]").settings.approval == ApprovalSettings((), "allow")


@pytest.mark.parametrize(
    "written",
    [
        'arguments = { "a.b" = "x" }',
        'arguments.a.b = "x"',
        'arguments = { a = { b = "x" } }',
        '[approval.rules.arguments]\n"a.b" = "x"',
        '[approval.rules.arguments.a]\nb = "x"',
    ],
)
def test_a_table_inside_is_a_step_of_the_path(written: str) -> None:
    (rule,) = rules(f'[[approval.rules]]\nverdict = "deny"\n{written}\n')
    assert rule.arguments == {"a.b": "x"}


@pytest.mark.parametrize(
    ("toml", "message", "remedy"),
    [
        ("approval = 3", "approval is a number, not a table", "table"),
        ('[approval]\notherwize = "ask"', "approval.otherwize is not known", "otherwise?"),
        ('[approval]\notherwise = "maybe"', "approval.otherwise is not one of", "allow, deny, ask"),
        ('[approval]\nrules = "x"', "approval.rules is text, not a list", "[[approval.rules]]"),
        ("[approval]\nrules = [1]", "approval.rules[0] is a number, not a table", "table"),
        ("[[approval.rules]]\ntools = ['x']", "approval.rules[0] has no verdict", "ask"),
        ("[[approval.rules]]\nverdict = 'no'", "approval.rules[0].verdict is not one", "deny"),
        ("[[approval.rules]]\nverdict = 'ask'\ntool = 'x'", "rules[0].tool is not known", "tools?"),
        ("[[approval.rules]]\nverdict = 'ask'\ntools = 'x'", "rules[0].tools is text", "["),
        ("[[approval.rules]]\nverdict = 'ask'\ntools = []", "tools is empty, so", '["*"]'),
        ("[[approval.rules]]\nverdict = 'ask'\nservers = []", "servers is empty, so", '["*"]'),
        (
            "[[approval.rules]]\nverdict = 'allow'\nannotations.readOnlyHint = true",
            "rules[0].annotations cannot allow: annotations are the server's own claims",
            "name tools",
        ),
        (
            "[[approval.rules]]\nverdict = 'ask'\nannotations.readOnly = true",
            "annotations.readOnly is not known",
            "did you mean readOnlyHint?",
        ),
        (
            "[[approval.rules]]\nverdict = 'ask'\nannotations.readOnlyHint = 'true'",
            "annotations.readOnlyHint is text, not true or false",
            "without quotes",
        ),
        (
            "[[approval.rules]]\nverdict = 'ask'\narguments.n = 3",
            "arguments.n is a number, not a pattern",
            "quotes",
        ),
        (
            "[[approval.rules]]\nverdict = 'ask'\narguments = 'x'",
            "arguments is text, not a table",
            "/etc/*",
        ),
        (
            "[[approval.rules]]\nverdict = 'ask'\narguments.'a..b' = 'x'",
            "has a step without a name",
            "dot",
        ),
        (
            "[[approval.rules]]\nverdict = 'deny'\nremember = 'run'",
            "remember says nothing where the rule is to deny",
            "remove it",
        ),
        (
            "[[approval.rules]]\nverdict = 'ask'\nremember = 'ever'",
            "remember is not one of",
            "principal",
        ),
        (
            "[[approval.rules]]\nverdict = 'ask'\nseconds = 5",
            "seconds says when a yes for the principal expires",
            'remember = "principal"',
        ),
        (
            "[[approval.rules]]\nverdict = 'ask'\nremember = 'principal'\nseconds = 0",
            "seconds is 0, but must be more than 0",
            "more than 0",
        ),
    ],
)
def test_after_an_error_no_server_starts(toml: str, message: str, remedy: str) -> None:
    found = loaded(toml)
    first, *others = [it for it in found.problems if it.line is not None]
    assert message in first.message
    assert remedy in first.remedy
    assert others == []
    assert found.settings.servers == ()
    assert any("no server is started" in it.message for it in found.problems)


def test_a_problem_stands_on_the_line_of_its_own_rule() -> None:
    found = loaded("""
[[approval.rules]]
verdict = "ask"

[[approval.rules]]
verdict = "ask"
[approval.rules.arguments]
path = 5
[[approval.rules]]
verdict = "deny"
tools = []
""")
    lines = {it.line: it.message for it in found.problems if it.line is not None}
    assert lines[8].startswith("approval.rules[1].arguments.path is a number")
    assert lines[11].startswith("approval.rules[2].tools is empty")
    assert set(lines) == {8, 11}


def test_rules_of_two_files_stand_one_after_the_other() -> None:
    found = loaded(
        "[[approval.rules]]\nverdict = 'allow'\n",
        "[approval]\notherwise = 'ask'\n[[approval.rules]]\nverdict = 'deny'\n",
    )
    assert found.problems == ()
    assert [it.verdict for it in found.settings.approval.rules] == ["allow", "deny"]
    assert [it.source for it in found.settings.approval.rules] == ["0.toml:1", "1.toml:3"]
    assert found.settings.approval.otherwise == "ask"


def test_a_change_of_approval_is_named_as_such() -> None:
    before, after = Settings(), Settings(approval=ApprovalSettings((), "ask"))
    assert plan(before, after).elsewhere == ("approval.otherwise",)


# ---------------------------------------------------------------- relay, on_change, version_from


def test_what_is_relayed_is_a_list_of_words_each_once() -> None:
    gateway = loaded('[gateway]\nrelay = ["roots", "sampling", "roots"]').settings.gateway
    assert gateway == GatewaySettings(relay=("roots", "sampling"))
    assert loaded("[gateway]\nrelay = []").settings.gateway.relay == ()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('"roots"', "gateway.relay is text, not a list"),
        ('["root"]', "gateway.relay[0] is not one of"),
        ("[1]", "gateway.relay[0] is a number"),
    ],
)
def test_a_wrong_relay_is_told_and_leaves_the_default(value: str, message: str) -> None:
    found = loaded(f"[gateway]\nrelay = {value}\n")
    (problem,) = found.problems
    assert message in problem.message
    assert "elicitation, sampling, roots, logging" in problem.remedy
    assert found.settings.gateway == GatewaySettings()


@pytest.mark.parametrize(
    "value",
    [
        "meta:com.example/version",
        "header:X-Catalog-Version",
        "tool:server_info#/version",
        "tool:info#",
        "tool:info#/a~1b/0",
    ],
)
def test_where_a_version_is_can_be_said(value: str) -> None:
    found = loaded(f'[servers.git]\nversion_from = "{value}"\non_change = "ask"\n')
    assert found.problems == ()
    (server,) = found.settings.servers
    assert (server.version_from, server.on_change) == (value, "ask")


@pytest.mark.parametrize(
    ("line", "message", "remedy"),
    [
        ("version_from = 'version'", "version_from does not say where", "header:NAME"),
        ("version_from = 'meta:'", "version_from does not say where", "meta:KEY"),
        ("version_from = 'header:a b'", "version_from does not say where", "meta:KEY"),
        ("version_from = 'tool:info'", "version_from does not say where", "tool:NAME#"),
        ("version_from = 'tool:info#version'", "does not say where", "/json/pointer"),
        ("version_from = 'tool:info#/a~2'", "does not say where", "/json/pointer"),
        ("version_from = ''", "version_from is empty", "quotes"),
        ("on_change = 'hold'", "on_change is not one of", "publish, ask"),
        ("on_change = true", "on_change is true or false", "publish, ask"),
    ],
)
def test_an_error_of_a_server_costs_that_server(line: str, message: str, remedy: str) -> None:
    found = loaded(f"[servers.git]\n{line}\n")
    (problem,) = found.problems
    assert message in problem.message
    assert remedy in problem.remedy
    assert (problem.entry, found.entries["git"]) == ("git", "unusable")
