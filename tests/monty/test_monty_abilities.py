"""What a sandbox says of itself, and how it starts where something is missing."""

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from toolcrib.adapters.jail.bubblewrap import Jail, NoJail
from toolcrib.adapters.monty.probes import PROBES
from toolcrib.adapters.monty.sandbox import MontySandbox
from toolcrib.errors import SandboxUnavailable
from toolcrib.settings import CodeSettings
from toolcrib.testing.monty_rig import monty, program
from toolcrib.testing.program_host import run_in
from toolcrib.testing.workers import all_gone


async def test_abilities_are_found_by_trying_and_once() -> None:
    async with monty() as sandbox:
        abilities = await sandbox.abilities()
        assert await sandbox.abilities() is abilities
    assert abilities.language == "python"
    assert abilities.version == "monty 1.4.0"
    assert (abilities.snapshots, abilities.type_check) == (True, True)
    assert {"class inheritance", "yield", "del", "asyncio.create_task"} <= set(abilities.lacks)
    assert not {"match", "lambda", "asyncio.gather", "with"} & set(abilities.lacks)
    assert {"io", "socket", "subprocess", "statistics"} <= abilities.missing_modules
    assert not {"json", "re", "asyncio", "math", "datetime"} & abilities.missing_modules


def test_each_probe_is_python() -> None:
    """A probe that no Python takes would find everything lacking."""
    newer = {"type statement", "generic functions", "nested f-strings"}  # than the oldest we run on
    for name, code in PROBES.items():
        if name not in newer:
            compile(code, name, "exec", flags=0x2000)  # top-level await
    assert len(PROBES) == len(set(PROBES))


async def test_without_a_jail_it_runs_and_says_why() -> None:
    sandbox = MontySandbox(CodeSettings(), find=lambda: NoJail("user namespaces are off"))
    try:
        assert (await sandbox.abilities()).jail == "none: user namespaces are off"
        assert (await run_in(sandbox, program("return 1"))).value == 1
        with anyio.fail_after(5), anyio.move_on_after(0.2):
            await run_in(sandbox, program("while True: pass"))
        assert (await run_in(sandbox, program("return 1"))).value == 1
    finally:
        await sandbox.aclose()
    await all_gone()


async def test_a_jail_in_which_no_worker_starts_is_left_and_told(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    sandbox = MontySandbox(CodeSettings(), find=lambda: Jail(broken, "9.9"))
    try:
        jail = (await sandbox.abilities()).jail
        assert jail.startswith("none: Monty does not start in bubblewrap 9.9")
        assert (await run_in(sandbox, program("return 1"))).value == 1
    finally:
        await sandbox.aclose()


async def test_where_there_is_no_monty_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONTY_BIN", "/nonexistent/monty")
    async with monty() as sandbox:
        with pytest.raises(SandboxUnavailable) as unavailable:
            await sandbox.abilities()
    assert unavailable.value.remedy


def test_importing_the_sandbox_does_not_import_monty() -> None:
    code = "import sys, toolcrib.adapters.monty.sandbox\nsys.exit('pydantic_monty' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
