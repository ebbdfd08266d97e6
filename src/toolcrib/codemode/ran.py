"""A program that came to its end, for whoever reads no `CallToolResult`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Ran:
    """What a program brought: all of it, and nothing made harmless for a model."""

    value: Any
    """What it returned: a JSON value, None where that is nothing."""
    printed: str
    """What it printed, at most `code.print_bytes` of it."""
    printed_bytes: int
    """How many bytes that were in all."""
    calls: tuple[Mapping[str, Any], ...]
    """Its calls in order: `number`, `server`, `tool`, `line`, `outcome` and `detail`, as the
    details of `ScriptFailed` have them."""
    seconds: float
    """Of its wall clock, without what it waited for a person."""
    remarks: tuple[str, ...] = ()
    """What of the value JSON cannot say, or says otherwise, each with its place."""
