"""Regular expressions of schemas: what they may cost, and which engine takes them.

The linear engine takes what it can; look-around and back references need the backtracking one. Its
limit is no error everywhere: below `not` or as a `patternProperties` key a pattern that ran out of
steps counts as one that did not match. So each of those patterns is tried on each text beforehand,
alone, where running out shows.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from jsonschema_rs import (
    Draft202012Validator,
    FancyRegexOptions,
    RegexOptions,
    ValidationError,
    ValidationErrorKind,
)

from toolcrib.core.jsontypes import JsonObject, is_array, is_object

_SIZE: Final = 1024 * 1024
"""Bytes of one compiled pattern."""

BACKTRACKS: Final = 10_000
"""Steps back that one pattern may take on one text: about half a millisecond."""

BACKTRACKING_WORK: Final = 50
"""What one text costs for a pattern that backtracks, in steps of a check."""

_SQUARES: Final = 20_000_000
"""Squares of the lengths of texts that are tried: what stands beside a look-around is searched from
each place to the end, and counts as no step back."""

LINEAR: Final = RegexOptions(size_limit=_SIZE, dfa_size_limit=_SIZE)
BACKTRACKING: Final = FancyRegexOptions(
    backtrack_limit=BACKTRACKS, size_limit=_SIZE, dfa_size_limit=_SIZE
)

_STATES_PER_STEP = 32
_REPETITION = re.compile(r"\{(\d{1,9})(,\d{0,9})?\}")
_MOST_STATES = 1_000_000_000


def states(pattern: str) -> int:
    """How many states an automaton for a pattern has, about: repetitions are copies."""
    sums = [0]
    last = [0]
    at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "(":
            sums.append(0)
            last.append(0)
            continue
        if char == ")" and len(sums) > 1:
            atom = sums.pop() + 1
            last.pop()
        elif char == "{" and (found := _REPETITION.match(pattern, at - 1)):
            at = found.end()
            copies = _copies(found)
            sums[-1] = min(sums[-1] + last[-1] * max(0, copies - 1), _MOST_STATES)
            last[-1] = min(last[-1] * copies, _MOST_STATES)
            continue
        else:
            at = _atom_end(pattern, at, char)
            atom = 1
        sums[-1] = min(sums[-1] + atom, _MOST_STATES)
        last[-1] = atom
    return min(sum(sums), _MOST_STATES)


def _copies(found: re.Match[str]) -> int:
    least = int(found[1])
    most = (found[2] or "").removeprefix(",")
    return max(least + 1, int(most)) if most else least + (found[2] is not None)


def _atom_end(pattern: str, at: int, char: str) -> int:
    """Where the atom that began with `char` before `at` ends: an escape, a class, a character."""
    if char == "\\":
        return at + 1
    if char == "[":
        while at < len(pattern) and pattern[at] != "]":
            at += 2 if pattern[at] == "\\" else 1
        return at + 1
    return at


def work(pattern: str) -> int:
    """What one unit of text costs, in steps of a check."""
    return 1 + states(pattern) // _STATES_PER_STEP


class Patterns:
    """The patterns of one schema."""

    def __init__(self, patterns: Iterable[str], *, backtracking: bool) -> None:
        """Compile those that the linear engine refuses.

        Raises:
            ValidationError: for a pattern that no engine takes.
        """
        self._alone: dict[str, Draft202012Validator] = {}
        self._risky: dict[str, Draft202012Validator] = {}
        if backtracking:
            for pattern in dict.fromkeys(patterns):
                if not _is_linear(pattern):
                    self._risky[pattern] = _compiled(pattern)

    def work(self, pattern: str) -> int:
        """What one unit of text costs, in steps of a check."""
        return BACKTRACKING_WORK + work(pattern) if pattern in self._risky else work(pattern)

    def trial_work(self, units: int) -> int:
        """What trying the backtracking patterns on a value of so many units costs, in steps."""
        return units * BACKTRACKING_WORK * len(self._risky)

    def stuck(self, value: object) -> str | None:
        """A pattern that runs out of steps on some text in the value; None where none does."""
        if not self._risky:
            return None
        tried = 0
        for text in _texts(value):
            for pattern, alone in self._risky.items():
                tried += len(text) ** 2
                if tried > _SQUARES:
                    return pattern
                if not alone.is_valid(text) and _ran_out(alone, text):
                    return pattern
        return None

    def matches(self, pattern: str, text: str) -> bool | None:
        """Whether a pattern occurs in a text; None where that cannot be found out."""
        alone = self._alone.get(pattern)
        try:
            if alone is None:
                alone = self._alone[pattern] = _compiled(pattern)
            return alone.is_valid(text) or (None if _ran_out(alone, text) else False)
        except ValueError:
            return None


def in_schemas(nodes: Iterable[JsonObject]) -> list[str]:
    """Every pattern that these schemas name themselves."""
    found: list[str] = []
    for node in nodes:
        pattern, members = node.get("pattern"), node.get("patternProperties")
        found += [pattern] if isinstance(pattern, str) else []
        found += members if is_object(members) else []
    return found


def _compiled(pattern: str) -> Draft202012Validator:
    return Draft202012Validator({"pattern": pattern}, pattern_options=BACKTRACKING, offline=True)


def _is_linear(pattern: str) -> bool:
    try:
        Draft202012Validator({"pattern": pattern}, pattern_options=LINEAR, offline=True)
    except ValidationError:
        return False
    return True


def _ran_out(alone: Draft202012Validator, text: str) -> bool:
    ran_out = ValidationErrorKind.BacktrackLimitExceeded
    return any(isinstance(error.kind, ran_out) for error in alone.iter_errors(text))


def _texts(value: object) -> Iterator[str]:
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield node
        elif is_object(node):
            yield from node
            stack += node.values()
        elif is_array(node):
            stack += node
