"""Checking values against schemas."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """One place where a value does not fit its schema."""

    where: str
    """The place in the value, such as `filter.tags[2]`; empty for the whole."""
    what: str
    """What is wrong and what is allowed, in a sentence that quotes at most a short value."""


@dataclass(frozen=True, slots=True)
class Unchecked:
    """The value was not checked: the other side has to decide."""

    reason: str
    """In a sentence: a reference that leads nowhere, an unknown dialect, too much work."""


class SchemaChecker(Protocol):
    """Checks values against JSON Schemas (2020-12 where the schema names no dialect)."""

    def check(
        self, schema: object, value: object, *, mark: str
    ) -> tuple[SchemaFault, ...] | Unchecked:
        """Where the value does not fit: nothing, or the first few faults.

        Never fetches anything, never takes longer or more memory than its limits say, never raises
        for a strange schema or value.

        Args:
            schema: As received.
            value: JSON, as parsed.
            mark: Equal for equal schemas, different for others (a contract and the name of the
                member will do; a contract alone covers both schemas of a tool): what was
                compiled is kept under it.
        """
        ...
