"""`[skills.<name>]`, `[dynamic]`, and servers that are there on demand."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from toolcrib.config.loading import Loaded, interpret
from toolcrib.config.plan import Plan, plan
from toolcrib.config.sources import parse_source
from toolcrib.settings import DynamicSettings, ServerSettings, Settings, Skill, StdioLaunch

HOSTS = json.dumps(
    {
        "mcpServers": {
            "git": {"command": "git-server", "description": "Repositories."},
            "web": {"url": "https://w.test/", "description": ["no", "text"]},
            "old": {"command": "x", "disabled": True},
        }
    }
)
A = ServerSettings("a", StdioLaunch("x"))


def loaded(*tomls: str) -> Loaded:
    sources = [parse_source(Path(f"{n}.toml"), it.encode()) for n, it in enumerate(tomls)]
    return interpret([*sources, parse_source(Path("mcp.json"), HOSTS.encode())], {}, Path("/"))


def server(found: Loaded, server_id: str) -> ServerSettings:
    return next(it for it in found.settings.servers if it.id == server_id)


def test_skills_reach_the_settings_in_the_order_written() -> None:
    found = loaded("""
[skills.review]
servers = ["git", "web", "git"]
description = "Read changes."
[skills.browse]
servers = ["web"]
""")
    assert found.problems == ()
    assert found.settings.skills == (
        Skill("review", ("git", "web"), "Read changes.", "0.toml:2"),
        Skill("browse", ("web",), source="0.toml:5"),
    )


def test_a_skill_may_name_a_server_that_is_launched_in_the_same_file() -> None:
    found = loaded('[servers.own]\ncommand = "x"\n[skills.s]\nservers = ["own", "old"]\n')
    assert found.problems == ()
    assert found.settings.skills[0].servers == ("own", "old")


@pytest.mark.parametrize(
    ("written", "remedy"), [("gti", "did you mean git?"), ("zebra", "known are git, old, web")]
)
def test_an_unknown_server_is_an_error_with_the_nearest_known_one(
    written: str, remedy: str
) -> None:
    found = loaded(f'[skills.s]\nservers = ["git", "{written}"]\n[skills.t]\nservers = ["git"]\n')
    (problem,) = found.problems
    assert (problem.file, problem.line, problem.severity) == ("0.toml", 2, "error")
    assert problem.message == "skills.s.servers[1] is no server that any file configures"
    assert problem.remedy == remedy
    assert [skill.name for skill in found.settings.skills] == ["t"]
    assert len(found.settings.servers) == 3


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "skills.s names no servers"),
        ("servers = []", "skills.s.servers is empty"),
        ('servers = "git"', "is text, not a list"),
        ("servers = [3]", "is a number, not a text"),
        ('servers = ["git"]\ndescription = 3', "is a number, not a text"),
        ('servers = ["git"]\nserver = "web"', "skills.s.server is not known"),
    ],
)
def test_an_error_costs_its_skill_alone(lines: str, message: str) -> None:
    found = loaded(f'[skills.good]\nservers = ["git"]\n[skills.s]\n{lines}\n')
    assert message in found.problems[0].message
    assert [skill.name for skill in found.settings.skills] == ["good"]
    assert len(found.settings.servers) == 3


def test_a_skill_cannot_have_the_name_of_a_server() -> None:
    found = loaded('[skills.git]\nservers = ["web"]\n')
    (problem,) = found.problems
    assert problem.message == "skills.git has the name of a server"
    assert found.settings.skills == ()


def test_skills_of_several_files_are_put_together() -> None:
    found = loaded('[skills.a]\nservers = ["git"]\n', '[skills.b]\nservers = ["web"]\n')
    assert found.problems == ()
    assert [(skill.name, skill.source) for skill in found.settings.skills] == [
        ("a", "0.toml:1"),
        ("b", "1.toml:1"),
    ]


@pytest.mark.parametrize("toml", ["skills = 3\n", "[skills]\nname = 3\n"])
def test_skills_that_are_no_tables_are_errors(toml: str) -> None:
    found = loaded(toml)
    assert [problem.severity for problem in found.problems] == ["error"]
    assert found.settings.skills == ()


# ---------------------------------------------------------------- [servers.<id>], [dynamic]


def test_a_server_is_on_demand_where_its_tuning_says_so() -> None:
    found = loaded('[servers.web]\non_demand = true\ndescription = "Pages."\n')
    assert found.problems == ()
    assert (server(found, "web").on_demand, server(found, "web").description) == (True, "Pages.")
    assert server(found, "git").on_demand is False


def test_a_description_comes_from_the_file_of_the_host_where_it_is_text() -> None:
    found = loaded("")
    assert found.problems == ()
    assert [it.description for it in found.settings.servers] == ["Repositories.", "", ""]


def test_what_toolcrib_toml_says_of_a_server_wins_over_its_host() -> None:
    found = loaded('[servers.git]\ndescription = "Ours."\n')
    assert server(found, "git").description == "Ours."


@pytest.mark.parametrize("line", ['on_demand = "yes"', 'description = ""', "description = 3"])
def test_a_wrong_value_costs_the_server(line: str) -> None:
    found = loaded(f"[servers.git]\n{line}\n")
    assert found.problems[0].entry == "git"
    assert found.entries["git"] == "unusable"


def test_the_times_of_servers_on_demand_reach_the_settings() -> None:
    found = loaded("[dynamic]\nidle_seconds = 60\nenabled_seconds = 3600.5\n")
    assert found.problems == ()
    assert found.settings.dynamic == DynamicSettings(60.0, 3600.5)


@pytest.mark.parametrize("line", ["idle_seconds = 0", "enabled_seconds = -1", "idle = 3"])
def test_a_wrong_time_keeps_the_default(line: str) -> None:
    found = loaded(f"[dynamic]\n{line}\n")
    assert len(found.problems) == 1
    assert found.settings.dynamic == DynamicSettings()


# ---------------------------------------------------------------- what a change takes


def test_a_change_of_skills_is_taken_over_and_another_line_is_no_change() -> None:
    old = Settings((A,), skills=(Skill("s", ("a",), source="f:1"),))
    moved = replace(old, skills=(Skill("s", ("a",), source="f:9"),))
    told = replace(old, skills=(Skill("s", ("a",), "For this."),))
    assert plan(old, moved).empty
    assert plan(old, told) == Plan(skills=True)
    assert not plan(old, told).empty


def test_a_server_that_becomes_on_demand_gives_its_connection_up() -> None:
    now = replace(A, on_demand=True)
    assert plan(Settings((A,)), Settings((now,))) == Plan(relaunched=(now,))
    assert plan(Settings((now,)), Settings((A,))) == Plan(relaunched=(A,))


def test_another_description_changes_no_connection() -> None:
    now = replace(A, description="x")
    assert plan(Settings((A,)), Settings((now,))) == Plan(retuned=(now,))


def test_times_of_servers_on_demand_hold_from_the_next_start() -> None:
    found = plan(Settings(), Settings(dynamic=DynamicSettings(1.0)))
    assert found == Plan(elsewhere=("dynamic.idle_seconds",))
