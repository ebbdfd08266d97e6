"""Programs that mean no good: none gets out, none hurts the host, and the next one runs."""

import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import psutil
import pytest

from toolcrib.adapters.monty.sandbox import MontySandbox
from toolcrib.ports import Failed, Program, SandboxModule
from toolcrib.settings import CodeSettings
from toolcrib.testing.hostile_python import CORPUS, Hostile
from toolcrib.testing.program_host import run_in

MIB = 1024 * 1024
SETTINGS = CodeSettings(
    interpreter_seconds=0.6,
    turn_seconds=0.3,
    memory_bytes=32 * MIB,
    sleep_seconds=0.5,
    print_bytes=4096,
    calls=10,
)
GITHUB = SandboxModule(
    "async def create_issue(*, title: str) -> dict[str, int]: ...\n", frozenset({"create_issue"})
)
TOOLCRIB = SandboxModule(
    "from typing import Any\nasync def gather_settled(*awaitables: Any) -> list[Any]: ...\n",
    frozenset({"call"}),
    "import asyncio\nasync def gather_settled(*awaitables):\n"
    "    return list(await asyncio.gather(*awaitables))\n",
)
MODULES = {"github": GITHUB, "toolcrib": TOOLCRIB}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for all of them: what one leaves behind is what the next one meets."""
    return "asyncio"


@pytest.fixture(scope="module")
def peaks() -> Iterator[dict[str, int]]:
    """The most resident memory of a worker after each program, printed at the end."""
    found: dict[str, int] = {}
    yield found
    assert not Path("/tmp/toolcrib-escaped").exists()  # noqa: S108 - what some try to write
    for name, peak in sorted(found.items(), key=lambda each: -each[1])[:5]:
        sys.stdout.write(f"{peak / MIB:6.0f} MiB  {name}\n")


@pytest.fixture(scope="module")
async def sandbox() -> AsyncGenerator[MontySandbox]:
    sandbox = MontySandbox(SETTINGS)
    yield sandbox
    await sandbox.aclose()


def peak_of_workers() -> int:
    """Bytes, the most that any worker that is alive has ever had."""
    peaks = [0]
    for child in psutil.Process().children(recursive=True):
        status = Path(f"/proc/{child.pid}/status")
        if status.exists():
            lines = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
            peaks += [int(line.split()[1]) * 1024 for line in lines]
    return max(peaks)


@pytest.mark.parametrize("hostile", CORPUS, ids=lambda hostile: hostile.name.replace(" ", "_"))
async def test_a_hostile_program_is_contained_and_the_next_one_runs(
    hostile: Hostile, sandbox: MontySandbox, peaks: dict[str, int]
) -> None:
    ran = await run_in(sandbox, Program(hostile.source, MODULES, checked=hostile.checked))
    why = ran.end.why if isinstance(ran.end, Failed) else None
    assert why in hostile.ends, str(ran.end)[:1000]
    if why is None:
        text = ran.value if isinstance(ran.value, str) else ""
        assert not text.startswith("ESCAPED"), text[:1000]
    assert len(ran.printed) <= 4 * SETTINGS.print_bytes
    peaks[hostile.name] = peak_of_workers()
    assert peaks[hostile.name] < 400 * MIB

    after = await run_in(sandbox, Program("return 20 + 22", {}, checked=False))
    assert after.value == 42


def test_the_corpus_is_large_and_each_program_has_a_name_of_its_own() -> None:
    assert len(CORPUS) >= 60
    assert len({hostile.name for hostile in CORPUS}) == len(CORPUS)
