"""Other people's words on a terminal: nothing invisible acts, nothing is taken for markup."""

import re
from typing import Final

from toolcrib.core.invisible import escaped

_WIDE: Final = 10_000
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_SPACE: Final = re.compile(r"\s+")


def visible(text: str) -> str:
    r"""The text with every character that does not print as its escape, line breaks apart."""
    if text.isascii() and text.isprintable():
        return text
    printable = "".join(
        character if character.isprintable() or character == "\n" else _escaped(character)
        for character in text.expandtabs(4).replace("\r\n", "\n")
    )
    # What counts as printable may still show nothing: fillers, empty patterns, selectors.
    return "\n".join(map(escaped, printable.split("\n")))


def one_line(text: str) -> str:
    r"""The same for what stands in a line of ours, such as a name: a line break shows as `\n`."""
    return visible(text).replace("\n", r"\n")


def clipped(text: str, limit: int) -> str:
    """At most `limit` characters of a text, on one line."""
    line = visible(_SPACE.sub(" ", text[:_WIDE]).strip())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def ago(seconds: float | None) -> str:
    """An age in one unit: `3 s`, `5 min`, `2 h`, `4 d`; `-` where there is none."""
    if seconds is None:
        return "-"
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    if seconds < _DAY:
        return f"{seconds / _HOUR:.0f} h"
    return f"{seconds / _DAY:.0f} d"


def _escaped(character: str) -> str:
    return ascii(character)[1:-1]
