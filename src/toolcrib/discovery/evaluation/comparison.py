"""Rankings of one data set beside each other: scores, differences, time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolcrib.discovery.evaluation.metrics import LABELS, Scores, score
from toolcrib.discovery.evaluation.ranking import Rankings
from toolcrib.discovery.evaluation.resampling import (
    RESAMPLES,
    SEED,
    Bootstrap,
    Difference,
    Estimate,
)
from toolcrib.discovery.evaluation.tasks import DataSet


@dataclass(frozen=True, slots=True)
class Judged:
    """What one search is worth on one data set."""

    name: str
    scores: Mapping[str, Estimate]
    """By the label of a metric."""
    differences: Mapping[str, Difference] | None = None
    """From the baseline; None for itself, and where there is none."""
    p50: float | None = None
    """Milliseconds of one search; None where nobody measured."""
    p99: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """All searches on one data set."""

    name: str
    tools: int
    servers: int
    tasks: int
    rows: tuple[Judged, ...]
    """The baseline first."""


def compare(
    known: DataSet,
    rankings: Sequence[Rankings],
    baseline: Rankings | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Comparison:
    """Judges rankings of the same tasks, all over the same resamples.

    A task without a ranking is KeyError; a data set without tasks, ValueError.
    """
    everybody = [baseline, *rankings] if baseline is not None else list(rankings)
    scores = [_scores(known, each) for each in everybody]
    columns = {
        f"{place} {label}": [each.values()[metric] for each in scored]
        for place, scored in enumerate(scores)
        for metric, label in enumerate(LABELS)
    }
    bootstrap = Bootstrap(columns, resamples=resamples, seed=seed)
    rows = tuple(
        Judged(
            name=each.name,
            scores={label: bootstrap.estimate(f"{place} {label}") for label in LABELS},
            differences=None
            if baseline is None or each is baseline
            else {
                label: bootstrap.difference(f"{place} {label}", f"0 {label}") for label in LABELS
            },
            p50=_percentile(each.seconds, 50),
            p99=_percentile(each.seconds, 99),
            notes=each.notes,
        )
        for place, each in enumerate(everybody)
    )
    return Comparison(known.name, len(known.tools), known.servers, len(known.tasks), rows)


def _scores(known: DataSet, rankings: Rankings) -> list[Scores]:
    return [score(rankings.by_task[task.qid], task.needed) for task in known.tasks]


def _percentile(seconds: Sequence[float], percent: int) -> float | None:
    """Of the nearest rank, in milliseconds."""
    if not seconds:
        return None
    rank = -(-len(seconds) * percent // 100)
    return sorted(seconds)[rank - 1] * 1e3
