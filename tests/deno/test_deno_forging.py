"""Programs that write to their host what no runner writes: it ends them, and nothing else."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from toolcrib.adapters.deno.frames import Frames, Malformed, version_of
from toolcrib.adapters.deno.sandbox import DenoSandbox
from toolcrib.adapters.line_splitter import LongLine
from toolcrib.ports import Called, Failed, Finished, Printed, Waits
from toolcrib.settings import CodeSettings
from toolcrib.testing.deno_rig import program
from toolcrib.testing.hostile_typescript import FORGED_LINES
from toolcrib.testing.program_host import run_in

IMPORTS = 'import { create_issue } from "github";\n'
FORGE = """
const real = Uint8Array.prototype.subarray;
const forged = [LINES];
Uint8Array.prototype.subarray = function (at) {
  if (forged.length === 0 || at !== this.length) return real.call(this, at);
  return new TextEncoder().encode(forged.shift() + "\\n");
};
console.log("printed");
await new Promise(() => {});
"""


def forging(*lines: str) -> str:
    return FORGE.replace("LINES", ", ".join(json.dumps(line) for line in lines))


def frames(source: str = "a\nb", **settings: Any) -> Frames:
    return Frames(program(source), CodeSettings(**settings))


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def sandbox() -> AsyncGenerator[DenoSandbox]:
    sandbox = DenoSandbox(CodeSettings(answer_bytes=100_000))
    yield sandbox
    await sandbox.aclose()


@pytest.mark.parametrize("line", FORGED_LINES, ids=[f"line{at}" for at in range(len(FORGED_LINES))])
async def test_a_line_that_no_runner_writes_ends_its_program_alone(
    line: str, sandbox: DenoSandbox
) -> None:
    ran = await run_in(sandbox, program(forging(line)))
    assert ran.failed.why == "crashed"
    assert ran.calls == []
    assert (await run_in(sandbox, program("return 42;"))).value == 42


async def test_a_line_without_end_ends_its_program(sandbox: DenoSandbox) -> None:
    ran = await run_in(
        sandbox, program(forging("x" * 40_000).replace("shift()", "at(-1).repeat(9)"))
    )
    assert ran.failed.why == "crashed"


async def test_a_forged_call_is_a_call_like_any_other_and_a_forged_end_ends(
    sandbox: DenoSandbox,
) -> None:
    call = {"type": "call", "id": 1, "module": "github", "function": "create_issue", "args": [7]}
    lines = (
        json.dumps({**call, "line": 1e9, "column": 1}),
        json.dumps({**call, "line": 99, "column": 1}),
    )
    assert (await run_in(sandbox, program(forging(lines[0])))).failed.why == "crashed"
    end = json.dumps({"type": "done", "value": "mine"})
    ran = await run_in(sandbox, program(forging(lines[1], end, lines[1])))
    assert [(called.args, called.place.line) for called in ran.calls] == [((7,), 0)]
    assert ran.value == "mine"


async def test_a_program_that_says_it_did_not_run_is_not_believed(sandbox: DenoSandbox) -> None:
    end: dict[str, Any] = {
        "type": "failed",
        "why": "syntax",
        "message": "m",
        "trace": [],
        "executed": False,
    }
    ran = await run_in(sandbox, program(forging(json.dumps(end))))
    assert (ran.failed.why, ran.failed.executed) == ("syntax", True)


async def test_a_forged_result_deceives_the_program_that_forged_it_alone(
    sandbox: DenoSandbox,
) -> None:
    source = (
        IMPORTS + "Map.prototype.get = () => ({ resolve() {}, reject() {} });\n"
        "Promise.prototype.then = function (a) { a?.('forged'); return this; };\n"
    )
    ran = await run_in(sandbox, program(source + "return await create_issue({ a: 1 });"))
    assert [called.id for called in ran.calls] in ([], [1])
    assert (await run_in(sandbox, program("return new Map([[1, 2]]).get(1);"))).value == 2


CHANNELS = [
    ("globalThis.left = 1", "globalThis.left"),
    ("Object.prototype.left = 1", "({}).left"),
    ("Array.prototype.map = () => 1", "[1].map((x) => x)[0] === 1 ? undefined : 1"),
    ("try { localStorage.setItem('left', '1') } catch {}", "globalThis.localStorage?.left"),
    (
        "try { await (await caches.open('left')).put('http://a', new Response()) } catch {}",
        "(await globalThis.caches?.keys())?.length",
    ),
    ("Error.prototype.left = 1; JSON.stringify = null", "new Error().left"),
    ("const k = await crypto.randomUUID(); Symbol.for('left').x", "globalThis[Symbol.for('left')]"),
]


@pytest.mark.parametrize(("leave", "find"), CHANNELS, ids=[f"channel{at}" for at in range(7)])
async def test_what_a_program_leaves_no_other_finds(
    leave: str, find: str, sandbox: DenoSandbox
) -> None:
    await run_in(sandbox, program(f"{leave};\nreturn 1;"))
    for _ in range(2):  # the process that waited by then, and one that started later
        assert (await run_in(sandbox, program(f"return {find};"))).value is None


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff",
        b'{"type":"print"}',
        b'{"type":"print","text":"' + b"x" * 5000 + b'"}',
        b'{"type":"done","value":NaN}',
        b'{"type":"done","value":Infinity}',
        b'{"type":"dropped","count":' + b"9" * 5000 + b"}",
        b'{"type":"call","args":[],"module":"m","function":"f","id":' + b"9" * 5000 + b"}",
        b'{"type":["done"]}',
        b'{"type":"done","untaken":["1"]}',
        b'{"type":"done","untaken":{"1":1}}',
        LongLine(b"{", b"}", 9_000_000),
    ],
    ids=[f"bytes{at}" for at in range(12)],
)
def test_lines_that_cannot_be_read_are_malformed(line: bytes | LongLine) -> None:
    with pytest.raises(Malformed):
        frames(print_bytes=1000).read(line)


def test_the_first_line_tells_a_version() -> None:
    assert version_of(b'{"type":"ready","version":"2.9.8"}') == "2.9.8"
    for line in (b"{}", b'{"type":"done"}', b'{"type":"ready"}', LongLine(b"", b"", 9)):
        with pytest.raises(Malformed):
            version_of(line)


def test_waiting_is_for_the_calls_that_are_open_whatever_it_says() -> None:
    read = frames()
    assert read.read(b'{"type":"waits","ids":[7]}') == []
    called = {"type": "call", "id": 1, "module": "github", "function": "create_issue"}
    line = json.dumps({**called, "args": [], "line": 2, "column": 1}).encode()
    [told] = read.read(line)
    assert isinstance(told, Called)
    assert (told.place.line, told.place.text) == (2, "b")
    assert read.read(b'{"type":"waits","ids":[]}') == [Waits((1,))]


def test_dropped_text_is_told_before_the_end() -> None:
    read = frames()
    assert read.read(b'{"type":"dropped","count":3}') == []
    assert read.read(b'{"type":"done","value":1}') == [Printed("", 3), Finished(1)]


def test_calls_go_on_only_so_far_beyond_their_number() -> None:
    read = frames(calls=1)
    ends: list[object] = []
    for id_ in range(1, 56):
        frame: dict[str, Any] = {
            "type": "call",
            "id": id_,
            "module": "toolcrib",
            "function": "call",
            "args": [],
        }
        ends = list(read.read(json.dumps({**frame, "line": 1, "column": 1}).encode()))
    assert isinstance(ends[0], Failed)
    assert ends[0].why == "suspensions"
