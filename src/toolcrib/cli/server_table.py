"""The servers of a crib: what state they are in, and what they have."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from rich.text import Text

from toolcrib.catalog.access import ServerStatus
from toolcrib.catalog.reading import Reading
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


@dataclass(frozen=True, slots=True)
class ServerRow:
    """One configured server."""

    id: str
    state: str
    """Of its connection; or `disabled`, `unusable`, `outdated` as the configuration has it."""
    era: str = ""
    protocol: str = ""
    """The revision in use."""
    name: str = ""
    """What it calls itself."""
    version: str = ""
    counts: Mapping[str, int] | None = None
    """Items by kind, as far as catalogs are held."""
    age: float | None = None
    """Seconds since the oldest of them was received."""
    fresh: bool = False
    """Whether all of them are fresh."""
    trouble: str = ""


def server_row(status: ServerStatus, readings: Iterable[Reading]) -> ServerRow:
    """The row of a server, out of its status and what is held of it."""
    held = [it for it in readings if it.snapshot is not None]
    ages = [it.age for it in held if it.age is not None]
    facts = status.facts
    return ServerRow(
        id=status.id,
        state=status.state,
        era=facts.era if facts else "",
        protocol=facts.protocol_version if facts else "",
        name=facts.name if facts else "",
        version=facts.version if facts else "",
        counts={it.kind.label: len(it.snapshot) for it in held if it.snapshot is not None},
        age=max(ages, default=None),
        fresh=bool(held) and all(it.fresh for it in held),
        trouble=status.detail.removeprefix(f"{status.id}: "),
    )


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
