"""Scripts that mean no good: none gets out, none hurts the host, and the next one runs."""

import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from toolcrib.adapters.deno.running import DenoRunning
from toolcrib.adapters.deno.sandbox import DenoSandbox
from toolcrib.ports import Failed
from toolcrib.settings import CodeSettings
from toolcrib.testing.deno_rig import program
from toolcrib.testing.hostile_typescript import CORPUS, HostileScript
from toolcrib.testing.program_host import run_in, to_the_end

MIB = 1024 * 1024
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


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for all of them: what one leaves behind is what the next one meets."""
    return "asyncio"


@pytest.fixture(scope="module")
def peaks() -> Iterator[dict[str, int]]:
    """The most resident memory of a worker in each program, printed at the end."""
    found: dict[str, int] = {}
    yield found
    assert not Path("/tmp/toolcrib-escaped").exists()  # noqa: S108 - what some try to write
    sys.stdout.write(f"{len(found)} hostile scripts contained\n")
    for name, peak in sorted(found.items(), key=lambda each: -each[1])[:5]:
        sys.stdout.write(f"{peak / MIB:6.0f} MiB  {name}\n")


@pytest.fixture(scope="module")
async def sandbox() -> AsyncGenerator[DenoSandbox]:
    sandbox = DenoSandbox(SETTINGS)
    yield sandbox
    await sandbox.aclose()


@pytest.mark.parametrize("hostile", CORPUS, ids=lambda hostile: hostile.name.replace(" ", "_"))
async def test_a_hostile_script_is_contained_and_the_next_one_runs(
    hostile: HostileScript, sandbox: DenoSandbox, peaks: dict[str, int]
) -> None:
    script = program(hostile.source, started_at=1.5e9, seed="s")
    async with sandbox.open(script) as running:
        ran = await to_the_end(running)
        assert isinstance(running, DenoRunning)
        peaks[hostile.name] = running.peak
    why = ran.end.why if isinstance(ran.end, Failed) else None
    assert why in hostile.ends, str(ran.end)[:1000]
    if why is None:
        text = ran.value if isinstance(ran.value, str) else ""
        assert not text.startswith("ESCAPED"), text[:1000]
    assert len(ran.printed) <= 4 * SETTINGS.print_bytes
    assert peaks[hostile.name] < 2 * SETTINGS.resident_bytes

    if why is not None:  # where it ended well, the next one of the corpus shows the same
        after = await run_in(sandbox, program("return 20 + 22"))
        assert after.value == 42


def test_the_corpus_is_large_and_each_script_has_a_name_of_its_own() -> None:
    assert len(CORPUS) >= 100
    assert len({hostile.name for hostile in CORPUS}) == len(CORPUS)
