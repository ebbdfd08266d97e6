"""`[search]`: methods, and the small model whose key never shows."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from toolcrib.compose import secrets_of
from toolcrib.config.loading import Loaded, interpret
from toolcrib.config.plan import Plan, plan
from toolcrib.config.sources import parse_source
from toolcrib.settings import SearchSettings, Secret, Settings, SubagentSettings

HOSTS = json.dumps({"mcpServers": {"git": {"command": "git-server"}}})
SUBAGENT = '[search.subagent]\nurl = "http://127.0.0.1:11434/v1"\nmodel = "tiny"\n'


def loaded(toml: str, env: Mapping[str, str] | None = None) -> Loaded:
    sources = [
        parse_source(Path("crib.toml"), toml.encode()),
        parse_source(Path("mcp.json"), HOSTS.encode()),
    ]
    return interpret(sources, env or {}, Path("/home/me"))


def test_every_key_reaches_the_settings() -> None:
    found = loaded(
        """
        [search]
        method = "subagent"

        [search.subagent]
        url = "https://${HOST}/v1"
        model = "tiny"
        api = "anthropic"
        key = "${KEY}"
        candidates = 12
        timeout_seconds = 2.5
        output_tokens = 40
        per_minute = 6
        """,
        {"HOST": "models.test", "KEY": "sk-1"},
    )
    assert found.problems == ()
    assert found.settings.search == SearchSettings(
        "subagent",
        SubagentSettings(
            url="https://models.test/v1",
            model="tiny",
            api="anthropic",
            key=Secret("sk-1"),
            candidates=12,
            timeout_seconds=2.5,
            output_tokens=40,
            per_minute=6,
        ),
    )


def test_address_and_model_are_enough() -> None:
    found = loaded(SUBAGENT)
    assert found.problems == ()
    assert found.settings.search == SearchSettings(
        "auto", SubagentSettings("http://127.0.0.1:11434/v1", "tiny")
    )


@pytest.mark.parametrize("method", ["auto", "lexical", "regex", "semantic", "hybrid"])
def test_every_other_method_needs_no_model(method: str) -> None:
    found = loaded(f'[search]\nmethod = "{method}"\n')
    assert found.problems == ()
    assert found.settings.search.method == method


@pytest.mark.parametrize(("said", "wait"), [("0", 0.0), ("2", 2.0), ("0.25", 0.25)])
def test_how_long_a_search_waits_for_its_index_can_be_said(said: str, wait: float) -> None:
    found = loaded(f"[search]\nindex_wait_seconds = {said}\n")
    assert found.problems == ()
    assert found.settings.search == SearchSettings(index_wait_seconds=wait)


@pytest.mark.parametrize("said", ["-1", "inf", "true", '"1 s"'])
def test_a_wait_that_is_none_is_an_error_and_costs_nothing_else(said: str) -> None:
    found = loaded(f'[search]\nmethod = "regex"\nindex_wait_seconds = {said}\n')
    (problem,) = found.problems
    assert problem.line == 3
    assert "0 or more" in problem.remedy
    assert found.settings.search == SearchSettings("regex")


def test_the_method_of_a_subagent_without_one_is_an_error() -> None:
    found = loaded('[search]\nmethod = "subagent"\n')
    (problem,) = found.problems
    assert (problem.line, problem.remedy) == (2, "add [search.subagent] with url and model")
    assert found.settings.search == SearchSettings()


def test_an_unknown_method_is_an_error_that_names_the_known_ones() -> None:
    found = loaded('[search]\nmethod = "bm25"\n')
    (problem,) = found.problems
    assert "write one of auto, lexical, regex, semantic, hybrid, subagent" in problem.remedy
    assert found.settings.search == SearchSettings()


@pytest.mark.parametrize(
    ("lines", "message", "remedy"),
    [
        ('model = "m"', "search.subagent has no url", "add url"),
        ('url = "http://a/v1"', "search.subagent has no model", "add model"),
        ('url = "ftp://a"\nmodel = "m"', "is no http", "write https://host/v1"),
        ('url = "http://u:p@a/v1"\nmodel = "m"', "holds a credential", "put it into key"),
        ('url = " "\nmodel = "m"', "is empty", "give it a value"),
        ('url = "http://a/v1"\nmodel = ""', "is empty", "give it a value"),
        ('url = "http://a/v1"\nmodel = "m"\nkey = "${UNSET}"', "is not set", "set UNSET"),
        ('url = "http://a/v1"\nmodel = "m"\nkey = "${UNSET:-}"', "empty default", "set UNSET"),
        ('url = "http://a/v1"\nmodel = "m"\nkey = "a\\nb"', "no header may", "check the key"),
        ('url = "http://a/v1"\nmodel = "m"\napi = "gemini"', "not one of", "openai, anthropic"),
        ('url = "http://a/v1"\nmodel = "m"\ncandidates = 0', "is 0", "more than 0"),
        ('url = "http://a/v1"\nmodel = "m"\nper_minute = 1.5', "is a number", "a whole number"),
        ('url = "http://a/v1"\nmodel = "m"\ntimeout_seconds = -1', "is -1", "more than 0"),
        ('url = "http://a/v1"\nmodel = "m"\ntimeout = 1', "is not known", "timeout_seconds"),
    ],
)
def test_a_subagent_with_an_error_is_none(lines: str, message: str, remedy: str) -> None:
    found = loaded(f'[search]\nmethod = "subagent"\n[search.subagent]\n{lines}\n')
    (problem,) = found.problems
    assert problem.severity == "error"
    assert problem.line is not None
    assert problem.line >= 3
    assert message in problem.message
    assert remedy in problem.remedy
    assert found.settings.search == SearchSettings()
    assert len(found.settings.servers) == 1


def test_a_subagent_that_is_no_table_is_an_error() -> None:
    found = loaded('[search]\nsubagent = "gpt"\n')
    (problem,) = found.problems
    assert problem.message == "search.subagent is text, not a table, so no small model is asked"
    assert found.settings.search == SearchSettings()


def test_the_key_shows_nowhere_and_is_among_the_secrets() -> None:
    found = loaded(f'{SUBAGENT}key = "${{KEY}}"\n', {"KEY": "sk-hidden"})
    assert "sk-hidden" not in repr(found)
    assert Secret("sk-hidden") in secrets_of(found.settings)


def test_a_broken_key_shows_in_no_problem() -> None:
    found = loaded(f'{SUBAGENT}key = "sk-hïdden"\n')
    assert len(found.problems) == 1
    assert "dden" not in str(found.problems[0])


def test_a_change_of_it_holds_from_the_next_start() -> None:
    assert plan(Settings(), Settings(search=SearchSettings("regex"))) == Plan(
        elsewhere=("search.method",)
    )
