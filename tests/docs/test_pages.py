"""Pages that are made from the code are up to date, and what they show works."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from toolcrib.config.approval_toml import APPROVAL_KEYS, RULE_KEYS
from toolcrib.config.code_toml import CODE_KEYS, FLOW_KEYS
from toolcrib.config.entry import LAUNCH_KEYS
from toolcrib.config.expansion import Scope, expand
from toolcrib.config.exposure_toml import EXPOSURE_KEYS
from toolcrib.config.loading import Loaded, load
from toolcrib.config.search_toml import SEARCH_KEYS, SUBAGENT_KEYS
from toolcrib.config.skills_toml import SKILL_KEYS
from toolcrib.config.toolcrib_toml import GATEWAY_KEYS, TUNING_KEYS
from toolcrib.settings import (
    DynamicSettings,
    HttpLaunch,
    Limits,
    Reconnect,
    Secret,
    StdioLaunch,
    Waits,
)

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "bench/README.md", *sorted((ROOT / "docs").glob("*.md"))]
CONFIGURATION = (ROOT / "docs/configuration.md").read_text()
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


def fences(language: str) -> list[str]:
    return [text for lang, text in FENCE.findall(CONFIGURATION) if lang == language]


@pytest.mark.parametrize("tool", ["cli_docs.py", "settings_docs.py", "heart_diagram.py"])
def test_a_generated_page_is_what_the_code_says(tool: str) -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "tools" / tool, "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_leads_somewhere(page: Path) -> None:
    targets = [it for it in LINK.findall(page.read_text()) if "://" not in it]
    assert [it for it in targets if not (page.parent / it).exists()] == []


# ---------------------------------------------------------------- docs/configuration.md


def loaded(tmp_path: Path, *texts: tuple[str, str]) -> Loaded:
    """What files of these names and texts say together."""
    paths = [tmp_path / name for name, _ in texts]
    for path, (_, text) in zip(paths, texts, strict=True):
        path.write_text(text)
    return load(paths, {"TRACKER_TOKEN": "t"}, tmp_path)


@pytest.mark.parametrize("text", fences("json"))
def test_an_example_of_a_file_has_no_problems(tmp_path: Path, text: str) -> None:
    found = loaded(tmp_path, ("mcp.json", text))
    assert found.problems == ()
    assert found.settings.servers


def test_the_first_example_means_what_the_page_says(tmp_path: Path) -> None:
    git, tracker, archive = loaded(tmp_path, ("mcp.json", fences("json")[0])).settings.servers
    assert isinstance(git.launch, StdioLaunch)
    assert (git.launch.command, git.launch.cwd) == ("uvx", "/path/to/a/repository")
    assert isinstance(tracker.launch, HttpLaunch)
    assert tracker.launch.headers["Authorization"].reveal() == "Bearer t"
    assert isinstance(archive.launch, HttpLaunch)
    assert (archive.launch.transport, archive.disabled) == ("sse", True)


def test_the_example_of_a_toolcrib_toml_means_what_the_page_says(tmp_path: Path) -> None:
    servers = json.dumps({"mcpServers": {"git": {"command": "uvx"}}})
    found = loaded(tmp_path, ("toolcrib.toml", fences("toml")[0]), ("mcp.json", servers))
    assert found.problems == ()
    servers_by_id = {server.id: server for server in found.settings.servers}
    assert servers_by_id["git"].tools.deny == ("git_reset",)
    assert servers_by_id["browser"].stateful is True
    assert servers_by_id["browser"].waits.poll_base == 300
    assert found.settings.gateway.http == ("127.0.0.1", 8770)
    assert found.settings.limits.result_bytes == 4_000_000


def test_the_example_of_approval_means_what_the_page_says(tmp_path: Path) -> None:
    (text,) = (it for it in fences("toml") if "[approval]" in it)
    servers = json.dumps({"mcpServers": {"files": {"command": "x"}}})
    found = loaded(tmp_path, ("toolcrib.toml", text), ("mcp.json", servers))
    assert found.problems == ()
    deny, allow, ask = found.settings.approval.rules
    assert (deny.verdict, allow.verdict, ask.verdict) == ("deny", "allow", "ask")
    assert deny.arguments == {"path": "/etc/*"}
    assert (ask.remember, ask.seconds) == ("principal", 28_800.0)


def test_the_example_of_exposure_means_what_the_page_says(tmp_path: Path) -> None:
    (text,) = (it for it in fences("toml") if "[exposure]" in it)
    servers = json.dumps({"mcpServers": {it: {"command": "uvx"} for it in ("git", "tracker")}})
    found = loaded(tmp_path, ("toolcrib.toml", text), ("mcp.json", servers))
    assert found.problems == ()
    shown = found.settings.exposure
    assert (shown.window, shown.share) == (128_000, 0.05)
    assert shown.pinned == ("git__status", "tracker__*")


def test_the_example_of_code_means_what_the_page_says(tmp_path: Path) -> None:
    (text,) = (it for it in fences("toml") if "[code]" in it)
    servers = json.dumps({"mcpServers": {"git": {"command": "uvx"}}})
    found = loaded(tmp_path, ("toolcrib.toml", text), ("mcp.json", servers))
    assert found.problems == ()
    code = found.settings.code
    assert (code.calls, code.wall_seconds) == (200, 120.0)
    [flow] = code.flows
    assert (flow.source, flow.target, flow.verdict) == ("crm", "mail*", "deny")


def test_the_example_of_search_means_what_the_page_says(tmp_path: Path) -> None:
    (text,) = (it for it in fences("toml") if "[search]" in it)
    servers = json.dumps({"mcpServers": {"git": {"command": "uvx"}}})
    paths = [tmp_path / "toolcrib.toml", tmp_path / "mcp.json"]
    for path, content in zip(paths, (text, servers), strict=True):
        path.write_text(content)
    found = load(paths, {"SMALL_MODEL_KEY": "k"}, tmp_path)
    assert found.problems == ()
    subagent = found.settings.search.subagent
    assert found.settings.search.method == "subagent"
    assert subagent is not None
    assert (subagent.model, subagent.key) == ("small-model", Secret("k"))


def test_the_example_of_servers_on_demand_means_what_the_page_says(tmp_path: Path) -> None:
    (text,) = (it for it in fences("toml") if "on_demand" in it)
    found = loaded(tmp_path, ("toolcrib.toml", text))
    assert found.problems == ()
    assert [server.on_demand for server in found.settings.servers] == [True, True]
    (skill,) = found.settings.skills
    assert (skill.name, skill.servers) == ("restock", ("warehouse", "mail"))


def test_every_key_is_on_the_page() -> None:
    keys = {
        *APPROVAL_KEYS - {"rules"},
        *RULE_KEYS,
        *LAUNCH_KEYS,
        *GATEWAY_KEYS,
        *EXPOSURE_KEYS,
        *(SEARCH_KEYS - {"subagent"}),
        *SUBAGENT_KEYS,
        *SKILL_KEYS,
        *(CODE_KEYS - {"flows"}),
        *FLOW_KEYS,
        *(TUNING_KEYS - {"tools", "waits", "reconnect"}),
    }
    for record in (Limits, Waits, Reconnect, DynamicSettings):
        keys |= record.__dataclass_fields__.keys()
    missing = {key for key in keys if f"`{key}`" not in CONFIGURATION}
    assert missing == {"enabled"}
    assert '`"enabled": false`' in CONFIGURATION


@pytest.mark.parametrize(
    ("reference", "meaning"),
    [
        ("${NAME}", "value"),
        ("${env:NAME}", "value"),
        ("${NAME:-text}", "value"),
        ("${UNSET:-text}", "text"),
        ("${input:my-id}", "answer"),
        ("${workspaceFolder}", "/work/space"),
        ("${workspaceFolderBasename}", "space"),
        ("${userHome}", "/home/me"),
    ],
)
def test_a_reference_stands_for_what_the_page_says(reference: str, meaning: str) -> None:
    env = {"NAME": "value", "TOOLCRIB_INPUT_MY_ID": "answer"}
    scope = Scope(env, workspace="/work/space", home="/home/me")
    assert expand(reference, scope, may_vanish=True) == meaning


def unknown_key(file: str) -> tuple[str, str]:
    return file, {"mcp.json": '{"mcpServers": {"a": {"command": "x", "bogus": 1}}}'}.get(
        file, "[servers.a]\nbogus = 1\n"
    )


def test_an_unknown_key_is_a_warning_in_one_file_and_costs_the_server_in_the_other(
    tmp_path: Path,
) -> None:
    lenient = loaded(tmp_path, unknown_key("mcp.json"))
    assert [problem.severity for problem in lenient.problems] == ["warning"]
    assert len(lenient.settings.servers) == 1
    strict = loaded(tmp_path, unknown_key("mcp.json"), unknown_key("toolcrib.toml"))
    assert "error" in {problem.severity for problem in strict.problems}
    assert strict.settings.servers == ()
