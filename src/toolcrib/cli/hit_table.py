"""Tools that were found, as a list."""

from collections.abc import Sequence
from typing import Any, Final, Literal, assert_never

from rich.console import Group, RenderableType
from rich.text import Text

from toolcrib.cli.item_details import ItemDetails, item_view
from toolcrib.cli.output import View
from toolcrib.cli.tables import DIM, UNSURE, plain_table
from toolcrib.cli.terminal_text import clipped, one_line, visible
from toolcrib.core.snapshot import Item
from toolcrib.discovery.hits import Found, Hit
from toolcrib.discovery.meta.signature import signature

Detail = Literal["name", "brief", "full"]

_WORDS: Final = 160
"""Characters of a description."""


def hits_view(query: str, found: Found, detail: Detail, *, instead: str = "") -> View:
    """The hits, the best first; without any `instead`, or else names that look like the query."""
    document = {
        "query": query,
        "method": found.method,
        "hits": [_document(hit, detail) for hit in found.hits],
        "near": list(found.near),
        "notes": list(found.notes),
    }
    if instead and not found.hits:
        return View(Text(visible(instead)), {**document, "text": instead})
    parts = _parts(found, detail) if found.hits else [_nothing(query, found)]
    parts += [Text(f"note: {one_line(note)}", UNSURE) for note in found.notes]
    return View(Group(*parts), document)


def words_view(query: str, text: str) -> View:
    """What is said of servers where no tool was searched for."""
    return View(Text(visible(text)), {"query": query, "text": text})


def brief_view(server: str, name: str, item: Item) -> View:
    """One tool on three lines: its name and parameters, what it is for, and where it is."""
    shown = Group(
        Text.assemble((one_line(name), "bold"), _parameters(item)),
        *([Text(clipped(_said(item), _WORDS))] if _said(item) else []),
        Text(f"of {one_line(server)}", DIM),
    )
    return View(shown, _document(Hit(server, item, name, 0.0), "brief", scored=False))


def _parts(found: Found, detail: Detail) -> list[RenderableType]:
    match detail:
        case "name":
            return [Text(one_line(hit.name), "bold") for hit in found.hits]
        case "brief":
            return [_table(found.hits)]
        case "full":
            views = (item_view(ItemDetails(hit.server, hit.name, hit.item)) for hit in found.hits)
            return [part for view in views for part in (view.shown, Text())]
        case _:
            assert_never(detail)


def _table(hits: Sequence[Hit]) -> RenderableType:
    table = plain_table("server", "name", "parameters", "description")
    table.columns[1].overflow = "fold"  # a name that is cut cannot be called
    for hit in hits:
        table.add_row(
            Text(clipped(hit.server, 40)),
            Text(clipped(hit.name, 200), "bold"),
            Text(_parameters(hit.item)),
            Text(clipped(_said(hit.item), _WORDS)),
        )
    return table


def _nothing(query: str, found: Found) -> Text:
    near = f" Similar names: {', '.join(map(one_line, found.near))}." if found.near else ""
    return Text(f"Nothing was found for {clipped(query, 100)}.{near}", DIM)


def _document(hit: Hit, detail: Detail, *, scored: bool = True) -> dict[str, Any]:
    told: dict[str, Any] = {"server": hit.server, "name": hit.name, "key": hit.item.key}
    if scored:
        told["score"] = hit.score
    match detail:
        case "name":
            return told
        case "brief":
            return {**told, "parameters": _parameters(hit.item), "description": _said(hit.item)}
        case "full":
            return {**told, "definition": dict(hit.item.definition), "contract": hit.item.contract}
        case _:
            assert_never(detail)


def _said(item: Item) -> str:
    """What its server says of it; the title where there is nothing else."""
    texts = (item.definition.get(member) for member in ("description", "title"))
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def _parameters(item: Item) -> str:
    return clipped(signature(item.definition.get("inputSchema")), 400)
