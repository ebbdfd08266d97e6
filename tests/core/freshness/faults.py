"""Faults to plant in the heart: for each rule, the heart without it, and the tests that notice.

A fault is one edit of one module; `faults.toml` is the table. A rule cites where it comes from: a
numbered sequence of events that defeats a machine without it, a naive relative of the protocol
between replicas (`REPLICAS: name`), or one of the seven faults that the first suite of this kind
was held against (`STYLE: name`).
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Fault:
    """One rule removed."""

    name: str
    rule: str
    """The rule that is missing, in one sentence, and where it comes from."""
    module: str
    """Dotted name of the module that is changed."""
    old: str
    """Source text that occurs in it exactly once."""
    new: str
    caught_by: tuple[str, ...]
    """Tests, each of which fails: `file.py::name`, seen from the folder of this file."""

    def planted(self, source: str) -> str:
        """Return the source with the fault in it; raise ValueError where it does not fit."""
        found = source.count(self.old)
        if found != 1:
            msg = f"fault {self.name}: its text occurs {found} times in {self.module}, not once"
            raise ValueError(msg)
        return source.replace(self.old, self.new)


def _read(row: dict[str, Any]) -> Fault:
    caught_by = tuple(row.pop("caught_by"))
    return Fault(caught_by=caught_by, **row)


FAULTS: tuple[Fault, ...] = tuple(
    _read(row)
    for row in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))[
        "fault"
    ]
)
