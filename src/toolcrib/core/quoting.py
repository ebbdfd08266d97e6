"""Other people's text inside our sentences: one line, clipped, unable to end its quotation."""

import json
import re
from collections.abc import Iterable

_CLIPPED = 60
_SURROGATES = range(0xD800, 0xE000)
_REPLACED: dict[int, str] = {
    **dict.fromkeys((*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029), " "),
    **dict.fromkeys((*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), ""),
    **dict.fromkeys(_SURROGATES, "\ufffd"),
    ord("`"): "'",
}
"""Line breaks and control codes, direction changes, surrogates, and our own quotation mark."""

_SURROGATE = re.compile(f"[{chr(_SURROGATES.start)}-{chr(_SURROGATES.stop - 1)}]")


def has_surrogates(text: str) -> bool:
    """Whether a text holds surrogates on their own, so that no UTF-8 message can carry it."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def clipped(text: str, limit: int = _CLIPPED) -> str:
    """Text on one line without control characters or back quotes, in at most `limit` characters."""
    line = text[: limit + 1]
    is_plain = line.isascii() and line.isprintable()
    line = line.replace("`", "'") if is_plain else line.translate(_REPLACED)
    return line if len(text) <= limit else f"{line[: limit - 1]}…"


def excerpt(text: str, limit: int = 2_000) -> str:
    """The text as it is, or its first `limit` characters and how many there are in all."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters in all)"


def quoted(text: str, limit: int = _CLIPPED) -> str:
    """A name or a word in back quotes."""
    return f"`{clipped(text, limit)}`"


def literal(value: object, limit: int = _CLIPPED) -> str:
    """A JSON value in back quotes; a string without quotation marks of its own."""
    if isinstance(value, str):
        return quoted(value, limit) if value else "the empty string"
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except (ValueError, RecursionError):  # an integer of thousands of digits, or nested too deep
        return f"no value that can be shown ({type(value).__name__})"
    return quoted(text, limit)


def enumerated(words: Iterable[str], room: int = 300) -> str:
    """Words with commas between them, as many as fit into `room`, and how many did not."""
    shown: list[str] = []
    left_out = 0
    for word in words:
        room -= len(word) + 2
        if shown and room < 0:
            left_out += 1
        else:
            shown.append(word)
    return ", ".join(shown) + (f" and {left_out} more" if left_out else "")
