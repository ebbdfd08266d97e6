"""How a figure is taken and told: medians of many, one JSON line each, with its aim beside it."""

import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

Work = Callable[[], object]
Waiting = Callable[[], Awaitable[object]]

BATCH = 200
"""Runs between two looks at the clock, of work that is shorter than such a look."""


def tell(
    figure: str, value: float, unit: str, *, aim: float | None = None, **beside: float
) -> None:
    """Prints one figure; `aim` is what it must not exceed, `beside` what it is compared with."""
    line: dict[str, Any] = {"figure": figure, "value": _rounded(value), "unit": unit}
    if aim is not None:
        line |= {"aim": aim, "met": value <= aim}
    line |= {name: _rounded(one) for name, one in beside.items()}
    print(json.dumps(line), flush=True)


def _rounded(value: float) -> float:
    """Four significant digits: more would pretend. Counts stay as they are."""
    return value if isinstance(value, int) else float(f"{value:.4g}")


def median(samples: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(samples)


def seconds(work: Work) -> float:
    """How long one run takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


async def seconds_of(work: Waiting) -> float:
    """How long one run takes, waiting included."""
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


def microseconds_each(work: Work, batches: int) -> float:
    """The median over batches of what one run takes: for work too short for the clock."""
    taken: list[float] = []
    for _ in range(batches):
        began = time.perf_counter_ns()
        for _ in range(BATCH):
            work()
        taken.append((time.perf_counter_ns() - began) / BATCH / 1e3)
    return median(taken)


async def microseconds_each_of(work: Waiting, batches: int) -> float:
    """The same for work that may wait."""
    taken: list[float] = []
    for _ in range(batches):
        began = time.perf_counter_ns()
        for _ in range(BATCH):
            await work()
        taken.append((time.perf_counter_ns() - began) / BATCH / 1e3)
    return median(taken)


def in_turns(works: Mapping[str, Work], rounds: int) -> dict[str, float]:
    """Medians in seconds; the works take turns, so that a busy machine hits all of them alike."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            taken[name].append(seconds(work))
    return {name: median(samples) for name, samples in taken.items()}


async def in_turns_of(
    works: Mapping[str, Waiting], rounds: int, *, rest: float = 0, at_once: Collection[str] = ()
) -> dict[str, float]:
    """The same for work that may wait; each after a rest, but for some that follow at once."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            await asyncio.sleep(0 if name in at_once else rest)
            taken[name].append(await seconds_of(work))
    return {name: median(samples) for name, samples in taken.items()}
