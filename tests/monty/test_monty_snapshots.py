"""A program that waits is put aside as bytes and goes on elsewhere, or is refused."""

import base64
import json
import subprocess
import sys
import textwrap

import pytest

from toolcrib.errors import SnapshotRefused
from toolcrib.ports import Called, Finished, Raised, Returned, Waits
from toolcrib.testing.monty_rig import monty, program
from toolcrib.testing.program_host import run_in, to_the_end, until

SOURCE = (
    "import asyncio\n"
    "from github import create_issue\n"
    "print('before')\n"
    "rows = [{'n': i} for i in range(100)]\n"
    "a, b = await asyncio.gather(create_issue(title='a'), create_issue(title='b'))\n"
    "print('after', a, b)\n"
    "from toolcrib import gather_settled, call\n"
    "c = await gather_settled(call('gh', 'c'), create_issue(title='d'))\n"
    "return [a, b, c, len(rows)]"
)


async def put_aside(source: str) -> tuple[bytes, tuple[int, ...]]:
    """A program as it waits for the first time, and for what."""
    async with monty() as sandbox, sandbox.open(program(source)) as running:
        waits = await until(running, Waits)
        return await running.snapshot(), waits.ids


async def test_a_program_goes_on_where_it_waited_with_its_modules_and_places() -> None:
    frozen, ids = await put_aside(SOURCE)
    async with monty() as sandbox, sandbox.open(program(SOURCE), snapshot=frozen) as running:
        assert await running.next() == Waits(ids)
        running.answer(ids[0], Returned(10))
        running.answer(ids[1], Returned(20))
        ran = await to_the_end(
            running, lambda call: Raised("d") if call.module == "github" else Returned("c")
        )
    assert ran.printed == "after 10 20\n"
    settled = [{"ok": True, "value": "c"}, {"ok": False, "error": "d"}]
    assert ran.value == [10, 20, settled, 100]
    assert [(call.module, call.place.line) for call in ran.calls] == [
        ("toolcrib", 8),
        ("github", 8),
    ]
    assert not {call.id for call in ran.calls} & set(ids)


async def test_a_program_can_be_put_aside_again_and_again() -> None:
    source = (
        "from github import create_issue\n"
        "def later():\n    from toolcrib import try_call\n    return try_call\n"
        "x = [await create_issue(title=str(i)) for i in range(4)]\n"
        "return [x, await later()('gh', 'y')]"
    )
    frozen, ids = await put_aside(source)
    for number in range(4):
        async with monty() as sandbox, sandbox.open(program(source), snapshot=frozen) as running:
            assert await running.next() == Waits(ids)
            running.answer(ids[0], Returned(number))
            called = await until(running, Called)
            ids = (await until(running, Waits)).ids
            assert ids == (called.id,)
            frozen = await running.snapshot()
    async with monty() as sandbox, sandbox.open(program(source), snapshot=frozen) as running:
        running.answer(ids[0], Returned("y"))
        ran = await to_the_end(running)
    assert ran.value == [[0, 1, 2, 3], {"ok": True, "value": "y"}]


async def test_a_call_that_came_back_before_the_snapshot_is_not_waited_for_again() -> None:
    async with monty() as sandbox, sandbox.open(program(SOURCE)) as running:
        first = await until(running, Called)
        second = await until(running, Called)
        await until(running, Waits)
        running.answer(first.id, Returned(1))
        assert await until(running, Waits) == Waits((second.id,))
        frozen = await running.snapshot()
        running.answer(second.id, Returned(2))
        assert (await until(running, Called)).place.line == 8  # taking it does no harm
    async with monty() as sandbox, sandbox.open(program(SOURCE), snapshot=frozen) as running:
        assert await running.next() == Waits((second.id,))
        running.answer(second.id, Returned(22))
        assert "after 1 22" in (await to_the_end(running)).printed


async def test_a_sleeping_program_is_not_said_to_wait_before_it_wakes() -> None:
    source = (
        "import asyncio\nfrom github import create_issue\n"
        "async def nap():\n    await asyncio.sleep(0.05)\n    print('woke')\n"
        "return await asyncio.gather(nap(), create_issue(title='a'))"
    )
    async with monty() as sandbox:
        async with sandbox.open(program(source)) as running:
            await until(running, Called)
            with pytest.raises(RuntimeError, match="does not wait"):
                await running.snapshot()
            ids = (await until(running, Waits)).ids
            frozen = await running.snapshot()
        async with sandbox.open(program(source), snapshot=frozen) as running:
            running.answer(ids[0], Returned(3))
            assert (await to_the_end(running)).value == [None, 3]


async def test_what_was_slept_before_counts_afterwards() -> None:
    source = (
        "import asyncio\nfrom github import create_issue\nawait asyncio.sleep(0.05)\n"
        "await create_issue(title='a')\nawait asyncio.sleep(0.06)"
    )
    async with monty(sleep_seconds=0.1) as sandbox:
        async with sandbox.open(program(source)) as running:
            ids = (await until(running, Waits)).ids
            frozen = await running.snapshot()
        async with sandbox.open(program(source), snapshot=frozen) as running:
            running.answer(ids[0], Returned(1))
            assert (await to_the_end(running)).failed.why == "sleep_seconds"


CHILD = """
    import base64, json, sys
    import anyio
    from toolcrib.ports import Returned
    from toolcrib.testing.monty_rig import monty, program
    from toolcrib.testing.program_host import to_the_end

    async def main():
        given = json.load(sys.stdin)
        frozen = base64.b64decode(given["frozen"])
        async with monty() as sandbox:
            async with sandbox.open(program(given["source"]), snapshot=frozen) as running:
                for id_ in given["ids"]:
                    running.answer(id_, Returned(id_))
                ran = await to_the_end(running)
        print(json.dumps(ran.value))

    anyio.run(main)
"""


async def test_a_program_goes_on_in_another_process() -> None:
    frozen, ids = await put_aside(SOURCE)
    given = {"frozen": base64.b64encode(frozen).decode(), "ids": ids, "source": SOURCE}
    done = subprocess.run(  # noqa: ASYNC221 - nothing else runs here
        [sys.executable, "-c", textwrap.dedent(CHILD)],
        input=json.dumps(given),
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    value = json.loads(done.stdout)
    assert value[:2] == list(ids)[:2] or value[:2] == sorted(ids)
    assert [each["ok"] for each in value[2]] == [True, True]


BROKEN = {
    "empty": b"",
    "no snapshot": b"hello",
    "a head alone": b"toolcrib-monty-1\n",
    "a head of another kind": b"toolcrib-monty-1\n[1]\n",
    "deep": b"toolcrib-monty-1\n" + b"[" * 100_000,
}


@pytest.mark.parametrize("frozen", BROKEN.values(), ids=list(BROKEN))
async def test_bytes_that_are_no_program_are_refused(frozen: bytes) -> None:
    async with monty() as sandbox:
        with pytest.raises(SnapshotRefused):
            async with sandbox.open(program(SOURCE), snapshot=frozen):
                pass
        assert (await run_in(sandbox, program("return 1"))).value == 1


async def test_a_snapshot_of_another_version_is_refused_by_name() -> None:
    frozen, _ = await put_aside(SOURCE)
    other = frozen.replace(b'"version": "1.4.0"', b'"version": "1.3.9"')
    assert other != frozen
    async with monty() as sandbox:
        with pytest.raises(SnapshotRefused, match=r"1\.3\.9") as refused:
            async with sandbox.open(program(SOURCE), snapshot=other):
                pass
    assert refused.value.remedy


async def test_a_damaged_snapshot_hurts_nobody() -> None:
    """Whoever keeps it has to seal it; but what comes of a damaged one stays in its worker."""
    frozen, ids = await put_aside(SOURCE)
    head = frozen.index(b"\n", frozen.index(b"\n") + 1) + 1
    ends: list[str] = []
    async with monty() as sandbox:
        for number in range(24):
            at = head + number * (len(frozen) - head) // 24
            damaged = frozen[:at] + bytes([frozen[at] ^ 0x41]) + frozen[at + 1 :]
            try:
                async with sandbox.open(program(SOURCE), snapshot=damaged) as running:
                    for id_ in ids:
                        running.answer(id_, Returned(1))
                    ends.append(type((await to_the_end(running)).end).__name__)
            except SnapshotRefused:
                ends.append("refused")
        assert (await run_in(sandbox, program("return 1"))).value == 1
    assert len(ends) == 24
    assert "refused" in ends


async def test_a_program_that_does_not_wait_has_no_snapshot() -> None:
    async with monty() as sandbox, sandbox.open(program("return 1")) as running:
        with pytest.raises(RuntimeError, match="does not wait"):
            await running.snapshot()
        assert isinstance(await running.next(), Finished)
        with pytest.raises(RuntimeError, match="does not wait"):
            await running.snapshot()


async def test_a_snapshot_of_thousand_rows_is_small() -> None:
    source = SOURCE.replace("range(100)", "range(1000)")
    frozen, _ = await put_aside(source)
    assert len(frozen) < 200_000


async def test_an_answer_that_came_is_not_lost_in_a_snapshot() -> None:
    async with monty() as sandbox, sandbox.open(program(SOURCE)) as running:
        ids = (await until(running, Waits)).ids
        running.answer(ids[0], Returned(1))
        with pytest.raises(RuntimeError, match="does not wait"):
            await running.snapshot()
