"""Long lists of allowed values, told by their beginning and their number."""

from typing import Any, Final

from toolcrib.core.quoting import literal

SHOWN: Final = 40
"""Values of an enumeration that models are shown (DESIGN section 10, enum shown)."""

_VALUE: Final = 60
"""Characters of one value."""


def beginning(values: list[Any], most: int = SHOWN) -> str:
    """A sentence with the first values, as JSON, and how many there are.

    An enumeration that was cut to its beginning would forbid all other values, so it is told in
    words: the one that is checked when the tool is called stays whole.
    """
    first = ", ".join(literal(value, _VALUE) for value in values[:most])
    return f"One of {len(values):,} values; the first {min(most, len(values))}: {first}"


def joined(*texts: object) -> str:
    """Sentences one after the other, without the empty ones and repetitions."""
    said = dict.fromkeys(text.strip() for text in texts if isinstance(text, str) and text.strip())
    return " ".join(text if text[-1] in ".!?:)…" else f"{text}." for text in said).removesuffix(".")
