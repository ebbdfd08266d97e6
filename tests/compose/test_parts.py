"""The parts of production share one place, and give it up together."""

import subprocess
import sys
from pathlib import Path

from toolcrib.adapters.store.memory_entries import MemoryEntries
from toolcrib.compose import open_parts
from toolcrib.config.keys import InstallationKey
from toolcrib.facts import StoreDegraded
from toolcrib.settings import Settings, StoreSettings
from toolcrib.testing.recorder import Recorder

KEYS = InstallationKey(b"k" * 32)


def settings(path: Path | None) -> Settings:
    return Settings(store=StoreSettings(None if path is None else str(path)))


async def test_entries_and_sealed_texts_outlive_their_process(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with open_parts(settings(path), observer=Recorder(), keys=KEYS) as parts:
        assert await parts.entries.add("s", "o", "k", b"v", lifetime=60, most=9)
        text = parts.sealer.seal(b"state", bound=b"b", lifetime=60)
    with open_parts(settings(path), observer=Recorder(), keys=KEYS) as parts:
        assert await parts.entries.take("s", "o", "k") == b"v"
        assert parts.sealer.unseal(text, bound=b"b") == b"state"
        assert parts.sealer.unseal(text, bound=b"c") is None


async def test_without_a_file_entries_are_in_memory(tmp_path: Path) -> None:
    with open_parts(settings(None), observer=Recorder(), keys=KEYS) as parts:
        assert isinstance(parts.entries, MemoryEntries)
    unusable = tmp_path / "store.db"
    unusable.write_bytes(b"no database")
    observer = Recorder()
    with open_parts(settings(unusable), observer=observer, keys=KEYS) as parts:
        assert isinstance(parts.entries, MemoryEntries)
        assert await parts.entries.add("s", "o", "k", b"v", lifetime=60, most=9)
    assert len(observer.of(StoreDegraded)) == 1
    assert unusable.read_bytes() == b"no database"


def test_the_cipher_is_not_imported_before_something_is_sealed() -> None:
    """It costs what a start has no time for."""
    program = """
import sys
from toolcrib.compose import open_parts
from toolcrib.config.keys import InstallationKey
from toolcrib.settings import Settings
with open_parts(Settings(), observer=None, keys=InstallationKey(b"k" * 32)) as parts:
    before = "cryptography" in sys.modules
    parts.sealer.seal(b"", bound=b"", lifetime=1)
    print(before, "cryptography" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "False True\n", done.stderr
