"""Data sets of a folder, and what rankings of their queries are worth on the whole."""

import statistics
from pathlib import Path

from toolcrib.cli.evaluation.set_folder import read_set
from toolcrib.discovery.evaluation.metrics import Scores, score
from toolcrib.discovery.evaluation.ranking import Rankings
from toolcrib.discovery.evaluation.tasks import DataSet

SETS = (
    "livemcp",
    "livemcp_steps",
    "livemcp_zh",
    "metatool",
    "stabletoolbench",
    "bfcl_live_multiple",
)
"""Those with queries, in the order of docs/search.md."""


def read(folder: Path, name: str) -> DataSet:
    """One set; what is wrong with its files ends the run."""
    known, problems = read_set(folder, name)
    assert not problems, problems[0]
    return known


def mean_scores(known: DataSet, rankings: Rankings) -> Scores:
    """The means over all tasks."""
    scores = [score(rankings.by_task[task.qid], task.needed).values() for task in known.tasks]
    return Scores(*map(statistics.fmean, zip(*scores, strict=True)))
