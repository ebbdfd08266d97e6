"""Tools, prompts, resources and templates as a list."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

from rich.text import Text

from toolcrib.catalog.reading import Reading
from toolcrib.cli.output import View
from toolcrib.cli.tables import DIM, UNSURE, freshness, plain_table
from toolcrib.cli.terminal_text import clipped
from toolcrib.core.snapshot import Kind

_WORDS: int = 72


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One definition."""

    server: str
    name: str
    """The exposed name, the URI or the template."""
    key: str
    """The same as its server calls it."""
    title: str = ""
    description: str = ""
    fresh: bool = False
    age: float | None = None
    notes: tuple[str, ...] = ()
    """What was repaired or is odd."""


def item_rows(
    readings: Iterable[Reading], exposed: Callable[[str, str], str]
) -> tuple[ItemRow, ...]:
    """A row for each item of some catalogs; `exposed(server, key)` is the name hosts see."""
    return tuple(
        ItemRow(
            server=reading.server,
            name=exposed(reading.server, item.key),
            key=item.key,
            title=_text(item.definition.get("title")),
            description=_text(item.definition.get("description")),
            fresh=reading.fresh,
            age=reading.age,
            notes=item.notes,
        )
        for reading in readings
        if reading.snapshot is not None
        for item in reading.snapshot.items
    )


def items_view(kind: Kind, rows: Sequence[ItemRow]) -> View:
    """A table of definitions; notes have a column where there are any."""
    noted = any(row.notes for row in rows)
    table = plain_table("server", "name", "description", "catalog", *(["notes"] if noted else []))
    table.columns[1].overflow = "fold"  # a name that is cut cannot be called
    for row in rows:
        notes = [Text(clipped("; ".join(row.notes), _WORDS), UNSURE)] if noted else []
        table.add_row(
            Text(clipped(row.server, 40)),
            Text(clipped(row.name, 200), "bold"),
            Text(clipped(_described(row), _WORDS)),
            freshness(row.age, fresh=row.fresh),
            *notes,
        )
    shown = table if rows else Text(f"There are no {kind.label}.", DIM)
    return View(shown, {kind.label: [asdict(row) for row in rows]})


def _described(row: ItemRow) -> str:
    title = row.title if row.title.casefold() != row.key.casefold() else ""
    return ": ".join(part for part in (title, row.description) if part)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
