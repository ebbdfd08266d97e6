"""The servers of a crib: what state they are in, and what they have."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from rich.text import Text

from toolcrib.catalog.server_row import ServerRow
from toolcrib.cli.output import View
from toolcrib.cli.tables import BAD, DIM, GOOD, UNSURE, freshness, plain_table
from toolcrib.cli.terminal_text import clipped
from toolcrib.core.snapshot import Kind

_STATES: Final = {
    "ready": GOOD,
    "idle": DIM,
    "disabled": DIM,
    "unusable": BAD,
    "outdated": UNSURE,
    "slow_probe": BAD,
    "backoff": UNSURE,
    "connecting": UNSURE,
}
_KINDS: Final = tuple(kind.label for kind in Kind)
_WORDS: Final = 200
"""Characters of a trouble: its remedy stands at its end."""


def servers_view(rows: Sequence[ServerRow]) -> View:
    """A table of servers; columns of kinds that nobody has are left out."""
    kinds = [kind for kind in _KINDS if any((row.counts or {}).get(kind) for row in rows)]
    headers = ["server", "state", "protocol", *kinds, "catalog", "trouble"]
    table = plain_table(*headers, right=frozenset(kinds))
    for row in rows:
        counts = row.counts or {}
        table.add_row(
            Text(clipped(row.id, 40)),
            Text(row.state, _STATES.get(row.state, "")),
            Text(clipped(f"{row.protocol} {row.era}".strip(), 30)),
            *(Text(str(counts[kind]) if kind in counts else "-") for kind in kinds),
            freshness(row.age, fresh=row.fresh),
            Text(clipped(row.trouble, _WORDS), BAD if row.trouble else ""),
        )
    shown = table if rows else Text("No servers are configured.", DIM)
    return View(shown, {"servers": [{**asdict(row), "counts": row.counts or {}} for row in rows]})
