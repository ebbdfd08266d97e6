"""Characters that a person who reads a definition does not see, but a model does.

Hidden instructions travel as zero-width characters, direction changes, tag characters and control
codes. Finding some proves nothing, so they become a note and never a refusal. What ordinary writing
needs stays unmentioned: one joiner between two visible characters beyond ASCII (Persian, Indic
scripts, emoji) and one emoji variation selector.
"""

import re
from collections.abc import Iterator

from toolcrib.core.jsontypes import is_array, is_object

_HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_JOINERS = "\u200c\u200d"
_VISIBLE = f"[^\x00-\x7f{_HIDDEN}{_CONTROLS}{_JOINERS}]"
_SUSPECT = re.compile(
    f"[{_HIDDEN}{_CONTROLS}]"
    f"|(?<!{_VISIBLE})[{_JOINERS}]|[{_JOINERS}](?!{_VISIBLE})"
    "|[\ufe0e\ufe0f](?=[\ufe0e\ufe0f])"
)

_BLANK = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"
"""What looks like a space and is none, or is empty: a shell and a path tell them apart."""
_UNSEEN = re.compile(
    f"{_SUSPECT.pattern}"
    f"|[{_BLANK}\n\r\t\u2028\u2029\ud800-\udfff]"
    f"|(?<!{_VISIBLE})[\ufe0e\ufe0f](?!\u20e3)"
)
"""Also what makes one line look like several, what no message can carry, blanks, and variation
selectors that vary no symbol."""


def invisible_notes(definition: object, canonical_text: bytes) -> tuple[str, ...]:
    """At most one note: the hidden characters of a definition, and where the first stands.

    Args:
        definition: The definition as received.
        canonical_text: Its canonical form, in which most definitions are seen to be clean at once.
    """
    if (
        canonical_text.isascii()
        and b"\\u00" not in canonical_text
        and b"\x7f" not in canonical_text
    ):
        return ()
    found: set[str] = set()
    place = ""
    for where, text in _texts(definition):
        here = set(_SUSPECT.findall(text))
        if here and not found:
            place = where
        found |= here
    if not found:
        return ()
    codes = ", ".join(f"U+{ord(char):04X}" for char in sorted(found)[:8])
    more = ", …" if len(found) > 8 else ""  # noqa: PLR2004 - a line
    return (f"invisible or direction-changing characters ({codes}{more}), first in {place}",)


def visible(text: str) -> str:
    """The text without what `invisible_notes` would report in it."""
    return text if text.isascii() and text.isprintable() else _SUSPECT.sub("", text)


def escaped(text: str) -> str:
    """The text with codes for what `invisible_notes` would report, line breaks and blanks."""
    return _UNSEEN.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - four digits


def _texts(definition: object) -> Iterator[tuple[str, str]]:
    """Every string of a definition, keys included, with the member that it stands in."""
    stack: list[tuple[str, object]] = [("", definition)]
    while stack:
        where, node = stack.pop()
        if isinstance(node, str):
            yield where, node
        elif is_object(node):
            for key in node:
                yield where or "its members", key
            stack += reversed([(where or key, inner) for key, inner in node.items()])
        elif is_array(node):
            stack += reversed([(where, inner) for inner in node])
