"""Sentences about one place that does not fit: predicates such as `is 3, but must be a string`."""

from collections.abc import Iterable, Sequence
from itertools import chain, islice, repeat
from typing import Any

from toolcrib.core.jsontypes import described, is_array, is_object
from toolcrib.core.naming import near
from toolcrib.core.quoting import enumerated, literal, quoted

_ROOM = 800
"""Characters of one sentence."""

_SHOWN_VALUES = 40
_VALUES_ROOM = 500
_SHOWN_TEXT = 40
_NAMES_ROOM = 200
_NEAR_AMONG = 1_000
"""Names or values among which similar ones are looked for."""

_ARTICLES = {"array": "an array", "integer": "an integer", "object": "an object", "null": "null"}


def bounded(text: str) -> str:
    """A sentence in bounds."""
    return text if len(text) <= _ROOM else f"{text[: _ROOM - 1]}…"


def shown(value: object) -> str:
    """A value where it is short, else what it is."""
    if is_object(value):
        return _with_count("an object", len(value), "member")
    if is_array(value):
        return _with_count("an array", len(value), "item")
    return literal(value, _SHOWN_TEXT)


def _with_count(kind: str, number: int, word: str) -> str:
    return (
        f"{kind} of {number:,} {word}{'' if number == 1 else 's'}" if number else f"{kind}, empty"
    )


def wrong_type(value: object, types: Iterable[str]) -> str:
    """A value of another type than those allowed."""
    wanted = " or ".join(_ARTICLES.get(name, f"a {name}") for name in types) or "nothing"
    found = described(value)
    is_short = isinstance(value, str | int | float)
    what = f"{found} ({shown(value)})" if is_short else found
    return f"is {what}, but must be {wanted}"


def not_listed(value: object, allowed: Sequence[object]) -> str:
    """A value that is none of those listed."""
    beyond_them = repeat("?" * _VALUES_ROOM, max(0, len(allowed) - _SHOWN_VALUES))  # only counted
    words = chain(map(_listed, allowed[:_SHOWN_VALUES]), beyond_them)
    values = enumerated(words, _VALUES_ROOM)
    must = "must be" if len(allowed) == 1 else "must be one of"
    return f"is {shown(value)}, but {must} {values or 'nothing'}{_similar(value, allowed)}"


def _listed(value: object) -> str:
    return literal(value, _SHOWN_TEXT)


def _similar(value: object, allowed: Sequence[Any]) -> str:
    if not isinstance(value, str):
        return ""
    texts = (one for one in islice(allowed, _NEAR_AMONG) if isinstance(one, str))
    found = near(value, texts, 1)
    return f" (did you mean {quoted(found[0])}?)" if found else ""


def missing(names: Sequence[str]) -> str:
    """Members that have to be there."""
    return f"lacks the required {enumerated(map(quoted, names), _NAMES_ROOM)}"


def unexpected(names: Sequence[str], known: Sequence[str]) -> str:
    """Members that may not be there, each with the known name that it looks like."""
    told = enumerated((_with_hint(name, known) for name in names), _NAMES_ROOM)
    may = enumerated(map(quoted, known[:_SHOWN_VALUES]), _NAMES_ROOM)
    return f"has the unexpected {told}; {f'it may have {may}' if may else 'it may have no members'}"


def _with_hint(name: str, known: Sequence[str]) -> str:
    found = near(name, known[:_NEAR_AMONG], 1)
    return f"{quoted(name)} (did you mean {quoted(found[0])}?)" if found else quoted(name)


def beyond(value: object, rule: str, limit: object) -> str:
    """A number outside a bound, such as `at least` 3."""
    return f"is {shown(value)}, but must be {rule} {literal(limit)}"


def counted(number: int, word: str, rule: str, limit: object) -> str:
    """Too few or too many of something."""
    return f"has {number:,} {word}, but must have {rule} {literal(limit)}"


def unmatched(value: str, pattern: str) -> str:
    """A text without what a pattern asks for."""
    return f"is {shown(value)}, but must match the pattern {quoted(pattern, _NAMES_ROOM)}"
