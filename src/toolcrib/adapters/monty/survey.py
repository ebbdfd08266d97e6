"""All that this Monty lacks, found once for each version in a process.

Some thousand things are tried, which takes a tenth of a second: the first program of a process
waits for it, and no other one does.
"""

import threading
from dataclasses import dataclass
from typing import Final

from toolcrib.adapters.monty.members import (
    Sessions,
    missing_members,
    missing_methods,
    missing_modules,
)
from toolcrib.adapters.monty.probes import ARGUMENTS, PROBES, argument, lacks


@dataclass(frozen=True, slots=True)
class Lacking:
    """What was not there."""

    names: tuple[str, ...]
    """Constructs, names, members and arguments, as `core.program.lacking` reads them."""
    modules: frozenset[str]
    """Modules of the standard library that cannot be imported."""


_FOUND: Final[dict[str, Lacking]] = {}
_GUARD: Final = threading.Lock()


def surveyed(version: str, sessions: Sessions) -> Lacking:
    """What a version lacks; tried where it is not known yet."""
    with _GUARD:
        if version not in _FOUND:
            _FOUND[version] = survey(sessions)
        return _FOUND[version]


def survey(sessions: Sessions) -> Lacking:
    """What is lacking, tried now."""
    names: list[str] = []
    for name, code in PROBES.items():
        with sessions() as session:
            if lacks(session, code):
                names.append(name)
    modules = missing_modules(sessions)
    names += missing_members(sessions, modules)
    names += missing_methods(sessions)
    for name in ARGUMENTS:
        with sessions() as session:
            if lacks(session, argument(name)):
                names.append(name)
    return Lacking(tuple(names), modules)
