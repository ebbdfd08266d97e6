"""Ending scripts and their sandbox: within a second, the loop alive, and nothing left behind."""

import builtins
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from toolcrib.adapters.deno import gauge, sandbox
from toolcrib.adapters.deno.command import RUNNER, command
from toolcrib.adapters.deno.running import DenoRunning
from toolcrib.adapters.deno.sandbox import DenoSandbox
from toolcrib.adapters.jail.bubblewrap import Jail, NoJail
from toolcrib.compose import LateSandboxes
from toolcrib.errors import SandboxUnavailable
from toolcrib.ports import Called, Printed, Returned, Waits
from toolcrib.settings import CodeSettings
from toolcrib.testing.deno_rig import deno, program
from toolcrib.testing.program_host import run_in, to_the_end, until
from toolcrib.testing.workers import workers

BOTH_LOOPS = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
BUSY = "console.log('busy');\nfor (;;);"
CALLING = 'import { create_issue } from "github";\nreturn await create_issue({ title: "a" });'
SLEEPING = "console.log('sleeping');\nawait new Promise((r) => setTimeout(r, 60_000));"
PATIENT = {"turn_seconds": 60.0, "interpreter_seconds": 60.0, "sleep_seconds": 90.0}


def names_in(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


@BOTH_LOOPS
@pytest.mark.parametrize(
    ("source", "first"), [(BUSY, Printed), (CALLING, Waits), (SLEEPING, Printed)], ids=str
)
async def test_leaving_ends_a_script_wherever_it_is_and_the_loop_goes_on(
    source: str, first: type[Printed] | type[Waits]
) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.sleep(0.01)
            ticks += 1

    async with deno(**PATIENT) as sandbox, anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        with anyio.fail_after(10):
            async with sandbox.open(program(source)) as running:
                while not isinstance(await running.next(), first):
                    pass
                before = ticks
                await anyio.sleep(0.1)
                assert ticks > before
            assert (await run_in(sandbox, program("return 1"))).value == 1
        tasks.cancel_scope.cancel()
    assert workers() == []


async def test_a_cancelled_script_is_ended_within_a_second() -> None:
    async with deno(**PATIENT) as sandbox:
        await sandbox.abilities()
        with anyio.fail_after(1.5), anyio.move_on_after(0.2) as cancelled:
            await run_in(sandbox, program(BUSY))
        assert cancelled.cancelled_caught


async def test_a_worker_that_dies_ends_its_script_alone() -> None:
    async with deno() as sandbox, sandbox.open(program(CALLING)) as living:
        second = await until(living, Called)
        async with sandbox.open(program(CALLING)) as dying:
            await until(dying, Called)
            assert isinstance(dying, DenoRunning)
            assert dying.pid is not None
            os.kill(dying.pid, 9)
            ended = (await to_the_end(dying, lambda _: None)).failed
            assert (ended.why, ended.executed) == ("crashed", True)
        living.answer(second.id, Returned(2))
        assert (await to_the_end(living)).value == 2


async def test_a_spare_that_died_is_replaced() -> None:
    async with deno() as sandbox:
        await sandbox.abilities()
        spare = sandbox._spare  # pyright: ignore[reportPrivateUsage]
        assert spare is not None
        [jail] = psutil.Process().children()
        jail.kill()
        with anyio.fail_after(5):
            await spare.ended.wait()
            assert (await run_in(sandbox, program("return 1"))).value == 1


async def test_closing_leaves_no_process_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    async with deno(**PATIENT) as sandbox:
        async with sandbox.open(program(CALLING)) as running:
            await until(running, Called)
            assert workers()
        with pytest.raises(TimeoutError), anyio.fail_after(0.3):
            await run_in(sandbox, program(BUSY))
        assert names_in(tmp_path) == []
    assert workers() == []


@pytest.mark.parametrize(("source", "first"), [(BUSY, Printed), (CALLING, Waits)], ids=str)
async def test_closing_ends_scripts_that_still_run_and_tells_them(
    source: str, first: type[Printed] | type[Waits]
) -> None:
    async with deno(**PATIENT) as sandbox, sandbox.open(program(source)) as running:
        while not isinstance(await running.next(), first):
            pass
        with anyio.fail_after(5):
            await sandbox.aclose()
            assert (await to_the_end(running)).failed.why == "crashed"
    assert workers() == []


async def test_a_closed_sandbox_says_so() -> None:
    async with deno() as sandbox:
        pass
    with pytest.raises(SandboxUnavailable, match="closed"):
        async with sandbox.open(program("1")):
            pass


async def test_many_runs_grow_nothing() -> None:
    sources = [program(source) for source in (CALLING, "throw 1;", "return 'a'.repeat(1e5);")]
    process = psutil.Process()
    async with deno() as sandbox:

        async def run(times: int) -> tuple[int, int, int]:
            for number in range(times):
                await run_in(sandbox, sources[number % len(sources)])
            return process.num_fds(), len(workers()), process.memory_info().rss

        handles, processes, resident = await run(6)
        handles_after, processes_after, resident_after = await run(30)
    assert handles_after <= handles + 4
    assert processes_after <= processes + 3
    assert resident_after <= resident + 12 * 1024 * 1024


@pytest.mark.parametrize("say", ["there is no bubblewrap", "user namespaces are forbidden"])
async def test_without_a_jail_it_refuses_and_says_why(say: str) -> None:
    refusing = DenoSandbox(CodeSettings(), find=lambda: NoJail(say))
    for _ in range(2):
        with pytest.raises(SandboxUnavailable) as refused:
            async with refusing.open(program("return 1;")):
                pass
        assert refused.value.operator_note == say
    with pytest.raises(SandboxUnavailable, match="only in a jail"):
        await refusing.abilities()
    await refusing.aclose()
    assert workers() == []


async def test_a_jail_in_which_deno_does_not_start_is_told_with_its_words(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'no such jail' >&2\nexit 3\n")
    broken.chmod(0o755)
    refusing = DenoSandbox(CodeSettings(), find=lambda: Jail(broken, "0"))
    with pytest.raises(SandboxUnavailable, match="code 3") as refused:
        await refusing.abilities()
    assert refused.value.operator_note == "no such jail"
    await refusing.aclose()


async def test_a_process_that_says_nothing_is_not_waited_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = tmp_path / "bwrap"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o755)
    monkeypatch.setattr(sandbox, "_START_SECONDS", 0.2)
    refusing = DenoSandbox(CodeSettings(), find=lambda: Jail(silent, "0"))
    with pytest.raises(SandboxUnavailable, match=r"within 0\.2 s"):
        await refusing.abilities()
    await refusing.aclose()
    assert workers() == []


def without_children(_: int) -> None:
    """As where the kernel does not tell them."""


async def test_where_memory_cannot_be_watched_it_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gauge, "_only_child", without_children)
    async with deno() as refusing:
        with pytest.raises(SandboxUnavailable, match="memory cannot be watched"):
            await refusing.abilities()
    assert workers() == []


async def test_without_its_package_it_tells_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = builtins.__import__

    def lacking(name: str, *others: Any, **more: Any) -> Any:
        if name == "deno":
            raise ImportError("No module named 'deno'")
        return real(name, *others, **more)

    monkeypatch.setattr(builtins, "__import__", lacking)
    sandboxes = LateSandboxes(CodeSettings())
    with pytest.raises(SandboxUnavailable, match="deno is not installed") as refused:
        await sandboxes.sandbox("typescript").abilities()
    assert refused.value.remedy == "pip install 'toolcrib[typescript]'"
    await sandboxes.aclose()


async def test_a_crib_runs_scripts_by_their_language() -> None:
    sandboxes = LateSandboxes(CodeSettings())
    made = sandboxes.sandbox("typescript")
    assert (await run_in(made, program("return 1 as number;"))).value == 1
    await sandboxes.aclose()
    assert workers() == []


def test_the_command_gives_deno_nothing(tmp_path: Path) -> None:
    program_file = Path("/bin/sh").resolve()
    line = command(Jail(tmp_path / "bwrap", "1"), program_file, CodeSettings())
    bound = {line[at + 1] for at, word in enumerate(line) if word == "--ro-bind"}
    assert {str(RUNNER), str(program_file)} < bound
    assert all(
        path.startswith(("/lib", "/usr/lib", str(RUNNER), str(program_file))) for path in bound
    )
    assert not [word for word in line if word.startswith("--allow")]
    assert {
        f"--deny-{each}" for each in ("read", "write", "net", "env", "run", "ffi", "sys")
    } < set(line)
    assert {"--unshare-all", "--clearenv", "--die-with-parent", "--no-remote", "--no-npm"} < set(
        line
    )
    assert "--proc" not in line
    assert "--dev" not in line


ENDING = """
    import anyio
    from toolcrib.adapters.deno.sandbox import DenoSandbox
    from toolcrib.settings import CodeSettings
    from toolcrib.testing.deno_rig import deno, program
    from toolcrib.testing.program_host import run_in

    async def main():
        async with deno() as sandbox:
            ran = await run_in(sandbox, program("return 1;"))
            assert ran.value == 1, ran
        LEFT

    anyio.run(main, backend=BACKEND)
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "left open"])
def test_the_interpreter_ends_well_right_after_a_script(backend: str, *, closed: bool) -> None:
    left = "kept = DenoSandbox(CodeSettings()); await kept.abilities()"
    code = textwrap.dedent(ENDING).replace("BACKEND", repr(backend))
    code = code.replace("LEFT", "pass" if closed else left)
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    said = process.communicate(timeout=60)[1]
    assert (process.returncode, said) == (0, b"")
    assert workers() == []
