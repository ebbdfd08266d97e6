"""What families of providers take of a JSON Schema, as data."""

import re
from dataclasses import dataclass
from typing import Final

from toolcrib.context.schemas.enum_words import SHOWN
from toolcrib.context.schemas.keywords import KEYWORDS


@dataclass(frozen=True, slots=True)
class Profile:
    """The rules that one family of copies follows."""

    name: str
    kept: frozenset[str] = KEYWORDS - {"examples", "deprecated", "readOnly", "writeOnly"}
    """Keywords that are copied; any other one is left out."""
    flat_root: bool = True
    """Whether alternatives at the root are merged into one object."""
    inlined: bool = False
    """Whether references are replaced by what they point at; recursive ones are cut in words."""
    merged: bool = False
    """Whether the parts of `allOf` are merged into one schema."""
    one_as_any: bool = False
    """Whether `oneOf` is written as `anyOf`."""
    property_names: re.Pattern[str] | None = None
    """What names of arguments look like; others are renamed, and led back when called."""
    values: int = SHOWN
    """Values of an enumeration; longer ones are told in words."""
    depth: int = 64
    """Levels; what is deeper is cut in words."""
    nodes: int = 20_000
    """Schemas inside of one; what is beyond is cut in words."""
    is_all_or_nothing: bool = False
    """Whether a schema of more `nodes` is not copied at all."""
    text: int | None = None
    """Characters of each description; None: all of them."""


LOOSE: Final = Profile("loose")
"""JSON Schema 2020-12, but for the root: OpenAI functions that are not strict."""

ANTHROPIC: Final = Profile("anthropic", property_names=re.compile(r"[a-zA-Z0-9_.-]{1,64}"))
"""As `LOOSE`, with a rule for names of arguments."""

INLINED: Final = Profile("inlined", inlined=True, merged=True, one_as_any=True)
"""What the profiles that rewrite further start from: no references, one kind of alternatives."""

GEMINI_JSON: Final = Profile(
    "gemini json schema",
    kept=frozenset(
        {
            "$ref",
            "type",
            "title",
            "description",
            "enum",
            "format",
            "minimum",
            "maximum",
            "properties",
            "required",
            "additionalProperties",
            "prefixItems",
            "items",
            "minItems",
            "maxItems",
            "anyOf",
            "oneOf",
        }
    ),
    merged=True,
)
"""The keywords that Gemini lists for JSON Schema, where it takes one instead of its own form."""

SHOWN_WHOLE: Final = Profile(
    "shown", kept=KEYWORDS - {"examples"}, flat_root=False, is_all_or_nothing=True
)
"""For models that read a schema in an answer: no provider's rules."""
