"""Comparisons of searches as tables, and as a document."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from toolcrib.cli.output import View
from toolcrib.cli.tables import BAD, DIM, GOOD, UNSURE, plain_table
from toolcrib.cli.terminal_text import one_line
from toolcrib.discovery.evaluation.comparison import Comparison, Judged
from toolcrib.discovery.evaluation.metrics import DEFINITIONS, LABELS
from toolcrib.discovery.evaluation.resampling import RESAMPLES, SEED, Difference, Estimate

_COLOURS = {"above": GOOD, "below": BAD, "even": DIM}


def scores_view(comparisons: Sequence[Comparison]) -> View:
    """A table for each data set."""
    parts = [part for each in comparisons for part in _parts(each)]
    legend = "95 % confidence in brackets; p two-sided, of a paired bootstrap; milliseconds."
    document = {
        "resamples": RESAMPLES,
        "seed": SEED,
        "metrics": dict(DEFINITIONS),
        "sets": [_document(each) for each in comparisons],
    }
    return View(Group(*parts, Text(legend, DIM)), document)


def _parts(comparison: Comparison) -> list[RenderableType]:
    sizes = (
        f": {comparison.tasks:,} queries, {comparison.tools:,} tools on {comparison.servers:,} "
        f"server{'s' * (comparison.servers != 1)}"
    )
    table = plain_table("search", *LABELS, "p50", "p99", right=frozenset({"p50", "p99"}))
    notes: list[RenderableType] = []
    for row in comparison.rows:
        scores = (Text(_estimate(row.scores[label])) for label in LABELS)
        table.add_row(Text(one_line(row.name), "bold"), *scores, _ms(row.p50), _ms(row.p99))
        if row.differences is not None:
            told = (_difference(row.differences[label]) for label in LABELS)
            table.add_row(Text("  difference", DIM), *told)
        notes += [Text(f"note: {row.name}: {one_line(note)}", UNSURE) for note in row.notes]
    return [Text.assemble((one_line(comparison.name), "bold"), sizes), table, *notes, Text()]


def _estimate(found: Estimate) -> str:
    return f"{_short(found.mean)} [{_short(found.low)} {_short(found.high)}]"


def _difference(found: Difference) -> Text:
    p = "p<.001" if found.p < 0.001 else f"p={_short(found.p)}"  # noqa: PLR2004 - as it is written
    return Text(f"{found.mean:+.3f} {p}".replace("0.", ".", 1), _COLOURS[found.verdict])


def _short(number: float) -> str:
    """Three decimals, without the zero before the point."""
    return f"{number:.3f}".removeprefix("0")


def _ms(number: float | None) -> str:
    return "" if number is None else f"{number:.3g}" if number < 100 else f"{number:.0f}"  # noqa: PLR2004


def _document(comparison: Comparison) -> dict[str, Any]:
    return {**asdict(comparison), "rows": [_row(each) for each in comparison.rows]}


def _row(row: Judged) -> dict[str, Any]:
    differences = None
    if row.differences is not None:
        differences = {
            label: {**asdict(each), "verdict": each.verdict}
            for label, each in row.differences.items()
        }
    return {
        "name": row.name,
        "scores": {label: asdict(each) for label, each in row.scores.items()},
        "differences": differences,
        "milliseconds": {"p50": row.p50, "p99": row.p99},
        "notes": list(row.notes),
    }
