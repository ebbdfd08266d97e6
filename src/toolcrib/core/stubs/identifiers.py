"""Names of tools, servers and parameters as identifiers: legal, distinct, found back by a table.

A name that can be an identifier is one, whatever else there is. Any other is *lossy*. Where only
separators, accents or a reserved word stand in the way, it keeps its readable form
(`create-issue` is `create_issue`, `list` is `list_`) as long as nothing else claims that; what has
lost letters or its end, where names differ most, carries a hash of its own always. So a name
changes in one case only: its readable form is claimed by another name that comes or goes. A hash
behind every lossy name would avoid that, too; but servers with hyphens are common, and models
misspell hex digits that say nothing, on every line, for the sake of a pair that hardly exists.

Rounds settle who gets what. In each, a claim that is alone and free is granted; all others go on
to a claim with another hash. Nothing depends on order, and nobody is left without a name.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from toolcrib.core.stubs.reserved import FUNCTION_WORDS, MODULE_WORDS, PYTHON_KEYWORDS

_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_]+")
_HASH: Final = 8
"""Hex digits of a hash; where they do not tell two names apart, the next round takes others."""


@dataclass(frozen=True, slots=True)
class Naming:
    """What identifiers of one sort are like."""

    word: str
    """Begins what would begin with a digit, and stands for what has no ASCII at all."""
    legal: re.Pattern[str]
    """Names that stay as they are, unless they are too long or reserved."""
    reserved: frozenset[str]
    longest: int = 48


FUNCTIONS: Final = Naming("tool", re.compile(r"[A-Za-z][A-Za-z0-9_]*"), FUNCTION_WORDS)
"""Names of tools. None begins with `_`: runtimes hide such members of a module."""
MODULES: Final = Naming("server", re.compile(r"[A-Za-z][A-Za-z0-9_]*"), MODULE_WORDS)
"""Server ids; a server called `json` must not take the place of the library's module."""
PARAMETERS: Final = Naming("arg", re.compile(r"[A-Za-z_][A-Za-z0-9_]*"), PYTHON_KEYWORDS, 64)
"""Names of arguments; in TypeScript they are quoted keys and need no rule."""


def identifiers(names: Iterable[str], naming: Naming, scope: str = "") -> dict[str, str]:
    """An identifier for each name, by name, in the order of names by code point.

    Args:
        names: As they stand upstream, in any order; of equal ones there is one.
        naming: What they name.
        scope: What the names belong to, such as the server id: a part of each hash.
    """
    granted: dict[str, str] = {}
    taken: set[str] = set()
    waiting: dict[str, _Form] = {}
    for name in set(names):
        if _stays(name, naming):
            granted[name] = name
            taken.add(name)
        else:
            waiting[name] = _form(name, naming)
    turn = 0
    while waiting:
        claims: dict[str, list[str]] = {}
        for name, form in waiting.items():
            claims.setdefault(_claim(name, form, naming, scope, turn), []).append(name)
        alone = {
            names[0]: claim
            for claim, names in claims.items()
            if len(names) == 1 and claim not in taken
        }
        granted |= alone
        taken.update(alone.values())
        waiting = {name: form for name, form in waiting.items() if name not in alone}
        turn += 1
    return {name: granted[name] for name in sorted(granted)}


@dataclass(frozen=True, slots=True)
class _Form:
    """What is readable of a lossy name, and whether it can do without a hash."""

    text: str
    whole: bool


def _stays(name: str, naming: Naming) -> bool:
    return (
        len(name) <= naming.longest
        and naming.legal.fullmatch(name) is not None
        and name not in naming.reserved
    )


def _form(name: str, naming: Naming) -> _Form:
    beginning = name[: 4 * naming.longest]
    letters = unicodedata.normalize("NFKD", beginning)
    ascii_only = "".join(char for char in letters if char.isascii() or not _is_mark(char))
    lost = any(char.isalnum() and not char.isascii() for char in ascii_only)
    text = _FOREIGN.sub("_", ascii_only).strip("_")
    if text and text[0].isdigit():
        text = f"{naming.word}_{text}"
    if text in naming.reserved:
        text += "_"
    whole = bool(text) and not lost and len(name) == len(beginning) and len(text) <= naming.longest
    return _Form(text, whole)


def _is_mark(char: str) -> bool:
    return unicodedata.combining(char) != 0


def _claim(name: str, form: _Form, naming: Naming, scope: str, turn: int) -> str:
    if turn == 0 and form.whole:
        return form.text
    again = f"\0{turn}" if turn > 1 else ""
    mark = hashlib.sha256(f"{scope}\0{name}{again}".encode("utf-8", "surrogatepass")).hexdigest()
    room = naming.longest - _HASH - 1
    stem = form.text[:room].rstrip("_") or naming.word
    return f"{stem}_{mark[:_HASH]}"
