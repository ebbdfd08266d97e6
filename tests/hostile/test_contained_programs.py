"""Programs that mean no good, in real runtimes: none gets out, none hurts the host, the next runs.

What each took is told at the end of the whole run (`toolcrib.testing.hostile_report`).
"""

import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from toolcrib.adapters.deno.sandbox import DenoSandbox
from toolcrib.adapters.monty.sandbox import MontySandbox
from toolcrib.ports import Failed, Program, Sandbox, SandboxModule
from toolcrib.settings import CodeSettings, Language
from toolcrib.testing import deno_rig, hostile_python, hostile_typescript
from toolcrib.testing.gauged import gauged
from toolcrib.testing.hostile_python import Hostile
from toolcrib.testing.hostile_report import record
from toolcrib.testing.program_host import run_in

MIB = 1024 * 1024
ESCAPED = Path("/tmp/toolcrib-escaped")  # noqa: S108 - what some try to write
GITHUB = SandboxModule(
    "async def create_issue(*, title: str) -> dict[str, int]: ...\n", frozenset({"create_issue"})
)
TOOLCRIB = SandboxModule(
    "from typing import Any\nasync def gather_settled(*awaitables: Any) -> list[Any]: ...\n",
    frozenset({"call"}),
    "import asyncio\nasync def gather_settled(*awaitables):\n"
    "    return list(await asyncio.gather(*awaitables))\n",
)
SETTINGS = CodeSettings(
    interpreter_seconds=0.6,
    turn_seconds=0.4,
    memory_bytes=32 * MIB,
    resident_bytes=200 * MIB,
    sleep_seconds=0.5,
    print_bytes=4096,
    calls=10,
    answer_bytes=1 * MIB,
)


@dataclass(frozen=True, slots=True)
class Runtime:
    """A runtime, and what programs in it may take at most."""

    language: Language
    corpus: tuple[Hostile, ...]
    least: int
    """Programs that its corpus has at least."""
    opened: Callable[[], Sandbox]
    program: Callable[[Hostile], Program]
    harmless: Program
    """Returns 42."""
    peak: int
    """Bytes, of a worker."""
    host: int
    """Bytes by which this process may grow."""
    seconds: float


def in_python(hostile: Hostile) -> Program:
    modules = {"github": GITHUB, "toolcrib": TOOLCRIB}
    return Program(hostile.source, modules, checked=hostile.checked)


def in_typescript(hostile: Hostile) -> Program:
    return deno_rig.program(hostile.source, started_at=1.5e9, seed="s")


RUNTIMES = (
    Runtime(
        "python",
        hostile_python.CORPUS,
        120,
        lambda: MontySandbox(SETTINGS),
        in_python,
        Program("return 20 + 22", {}, checked=False),
        peak=160 * MIB,
        host=64 * MIB,
        seconds=15,
    ),
    Runtime(
        "typescript",
        hostile_typescript.CORPUS,
        100,
        lambda: DenoSandbox(SETTINGS),
        in_typescript,
        deno_rig.program("return 20 + 22"),
        peak=300 * MIB,
        host=64 * MIB,
        seconds=15,
    ),
)
EACH = [(runtime, hostile) for runtime in RUNTIMES for hostile in runtime.corpus]


def named(runtime: Runtime, hostile: Hostile) -> str:
    return f"{runtime.language}-{hostile.name.replace(' ', '_')}"


def has_escaped() -> bool:
    return ESCAPED.exists()


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for all of them: what one leaves behind is what the next one meets."""
    return "asyncio"


@pytest.fixture(scope="module")
async def sandboxes() -> AsyncGenerator[dict[Language, Sandbox]]:
    opened: dict[Language, Sandbox] = {runtime.language: runtime.opened() for runtime in RUNTIMES}
    yield opened
    for sandbox in opened.values():
        await sandbox.aclose()


@pytest.mark.parametrize(("runtime", "hostile"), EACH, ids=[named(*each) for each in EACH])
async def test_a_hostile_program_is_contained_and_the_next_one_runs(
    runtime: Runtime,
    hostile: Hostile,
    sandboxes: dict[Language, Sandbox],
    record_property: Callable[[str, object], None],
) -> None:
    sandbox = sandboxes[runtime.language]
    await sandbox.abilities()
    began = time.perf_counter()
    with gauged() as taken, anyio.fail_after(runtime.seconds):
        ran = await run_in(sandbox, runtime.program(hostile))
    record(record_property, runtime.language, hostile.name, taken, time.perf_counter() - began)
    why = ran.end.why if isinstance(ran.end, Failed) else None
    assert why in hostile.ends, str(ran.end)[:1000]
    if why is None:
        text = ran.value if isinstance(ran.value, str) else ""
        assert not text.startswith("ESCAPED"), text[:1000]
    assert not has_escaped()
    assert len(ran.printed) <= 4 * SETTINGS.print_bytes
    assert 0 < taken.peak < runtime.peak
    assert taken.host < runtime.host

    with anyio.fail_after(runtime.seconds):
        assert (await run_in(sandbox, runtime.harmless)).value == 42


@pytest.mark.parametrize("runtime", RUNTIMES, ids=lambda runtime: runtime.language)
def test_a_corpus_is_large_and_each_program_has_a_name_of_its_own(runtime: Runtime) -> None:
    assert len(runtime.corpus) >= runtime.least
    assert len({hostile.name for hostile in runtime.corpus}) == len(runtime.corpus)
