"""One tool as a function: what it takes, what it gives, and what is said of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolcrib.core.stubs.identifiers import PARAMETERS, identifiers
from toolcrib.core.stubs.reading import Reading
from toolcrib.core.stubs.shapes import Field, Plain, Record, Shape
from toolcrib.core.stubs.wording import cleaned


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool."""

    name: str
    """What Python calls it."""
    field: Field
    """Its key upstream, its type, and whether it must be there."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A tool as both printers see it."""

    identifier: str
    doc: str
    """Its description on one line, clipped."""
    arguments: str
    """The name of its arguments as one type."""
    parameters: tuple[Parameter, ...]
    open: bool
    """Whether there may be arguments of other names."""
    given: tuple[Record, ...]
    """The records of its arguments."""
    result: Shape
    """Any without an output schema."""
    taken: tuple[Record, ...]
    """The records of its result."""

    @property
    def renamed(self) -> dict[str, str]:
        """The keys of arguments that Python calls otherwise, by what it calls them."""
        pairs = ((it.name, it.field.key) for it in self.parameters)
        return {name: key for name, key in pairs if name != key}

    @property
    def type_names(self) -> frozenset[str]:
        """All names of types that it needs for itself."""
        return frozenset({self.arguments, *(it.name for it in (*self.given, *self.taken))})


def signature(identifier: str, definition: Mapping[str, Any], prefix: str) -> Signature:
    """What a definition says, with `prefix` before the name of each type."""
    arguments = f"{prefix}Args"
    names = {arguments}
    taking = Reading(definition.get("inputSchema"), prefix, names)
    fields, is_open = taking.arguments()
    given = taking.records()
    called = identifiers((it.key for it in fields), PARAMETERS)
    result: Shape = Plain.ANY
    taken: tuple[Record, ...] = ()
    if definition.get("outputSchema") is not None:
        giving = Reading(definition["outputSchema"], f"{prefix}Result", names)
        result = giving.result()
        taken = giving.records()
    return Signature(
        identifier,
        cleaned(definition.get("description")) or cleaned(definition.get("title")),
        arguments,
        tuple(Parameter(called[it.key], it) for it in fields),
        is_open,
        given,
        result,
        taken,
    )


def pascal(identifier: str) -> str:
    """The beginning of type names for a function: `create_issue` has `CreateIssue`."""
    return "".join(word[:1].upper() + word[1:] for word in identifier.split("_"))
