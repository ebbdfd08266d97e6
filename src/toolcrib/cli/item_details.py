"""One definition in full: what it says, what it takes, what it gives, and what identifies it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolcrib.cli.json_text import json_text
from toolcrib.cli.output import View
from toolcrib.cli.tables import DIM, UNSURE, freshness, plain_table
from toolcrib.cli.terminal_text import clipped, one_line, visible
from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.core.snapshot import Item

_OWN_PLACE = frozenset({"name", "title", "description", "inputSchema", "outputSchema"})


@dataclass(frozen=True, slots=True)
class ItemDetails:
    """One definition and where it comes from."""

    server: str
    name: str
    """The exposed name, the URI or the template."""
    item: Item
    generation: int | None = None
    """Of the catalog that it is from; None: nobody looked, and its age is not told either."""
    fresh: bool = False
    age: float | None = None
    spoken: str = ""
    """What programs call it, as `module.function`; empty: not said."""


def item_view(details: ItemDetails) -> View:
    """Everything there is to know about one tool, prompt, resource or template."""
    item = details.item
    document = {
        "server": details.server,
        "name": details.name,
        "key": item.key,
        "definition": dict(item.definition),
        "contract": item.contract,
        "fingerprint": item.fingerprint,
        "generation": details.generation,
        "fresh": details.fresh,
        "age": details.age,
        "notes": list(item.notes),
        **({"program": details.spoken} if details.spoken else {}),
    }
    return View(Group(*_parts(details)), document)


def _parts(details: ItemDetails) -> list[RenderableType]:
    item, definition = details.item, details.item.definition
    title = definition.get("title")
    head = Text.assemble((one_line(details.name), "bold"))
    if isinstance(title, str):
        head.append(f"  {clipped(title, 100)}")
    parts: list[RenderableType] = [head, _origin(details)]
    parts += [Text(f"note: {one_line(note)}", UNSURE) for note in item.notes]
    description = definition.get("description")
    if isinstance(description, str) and description.strip():
        parts += [Text(), Text(visible(description.strip()))]
    parts += _schema("Arguments", definition.get("inputSchema"))
    parts += _schema("Result", definition.get("outputSchema"))
    rest = {key: value for key, value in definition.items() if key not in _OWN_PLACE}
    if rest:
        parts += [Text("\nAlso", "bold"), _indented(json_text(rest))]
    return parts


def _origin(details: ItemDetails) -> Text:
    """Which server, how it calls the thing, and what identifies the definition."""
    item = details.item
    origin = Text(f"of {one_line(details.server)}", DIM)
    if item.key != details.name:
        origin.append(f", there {one_line(item.key)}")
    if details.spoken:
        origin.append(f", in programs {details.spoken}")
    if details.generation is None:
        return origin.append(f", contract {item.contract[:10]}")
    origin.append(f", generation {details.generation}, contract {item.contract[:10]}, ")
    return origin.append_text(freshness(details.age, fresh=details.fresh))


def _schema(heading: str, schema: object) -> list[RenderableType]:
    if not is_object(schema):
        return []
    parts: list[RenderableType] = [Text(f"\n{heading}", "bold")]
    properties = schema.get("properties")
    if is_object(properties) and properties:
        parts.append(_members(properties, schema.get("required")))
    parts.append(_indented(json_text(schema)))
    return parts


def _members(properties: Mapping[str, Any], required: object) -> RenderableType:
    needed: list[Any] = required if is_array(required) else []
    table = plain_table("name", "type", "", "description")
    for name, schema in properties.items():
        described = schema.get("description") if is_object(schema) else None
        table.add_row(
            Text(clipped(name, 60), "bold"),
            Text(clipped(_type_of(schema), 40)),
            Text("required" if name in needed else "", UNSURE),
            Text(clipped(described, 100) if isinstance(described, str) else ""),
        )
    return _indented(table)


def _type_of(schema: object) -> str:
    """The type of a member in a word or two, as far as it says so at its top."""
    if not is_object(schema):
        return "anything" if schema is True else "nothing" if schema is False else "?"
    kind = schema.get("type")
    if isinstance(kind, str):
        return kind
    if is_array(kind):
        return " or ".join(str(one) for one in kind)
    known = (
        word for word in ("enum", "const", "$ref", "oneOf", "anyOf", "allOf") if word in schema
    )
    return next(known, "anything")


def _indented(inner: RenderableType) -> Padding:
    return Padding(inner, (0, 0, 0, 2), expand=False)
