"""The secret of an installation."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from toolcrib.config.keys import KEY_BYTES, InstallationKey, installation_key, open_key
from toolcrib.ports import Keys
from toolcrib.settings import HttpLaunch, Secret, StdioLaunch, launch_digest

LAUNCH = StdioLaunch("x", ("a",), {"K": Secret("v")}, "/d")


def test_the_key_is_made_once_for_this_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "toolcrib" / "key"
    first, problem = open_key(path)
    assert problem is None
    assert path.read_bytes() == first.secret()
    assert len(first.secret()) == KEY_BYTES
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [it.name for it in path.parent.iterdir()] == ["key"]
    second, problem = open_key(path)
    assert problem is None
    assert second.secret() == first.secret()


def test_two_installations_have_two_keys(tmp_path: Path) -> None:
    assert open_key(tmp_path / "1")[0].secret() != open_key(tmp_path / "2")[0].secret()


def test_the_usual_place_of_the_key_is_the_configuration_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path))
    key, problem = installation_key()
    assert problem is None
    (written,) = tmp_path.rglob("key")
    assert written.read_bytes() == key.secret()


def test_a_loose_umask_does_not_open_the_key_to_others(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        open_key(tmp_path / "key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_in_place_of_the_key_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "key")
    key, problem = open_key(tmp_path / "key")
    assert len(key.secret()) == KEY_BYTES
    assert problem is not None
    assert "no regular file" in problem.message


def test_processes_that_start_together_get_the_same_key(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from toolcrib.config.keys import open_key;"
        "sys.stdin.read(); print(open_key(Path(sys.argv[1]))[0].secret().hex())"
    )
    source = Path(__file__).resolve().parents[2] / "src"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path / "key")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(source)},
            text=True,
        )
        for _ in range(6)
    ]
    for process in processes:  # all are waiting for this
        assert process.stdin is not None
        process.stdin.close()
    found: set[str] = set()
    for process in processes:
        assert process.stdout is not None
        with process.stdout:
            found.add(process.stdout.read().strip())
        assert process.wait(timeout=30) == 0
    assert found == {(tmp_path / "key").read_bytes().hex()}
    assert [it.name for it in tmp_path.iterdir()] == ["key"]


def test_the_process_that_comes_second_takes_the_key_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "key"
    link = os.link

    def link_too_late(draft: Path, target: Path) -> None:
        target.write_bytes(b"f" * KEY_BYTES)
        target.chmod(0o600)
        link(draft, target)

    monkeypatch.setattr(os, "link", link_too_late)
    keys, problem = open_key(path)
    assert problem is None
    assert keys.secret() == b"f" * KEY_BYTES
    assert [it.name for it in tmp_path.iterdir()] == ["key"]


@pytest.mark.parametrize("content", [b"", b"short", b"l" * (KEY_BYTES + 1)])
def test_a_key_of_the_wrong_size_is_left_alone_and_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    keys, problem = open_key(path)
    assert problem is not None
    assert (problem.file, problem.severity) == (str(path), "warning")
    assert f"has {len(content)} bytes, not {KEY_BYTES}" in problem.message
    assert "delete the file" in problem.remedy
    assert path.read_bytes() == content
    assert len(keys.secret()) == KEY_BYTES
    assert keys.secret() != open_key(path)[0].secret()


def test_a_key_that_cannot_be_read_is_told_and_one_in_memory_serves(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.mkdir()
    keys, problem = open_key(path)
    assert problem is not None
    assert "cannot be read or created" in problem.message
    assert "next process" in problem.message
    assert "read and write" in problem.remedy
    assert len(keys.secret()) == KEY_BYTES


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    _, problem = open_key(tmp_path / "file" / "toolcrib" / "key")
    assert problem is not None
    assert "cannot be read or created" in problem.message


def test_a_key_that_others_may_read_is_used_and_told(tmp_path: Path) -> None:
    path = tmp_path / "key"
    first, _ = open_key(path)
    path.chmod(0o644)
    keys, problem = open_key(path)
    assert keys.secret() == first.secret()
    assert problem is not None
    assert problem.severity == "warning"
    assert "other users" in problem.message
    assert problem.remedy == f"chmod 600 {path}"


def test_digests_depend_on_the_key_and_on_everything_that_is_launched() -> None:
    keys: Keys = InstallationKey(b"k" * KEY_BYTES)
    assert keys.launch_digest(LAUNCH) == launch_digest(b"k" * KEY_BYTES, LAUNCH)
    others: list[StdioLaunch | HttpLaunch] = [
        StdioLaunch("y", ("a",), {"K": Secret("v")}, "/d"),
        StdioLaunch("x", ("b",), {"K": Secret("v")}, "/d"),
        StdioLaunch("x", ("a",), {"K": Secret("w")}, "/d"),
        StdioLaunch("x", ("a",), {"K": Secret("v")}, "/e"),
        HttpLaunch(Secret("http://h")),
        HttpLaunch(Secret("http://i")),
        HttpLaunch(Secret("http://h"), {"A": Secret("b")}),
    ]
    digests = [keys.launch_digest(launch) for launch in [LAUNCH, *others]]
    assert len(set(digests)) == len(digests)
    assert InstallationKey(b"j" * KEY_BYTES).launch_digest(LAUNCH) not in digests


def test_a_key_never_shows_itself_and_refuses_to_be_short() -> None:
    assert repr(InstallationKey(b"c" * KEY_BYTES)) == "InstallationKey(***)"
    with pytest.raises(ValueError, match=str(KEY_BYTES)):
        InstallationKey(b"short")
