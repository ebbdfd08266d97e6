"""What changed in a catalog, line by line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group
from rich.text import Text

from toolcrib.cli.output import View
from toolcrib.cli.tables import BAD, DIM, GOOD, UNSURE
from toolcrib.cli.terminal_text import one_line
from toolcrib.core.diff import CatalogDiff
from toolcrib.core.snapshot import Kind


@dataclass(frozen=True, slots=True)
class CatalogChange:
    """The difference between two states of one catalog."""

    server: str
    kind: Kind
    difference: CatalogDiff


def diff_view(changes: Sequence[CatalogChange]) -> View:
    """All differences, catalog by catalog; those without any are left out."""
    real = [change for change in changes if change.difference]
    document = {"changes": [diff_document(change) for change in real]}
    if not real:
        return View(Text("Nothing changed.", DIM), document)
    lines = [line for change in real for line in _lines(change)]
    return View(Group(*lines), document)


def diff_document(change: CatalogChange) -> dict[str, Any]:
    """The JSON form of one catalog's difference."""
    difference = change.difference
    return {
        "server": change.server,
        "kind": change.kind.label,
        "added": [item.key for item in difference.added],
        "removed": [item.key for item in difference.removed],
        "changed": [
            {
                "key": it.after.key,
                "contract_changed": it.contract_changed,
                "changes": list(it.in_words()),
            }
            for it in difference.changed
        ],
        "renamed": [{"before": it.before.key, "after": it.after.key} for it in difference.renamed],
    }


def diff_summary(difference: CatalogDiff) -> str:
    """The size of a difference: `2 added, 1 changed`."""
    counts = {
        "added": len(difference.added),
        "removed": len(difference.removed),
        "changed": len(difference.changed),
    }
    return ", ".join(f"{n} {what}" for what, n in counts.items() if n) or "nothing changed"


def _lines(change: CatalogChange) -> Iterable[Text]:
    difference = change.difference
    head = f"{one_line(change.server)} {change.kind.label}: {diff_summary(difference)}"
    yield Text(head, "bold")
    for item in difference.removed:
        yield Text(f"- {one_line(item.key)}", BAD)
    for item in difference.added:
        yield Text(f"+ {one_line(item.key)}", GOOD)
    for it in difference.changed:
        what = "" if it.contract_changed else " (calls stay as they are)"
        yield Text(f"~ {one_line(it.after.key)}{what}", UNSURE)
        for words in it.in_words():
            yield Text(f"    {one_line(words)}")
    for it in difference.renamed:
        yield Text(f"? {one_line(it.before.key)} may be {one_line(it.after.key)} now", DIM)
