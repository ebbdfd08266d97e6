"""The description of a tool as a provider is sent it."""

from collections.abc import Mapping
from typing import Any, Final

from toolcrib.context.schemas.enum_words import joined
from toolcrib.context.schemas.keywords import plain_text

_NONE: Final = "Has no description"
_NOTES: Final = 2
"""Notes may take one part in so many of a limited description."""


def described(
    definition: Mapping[str, Any], notes: tuple[str, ...], most: int | None = None
) -> str:
    """What the server says of the tool, and the notes of the copy of its schema.

    A tool without a description is described by its title, or its name. Where the provider limits
    the length, the server's text is cut and not the notes.
    """
    texts = (definition.get(member) for member in ("description", "title", "name"))
    text = next((it for it in texts if isinstance(it, str) and it.strip()), _NONE)
    text, said = plain_text(text), joined(*notes)
    if most is None:
        return _paragraphs(text, said)
    said = _cut(said, most // _NOTES)
    return _paragraphs(_cut(text, most - len(said) - 2 if said else most), said)


def _paragraphs(text: str, said: str) -> str:
    return f"{text}\n\n{said}" if text and said else text or said


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
