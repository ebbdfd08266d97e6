"""How far a program came before it was put aside."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolcrib.codemode.journal import Row


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a program came; enough to go on, in another process as well."""

    rows: tuple[Row, ...] = ()
    printed: str = ""
    printed_bytes: int = 0
    seconds: float = 0.0
    """Of its wall clock."""
    received: frozenset[str] = frozenset()
    """The servers that answered it."""
    said: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """What a person said about its calls, by kind."""
    snapshot: bytes | None = None
    """Of the runtime; None: it starts anew and is told again what it was told."""
    asked: Mapping[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])
    """`input_required` results that wait, by the number of the row."""


START: Final = Progress()
"""It has not begun."""
