"""A definition on its way to becoming an item: what was received, repaired, and found odd."""

from dataclasses import dataclass, field
from typing import Literal

from toolcrib.core.jsontypes import JsonObject, described

Reason = Literal[
    "not_an_object",
    "not_json",
    "too_deep",
    "too_large",
    "no_name",
    "bad_name",
    "no_uri",
    "bad_uri",
    "no_uri_template",
    "bad_uri_template",
    "no_input_schema",
    "input_schema_not_an_object",
    "wrong_root_type",
    "invalid_input_schema",
    "invalid_output_schema",
    "invalid_header_annotation",
    "invalid_arguments",
]
"""Why a definition is kept out: stable codes for facts, metrics and findings."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large a definition may be; each excess is a refusal that names its setting."""

    definition_bytes: int = 1024 * 1024
    """Bytes of one whole definition in canonical form."""
    schema_depth: int = 64
    """Levels of arrays and objects in one schema; everything else in a definition gets as many."""
    schema_bytes: int = 256 * 1024
    """Bytes of one schema in canonical form."""
    name_chars: int = 1_024
    """Characters of a name: beyond it no header and no log line could carry it."""
    uri_chars: int = 8_192
    """Characters of a URI or URI template."""


DEFAULT_BOUNDS = Bounds()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a definition cannot be used."""

    reason: Reason
    detail: str
    """One sentence: what, where, and what would be right."""


@dataclass(slots=True)
class Draft:
    """One definition under examination; a repair copies it, so what was received stays as it is."""

    received: JsonObject
    text: bytes
    """Its canonical form."""
    bounds: Bounds
    definition: JsonObject = field(init=False)
    notes: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.definition = self.received

    def put(self, member: str, value: object, note: str) -> None:
        """Give a member another value, and say so."""
        self.definition = {**self.definition, member: value}
        self.notes.append(note)

    def drop(self, member: str, why: str) -> None:
        """Leave a member out, and say so."""
        self.notes.append(f"{member} dropped: it is {described(self.definition[member])}, {why}")
        self.definition = {k: v for k, v in self.definition.items() if k != member}
