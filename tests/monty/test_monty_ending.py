"""Ending programs and sandboxes: within a second, with the loop alive and nothing left behind."""

import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
import pytest

from toolcrib.adapters.monty.running import MontyRunning
from toolcrib.errors import SandboxUnavailable
from toolcrib.ports import Called, Printed, Program, Returned, Waits
from toolcrib.testing.monty_rig import monty, program
from toolcrib.testing.program_host import run_in, to_the_end, until
from toolcrib.testing.workers import all_gone, workers

BOTH_LOOPS = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
BUSY = "print('busy')\nwhile True: pass"
CALLING = "from github import create_issue\nreturn await create_issue(title='a')"
SLEEPING = "import time\nprint('sleeping')\ntime.sleep(60)"


def runs(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def names_in(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


@BOTH_LOOPS
@pytest.mark.parametrize(
    ("source", "first"), [(BUSY, Printed), (CALLING, Waits), (SLEEPING, Printed)], ids=str
)
async def test_leaving_ends_a_program_wherever_it_is_and_the_loop_goes_on(
    source: str, first: type[Printed] | type[Waits]
) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.sleep(0.01)
            ticks += 1

    settings = {"turn_seconds": 60.0, "interpreter_seconds": 60.0, "sleep_seconds": 90.0}
    async with monty(**settings) as sandbox, anyio.create_task_group() as tasks:
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


async def test_the_worker_of_a_cancelled_program_is_gone_within_a_second() -> None:
    async with monty(turn_seconds=60, interpreter_seconds=60) as sandbox:
        held: list[psutil.Process] = []
        with anyio.fail_after(10), anyio.CancelScope() as cancelling:
            async with sandbox.open(program(BUSY)) as running:
                await until(running, Printed)
                assert isinstance(running, MontyRunning)
                worker = psutil.Process(running._feeding._pid)  # pyright: ignore[reportPrivateUsage]
                held = [worker, *worker.children(recursive=True)]
                assert "monty" in {process.name() for process in held}
                cancelling.cancel()
                await running.next()
        with anyio.fail_after(1):
            while any(map(runs, held)):  # noqa: ASYNC110 - the end of a process is no event
                await anyio.sleep(0.01)
        with anyio.fail_after(5):
            assert (await run_in(sandbox, program("return 1"))).value == 1


async def test_a_program_that_is_cancelled_while_its_types_are_checked_is_ended() -> None:
    source = "\n".join(f"def f{i}(x: int) -> int:\n    return x + {i}" for i in range(3000))
    async with monty() as sandbox:
        with anyio.fail_after(5), anyio.move_on_after(0.05):
            await run_in(sandbox, program(source, checked=True))
        assert (await run_in(sandbox, program("return 1"))).value == 1


async def test_a_worker_that_dies_ends_its_program_alone() -> None:
    async with monty() as sandbox:
        waiting = program(CALLING)
        async with sandbox.open(waiting) as dying, sandbox.open(waiting) as living:
            first = await until(dying, Called)
            assert isinstance(dying, MontyRunning)
            pid = dying._feeding._pid  # pyright: ignore[reportPrivateUsage]
            assert pid is not None
            second = await until(living, Called)
            jailed = psutil.Process(pid).children(recursive=True)
            os.kill(pid, 9)
            await anyio.to_thread.run_sync(psutil.wait_procs, jailed)
            dying.answer(first.id, Returned(1))
            living.answer(second.id, Returned(2))
            ended = (await to_the_end(dying)).failed
            assert (ended.why, ended.executed) == ("crashed", True)
            assert (await to_the_end(living)).value == 2
        assert (await run_in(sandbox, program("return 1"))).value == 1


async def test_closing_leaves_no_process_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    async with monty() as sandbox:
        await run_in(sandbox, program("return 1"))
        assert workers()
        assert [name[:13] for name in names_in(tmp_path)] == ["toolcrib-jail"]
        with pytest.raises(TimeoutError), anyio.fail_after(0.3):
            await run_in(sandbox, program(BUSY))
    await all_gone()
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(("source", "first"), [(BUSY, Printed), (CALLING, Waits)], ids=str)
async def test_closing_ends_programs_that_still_run_and_tells_them(
    source: str, first: type[Printed] | type[Waits]
) -> None:
    async with (
        monty(turn_seconds=60, interpreter_seconds=60) as sandbox,
        sandbox.open(program(source)) as running,
    ):
        while not isinstance(await running.next(), first):
            pass
        with anyio.fail_after(5):
            await sandbox.aclose()
            assert (await to_the_end(running)).failed.why == "crashed"
    await all_gone()


async def test_a_closed_sandbox_says_so() -> None:
    async with monty() as sandbox:
        pass
    with pytest.raises(SandboxUnavailable, match="closed"):
        async with sandbox.open(Program("1", {})):
            pass


async def test_many_runs_grow_nothing() -> None:
    """Ten times each program; then two hundred runs more may cost no handle, process or memory."""
    sources = [
        program(CALLING),
        program("import toolcrib\nreturn 1"),
        program("1 / 0"),
        program("x = 'a' * 10**9"),
        program("return 'a' * 1000"),
        program("import asyncio\nawait asyncio.sleep(0)"),
        program("x: int = ''", checked=True),
        program("print('x' * 1000)\nreturn 2", checked=True),
    ]
    process = psutil.Process()
    async with monty(memory_bytes=16_000_000) as sandbox:

        async def run(times: int) -> tuple[int, int, int]:
            for number in range(times):
                await run_in(sandbox, sources[number % len(sources)])
            return process.num_fds(), len(workers()), process.memory_info().rss

        handles, processes, resident = await run(80)
        handles_after, processes_after, resident_after = await run(200)
    assert handles_after <= handles + 2
    assert processes_after <= processes + 2
    assert resident_after <= resident + 12 * 1024 * 1024


ENDING = """
    import anyio
    from toolcrib.testing.monty_rig import monty, program
    from toolcrib.testing.program_host import run_in

    async def main():
        async with monty() as sandbox:
            ran = await run_in(sandbox, program("from github import create_issue\\n"
                                                "return await create_issue(title='a')"))
            assert ran.value == {"number": 1}, ran

    anyio.run(main, backend=BACKEND)
"""


@pytest.mark.parametrize(("backend", "times"), [("asyncio", 14), ("trio", 6)])
def test_the_interpreter_ends_well_right_after_a_program(backend: str, times: int) -> None:
    code = textwrap.dedent(ENDING).replace("BACKEND", repr(backend))
    for _ in range(times // 2):
        pair = [
            subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in "ab"
        ]
        for process in pair:
            said = process.communicate(timeout=60)[1]
            assert (process.returncode, said) == (0, b"")
