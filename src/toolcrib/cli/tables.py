"""What all tables have in common."""

from typing import Final

from rich import box
from rich.table import Table
from rich.text import Text

from toolcrib.cli.terminal_text import ago

GOOD: Final = "green"
BAD: Final = "red"
DIM: Final = "dim"
UNSURE: Final = "yellow"


def plain_table(*headers: str, right: frozenset[str] = frozenset()) -> Table:
    """A table with a ruled head and no other lines; the columns in `right` hold numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for header in headers:
        numeric = header in right
        table.add_column(header, justify="right" if numeric else "left", no_wrap=numeric)
    return table


def freshness(age: float | None, *, fresh: bool) -> Text:
    """How true a catalog is: `fresh`, or how old the last good one is."""
    if fresh:
        return Text("fresh", GOOD)
    return Text("none", BAD) if age is None else Text(f"{ago(age)} old", UNSURE)
