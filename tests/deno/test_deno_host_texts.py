"""What the system said of a runtime that does not start is for the operator, not for the model."""

from pathlib import Path

import pytest

from toolcrib.adapters.deno import command
from toolcrib.adapters.deno.sandbox import DenoSandbox
from toolcrib.adapters.jail.bubblewrap import Jail, NoJail
from toolcrib.errors import SandboxUnavailable
from toolcrib.settings import CodeSettings


async def refused(jail: Jail | NoJail) -> SandboxUnavailable:
    """Why programs cannot run in this jail."""
    sandbox = DenoSandbox(CodeSettings(), find=lambda: jail)
    with pytest.raises(SandboxUnavailable) as caught:
        await sandbox.abilities()
    await sandbox.aclose()
    return caught.value


def only_for_the_operator(error: SandboxUnavailable, path: Path) -> None:
    """The path is in the note, and in nothing that a model reads."""
    assert str(path) not in error.for_model()
    assert str(path) not in (error.remedy or "")
    assert str(path) in error.for_operator()


async def test_a_jail_that_cannot_be_started(tmp_path: Path) -> None:
    error = await refused(Jail(tmp_path / "no-such-bwrap", "0"))
    only_for_the_operator(error, tmp_path)
    assert error.for_model().endswith("Deno does not start in its jail: it could not be started")


async def test_a_jail_that_ends_with_a_text_about_this_machine(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text(f"#!/bin/sh\necho 'cannot bind {tmp_path}' >&2\nexit 3\n")
    broken.chmod(0o755)
    error = await refused(Jail(broken, "0"))
    only_for_the_operator(error, tmp_path)
    assert error.for_model().endswith("it ended with code 3")


async def test_no_jail_at_all(tmp_path: Path) -> None:
    error = await refused(NoJail(f"{tmp_path}/bwrap does not work here"))
    only_for_the_operator(error, tmp_path)
    assert error.for_model().endswith("there is none here")


async def test_a_package_whose_program_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deno.find_deno_bin", lambda: str(tmp_path / "gone"))
    with pytest.raises(SandboxUnavailable) as caught:
        command.find_deno()
    only_for_the_operator(caught.value, tmp_path)
    assert caught.value.for_model().endswith("the package deno lacks its program")
