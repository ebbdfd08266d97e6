"""What a probe saw: each listing, and whether they agree."""

from typing import Any

from rich.console import Group
from rich.text import Text

from toolcrib.catalog.probe import ProbedWalk, ProbeReport
from toolcrib.cli.exits import Exit
from toolcrib.cli.output import View
from toolcrib.cli.tables import BAD, DIM, GOOD, UNSURE, plain_table
from toolcrib.cli.terminal_text import clipped, one_line


def probe_view(report: ProbeReport) -> View:
    """A table of listings, then the verdict and what was odd."""
    table = plain_table(
        "connection", "requests", "seconds", "items", "outcome", right=frozenset({"items"})
    )
    for walk in report.walks:
        table.add_row(*_cells(walk))
    verdict = "all listings are equal" if report.consistent else "the listings are not all equal"
    head = f"{one_line(report.server)} {report.kind.label}: {verdict}"
    oddities = [
        Text(f"{one_line(it.code)}: {one_line(it.detail)}", UNSURE) for it in report.oddities
    ]
    shown = Group(table, Text(head, GOOD if report.consistent else BAD), *oddities)
    return View(shown, probe_document(report))


def probe_document(report: ProbeReport) -> dict[str, Any]:
    """The JSON form of a probe."""
    return {
        "server": report.server,
        "kind": report.kind.label,
        "era": report.era,
        "consistent": report.consistent,
        "walks": [_walk_document(walk) for walk in report.walks],
        "oddities": [{"code": it.code, "detail": it.detail} for it in report.oddities],
    }


def probe_exit(report: ProbeReport) -> Exit:
    """1 where the server disagrees with itself."""
    return Exit.FINE if report.consistent else Exit.FOUND


def _cells(walk: ProbedWalk) -> tuple[Text, ...]:
    if walk.snapshot is None:
        outcome = (Text("-"), Text(clipped(walk.failure, 100), BAD))
    else:
        outcome = (Text(str(len(walk.snapshot))), Text(walk.snapshot.digest[:10], DIM))
    start = (str(walk.connection), str(walk.requests), f"{walk.seconds:.2f}")
    return (*(Text(cell) for cell in start), *outcome)


def _walk_document(walk: ProbedWalk) -> dict[str, Any]:
    return {
        "connection": walk.connection,
        "requests": walk.requests,
        "seconds": walk.seconds,
        "items": None if walk.snapshot is None else len(walk.snapshot),
        "digest": None if walk.snapshot is None else walk.snapshot.digest,
        "failure": walk.failure,
    }
