"""The texts of a definition that a search looks at, whatever else is in it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.core.schema import positions
from toolcrib.core.snapshot import Item

_SCHEMAS: Final = 500
"""Subschemas of one tool that are looked at."""
_CHOICES: Final = 40
"""Values of one `enum` that are looked at."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s|(?<=[\u3002\uff01\uff1f])|\n\s*\n")
_CHARACTERS: Final = 8_000
"""Of all parameter names together, of their descriptions, of their values."""


@dataclass(frozen=True, slots=True)
class ServerTexts:
    """What is known of a server beside its tools."""

    title: str = ""
    description: str = ""
    """As configured, or as the server instructs."""


@dataclass(frozen=True, slots=True)
class ToolTexts:
    """What a tool says of itself; a text that is missing or no text is empty."""

    name: str
    title: str
    description: str
    lead: str
    """The first sentence of the description."""
    parameters: str
    """Names of parameters, also inside of others."""
    explanations: str
    """Titles and descriptions of parameters."""
    choices: str
    """Words that parameters may be, from `enum` and `const`."""


def tool_texts(item: Item) -> ToolTexts:
    """The texts of one tool; any JSON value at any place gets an answer."""
    definition = item.definition
    names, explanations, choices = _Gathered(), _Gathered(), _Gathered()
    schemas = positions(definition.get("inputSchema"))
    for path, schema in islice(schemas, _SCHEMAS):
        if len(path) > 1 and path[-2] == "properties":
            names.add(path[-1])
        if path:
            for text in _explained(schema):
                explanations.add(text)
        for word in _chosen(schema):
            choices.add(word)
    description = _text(definition.get("description")).strip()[:_CHARACTERS]
    return ToolTexts(
        name=item.key,
        title=_title(definition),
        description=description,
        lead=_SENTENCE_END.split(description, maxsplit=1)[0],
        parameters=names.text(),
        explanations=explanations.text(),
        choices=choices.text(),
    )


class _Gathered:
    """Texts up to a bound."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._room = _CHARACTERS

    def add(self, text: str) -> None:
        if self._room > 0:
            self._texts.append(text[: self._room])
            self._room -= len(text) + 1

    def text(self) -> str:
        return "\n".join(self._texts)


def _title(definition: Mapping[str, Any]) -> str:
    annotations = definition.get("annotations")
    older = annotations.get("title") if is_object(annotations) else None
    return _text(definition.get("title")) or _text(older)


def _explained(schema: Mapping[str, Any]) -> Iterator[str]:
    for member in ("title", "description"):
        text = _text(schema.get(member))
        if text:
            yield text


def _chosen(schema: Mapping[str, Any]) -> Iterator[str]:
    values = schema.get("enum")
    for value in (*(values[:_CHOICES] if is_array(values) else ()), schema.get("const")):
        if isinstance(value, str):
            yield value


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
