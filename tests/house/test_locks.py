"""Locks are complete and name no index: each machine installs from where it gets its packages."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


def requirements_of(lock: Path) -> list[str]:
    """The entries of a lock, each with its hashes on one line, without comments."""
    text = re.sub(r"^\s*#.*\n", "", lock.read_text(), flags=re.MULTILINE)
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_each_requirement_is_pinned_with_hashes_and_nothing_else_is_said(lock: Path) -> None:
    entries = requirements_of(lock)
    assert entries
    pinned = re.compile(r"[a-z0-9][a-z0-9._-]*==\S+( ; [^:]+)?(\s+--hash=sha256:[0-9a-f]{64})+\s*")
    assert [entry for entry in entries if not pinned.fullmatch(entry)] == []


def test_what_runs_in_production_is_what_is_tested() -> None:
    run, dev = (
        {entry.split()[0] for entry in requirements_of(ROOT / "requirements" / name)}
        for name in ("run.txt", "dev.txt")
    )
    assert run - dev == set()


def test_the_lock_of_the_node_peers_has_hashes_and_no_addresses() -> None:
    lock: dict[str, Any] = json.loads((ROOT / "peers" / "package-lock.json").read_text())
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert packages
    assert [name for name, entry in packages.items() if "resolved" in entry] == []
    assert [name for name, entry in packages.items() if "integrity" not in entry] == []
