"""Checks the types of a program before it runs, in a session that cannot run it.

The checker takes a program for a module, where `return` may not stand; programs may use it. So its
findings are read, and those about standing outside of a function are left to the interpreter. And
since whatever the checker accepts would run at once, the program is fed behind a gate: a first line
whose type is wrong for every checker, and which raises for every interpreter.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pydantic_monty import (
    FunctionSnapshot,
    MontyCrashedError,
    MontyRuntimeError,
    MontySyntaxError,
    MontyTypingError,
)

from toolcrib.adapters.monty.places import Source
from toolcrib.ports import Failed, Place

GATE: Final = '__gate: int = ""; assert __gate'
_FILE: Final = "script.py"
_MOST: Final = 20
"""Findings that are told; the others are counted."""
_LONGEST: Final = 600
"""Characters of one finding."""
_INTERPRETERS: Final = (
    "`return` statement outside of a function",
    "outside of an asynchronous function",
    "__future__ imports must be at the top",
    "imported module `__future__`",
)
"""Parts of findings that are none: the interpreter decides what may stand where."""
_UNTOLD: Final = frozenset(
    {"unused-type-ignore-comment", "unused-ignore-comment", "revealed-type", "undefined-reveal"}
)
"""Findings that are about the checker, not the program."""


class Checking(Protocol):
    """A session that was checked out to check types."""

    def feed_start(self, code: str) -> Any:
        """Check a text; what passes runs at once."""
        ...


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
    session: Checking, source: Source, text: str, modules: Collection[str] = ()
) -> Failed | None:
    """Why the program is not run; None: its types fit, or only running it can tell.

    Modules that are imported inside of functions alone are unknown to the checker, so each of them
    is imported once in the line of the gate.
    """
    known = "".join(f"; import {name} as __{name}" for name in sorted(modules))
    try:
        step = session.feed_start(f"{GATE}{known}\n{text}")
        while isinstance(step, FunctionSnapshot) and step.is_os_function:
            step = step.resume_auto()  # the declarations of the modules it imports
    except MontyTypingError as error:
        return _failed([found for each in _read(error) if (found := _finding(each, source))])
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


def _finding(raw: Mapping[str, Any], source: Source) -> Finding | None:
    """What concerns the program; None for the gate and what the interpreter decides."""
    code, message = str(raw["code"]), str(raw["message"])
    line = int(raw["location"]["row"]) - 1
    if line == 0 or code in _UNTOLD or any(part in message for part in _INTERPRETERS):
        return None
    return Finding(code, message, Place(line, int(raw["location"]["column"]), source.line(line)))


def _failed(findings: list[Finding]) -> Failed | None:
    if not findings:
        return None
    broken = [found for found in findings if found.code == "invalid-syntax"]
    told = broken or findings
    lines = [found.told() for found in told[:_MOST]]
    if len(told) > _MOST:
        lines.append(f"and {len(told) - _MOST} more")
    places = tuple(found.place for found in told[:1])
    return Failed("syntax" if broken else "types", "\n".join(lines), places, executed=False)
