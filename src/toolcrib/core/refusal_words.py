"""What a model is told when a call is not sent: what happened, what is allowed, what to do next.

Every text says that nothing was sent, because a model that is not sure repeats or gives up. Words
of servers stand in quotation marks of ours or inside JSON, bounded.
"""

from collections.abc import Iterable

from toolcrib.core.canonical import canonical
from toolcrib.core.fingerprint import wordless
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.core.snapshot import Item

SCHEMA_ROOM = 16_384
"""Bytes of a schema inside a text, as compact JSON."""

_NAME_ROOM = 120
_SENTENCE_ROOM = 1_000
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400

FaultWords = Iterable[tuple[str, str]]
"""Pairs of a place in the arguments and what is wrong there."""


def schema_changed(name: str, changes: Iterable[str], faults: FaultWords, item: Item) -> str:
    """The text for a contract that changed since the caller saw it."""
    parts = [
        f"The schema changed: {_named(name)} is not what you saw, so the call was not sent.",
        _bulleted("What changed:", changes),
        _bulleted("Your arguments do not fit it any more:", _fault_lines(faults)),
        f"Call it again by its schema as it is now. {_schema(item)}",
    ]
    return "\n".join(filter(None, parts))


def bad_arguments(name: str, faults: FaultWords, item: Item) -> str:
    """The text for arguments that do not fit."""
    lead = f"The arguments do not fit {_named(name)}, so the call was not sent:"
    again = f"Correct them and call it again. {_schema(item)}"
    return f"{_bulleted(lead, _fault_lines(faults))}\n{again}"


def tool_gone(name: str, renamed: str, near: tuple[str, ...], *, was_there: bool) -> str:
    """The text for a tool that is not there; a slip or a guess, unless it is known to have been."""
    said = f"There is no {_named(name)}, so nothing was sent."
    if was_there:
        said = f"There is no {_named(name)} any more: its server removed it, and nothing was sent."
    if renamed:
        said += f" It seems to be {_named(renamed)} now, with the same parameters."
    if near:
        said += f" Similar names: {enumerated(map(_named, near))}."
    return said if renamed or near else f"{said} Do not call it again; list the tools anew."


def turned_down(lead: str, changes: Iterable[str], item: Item) -> str:
    """The text for a call that was sent, and turned down by a server whose tool is another now."""
    again = f"Call it again by its schema as it is now. {_schema(item)}"
    return "\n".join(filter(None, [lead, _bulleted("What changed:", changes), again]))


def too_old(name: str, age: float, max_stale: float) -> str:
    """The text for a catalog that nobody could bring up to date for too long."""
    return (
        f"What is known of {_named(name)} is {_lasting(age)} old, more than {_lasting(max_stale)}, "
        "and its server could not be asked since, so the call was not sent. "
        "Try again later, or tell the person you work for."
    )


def not_allowed(name: str) -> str:
    """The text for a call that policy forbids."""
    return (
        f"You may not call {_named(name)}, so the call was not sent. Calling again will not help."
    )


def _named(name: str) -> str:
    return quoted(name, _NAME_ROOM)


def _fault_lines(faults: FaultWords) -> Iterable[str]:
    return (f"{f'`{where}`' if where else 'the arguments object'} {what}" for where, what in faults)


def _bulleted(lead: str, lines: Iterable[str]) -> str:
    told = [f"- {_bounded(line)}" for line in lines]
    return "\n".join([lead, *told]) if told else ""


def _bounded(text: str) -> str:
    return text if len(text) <= _SENTENCE_ROOM else f"{text[: _SENTENCE_ROOM - 1]}…"


def _schema(item: Item) -> str:
    """The input schema as compact JSON; without its words, or only its size, where it is large."""
    schema = item.definition.get("inputSchema")
    full = canonical(schema)
    if len(full) <= SCHEMA_ROOM:
        return f"inputSchema: {full.decode()}"
    short = canonical(wordless(schema))
    if len(short) <= SCHEMA_ROOM:
        return f"inputSchema without its descriptions: {short.decode()}"
    return f"Its inputSchema has {len(full):,} bytes, too many to repeat here: list the tools anew."


def _lasting(seconds: float) -> str:
    for unit, word in ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")):
        if seconds >= unit:
            return _counted(int(seconds // unit), word)
    return _counted(int(seconds), "second")


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
