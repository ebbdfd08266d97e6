"""Many programs one after the other leave nothing behind: no process, no open file, no memory."""

import psutil
import pytest

from toolcrib.settings import CodeSettings
from toolcrib.testing.coded_server import CodedServer, CodingHost, coded, text_of
from toolcrib.testing.scripted import tool
from toolcrib.testing.workers import workers

RUNS, WARM = 120, 20
MOST_GROWTH = 16 * 2**20
"""Bytes of resident memory, of this process and of its workers alike."""
FINE = """
from s import echo
kept = [await echo(n=n) for n in range(3)]
print(kept)
return len(kept * 9)
"""
WRONG = "from s import echo\nawait echo(n=1)\nraise ValueError('no' * 1000)"
UNCHECKED = "from s import echo\nawait echo(n='one')"
ENDLESS = "kept = []\nwhile True:\n    kept.append('x' * 100)"


def held() -> tuple[int, int, int, int]:
    """Workers, open files, and the resident memory of this process and of the workers."""
    host = psutil.Process()
    theirs = workers()
    resident = [it.memory_info().rss for it in (host, *theirs)]
    return len(theirs), host.num_fds(), resident[0], sum(resident[1:])


async def some(host: CodingHost) -> None:
    """Four programs that come to different ends."""
    assert text_of(await host.run(FINE)).startswith("27\n[toolcrib: printed]\n")
    assert "ValueError" in await host.failure(WRONG)
    assert "Nothing was executed" in await host.failure(UNCHECKED)
    assert "code.memory_bytes" in await host.failure(ENDLESS)


@pytest.mark.timeout(120)
async def test_programs_in_a_row_leave_nothing_behind() -> None:
    echo = tool("echo", n={"type": "integer"})
    others = len(workers())
    small = CodeSettings(memory_bytes=4 * 2**20)
    async with coded({"s": CodedServer(None, echo)}, code=small) as (host, gateway):
        await gateway.crib.catalogs().reach()
        for _ in range(WARM // 4):
            await some(host)
        before = held()
        for _ in range((RUNS - WARM) // 4):
            await some(host)
        after = held()
    assert after[0] <= before[0]
    assert after[1] <= before[1]
    for grown, at_first in zip(after[2:], before[2:], strict=True):
        assert grown - at_first < MOST_GROWTH
    assert len(workers()) == others
