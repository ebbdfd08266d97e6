"""`[exposure]`: what is within bounds reaches the settings, what is not keeps its default."""

import json
from pathlib import Path

import pytest

from toolcrib.config.exposure_toml import EXPOSURE_KEYS
from toolcrib.config.loading import Loaded, interpret
from toolcrib.config.plan import Plan, plan
from toolcrib.config.sources import parse_source
from toolcrib.settings import ExposureSettings, Settings

HOSTS = json.dumps({"mcpServers": {"git": {"command": "git-server"}}})


def loaded(*tomls: str) -> Loaded:
    """What these files say of a host's one server."""
    sources = [parse_source(Path(f"{n}.toml"), it.encode()) for n, it in enumerate(tomls)]
    return interpret([*sources, parse_source(Path("mcp.json"), HOSTS.encode())], {}, Path("/"))


def test_every_key_reaches_the_settings() -> None:
    found = loaded("""
        [exposure]
        window = 128_000
        share = 0.05
        above = "code"
        pinned = ["git__status", "g*__diff"]
        pinned_tokens = 0
        counting = "exact"
        token_factor = 1.3
    """)
    assert found.problems == ()
    assert found.settings.exposure == ExposureSettings(
        window=128_000,
        share=0.05,
        above="code",
        pinned=("git__status", "g*__diff"),
        pinned_tokens=0,
        counting="exact",
        token_factor=1.3,
    )


def test_the_keys_are_the_fields_of_the_settings() -> None:
    assert ExposureSettings.__dataclass_fields__.keys() == EXPOSURE_KEYS


def test_without_the_table_the_defaults_hold() -> None:
    assert loaded("").settings.exposure == ExposureSettings()


@pytest.mark.parametrize("share", ["0.01", "0.03", "0.05", "1", "1.0", "0.000001"])
def test_a_share_above_none_and_up_to_the_whole_is_taken(share: str) -> None:
    found = loaded(f"[exposure]\nshare = {share}\n")
    assert found.problems == ()
    assert found.settings.exposure.share == float(share)


@pytest.mark.parametrize("share", ["0", "0.0", "-0.03", "1.01", "3", "nan", "inf", "true", '"3%"'])
def test_a_share_outside_is_an_error_and_the_default_holds(share: str) -> None:
    found = loaded(f"[exposure]\nshare = {share}\n")
    (problem,) = found.problems
    assert (problem.file, problem.line, problem.severity) == ("0.toml", 2, "error")
    assert problem.message.startswith("exposure.share is ")
    assert problem.remedy == "write a number such as 0.03, more than 0 and at most 1"
    assert found.settings.exposure == ExposureSettings()


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("window = 0", "write a whole number, more than 0"),
        ("window = 1.5", "write a whole number, more than 0"),
        ("pinned_tokens = -1", "write a whole number, 0 or more"),
        ("token_factor = 0", "write a number such as 1.2, more than 0 and at most 1000"),
        ("token_factor = inf", "write a number such as 1.2, more than 0 and at most 1000"),
        ('above = "full"', "write one of search, code"),
        ('counting = "guess"', "write one of heuristic, exact"),
        ('pinned = "git__status"', 'write ["one", "two"]'),
        ("windows = 1", "did you mean window?"),
    ],
)
def test_a_wrong_value_costs_itself_alone(line: str, remedy: str) -> None:
    found = loaded(f"[exposure]\nshare = 0.02\n{line}\n")
    (problem,) = found.problems
    assert (problem.line, problem.remedy) == (3, remedy)
    assert found.settings.exposure == ExposureSettings(share=0.02)
    assert [server.id for server in found.settings.servers] == ["git"]


def test_exposure_that_is_no_table_is_an_error_and_servers_start() -> None:
    found = loaded("exposure = 3\n")
    assert found.problems[0].message == (
        "exposure is a number, not a table, so all of [exposure] is left at its defaults"
    )
    assert len(found.settings.servers) == 1


def test_of_two_files_the_first_to_set_a_key_counts() -> None:
    found = loaded("[exposure]\nshare = 0.02\n", "[exposure]\nshare = 0.04\nwindow = 9\n")
    assert found.settings.exposure == ExposureSettings(window=9, share=0.02)
    assert [problem.severity for problem in found.problems] == ["warning"]


def test_a_change_of_it_holds_from_the_next_start() -> None:
    found = plan(Settings(), Settings(exposure=ExposureSettings(share=0.5, pinned=("a",))))
    assert found == Plan(elsewhere=("exposure.share", "exposure.pinned"))
