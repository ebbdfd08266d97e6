"""Known tools asked for in the ways that searches miss: how often one is among the first five.

    make bench BENCH=known_items ARGS=FOLDER

FOLDER holds data sets as `toolcrib bench search` takes them: the tools of `livemcp_steps` are asked
for, `toucan_catalog` and `stabletoolbench` make the catalog larger. Queries are made from the names
of tools (`item_queries.py`), or stand in tables beside made-up tools (`planted_items.py`). Beside
our search stands that of FastMCP over the same tools and queries, measured in the same run.
"""

import argparse
import statistics
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import anyio

from discovery import DISTRACTORS, METHODS
from fastmcp_rankings import fastmcp_rankings
from figures import tell
from item_queries import (
    KINDS,
    asked_as_they_are,
    asked_for_planted,
    asked_in_words,
    undescribed,
)
from planted_items import Planted, planted_as_they_are, planted_in_chinese
from rankings import read
from searched import searched
from toolcrib.discovery.evaluation.enlarging import enlarged
from toolcrib.discovery.evaluation.metrics import score
from toolcrib.discovery.evaluation.ranking import ranked
from toolcrib.discovery.evaluation.tasks import DataSet, Task

SIZES = (527, 10_000)
EACH = 40
"""Queries of one kind that are made from names, at most."""

ByTask = Mapping[str, tuple[str, ...]]


def asked(known: DataSet, others: list[DataSet], size: int, each: int) -> tuple[DataSet, DataSet]:
    """The catalog as it is, and the one without descriptions, each with its queries.

    They have so many tools, or where that is more the known and the planted ones.
    """

    def catalog(over: DataSet, planted: tuple[Planted, ...]) -> DataSet:
        large = enlarged(over, others, max(size - len(planted), len(over.tools)))
        return replace(large, tools=(*large.tools, *(it.tool for it in planted)))

    bare = undescribed(known)
    plain, chinese = planted_as_they_are(), planted_in_chinese()
    one, other = catalog(known, plain), catalog(bare, chinese)
    tasks = (*asked_as_they_are(known, one, each), *asked_for_planted(plain, one))
    in_words = (*asked_in_words(bare, other, each), *asked_for_planted(chinese, other))
    return replace(one, tasks=tasks), replace(other, tasks=in_words)


async def rankings(known: DataSet, options: argparse.Namespace) -> dict[str, ByTask]:
    """By who ranked: the answers of our methods, and of FastMCP."""
    found: dict[str, ByTask] = {}
    async with searched(known, meaning=not options.words, vectors=options.vectors) as over:
        for method in ("lexical",) if options.words else METHODS:
            ours = await ranked(over.ready.search, known, method, time.perf_counter)
            assert ours.name == method, ours.notes
            found[method] = ours.by_task
    if not options.alone:
        found["fastmcp"] = fastmcp_rankings(known)["rankings"]
    return found


def hit(task: Task, by_task: ByTask) -> float:
    """1 where a tool that serves is among the first five, else 0."""
    return score(by_task[task.qid], task.needed).recall_5


def kind_of(task: Task) -> str:
    kind, _, _ = task.qid.partition(" ")
    return kind


async def measure(options: argparse.Namespace) -> None:
    """A line for each kind and size; with `--missed` each query that words do not answer."""
    known = read(options.folder, "livemcp_steps")
    others = [read(options.folder, name) for name in DISTRACTORS]
    for size in options.sizes:
        for whole in asked(known, others, size, options.each):
            chosen = tuple(task for task in whole.tasks if kind_of(task) in options.kinds)
            if not chosen:
                continue
            catalog = replace(whole, tasks=chosen)
            found = await rankings(catalog, options)
            for kind in dict.fromkeys(map(kind_of, chosen)):
                tasks = [task for task in chosen if kind_of(task) == kind]
                means = {
                    who: statistics.fmean(hit(task, by_task) for task in tasks)
                    for who, by_task in found.items()
                }
                counts = {"tools": len(catalog.tools), "queries": len(tasks)}
                tell(kind, means.pop("lexical"), "R@5", **means, **counts)
                for task in tasks if options.missed else ():
                    if not hit(task, found["lexical"]):
                        first = ", ".join(found["lexical"][task.qid][:3])
                        wanted = ", ".join(sorted(task.needed[0])[:3])
                        print(f"  {task.query!r} is for {wanted}; first: {first}")


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--kinds", choices=KINDS, nargs="+", default=KINDS)
    parser.add_argument("--each", type=int, default=EACH, help="queries of a kind, at most")
    parser.add_argument("--alone", action="store_true", help="without FastMCP")
    parser.add_argument("--words", action="store_true", help="without meaning")
    parser.add_argument("--vectors", type=Path, help="a file that keeps vectors for later runs")
    parser.add_argument("--missed", action="store_true", help="show what words do not find")
    anyio.run(measure, parser.parse_args())


if __name__ == "__main__":
    main()
