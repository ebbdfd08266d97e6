"""Tools, prompts, resources and templates as a list."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

from rich.console import Group
from rich.text import Text

from toolcrib.catalog.reading import Reading
from toolcrib.cli.output import View
from toolcrib.cli.tables import DIM, UNSURE, freshness, plain_table
from toolcrib.cli.terminal_text import clipped, one_line
from toolcrib.core.snapshot import Kind
from toolcrib.core.vetting import NOT_APPROVED

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


@dataclass(frozen=True, slots=True)
class Waiting:
    """The definitions of one server that are kept out until a person has seen them."""

    server: str
    definitions: int


def waiting_in(readings: Iterable[Reading]) -> tuple[Waiting, ...]:
    """What waits for a person, of the servers where anything does."""
    counted = (
        Waiting(it.server, sum(kept.reason == NOT_APPROVED for kept in it.snapshot.quarantined))
        for it in readings
        if it.snapshot is not None
    )
    return tuple(it for it in counted if it.definitions)


def items_view(
    kind: Kind, rows: Sequence[ItemRow], waiting: Sequence[Waiting] = (), approve: str = ""
) -> View:
    """A table of definitions; notes have a column where there are any.

    Under it stands what `waiting` keeps out, and `approve`, the command that shows it.
    """
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
    document = {kind.label: [asdict(row) for row in rows]}
    if not waiting:
        return View(shown, document)
    said = _waiting_line(waiting, approve)
    return View(Group(shown, said), {**document, "waiting": [asdict(it) for it in waiting]})


def _waiting_line(waiting: Sequence[Waiting], approve: str) -> Text:
    count = sum(it.definitions for it in waiting)
    what = "1 definition waits" if count == 1 else f"{count} definitions wait"
    return Text(f"{what} for a person to look at: `{one_line(approve)}`", UNSURE)


def _described(row: ItemRow) -> str:
    title = row.title if row.title.casefold() != row.key.casefold() else ""
    return ": ".join(part for part in (title, row.description) if part)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
