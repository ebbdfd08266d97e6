"""Lines of ours inside text that others wrote, and why nobody else can write one.

A note of ours stands in brackets and begins with our name: `[toolcrib: ...]`. Whatever else looks
like the beginning of one, in the letters of other scripts too, gets a round bracket.
"""

import re
import unicodedata
from typing import Final

from toolcrib.core.invisible import visible
from toolcrib.core.lookalikes import as_it_looks

_NAME: Final = "toolcrib"
_BRACKETS: Final = re.compile(
    r"[\[\u2045\u27e6\u3010\u3014\u3016\u3018\u301a\uff3b\ufe47](?=\s*\S)"
)
_LOOKED_AT: Final = 40
"""Characters behind a bracket: our name may be written with blanks."""


def note(text: str) -> str:
    """A note of ours."""
    return f"[{_NAME}: {text}]"


def others(text: str) -> str:
    """Text of others as a model may read it beside our notes.

    What cannot be seen goes, control characters but line breaks and tabs go, halves of surrogate
    pairs are replaced, and nothing looks like a note of ours. Every line break is a line feed.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.replace("\u2028", "\n").replace("\u2029", "\n")
    text = visible(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
    return _BRACKETS.sub(lambda found: _bracket(text, found), text)


def others_in_json(line: str) -> str:
    """JSON on one line as a model may read it beside our notes: the same value, as for texts."""
    return _BRACKETS.sub(lambda found: _escape(_bracket(line, found), found[0]), line)


def _escape(shown: str, bracket: str) -> str:
    return bracket if shown == bracket else f"\\u{ord(bracket):04x}"


def _bracket(text: str, found: re.Match[str]) -> str:
    behind = unicodedata.normalize("NFKC", text[found.end() : found.end() + _LOOKED_AT])
    letters = "".join(as_it_looks(behind.casefold()).split())
    return "(" if letters.startswith(_NAME) else found[0]
