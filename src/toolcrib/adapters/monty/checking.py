"""Checks the types of a program before it runs, in a session that cannot run it.

The checker takes a program for a module, where `return` may not stand; programs may use it. So its
findings are read, and those about standing outside of a function are left to the interpreter. And
since whatever the checker accepts would run at once, the program is fed behind a gate: a first line
whose type is wrong for every checker, and which raises for every interpreter.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from pydantic_monty import (
    FunctionSnapshot,
    MontyCrashedError,
    MontyRuntimeError,
    MontySyntaxError,
    MontyTypingError,
)

from toolcrib.adapters.monty.certainty import certain, written_keys
from toolcrib.adapters.monty.check_clock import clocked
from toolcrib.adapters.monty.defined import Has, unknown
from toolcrib.adapters.monty.places import Source
from toolcrib.ports import Failed, Place

GATE: Final = '__gate: int = ""; assert __gate'
_FILE: Final = "script.py"
_MOST: Final = 20
"""Findings that are told; the others are counted."""
_MOST_JUDGED: Final = 500
"""Findings that are looked at."""
_MISSING: Final = re.compile(
    r"No arguments? provided for required parameters? `(\w+)`.* of function `(\w+)`"
)
_BY_POSITION: Final = re.compile(
    r"Too many positional arguments to function `(\w+)`: expected 0, got "
)
_LONGEST: Final = 600
"""Characters of one finding."""
_LONG: Final = 60.0
"""Seconds for a text of ours."""
_SLOW: Final = (
    "the check of its types takes too long: write it in parts, with flatter literals, or fetch "
    "what they hold by tools"
)
_INTERPRETERS: Final = (
    "`return` statement outside of a function",
    "outside of an asynchronous function",
    "__future__ imports must be at the top",
    "imported module `__future__`",
)
"""Parts of findings that are none: the interpreter decides what may stand where."""
_TOLD: Final = frozenset(
    {
        "call-non-callable",
        "index-out-of-bounds",
        "invalid-argument-type",
        "invalid-assignment",
        "invalid-await",
        "invalid-context-manager",
        "invalid-exception-caught",
        "invalid-key",
        "invalid-parameter-default",
        "invalid-raise",
        "invalid-return-type",
        "invalid-syntax",
        "missing-argument",
        "missing-typed-dict-key",
        "no-matching-overload",
        "not-iterable",
        "not-subscriptable",
        "parameter-already-assigned",
        "positional-only-parameter-as-kwarg",
        "too-many-positional-arguments",
        "unknown-argument",
        "unresolved-attribute",
        "unresolved-import",
        "unresolved-reference",
        "unsupported-operator",
        "unused-awaitable",
    }
)
"""Sorts of findings by which a program would not do what it says; no others concern it, and those
of a later checker least of all."""


class Checking(Protocol):
    """A session that was checked out to check types."""

    @property
    def worker_pid(self) -> int | None:
        """Its process."""
        ...

    def feed_start(self, code: str) -> Any:
        """Check a text; what passes runs at once."""
        ...


def _nothing(_: Collection[str]) -> Collection[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the checker found, in lines of the program."""

    code: str
    message: str
    place: Place

    def told(self) -> str:
        """Two lines: what and where, and the line itself."""
        where = f"{_FILE}:{self.place.line}:{self.place.column}"
        message = self.message[:_LONGEST]
        return f"{where}: {message} [{self.code}]\n    {self.place.text.strip()}"


def check(
    session: Checking,
    source: Source,
    text: str,
    modules: Collection[str] = (),
    *,
    seconds: float = _LONG,
    has: Has = _nothing,
) -> Failed | None:
    """Why the program is not run; None: its types fit, or only running it can tell.

    Modules that are imported inside of functions alone are unknown to the checker, so each of them
    is imported once in the line of the gate. After the seconds the worker of the session is killed.
    What `has` says is there is so, whatever the checker knows.
    """
    with clocked(session.worker_pid, seconds) as clock:
        checked = _checked(session, source, text, modules, has)
    if clock.rang:
        return Failed("check_seconds", f"{_SLOW} (code.check_seconds: {seconds:g})", executed=False)
    return checked


def _checked(
    session: Checking, source: Source, text: str, modules: Collection[str], has: Has
) -> Failed | None:
    known = "".join(f"; import {name} as __{name}" for name in sorted(modules))
    try:
        step = session.feed_start(f"{GATE}{known}\n{text}")
        while isinstance(step, FunctionSnapshot) and step.is_os_function:
            step = step.resume_auto()  # the declarations of the modules it imports
    except MontyTypingError as error:
        keys = written_keys(text)
        read = _unknown(_read(error), has)[:_MOST_JUDGED]
        return _failed([found for each in read if (found := _finding(each, source, keys))])
    except MontySyntaxError as error:
        return Failed("syntax", str(error)[:_LONGEST], executed=False)
    except MontyCrashedError as error:
        return Failed("crashed", _lost(error), executed=False)
    except MontyRuntimeError as error:
        if isinstance(error.exception(), AssertionError):
            return None  # the checker accepted even the gate, and the gate held
        return Failed("crashed", f"its types cannot be checked: {error}"[:_LONGEST], executed=False)
    raise RuntimeError("a program passed the gate of its type check")


def _lost(error: MontyCrashedError) -> str:
    how = "took too long" if error.timed_out else "broke off"
    return f"the check of its types {how}: write it simpler, or in parts"


def _read(error: MontyTypingError) -> list[Mapping[str, Any]]:
    return json.loads(error.display())


def _unknown(read: list[Mapping[str, Any]], has: Has) -> list[Mapping[str, Any]]:
    """The findings without those that take for unknown what is there."""
    tries = [unknown(str(each["code"]), str(each["message"])) for each in read]
    there = has([text for text in tries if text is not None]) if any(tries) else ()
    return [each for each, text in zip(read, tries, strict=True) if text not in there]


def _finding(raw: Mapping[str, Any], source: Source, written: Collection[str]) -> Finding | None:
    """What concerns the program; None for the gate and what its run or the interpreter decides."""
    code, message = str(raw["code"]), str(raw["message"])
    line = int(raw["location"]["row"]) - 1
    if line == 0 or code not in _TOLD or any(part in message for part in _INTERPRETERS):
        return None
    place = Place(line, int(raw["location"]["column"]), source.line(line))
    if not certain(code, message, place.text[place.column - 1 :], written):
        return None
    return Finding(code, message, place)


def _failed(findings: list[Finding]) -> Failed | None:
    if not findings:
        return None
    broken = [found for found in findings if found.code == "invalid-syntax"]
    told = broken or list(_by_name(findings))
    lines = [found.told() for found in told[:_MOST]]
    if len(told) > _MOST:
        lines.append(f"and {len(told) - _MOST} more")
    places = tuple(found.place for found in told[:1])
    return Failed("syntax" if broken else "types", "\n".join(lines), places, executed=False)


def _by_name(findings: list[Finding]) -> Iterator[Finding]:
    """The same; what a call gives by position and misses by name is one finding."""
    missing = {
        (found[2], finding.place.line): found[1]
        for finding in findings
        if (found := _MISSING.fullmatch(finding.message))
    }
    placed = {
        (found[1], finding.place.line)
        for finding in findings
        if (found := _BY_POSITION.match(finding.message))
    }
    for finding in findings:
        found = _BY_POSITION.match(finding.message)
        wanted = missing.get((found[1], finding.place.line)) if found else None
        lost = _MISSING.fullmatch(finding.message)
        if wanted:
            yield replace(finding, message=f"arguments are given by name: `{wanted}=...`")
        elif not (lost and (lost[2], finding.place.line) in placed):
            yield finding
