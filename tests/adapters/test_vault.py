"""Saved logins at rest: encrypted, whole, apart from each other, and never lost by damage."""

import os
import stat
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from toolcrib.adapters.vault.choice import open_vault
from toolcrib.adapters.vault.file_vault import FileVault, VaultUnusable
from toolcrib.adapters.vault.keyring_vault import KeyringVault, find_keyring
from toolcrib.adapters.vault.memory_vault import MemoryVault
from toolcrib.config.keys import InstallationKey
from toolcrib.facts import Finding
from toolcrib.ports import Vault
from toolcrib.testing.recorder import Recorder

SECRET = b"CANARY-token"
KEY = bytes(range(32))


class FakeKeyring:
    """A backend in memory."""

    def __init__(self, priority: float = 5) -> None:
        self.priority = priority
        self.entries: dict[tuple[str, str], str] = {}
        self.reads = 0
        self.broken = False

    def get_password(self, service: str, username: str) -> str | None:
        self.reads += 1
        if self.broken:
            raise RuntimeError("locked CANARY")
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def vault(tmp_path: Path, recorder: Recorder) -> FileVault:
    return FileVault(tmp_path / "v", KEY, recorder)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("kind", ["file", "keyring", "memory"])
async def test_what_is_written_is_read_until_it_is_forgotten(
    tmp_path: Path, recorder: Recorder, kind: str
) -> None:
    vaults: dict[str, Vault] = {
        "file": FileVault(tmp_path / "v", KEY, recorder),
        "keyring": KeyringVault(tmp_path / "v", FakeKeyring(), recorder),
        "memory": MemoryVault(),
    }
    vault = vaults[kind]
    assert await vault.read("a-1") is None
    await vault.write("a-1", SECRET)
    await vault.write("a-2", b"")
    assert await vault.read("a-1") == SECRET
    assert await vault.read("a-2") == b""
    await vault.write("a-1", b"new")
    assert await vault.read("a-1") == b"new"
    await vault.write("a-1", None)
    await vault.write("a-1", None)
    assert await vault.read("a-1") is None
    assert await vault.read("a-2") == b""
    assert vault.where
    assert "CANARY" not in repr(vault)


async def test_nothing_is_on_disk_in_the_clear_and_only_the_owner_may_read_it(
    vault: FileVault, tmp_path: Path
) -> None:
    await vault.write("a", SECRET)
    (file,) = files(tmp_path)
    assert SECRET not in file.read_bytes()
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


async def test_the_same_secret_is_never_the_same_file(vault: FileVault, tmp_path: Path) -> None:
    await vault.write("a", SECRET)
    (file,) = files(tmp_path)
    before = file.read_bytes()
    await vault.write("a", SECRET)
    assert file.read_bytes() != before


@pytest.mark.parametrize(
    "damage", ["empty", "cut", "flipped", "foreign", "swapped", "huge", "other key"]
)
async def test_a_file_that_cannot_be_decrypted_is_kept_aside_and_told(
    vault: FileVault, tmp_path: Path, recorder: Recorder, damage: str
) -> None:
    await vault.write("a", SECRET)
    await vault.write("b", b"other")
    path = tmp_path / "v" / "a.sealed"
    whole = path.read_bytes()
    match damage:
        case "swapped":
            path.write_bytes((tmp_path / "v" / "b.sealed").read_bytes())
        case "other key":
            vault = FileVault(tmp_path / "v", bytes(32), recorder)
        case _:
            path.write_bytes(
                {
                    "empty": b"",
                    "cut": whole[:-1],
                    "flipped": whole[:-1] + bytes([whole[-1] ^ 1]),
                    "foreign": b'{"access_token": "x"}',
                    "huge": whole + bytes(2 * 1024 * 1024),
                }[damage]
            )
    left = path.read_bytes()
    assert await vault.read("a") is None
    (aside,) = (one for one in files(tmp_path) if "unreadable" in one.name)
    assert aside.read_bytes() == left
    (finding,) = recorder.of(Finding)
    assert str(aside) in finding.detail
    assert "log in again" in finding.detail
    await vault.write("a", b"new")
    assert await vault.read("a") == b"new"
    assert aside.exists()


async def test_one_damaged_login_costs_no_other(vault: FileVault, tmp_path: Path) -> None:
    await vault.write("a", SECRET)
    await vault.write("b", b"other")
    (tmp_path / "v" / "a.sealed").write_bytes(b"x")
    assert await vault.read("a") is None
    assert await vault.read("b") == b"other"


async def test_a_folder_that_cannot_be_used_is_a_clear_error(
    tmp_path: Path, recorder: Recorder
) -> None:
    (tmp_path / "v").write_text("a file")
    vault = FileVault(tmp_path / "v", KEY, recorder)
    for work in (vault.read("a"), vault.write("a", SECRET)):
        with pytest.raises(VaultUnusable) as error:
            await work
        assert str(tmp_path) in error.value.message
        assert error.value.remedy
        assert "CANARY" not in error.value.for_operator()


async def test_a_write_that_fails_leaves_the_old_secret_and_no_draft(
    vault: FileVault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await vault.write("a", b"old")

    def full(descriptor: int) -> None:
        os.fstat(descriptor)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(VaultUnusable, match="No space left"):
        await vault.write("a", SECRET)
    assert [path.name for path in files(tmp_path)] == ["a.sealed"]
    assert await vault.read("a") == b"old"


@pytest.mark.parametrize("key", ["", "../a", "a/b", "a.b", "ä", "a b"])
async def test_a_key_is_never_a_path(vault: FileVault, key: str) -> None:
    with pytest.raises(ValueError, match="other characters"):
        await vault.write(key, SECRET)


_WRITER = """
import sys, anyio
from pathlib import Path
from toolcrib.adapters.vault.file_vault import FileVault
from toolcrib.testing.recorder import Recorder

async def main():
    vault = FileVault(Path(sys.argv[1]), bytes(range(32)), Recorder())
    for turn in range(30):
        await vault.write("shared", sys.argv[2].encode() * 1000)
        value = await vault.read("shared")
        assert value is not None and len(set(value)) == 1 and len(value) == 1000, value
        await vault.write(f"own-{sys.argv[2]}", str(turn).encode())

anyio.run(main)
"""


async def test_processes_that_write_at_once_never_see_half_a_secret(
    vault: FileVault, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", _WRITER, str(tmp_path / "v")]
    running = [
        subprocess.Popen([*command, name], stderr=subprocess.PIPE)  # noqa: ASYNC220 - waited below
        for name in "abc"
    ]
    for process in running:
        _, err = await anyio.to_thread.run_sync(process.communicate)
        assert process.returncode == 0, err.decode()
    for name in "abc":
        assert await vault.read(f"own-{name}") == b"29"
    assert not [path for path in files(tmp_path) if path.suffix == ".draft"]


@pytest.mark.parametrize("kind", ["file", "memory"])
async def test_turns_are_taken_one_after_the_other_and_for_each_key(
    tmp_path: Path, recorder: Recorder, kind: str
) -> None:
    memory = MemoryVault()
    inside: list[int] = []
    most: list[int] = []

    async def work(number: int) -> None:
        vault = FileVault(tmp_path, KEY, recorder) if kind == "file" else memory
        async with vault.turn("a"):
            inside.append(number)
            most.append(len(inside))
            await anyio.lowlevel.checkpoint()
            inside.remove(number)

    with anyio.fail_after(5):
        async with (
            memory.turn("b"),
            FileVault(tmp_path, KEY, recorder).turn("b"),
            anyio.create_task_group() as tasks,
        ):
            for number in range(5):
                tasks.start_soon(work, number)
    assert most == [1] * 5


async def test_a_turn_that_cannot_be_had_keeps_nobody_from_going_on(
    tmp_path: Path, recorder: Recorder
) -> None:
    (tmp_path / "v").write_text("a file")
    async with FileVault(tmp_path / "v", KEY, recorder).turn("a"):
        pass


@pytest.mark.virtual_time
async def test_a_turn_that_is_never_given_back_is_waited_for_some_seconds(
    tmp_path: Path, recorder: Recorder
) -> None:
    vault = FileVault(tmp_path, KEY, recorder)
    async with vault.turn("a"):
        began = anyio.current_time()
        async with vault.turn("a"):
            assert 14 < anyio.current_time() - began < 16


# ---- the keyring ----


async def test_the_keyring_holds_the_key_and_nothing_else(
    tmp_path: Path, recorder: Recorder
) -> None:
    keyring = FakeKeyring()
    vault = KeyringVault(tmp_path, keyring, recorder)
    assert keyring.reads == 0
    await vault.write("a", SECRET)
    await vault.read("a")
    assert len(keyring.entries) == 1
    assert keyring.reads == 2
    assert await KeyringVault(tmp_path, keyring, recorder).read("a") == SECRET
    assert SECRET not in b"".join(path.read_bytes() for path in files(tmp_path))


@pytest.mark.parametrize("entry", ["", "x", "Ünicode", b64encode(bytes(31)).decode()])
async def test_an_entry_of_the_keyring_that_is_no_key_is_left_and_told(
    tmp_path: Path, recorder: Recorder, entry: str
) -> None:
    keyring = FakeKeyring()
    keyring.entries["toolcrib", "vault key"] = entry
    with pytest.raises(VaultUnusable, match="keyring"):
        await KeyringVault(tmp_path, keyring, recorder).read("a")
    assert list(keyring.entries.values()) == [entry]


async def test_a_keyring_that_fails_is_told_and_works_once_it_is_open(
    tmp_path: Path, recorder: Recorder
) -> None:
    keyring = FakeKeyring()
    vault = KeyringVault(tmp_path, keyring, recorder)
    keyring.broken = True
    with pytest.raises(VaultUnusable) as error:
        await vault.read("a")
    assert "CANARY" not in error.value.for_operator()
    keyring.broken = False
    assert await vault.read("a") is None


@pytest.mark.parametrize(("priority", "used"), [(5, True), (1, True), (0.5, False), (0, False)])
def test_only_a_backend_that_is_fit_for_use_is_used(
    monkeypatch: pytest.MonkeyPatch, priority: float, used: object
) -> None:
    module = type(sys)("keyring")
    module.get_keyring = lambda: FakeKeyring(priority)  # type: ignore[attr-defined] # a stand-in
    monkeypatch.setitem(sys.modules, "keyring", module)
    assert (find_keyring() is not None) == used


async def test_without_the_package_files_are_used_and_the_vaults_have_folders_of_their_own(
    tmp_path: Path, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = InstallationKey(bytes(32))
    monkeypatch.setitem(sys.modules, "keyring", None)
    plain = open_vault(str(tmp_path), keys, recorder)
    await plain.write("a", SECRET)
    module = type(sys)("keyring")
    module.get_keyring = FakeKeyring  # type: ignore[attr-defined] # a stand-in
    monkeypatch.setitem(sys.modules, "keyring", module)
    better = open_vault(str(tmp_path), keys, recorder)
    assert isinstance(plain, FileVault)
    assert isinstance(better, KeyringVault)
    assert await better.read("a") is None
    assert await plain.read("a") == SECRET
    assert recorder.facts == []
    assert "not from programs that run as you" in plain.where


@pytest.mark.skipif(sys.platform == "win32", reason="pipes have no names there")
async def test_a_pipe_in_the_place_of_a_secret_makes_nobody_wait(
    vault: FileVault, tmp_path: Path
) -> None:
    await vault.write("k", SECRET)
    (path,) = files(tmp_path / "v")
    path.unlink()
    os.mkfifo(path)
    with anyio.fail_after(5), pytest.raises(VaultUnusable, match="no regular file"):
        await vault.read("k")
    path.unlink()
    path.mkdir()
    with pytest.raises(VaultUnusable, match="cannot be read"):
        await vault.read("k")


async def test_a_secret_that_could_not_be_read_again_is_not_written(vault: FileVault) -> None:
    await vault.write("k", SECRET)
    with pytest.raises(VaultUnusable, match="at most 1,048,576"):
        await vault.write("k", b"x" * 1024 * 1024)
    assert await vault.read("k") == SECRET
    large = b"x" * (1024 * 1024 - 100)
    await vault.write("k", large)
    assert await vault.read("k") == large
