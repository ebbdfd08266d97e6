"""Programs through `run_code` of a gateway: what they cost beside calls, and over many runs.

Servers are scripted ones in this process, so that nothing but the gateway and the sandbox takes
time. Beside stand the same calls made directly, through the same pipeline, and the same programs in
the code mode of FastMCP, whose tools are functions of its own process. All take turns.

A model thinks between two programs: each is measured after a rest, and has never run before. Those
that follow at once, and those that ran before, are figures of their own.

Then programs are run one after the other: processes, open files and resident memory must not grow.
"""

import argparse
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import anyio
import psutil
from anyio.streams.buffered import BufferedByteReceiveStream

from fastmcp_rankings import PYTHON as FASTMCP
from figures import in_turns_of, tell
from made import HOUR_MS, SERVER, made_tools
from toolcrib.settings import CodeSettings, GatewaySettings
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway

FEW, MANY = 100, 1_000
CALLS = 10
UNCHECKED_AIM, CHECKED_AIM, BESIDE_AIM, GATHERED_AIM = 5.0, 30.0, 30.0, 200.0
MARKS = (50, 250, 500)
MIB = 2**20
GROWTH_MIB = 16.0
"""What host and workers may grow by between the first mark and the last."""

REST = 0.2
"""Seconds before whatever is not said to follow at once."""
NUMBERS = count()

TRIVIAL = f"from {SERVER} import echo\n40 + 2"
CALL = f'from {SERVER} import echo\nfor _ in range({{}}):\n    await echo(text="hello")\n"done"'
GATHER = (
    f"import asyncio\nfrom {SERVER} import wait\n"
    f"len(await asyncio.gather(*[wait(seconds=0.1) for _ in range({CALLS})]))"
)
THEIR_TRIVIAL = "return 40 + 2"
THEIR_CALL = f'for _ in range({CALLS}):\n    await call_tool("echo", {{"text": "hello"}})\n'
THEIR_GATHER = (
    "import asyncio\n"
    'await asyncio.gather(*[call_tool("wait", {"seconds": 0.1}) '
    f"for _ in range({CALLS})])\n"
)
STEP = f"""\
from {SERVER} import echo
kept = [await echo(text=str(n)) for n in range(3)]
print(kept)
kept * 100
"""


@dataclass(frozen=True, slots=True)
class Side:
    """A gateway that shows `run_code`."""

    gateway: ScriptedGateway

    async def run(self, code: str) -> str:
        """What a program brings."""
        result = await self.gateway.call("run_code", code=code)
        assert not result.get("isError"), result
        return str(result["content"][0]["text"])

    async def run_new(self, code: str) -> str:
        """The same of a program that nobody has run before."""
        return await self.run(f"{code}  # {next(NUMBERS)}")

    async def direct(self) -> None:
        """The calls of a program, made directly."""
        for _ in range(CALLS):
            result = await self.gateway.crib.call((SERVER, "echo"), {"text": "hello"})
            assert not result.get("isError"), result


async def answer(_: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """What the two trivial tools do."""
    arguments = params["arguments"]
    await anyio.sleep(arguments.get("seconds", 0))
    return {"content": [{"type": "text", "text": arguments.get("text", "done")}]}


@asynccontextmanager
async def side(tools: int, *, checked: bool) -> AsyncGenerator[Side]:
    """A gateway before a server with so many tools, two of which are called."""
    trivial = [tool("echo", text={"type": "string"}), tool("wait", seconds={"type": "number"})]
    server = ScriptedUpstream([*made_tools(tools - 2), *trivial], ttl_ms=HOUR_MS)
    server.on_call = answer
    async with scripted_gateway(
        {SERVER: server},
        gateway=GatewaySettings(exposure="code"),
        code=CodeSettings(type_check=checked),
    ) as gateway:
        await gateway.crib.catalogs().reach()
        made = Side(gateway)
        assert await made.run(TRIVIAL) == "42"
        yield made


@asynccontextmanager
async def fastmcp(tools: Sequence[Mapping[str, Any]]) -> AsyncGenerator[Callable[..., Any]]:
    """Runs programs in FastMCP's code mode; `asking(code)` is its answer."""
    command = [str(FASTMCP), "bench/fastmcp_programs.py"]
    async with await anyio.open_process(command, stderr=sys.stderr) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, answers = process.stdin, BufferedByteReceiveStream(process.stdout)

        async def asking(asked: object) -> Any:
            await stdin.send(f"{json.dumps(asked)}\n".encode())
            return json.loads(await answers.receive_until(b"\n", 2**20))

        name = await asking({"tools": list(tools)})
        print(json.dumps({"beside": name}), flush=True)
        yield asking
        await stdin.aclose()


async def trivial(rounds: int, beside: Mapping[str, Callable[[], Awaitable[Any]]]) -> None:
    """A program that calls nothing, once the runtime is warm."""
    async with side(FEW, checked=False) as plain, side(FEW, checked=True) as checked:
        works = {
            "unchecked": partial(plain.run_new, TRIVIAL),
            "checked": partial(checked.run_new, TRIVIAL),
            "checked_at_once": partial(checked.run_new, TRIVIAL),
            "checked_again": partial(checked.run, TRIVIAL),
            **beside,
        }
        at_once = {"checked_at_once"}
        taken = _ms(await in_turns_of(works, rounds, rest=REST, at_once=at_once))
    for name in ("unchecked", "checked", "checked_at_once", "checked_again"):
        aim = UNCHECKED_AIM if name == "unchecked" else CHECKED_AIM
        theirs = _beside(taken[name], taken.get("fastmcp"))
        tell(f"trivial_{name}_p50", taken[name], "ms", aim=aim, tools=FEW, **theirs)


async def calls(rounds: int, beside: Mapping[str, Callable[[], Awaitable[Any]]]) -> None:
    """Calls in sequence and side by side, from among many tools."""
    async with side(MANY, checked=True) as made, side(MANY, checked=False) as plain:
        works = {
            "direct": made.direct,
            "sequential": partial(made.run_new, CALL.format(CALLS)),
            "sequential_at_once": partial(made.run_new, CALL.format(CALLS)),
            "sequential_again": partial(made.run, CALL.format(CALLS)),
            "unchecked": partial(plain.run_new, CALL.format(CALLS)),
            "longer": partial(plain.run_new, CALL.format(5 * CALLS)),
            "gathered": partial(made.run_new, GATHER),
            **beside,
        }
        at_once = {"sequential_at_once"}
        taken = _ms(await in_turns_of(works, rounds, rest=REST, at_once=at_once))
    size = {"tools": MANY, "direct": taken["direct"]}
    for name in ("sequential", "sequential_at_once", "sequential_again", "unchecked"):
        more = taken[name] - taken["direct"]
        theirs = _beside(taken[name], taken.get("fastmcp_sequential"))
        tell(f"ten_{name}_p50", taken[name], "ms", **size, **theirs)
        tell(f"ten_{name}_more_than_direct", more, "ms", aim=BESIDE_AIM)
    round_trip = (taken["longer"] - taken["unchecked"]) / (4 * CALLS)
    tell("call_round_trip", round_trip, "ms", direct=taken["direct"] / CALLS)
    theirs = _beside(taken["gathered"], taken.get("fastmcp_gathered"))
    tell("ten_gathered_of_100_ms_p50", taken["gathered"], "ms", aim=GATHERED_AIM, **theirs)


def _beside(ours: float, theirs: float | None) -> dict[str, float]:
    """What FastMCP takes, and the ratio: that is alike on every machine, and under every load."""
    return {} if theirs is None else {"fastmcp": theirs, "of_fastmcp": ours / theirs}


def _ms(taken: Mapping[str, float]) -> dict[str, float]:
    return {name: seconds * 1e3 for name, seconds in taken.items()}


@dataclass(frozen=True, slots=True)
class Holdings:
    """What this process and its workers hold."""

    processes: int
    handles: int
    host_mib: float
    workers_mib: float

    @classmethod
    def now(cls) -> "Holdings":
        """All of it."""
        host = psutil.Process()
        workers = host.children(recursive=True)
        resident = sum(worker.memory_info().rss for worker in workers)
        return cls(len(workers), host.num_fds(), host.memory_info().rss / MIB, resident / MIB)


async def many(marks: Sequence[int]) -> None:
    """So many programs in a row, and what is held at each mark."""
    held: list[Holdings] = []
    async with side(FEW, checked=True) as made:
        for number in range(1, marks[-1] + 1):
            assert "299" not in await made.run(STEP)
            if number in marks:
                now = Holdings.now()
                held.append(now)
                beside = {"handles": now.handles, "host": now.host_mib, "workers": now.workers_mib}
                tell(f"processes_after_{number}_runs", now.processes, "processes", **beside)
    first, last = held[0], held[-1]
    tell("growth_of_processes", last.processes - first.processes, "processes", aim=0)
    tell("growth_of_handles", last.handles - first.handles, "handles", aim=0)
    tell("growth_of_host", last.host_mib - first.host_mib, "MiB", aim=GROWTH_MIB)
    tell("growth_of_workers", last.workers_mib - first.workers_mib, "MiB", aim=GROWTH_MIB)


async def measure(rounds: int, marks: Sequence[int], *, alone: bool) -> None:
    """All of it."""
    if alone:
        await trivial(rounds, {})
        await calls(rounds, {})
    else:
        async with fastmcp(made_tools(FEW)) as few:
            await trivial(rounds, {"fastmcp": partial(few, THEIR_TRIVIAL)})
        async with fastmcp(made_tools(MANY)) as most:
            theirs = {
                "fastmcp_sequential": partial(most, THEIR_CALL),
                "fastmcp_gathered": partial(most, THEIR_GATHER),
            }
            await calls(rounds, theirs)
    await many(marks)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--runs", type=int, default=MARKS[-1], help="programs in a row")
    parser.add_argument("--alone", action="store_true", help="leave FastMCP out")
    options = parser.parse_args()
    fits = [mark for mark in MARKS if mark < options.runs]
    anyio.run(partial(measure, options.rounds, [*fits, options.runs], alone=options.alone))
