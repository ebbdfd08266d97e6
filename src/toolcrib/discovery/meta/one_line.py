"""Text of servers inside our answers: on one line, seen as it is, unable to look like ours.

Every line of an answer begins with words of ours. What a server wrote follows on the same line and
cannot end it, so no description can make up a group, a hit or a note.
"""

import json
import re
from typing import Final

from toolcrib.calls.results.encoding import encode
from toolcrib.core.invisible import escaped, visible
from toolcrib.core.quoting import clipped

_LOOKED_AT: Final = 20
"""Characters that are looked at for each that may be shown: the rest may be blanks."""

_FIRST: Final = 2
"""Characters that are looked at first: few texts have more blanks than words."""

_WORD_END: Final = 0.6
"""A text is cut at a blank behind this share of it, else in the middle of what has none."""

_BARE: Final = re.compile(r"[^\s\"'`(),:;|\\]{1,200}")
"""Names that need no quotation marks."""

_LONG_CODE: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\U([0-9a-f]{8})")
"""What `escaped` writes and JSON does not have; behind an even number of backslashes."""


def one_line(text: str, most: int) -> str:
    """The text on one line in at most `most` characters, cut behind a word.

    Blanks are folded; what cannot be seen, changes the direction of writing or has no UTF-8 form
    goes.
    """
    folded = _folded(text[: most * _FIRST])
    # Its last character may be another one where the text goes on.
    if len(folded) < most + 2 and len(text) > most * _FIRST:
        folded = _folded(text[: most * _LOOKED_AT])
    line = clipped(folded, most).rstrip()
    if len(folded) <= most:
        return line
    end = line.rfind(" ", int(most * _WORD_END))
    return f"{line[:end].rstrip(' ,;:')}…" if end > 0 else line


def _folded(text: str) -> str:
    # Without line breaks, plain words are seen to be visible at once.
    plain = text.replace("\n", " ").replace("\r", " ").replace("\t", " ")
    return " ".join(visible(plain).split())


def spoken(text: str, most: int) -> str:
    """What a server says, in quotation marks that it cannot end; empty for nothing."""
    line = one_line(text, most).replace('"', "'")
    return f'"{line}"' if line else ""


def exact(name: str) -> str:
    """A name exactly as a call has to give it: bare, or as a JSON string where it is odd."""
    if _BARE.fullmatch(name) and name.isprintable() and (name.isascii() or escaped(name) == name):
        return name
    return json.dumps(name)


def json_line(value: object) -> str:
    """A JSON value on one line, in which what cannot be seen is written as escapes.

    It stays the same value: names and listed values have to be given back exactly.
    """
    return _LONG_CODE.sub(_pair, escaped(encode(value).decode()))


def _pair(found: re.Match[str]) -> str:
    """A code beyond 16 bits as JSON spells it."""
    return found[1] + json.dumps(chr(int(found[2], 16)))[1:-1]
