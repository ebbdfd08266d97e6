"""How good the search is beside that of FastMCP: the table of docs/search.md, as it stands there.

    make bench BENCH=quality ARGS=FOLDER

FOLDER holds data sets as `toolcrib bench search` takes them. Each cell has a mean and its 95 %
interval; in bold what is significantly above FastMCP over the same queries, p < .05 by a paired
bootstrap. The last column has the p of each metric. `BENCH=search` prints the same with differences
and latencies, and takes options.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import anyio

from fastmcp_rankings import fastmcp_rankings
from ladder import warmed
from rankings import SETS, read
from searched import searched
from toolcrib.discovery.evaluation.comparison import Comparison, Judged, compare
from toolcrib.discovery.evaluation.metrics import LABELS
from toolcrib.discovery.evaluation.ranking import Rankings, ranked
from toolcrib.discovery.evaluation.resampling import Estimate
from toolcrib.discovery.evaluation.tasks import DataSet
from toolcrib.settings import SearchMethod

METHODS: tuple[SearchMethod, ...] = ("lexical", "hybrid")


def share(value: float) -> str:
    """Of 1, as the page writes it."""
    return f"{value:.3f}".removeprefix("0")


def chance(p: float) -> str:
    """A p; a small one is no more than a bound."""
    return "<.001" if p < 0.001 else share(p)


def cell(estimate: Estimate, *, is_above: bool) -> str:
    """A mean with its interval."""
    mean = f"**{share(estimate.mean)}**" if is_above else share(estimate.mean)
    return f"{mean} ({share(estimate.low)} to {share(estimate.high)})"


def row(found: Comparison, judged: Judged) -> Iterator[str]:
    """The cells of one search on one set."""
    differences = judged.differences or {}
    yield f"`{found.name}`"
    yield f"`{judged.name}`" if differences else judged.name
    for label in LABELS:
        is_above = bool(differences) and differences[label].verdict == "above"
        yield cell(judged.scores[label], is_above=is_above)
    yield ", ".join(chance(differences[label].p) for label in LABELS if differences)


async def compared(known: DataSet) -> Comparison:
    """Everybody's rankings of one set."""
    theirs = fastmcp_rankings(known)
    async with searched(known) as over:
        await warmed(over)
        ours = [await ranked(over.ready.search, known, it, time.perf_counter) for it in METHODS]
    assert tuple(it.name for it in ours) == METHODS, [it.notes for it in ours]
    return compare(known, ours, Rankings(theirs["name"], theirs["rankings"]))


async def measure(folder: Path) -> None:
    """All sets that are there."""
    print(f"| set | search | {' | '.join(LABELS)} | p |")
    print("|---|---|" + "---|" * (len(LABELS) + 1))
    for name in SETS:
        if (folder / name).is_dir():
            found = await compared(read(folder, name))
            for judged in found.rows:
                print(f"| {' | '.join(row(found, judged))} |", flush=True)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    anyio.run(measure, parser.parse_args().folder)


if __name__ == "__main__":
    main()
