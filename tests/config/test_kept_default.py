"""Errors that leave a key at its default say so, and say which that is."""

from pathlib import Path

import pytest

from toolcrib.config.loading import Loaded, interpret
from toolcrib.config.sources import parse_source
from toolcrib.settings import GatewaySettings, Settings

HOSTS = b'{"mcpServers": {"time": {"command": "x"}, "a_b": {"command": "x"}}}'

NO_WORD = "is not one of the words it may be"


def loaded(toml: str) -> Loaded:
    toml_file = parse_source(Path("toolcrib.toml"), toml.encode())
    return interpret([toml_file, parse_source(Path("mcp.json"), HOSTS)], {}, Path("/home/me"))


@pytest.mark.parametrize(
    ("toml", "told"),
    [
        (
            '[gateway]\nexposure = "serach"',
            f'gateway.exposure {NO_WORD}, so it is left at its default, "auto"',
        ),
        ('[gateway]\nexpose = "full"', "gateway.expose is not known, so it does nothing"),
        ('[gateway]\nhttp = "here"', "gateway.http is no HOST:PORT, so it is left unset"),
        (
            '[gateway]\nrelay = ["logging", "x"]',
            f'[1] {NO_WORD}, so gateway.relay is left at its default, ["elicitation", "logging"]',
        ),
        ("gateway = 3", "gateway is a number, not a table, so all of [gateway] is left at its"),
        (
            '[limits]\nstart_seconds = "3"',
            "is text, not a number of seconds, so it is left at its default, 3",
        ),
        ("[limits]\nname_length = 1", "limits.name_length is 1, so it is left at its default, 48"),
        (
            "[waits]\npoll_base = 5\npoll_max = 4",
            "waits has poll_base 5.0 above poll_max 4.0, so all of [waits] is left at its defaults",
        ),
        ("[reconnect]\nnope = 4", "reconnect.nope is not known, so it does nothing"),
        (
            '[search]\nmethod = "bm25"',
            f'search.method {NO_WORD}, so it is left at its default, "auto"',
        ),
        ('[search.subagent]\nurl = "https://m.test"', "search.subagent has no model, so no small"),
        (
            '[exposure]\npinned = "time__*"',
            "exposure.pinned is text, not a list of texts, so it is left at its default, []",
        ),
        ("[code]\nprograms = 0", "but must be more than 0, so it is left at its default, 4"),
        (
            "[dynamic]\nidle_seconds = true",
            "true or false, not a number of seconds, so it is left at its default, 900",
        ),
        ('[store]\npath = ""', "store.path is empty, so it is left unset"),
    ],
)
def test_an_error_says_what_the_key_is_left_at(toml: str, told: str) -> None:
    found = loaded(toml)
    (problem,) = found.problems
    assert problem.severity == "error"
    assert told in problem.message
    assert len(found.settings.servers) == 2
    nothing = loaded("").settings
    for table in ("limits", "exposure", "search", "code", "dynamic", "store"):
        assert getattr(found.settings, table) == getattr(nothing, table)
    assert found.settings.gateway == GatewaySettings() == Settings().gateway


@pytest.mark.parametrize(
    "toml", ["[servers.time]\nconnect = 'x'", '[approval]\notherwise = "x"', "aproval = 1"]
)
def test_what_costs_a_server_is_not_told_as_left_at_its_default(toml: str) -> None:
    found = loaded(toml)
    assert found.errors
    assert "default" not in " ".join(problem.message for problem in found.problems)
    assert all(server.id != "time" for server in found.settings.servers)


# ---------------------------------------------------------------- pinned


@pytest.mark.parametrize(
    ("pattern", "remedy"),
    [
        ("tiem__*", "did you mean time__*?"),
        ("get_current_time", "write server__tool"),
        ("elsewhere__x", "write server__tool"),
    ],
)
def test_a_pattern_of_no_server_is_warned_of(pattern: str, remedy: str) -> None:
    found = loaded(f'[exposure]\npinned = ["time__now", "{pattern}"]')
    (problem,) = found.problems
    assert problem.message.startswith("exposure.pinned[1] ")
    assert remedy in problem.remedy
    assert problem.severity == "warning"
    assert "begins with the name of no server" in problem.message
    assert found.settings.exposure.pinned == ("time__now", pattern)


@pytest.mark.parametrize(
    "pattern", ["time__*", "time__now", "*", "*__now", "ti*", "t?me__now", "[st]ime__x", "a_b__x"]
)
def test_a_pattern_that_may_match_is_not_warned_of(pattern: str) -> None:
    assert loaded(f'[exposure]\npinned = ["{pattern}"]').problems == ()


def test_a_server_whose_name_is_cut_or_cleaned_can_be_pinned() -> None:
    long = "a.server.with.a.very.long.name.that.is.cut"
    hosts = f'{{"mcpServers": {{"{long}": {{"command": "x"}}}}}}'.encode()

    def problems(pattern: str) -> int:
        toml = parse_source(Path("t.toml"), f'[exposure]\npinned = ["{pattern}"]'.encode())
        sources = [toml, parse_source(Path("mcp.json"), hosts)]
        return len(interpret(sources, {}, Path("/")).problems)

    assert problems("a_server_wi*") == 0
    assert problems("a_server_wi__*") == 0
    assert problems("a_server_xx__*") == 1


def test_plain_names_may_begin_with_anything() -> None:
    assert loaded('[gateway]\nnames = "plain"\n[exposure]\npinned = ["x"]').problems == ()


# ---------------------------------------------------------------- in which order


def test_the_cause_is_told_before_what_follows_from_it() -> None:
    first, second = loaded("[gateway]\nx = \n").problems
    assert "is no TOML" in first.message
    assert "no server is started" in second.message
