"""`toolcrib bench search`: how good the search is on data sets with known answers."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import anyio
from anyio import to_thread

from toolcrib.cli.evaluation.rankings_file import RankingsFile
from toolcrib.cli.evaluation.score_table import scores_view
from toolcrib.cli.evaluation.set_folder import read_set, set_names
from toolcrib.cli.exits import Exit, UsageError
from toolcrib.cli.output import Output
from toolcrib.discovery.evaluation.comparison import Comparison, compare
from toolcrib.discovery.evaluation.enlarging import enlarged
from toolcrib.discovery.evaluation.metrics import LABELS
from toolcrib.discovery.evaluation.ranking import ranked
from toolcrib.discovery.evaluation.tasks import DataSet
from toolcrib.discovery.hits import ToolSearch
from toolcrib.settings import SearchMethod

OpenSearch = Callable[[DataSet], AbstractAsyncContextManager[ToolSearch]]
"""A search over the catalog of a data set, for as long as it is open."""


@dataclass(frozen=True, slots=True)
class Trials:
    """What is to be measured."""

    folder: Path
    sets: tuple[str, ...] = ()
    """None: all that have queries."""
    methods: tuple[SearchMethod, ...] = ("auto",)
    distractors: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    """None: the tools of each set and no others."""
    baseline: Path | None = None
    progress: bool = False
    """Whether each step is told on standard error."""


def chosen_sets(trials: Trials, output: Output) -> list[DataSet]:
    """The data sets in the sizes that are to be measured.

    Raises:
        UsageError: A set is not there, has a faulty line, no queries, or not enough distractors.
    """
    if trials.distractors and not trials.sizes:
        raise UsageError("--distractors needs --size", remedy="say how many tools there should be")
    names = trials.sets or set_names(trials.folder)[0]
    known = [_whole(trials.folder, name, output) for name in names]
    for each in known:
        if not each.tasks:
            raise UsageError(
                f"the data set {each.name!r} has no queries", remedy="name it with --distractors"
            )
    if not trials.sizes:
        return known
    others = [_whole(trials.folder, name, output) for name in trials.distractors]
    return [_grown(each, others, size) for each, size in product(known, trials.sizes)]


async def bench_search(trials: Trials, output: Output, open_search: OpenSearch) -> Exit:
    """Measures and shows; exit code 1 where nDCG@10 is significantly below the baseline's."""
    baseline = None if trials.baseline is None else RankingsFile(trials.baseline)
    known = chosen_sets(trials, output)
    compared: list[Comparison] = []
    with output.progress(f"searching in {len(known)} catalog{'s' * (len(known) != 1)}"):
        for each in known:
            other = None if baseline is None else baseline.rankings(each)
            _tell(trials, output, f"{each.name}: taking in {len(each.tools):,} tools")
            async with open_search(each) as search:
                found = [
                    await ranked(search, each, method, anyio.current_time)
                    for method in _told(trials, output, each)
                ]
            _tell(trials, output, f"{each.name}: comparing")
            work = partial(compare, each, found, other)
            compared.append(await to_thread.run_sync(work, abandon_on_cancel=True))
    output.show(scores_view(compared))
    return Exit.FOUND if any(map(_is_below, compared)) else Exit.FINE


def _is_below(comparison: Comparison) -> bool:
    main = LABELS[0]
    told = (row.differences[main] for row in comparison.rows if row.differences is not None)
    return any(difference.verdict == "below" for difference in told)


def _whole(folder: Path, name: str, output: Output) -> DataSet:
    """A set of which every line can be used: one that is left out would change the figures."""
    known, problems = read_set(folder, name)
    if problems:
        output.tell(problems)
        count = f"{len(problems)} line{'s' * (len(problems) != 1)}"
        raise UsageError(
            f"the data set {name!r} has {count} that cannot be used",
            remedy="put right what is told above",
            details={"problems": [f"{each.place}: {each.message}" for each in problems]},
        )
    return known


def _grown(known: DataSet, others: Sequence[DataSet], size: int) -> DataSet:
    try:
        return enlarged(known, others, size)
    except ValueError as error:
        message = f"there is no catalog of {size:,} tools: {error}"
        raise UsageError(message, remedy="see --size and --distractors") from error


def _told(trials: Trials, output: Output, known: DataSet) -> Iterable[SearchMethod]:
    for method in trials.methods:
        _tell(trials, output, f"{known.name}: {len(known.tasks):,} queries, method {method}")
        yield method


def _tell(trials: Trials, output: Output, step: str) -> None:
    if trials.progress:
        output.complain_whole(step)
