"""What definitions cost a model: all of them, and those that it is shown."""

from typing import Any

from rich.console import Group
from rich.text import Text

from toolcrib.cli.output import View
from toolcrib.cli.tables import DIM, UNSURE, plain_table
from toolcrib.cli.terminal_text import clipped, one_line
from toolcrib.discovery.exposing.report import ExposureReport


def tokens_view(report: ExposureReport) -> View:
    """A row for each server, the most expensive one first, and what decides."""
    table = plain_table("server", "all", "shown", right=frozenset({"all", "shown"}))
    for server in sorted(report.full, key=lambda each: (-report.full[each], each)):
        shown = report.exposed.get(server, 0)
        table.add_row(
            Text(clipped(server, 40)),
            Text(f"{report.full[server]:,}"),
            Text(f"{shown:,}", "" if shown else DIM),
        )
    table.add_row(Text("meta-tools", DIM), Text("-", DIM), Text(f"{report.meta:,}"))
    table.add_section()
    table.add_row(
        Text("together", "bold"),
        Text(f"{report.full_tokens:,}", "bold"),
        Text(f"{report.exposed_tokens:,}", "bold"),
    )
    return View(Group(table, *_words(report)), _document(report))


def _words(report: ExposureReport) -> list[Text]:
    counted = "exactly" if report.exact else "estimated"
    words = [
        Text(f"exposure {report.exposure}: {report.why}"),
        Text(f"tokens by {report.counter}, {counted}", DIM),
    ]
    if report.pinned.names:
        words.append(Text(f"pinned: {', '.join(map(one_line, report.pinned.names))}"))
    if report.pinned.beyond:
        beyond = ", ".join(map(one_line, report.pinned.beyond))
        words.append(Text(f"pinned, and beyond the budget of pinned_tokens: {beyond}", UNSURE))
    return words


def _document(report: ExposureReport) -> dict[str, Any]:
    servers = {
        server: {"full": tokens, "exposed": report.exposed.get(server, 0)}
        for server, tokens in report.full.items()
    }
    return {
        "wanted": report.wanted,
        "exposure": report.exposure,
        "why": report.why,
        "threshold": {"up": report.threshold.up, "down": report.threshold.down},
        "counter": report.counter,
        "exact": report.exact,
        "full": report.full_tokens,
        "exposed": report.exposed_tokens,
        "meta": report.meta,
        "servers": servers,
        "pinned": list(report.pinned.names),
        "beyond": list(report.pinned.beyond),
    }
