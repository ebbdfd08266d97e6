"""Finding tools in catalogs of 527 to 20,000 tools: how well, how fast, how soon after a change.

    make bench BENCH=discovery ARGS=FOLDER

FOLDER holds data sets as `toolcrib bench search` takes them, among them `livemcp_steps`, `livemcp`
and, as distractors, `toucan_catalog` and `stabletoolbench`. Beside our search stands that of
FastMCP over the same tools, measured in the same run.
"""

import argparse
import gc
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import anyio
import psutil

from fastmcp_rankings import fastmcp_rankings
from figures import median, seconds_of, tell
from made import made_tool
from rankings import mean_scores, read
from searched import searched
from toolcrib.calls.call import Requester
from toolcrib.discovery.evaluation.catalogs import SetCatalogs
from toolcrib.discovery.evaluation.enlarging import enlarged
from toolcrib.discovery.evaluation.ranking import Rankings, ranked
from toolcrib.discovery.evaluation.tasks import DataSet, KnownTool
from toolcrib.discovery.hits import Query
from toolcrib.settings import SearchMethod

SIZES = (527, 3_000, 10_000, 20_000)
MANY = 10_000
DISTRACTORS = ("toucan_catalog", "stabletoolbench")
METHODS: tuple[SearchMethod, ...] = ("lexical", "hybrid")
AIMS_MS = {"lexical": 3.0, "hybrid": 15.0}
UPDATE_AIM_MS = 30.0
CHANGING = 50
"""Tools of the server that changes."""
MIB = 1 << 20


def ms(seconds: Sequence[float]) -> tuple[float, float]:
    """The median and the slowest of a hundred."""
    return median(seconds) * 1e3, sorted(seconds)[int(len(seconds) * 0.99)] * 1e3


async def quality(known: DataSet, *, beside: bool) -> None:
    """How well both methods rank, and how long a search for fifty hits takes."""
    foreign: dict[str, float] = {}
    other_ms = 0.0
    if beside:
        found = fastmcp_rankings(known)
        theirs = mean_scores(known, Rankings(found["name"], found["rankings"]))
        foreign = {"ndcg_10": theirs.ndcg_10, "recall_5": theirs.recall_5}
        other_ms = median(found["seconds"]) * 1e3
    name, _, _ = known.name.partition("@")
    size = len(known.tools)
    async with searched(known) as over:
        for method in METHODS:
            found = await ranked(over.ready.search, known, method, time.perf_counter)
            assert found.name == method, found.notes
            ours = mean_scores(known, found)
            for metric in ("ndcg_10", "recall_5"):
                more = {"fastmcp": foreign[metric]} if beside else {}
                value = getattr(ours, metric)
                tell(f"{name}_{method}_{metric}", value, "mean", tools=size, **more)
            if beside:
                p50, p99 = ms(found.seconds)
                tell(f"search_{method}_p50", p50, "ms", tools=size, p99=p99, fastmcp=other_ms)


async def handler(known: DataSet, queries: Sequence[str]) -> None:
    """The time inside of `search_tools`, from its arguments to the text of its answer.

    Each query comes once: the vector of one that was asked before is remembered.
    """
    for method in METHODS:
        async with searched(known, usual=method, meaning=method == "hybrid") as over:
            taken: list[float] = []
            for query in queries:
                call = over.meta.call("search_tools", {"query": query}, Requester())
                taken.append(await seconds_of(lambda call=call: call))
            p50, p99 = ms(taken)
            size = {"tools": len(known.tools), "p99": p99}
            tell(f"search_tools_{method}_p50", p50, "ms", aim=AIMS_MS[method], **size)


def changing(revision: int) -> list[KnownTool]:
    """The tools of the server that changes: in each revision all of them are described anew."""
    definitions = [made_tool(number, revision) for number in range(CHANGING)]
    marked = {**definitions[0], "description": f"Calibrates the {word(revision)} sextant."}
    return [
        KnownTool(f"changing::{it['name']}", "changing", it["name"], it)
        for it in (marked, *definitions[1:])
    ]


def word(revision: int) -> str:
    """A word that no other revision has."""
    return "quux" + "".join(chr(ord("a") + int(digit)) for digit in str(revision))


async def updates(known: DataSet, rounds: int) -> None:
    """From a published change to an index that has it, and to the first search that finds it.

    With meaning, until all changed tools are embedded: words find them long before that.
    """
    rooms = [tool for tool in known.tools if tool.server != "changing"]
    grown = replace(known, tools=(*rooms, *changing(0)))
    revisions = count(1)
    size: dict[str, float] = {"tools": len(grown.tools), "changed": CHANGING}
    async with searched(grown) as over:

        async def embedded() -> float:
            over.catalogs.replace("changing", changing(next(revisions)))
            return await seconds_of(over.ready.caught_up)

        # Each description is a new one, so nothing is found among the vectors that are kept.
        whole = await median_of(embedded, rounds)
        tell("index_update_with_all_embedded_p50", whole * 1e3, "ms", **size)
    async with searched(grown, meaning=False) as over:

        async def indexed() -> float:
            over.catalogs.replace("changing", changing(next(revisions)))
            return await seconds_of(over.ready.index.settled)

        async def found() -> float:
            revision = next(revisions)
            tools = changing(revision)
            began = time.perf_counter()
            over.catalogs.replace("changing", tools)
            hits = (await over.ready.search.find(Query(word(revision), method="lexical"))).hits
            took = time.perf_counter() - began
            assert [hit.server for hit in hits] == ["changing"]
            return took

        update = await median_of(indexed, rounds)
        tell("index_update_of_one_server_p50", update * 1e3, "ms", aim=UPDATE_AIM_MS, **size)
        tell("change_to_found_p50", await median_of(found, rounds) * 1e3, "ms", **size)


async def median_of(work: Callable[[], Awaitable[float]], rounds: int) -> float:
    return median([await work() for _ in range(rounds)])


async def memory(known: DataSet) -> None:
    """What index and vectors take, beside the catalog; the model of meaning is in the second."""
    catalogs = SetCatalogs(known)
    before = resident()
    async with searched(known, meaning=False):
        words = resident()
    async with searched(known):
        both = resident()
    size = {"tools": len(known.tools), "servers": len(catalogs.server_ids())}
    tell("memory_of_words", (words - before) / MIB, "MiB", **size)
    tell("memory_of_words_and_meaning", (both - before) / MIB, "MiB", **size)


def resident() -> int:
    """Bytes of this process that are in memory."""
    gc.collect()
    return psutil.Process().memory_info().rss


async def measure(folder: Path, rounds: int) -> None:
    """All of it."""
    steps, tasks = read(folder, "livemcp_steps"), read(folder, "livemcp")
    others = [read(folder, name) for name in DISTRACTORS]
    many = enlarged(steps, others, MANY)
    await memory(many)
    await updates(many, rounds)
    await handler(many, [task.query for task in (*steps.tasks, *tasks.tasks)])
    for size in SIZES:
        await quality(enlarged(steps, others, size), beside=True)
        await quality(enlarged(tasks, others, size), beside=False)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    anyio.run(measure, options.folder, options.rounds)


if __name__ == "__main__":
    main()
