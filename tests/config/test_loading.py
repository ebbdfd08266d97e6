"""Several files, no files, unreadable files; what happens to what was there before."""

import os
import socket
from pathlib import Path

import pytest

from toolcrib.config.loading import Loaded, interpret, load, load_settings
from toolcrib.config.sources import parse_source, read_source
from toolcrib.errors import ConfigError
from toolcrib.settings import Limits, StdioLaunch

ONE = '{"mcpServers": {"a": {"command": "one"}, "b": {"command": "one"}}}'
TWO = '{"servers": {"b": {"command": "two"}, "c": {"command": "two"}}}'


def commands(loaded: Loaded) -> dict[str, str]:
    return {
        server.id: server.launch.command
        for server in loaded.settings.servers
        if isinstance(server.launch, StdioLaunch)
    }


def test_the_first_file_to_name_a_server_wins_and_the_second_is_told(tmp_path: Path) -> None:
    one, two = tmp_path / "1.json", tmp_path / "2.json"
    one.write_text(ONE)
    two.write_text(TWO)
    loaded = load([one, two], {}, tmp_path)
    assert commands(loaded) == {"a": "one", "b": "one", "c": "two"}
    (problem,) = loaded.problems
    assert (problem.severity, problem.entry, problem.file) == ("warning", "b", str(two))
    assert f"servers.b is configured in {one}:1 already" in problem.message
    assert "first one counts" in problem.remedy
    assert loaded.errors == ()
    assert loaded.files == (one, two)
    assert commands(load([two, one], {}, tmp_path)) == {"b": "two", "c": "two", "a": "one"}


def test_a_broken_file_costs_its_own_servers_only(tmp_path: Path) -> None:
    one, two = tmp_path / "1.json", tmp_path / "2.json"
    one.write_text("{")
    two.write_text(TWO)
    loaded = load([one, two], {}, tmp_path)
    assert commands(loaded) == {"b": "two", "c": "two"}
    assert [it.file for it in loaded.errors] == [str(one)]


def test_files_that_cannot_be_read_are_told_with_a_remedy(tmp_path: Path) -> None:
    missing = read_source(tmp_path / "no.json").problem
    assert missing is not None
    assert "does not exist" in missing.message
    assert "create" in missing.remedy
    folder = read_source(tmp_path).problem
    assert folder is not None
    assert "is a directory" in folder.message
    assert folder.line is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("through_a_link", [True, False])
def test_a_pipe_is_refused_and_not_waited_for(
    tmp_path: Path, *, through_a_link: bool
) -> None:  # pragma: no cover
    pipe = tmp_path / "mcp.json"
    os.mkfifo(pipe)
    if through_a_link:
        pipe = tmp_path / "link.json"
        pipe.symlink_to("mcp.json")
    loaded = load([pipe], {}, tmp_path)
    (problem,) = loaded.errors
    assert problem.file == str(pipe)
    assert "no regular file" in problem.message
    assert problem.remedy


def test_sockets_and_devices_are_refused(tmp_path: Path) -> None:
    paths = [Path(os.devnull)]
    if hasattr(socket, "AF_UNIX"):
        paths.append(tmp_path / "s.json")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(paths[-1]))
    for path in paths:
        problem = read_source(path).problem
        assert problem is not None
        assert "no regular file" in problem.message


def test_a_link_to_a_file_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(ONE)
    link = tmp_path / "mcp.json"
    link.symlink_to("one.json")
    assert commands(load([link], {}, tmp_path)) == commands(
        load([tmp_path / "one.json"], {}, tmp_path)
    )


def test_a_file_that_is_too_large_is_told_without_reading_it_whole(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    with file.open("wb") as sparse:
        sparse.truncate(2**40)
    problem = read_source(file).problem
    assert problem is not None
    assert "is larger than 4194304 bytes" in problem.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:  # pragma: no cover
    file = tmp_path / "mcp.json"
    file.write_text(ONE)
    file.chmod(0)
    problem = read_source(file).problem
    assert problem is not None
    assert "may not be read" in problem.message


def test_a_missing_toolcrib_toml_that_was_named_starts_no_server(tmp_path: Path) -> None:
    one = tmp_path / "1.json"
    one.write_text(ONE)
    loaded = load([one, tmp_path / "toolcrib.toml"], {}, tmp_path)
    assert loaded.settings.servers == ()
    assert any("no server is started" in it.message for it in loaded.problems)


def test_without_names_the_files_of_project_and_user_are_found_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    user = tmp_path / "xdg" / "toolcrib"
    (project / ".vscode").mkdir(parents=True)
    user.mkdir(parents=True)
    monkeypatch.chdir(project)
    (project / ".vscode/mcp.json").write_text('{"servers": {"v": {"command": "v"}}}')
    (project / ".mcp.json").write_text('{"mcpServers": {"p": {"command": "p"}}}')
    (project / "toolcrib.toml").write_text("[limits]\nwalk_pages = 7")
    (user / "mcp.json").write_text('{"mcpServers": {"u": {"command": "u"}, "p": {"command": "q"}}}')
    monkeypatch.setattr("sys.platform", "linux")
    loaded = load((), {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}, home)
    assert [str(path) for path in loaded.files] == [
        "toolcrib.toml",
        ".mcp.json",
        ".vscode/mcp.json",
        str(user / "mcp.json"),
    ]
    assert commands(loaded) == {"p": "p", "v": "v", "u": "u"}
    assert loaded.settings.limits.walk_pages == 7


def test_where_there_is_no_file_at_all_it_says_where_one_could_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = load((), {}, tmp_path)
    (problem,) = loaded.problems
    assert problem.severity == "error"
    assert "no configuration file was found" in problem.message
    assert "toolcrib.toml, .mcp.json, mcp.json, .vscode/mcp.json" in problem.remedy
    assert str(tmp_path) in problem.remedy
    assert loaded.settings.servers == ()
    assert loaded.settings.limits == Limits()


# ---- after a change ----


def said(files: dict[str, str], previous: Loaded | None = None) -> Loaded:
    sources = [parse_source(Path(name), text.encode()) for name, text in files.items()]
    return interpret(sources, {}, Path("/home/me"), previous)


def test_a_file_that_breaks_goes_on_saying_what_it_said_while_others_change() -> None:
    before = said({"1.json": ONE, "2.json": TWO})
    after = said({"1.json": ONE[:-5], "2.json": TWO.replace("two", "new")}, before)
    assert commands(after) == {"a": "one", "b": "one", "c": "new"}
    assert [it.file for it in after.errors] == ["1.json"]
    again = said({"1.json": ONE[:-6], "2.json": TWO}, after)
    assert commands(again) == {"a": "one", "b": "one", "c": "two"}
    mended = said({"1.json": ONE.replace("one", "uno"), "2.json": TWO}, again)
    assert commands(mended) == {"a": "uno", "b": "uno", "c": "two"}
    assert mended.errors == ()


def test_an_entry_that_becomes_unusable_stays_as_it_was_and_is_told() -> None:
    before = said({"1.json": ONE})
    after = said({"1.json": '{"mcpServers": {"a": {"command": ""}, "x": {"command": ""}}}'}, before)
    assert dict(after.entries) == {"a": "outdated", "x": "unusable"}
    assert commands(after) == {"a": "one"}
    assert [it.entry for it in after.errors] == ["a", "x"]


def test_an_entry_that_is_taken_out_is_gone_at_once() -> None:
    before = said({"1.json": ONE})
    after = said({"1.json": '{"mcpServers": {"b": {"command": "one"}}}'}, before)
    assert commands(after) == {"b": "one"}


def test_a_toolcrib_toml_that_breaks_keeps_its_rules() -> None:
    toml = '[servers.a]\ntools.deny = ["x"]'
    before = said({"1.json": ONE, "t.toml": toml})
    after = said({"1.json": ONE.replace("one", "new"), "t.toml": toml[:-1]}, before)
    assert commands(after) == {"a": "new", "b": "new"}
    assert after.settings.servers[0].tools.deny == ("x",)
    obscure = said({"1.json": ONE.replace("one", "new"), "t.toml": f"[servr]\n{toml}"}, before)
    assert commands(obscure) == {"a": "one", "b": "one"}
    assert obscure.settings.servers[0].tools.deny == ("x",)
    assert set(obscure.entries.values()) == {"outdated"}


# ---- for programs ----


def test_programs_get_settings_and_problems_are_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"a": {"command": "one"}, "bad": {}}}')
    settings = load_settings(file)
    assert [server.id for server in settings.servers] == ["a"]
    (record,) = caplog.records
    assert f"{file}:1: error: server bad: mcpServers.bad has neither" in record.getMessage()


def test_programs_get_an_error_where_nothing_is_usable(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist") as caught:
        load_settings(str(tmp_path / "no.json"))
    assert "create" in (caught.value.remedy or "")
