"""What is measured: `bench search`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, get_args

import typer

from toolcrib.cli.commands.options import AsJson
from toolcrib.cli.commands.running import run_verb
from toolcrib.cli.exits import Exit, UsageError
from toolcrib.cli.output import Output
from toolcrib.discovery.evaluation.metrics import DEFINITIONS
from toolcrib.settings import SearchMethod

if TYPE_CHECKING:
    from toolcrib.cli.verb_bench_search import Trials

_METRICS: Final = "\n\n".join(f"{label}: {text}" for label, text in DEFINITIONS.items())

SEARCH_HELP: Final = f"""Measure the search on data sets with known answers.

DIR holds one folder for each data set. <set>/tools.jsonl: one tool a line, {{"id", "server",
"name", "description"?, "inputSchema"?, "server_title"?, "server_description"?}}.
<set>/queries.jsonl: one query a line, {{"qid", "query", "gold_groups": [[tool ids]]}}; a group is
one tool that is needed, and any member of it serves: it counts once, at the rank of the first. All
servers of a set are one catalog.

{_METRICS}

Brackets hold 95 % confidence intervals. With --baseline each search is also compared with other
rankings of the same queries: the difference, with its two-sided p, is of a paired bootstrap with
10,000 resamples that are the same in every run. The latencies are those of one search for 50 hits,
one at a time, in this process; p50 is the median.

A file of --baseline is {{"name", "sets": {{"<set>": {{"rankings": {{"<qid>": [tool ids]}},
"seconds"?: [of each answer]}}}}}}, where a set that --size enlarged is called <set>@<size>.

Exit code 1 where a search is significantly (p < .05) below the baseline by nDCG@10.
"""

bench = typer.Typer(
    name="bench", no_args_is_help=True, rich_markup_mode=None, help="Measure toolcrib itself."
)


@bench.callback()
def _measuring() -> None:
    """A group with one command stays a group."""


@bench.command("search", help=SEARCH_HELP)
def bench_search(
    folder: Annotated[Path, typer.Argument(help="A folder of data sets.", metavar="DIR")],
    sets: Annotated[
        str | None,
        typer.Option(metavar="SET,…", help="Only these data sets; else all with queries."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(metavar="METHOD,…", help="auto, lexical, semantic, hybrid or regex."),
    ] = "auto",
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Other rankings to compare with.")
    ] = None,
    distractors: Annotated[
        str | None,
        typer.Option(metavar="SET,…", help="Data sets whose servers make catalogs larger."),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            metavar="COUNT,…",
            help="Tools of each catalog, filled up with whole servers of the distractors.",
        ),
    ] = None,
    progress: Annotated[
        bool, typer.Option("--progress", help="Tell each step on standard error.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Shows `SEARCH_HELP`, which says what is measured."""
    from toolcrib.cli.catalog_search import open_search
    from toolcrib.cli.verb_bench_search import bench_search as run

    async def work(output: Output) -> Exit:
        trials = trials_of(folder, sets, method, baseline, distractors, size, progress)
        return await run(trials, output, open_search)

    run_verb(as_json, work)


def trials_of(
    folder: Path,
    sets: str | None,
    method: str,
    baseline: Path | None,
    distractors: str | None,
    size: str | None,
    progress: bool,
) -> "Trials":
    """What the options ask to be measured.

    Raises:
        UsageError: One of them cannot be understood.
    """
    from toolcrib.cli.verb_bench_search import Trials

    methods: tuple[SearchMethod, ...] = tuple(_method(word) for word in _words(method))
    if not methods:
        raise UsageError("--method names none", remedy="write lexical,hybrid")
    return Trials(
        folder,
        sets=_words(sets),
        methods=methods,
        distractors=_words(distractors),
        sizes=tuple(_size(word) for word in _words(size)),
        baseline=baseline,
        progress=progress,
    )


def _words(listed: str | None) -> tuple[str, ...]:
    words = (word.strip() for word in (listed or "").split(","))
    return tuple(dict.fromkeys(word for word in words if word))


def _method(word: str) -> SearchMethod:
    known: dict[str, SearchMethod] = {each: each for each in get_args(SearchMethod)}
    del known["subagent"]  # it would be measured without its model
    if word not in known:
        raise UsageError(f"there is no method {word!r}", remedy=f"one of {', '.join(known)}")
    return known[word]


def _size(word: str) -> int:
    if not word.isdecimal() or int(word) == 0:
        raise UsageError(f"--size {word!r} is no number of tools", remedy="write 3000,10000")
    return int(word)
