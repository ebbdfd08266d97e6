"""May this call go: the verdicts, and the one function that reaches them.

Everything comes in as plain values: the tool in the newest published snapshot, what the caller saw
of it, what a checker found in the arguments. A verdict is a value. It says itself in words for a
model, and holds what whoever logs or counts it needs. Nothing but a changed *contract* and
arguments that do not fit blocks a call for its content: a changed description, another digest and
a newer generation never do (DESIGN section 2, promise 5).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Protocol

from toolcrib.core import refusal_words
from toolcrib.core.diff import Changed
from toolcrib.core.naming import near
from toolcrib.core.snapshot import Item

_NEAR_AMONG = 10_000
"""Names that are searched for similar ones at most."""


class Fault(Protocol):
    """One place where arguments do not fit their schema; what a `SchemaChecker` finds is one."""

    @property
    def where(self) -> str:
        """The place in the arguments, such as `filter.tags[2]`; empty for the whole."""
        ...

    @property
    def what(self) -> str:
        """What is wrong and what is allowed, as a predicate: `is 3, but must be a string`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is known of a call when its admission is decided."""

    name: str
    """The tool, as the caller calls it."""
    item: Item | None
    """The tool in the newest published snapshot; None: it is not in it."""
    allowed: bool = True
    """Whether policy lets this caller call it."""
    age: float = 0.0
    """Seconds since the snapshot was known to be right."""
    max_stale: float = 86_400.0
    """Seconds up to which a snapshot may be called from."""
    seen: str = ""
    """The contract that the caller saw; empty: not known."""
    earlier: Item | None = None
    """The tool as the caller saw it; else, as the last other generation had it."""
    faults: tuple[Fault, ...] = ()
    """Where the arguments do not fit the schema of `item`."""
    unchecked: str = ""
    """Why the arguments were not checked, as a sentence; empty: they were."""
    fitted_earlier: bool | None = None
    """Whether the arguments fit the schema of `earlier`; None: nobody looked."""
    was_there: bool = False
    """Whether it was seen or published earlier; read only where it is gone."""
    renamed: str = ""
    """What the tool seems to be called now, where it is gone; empty: no guess."""
    names: Iterable[str] = ()
    """What this caller may call, as it calls it; read only where the tool is gone."""


@dataclass(frozen=True, slots=True)
class Go:
    """The call may go."""

    code: ClassVar[str] = ""

    item: Item
    """What it was admitted with, and finishes on."""
    unchecked: str = ""
    """Why its arguments were not checked: the server decides, and whoever operates is warned."""


@dataclass(frozen=True, slots=True)
class SchemaChanged:
    """The contract changed since the caller saw the tool: nothing is sent."""

    code: ClassVar[str] = "schema_changed"

    name: str
    item: Item
    """The tool as it is now."""
    changes: tuple[str, ...]
    """What changed, in sentences; empty where the earlier definition is not known."""
    faults: tuple[Fault, ...] = ()
    """What is wrong with the arguments by the schema that holds now."""

    def in_words(self) -> str:
        """What changed, what is wrong, and the schema to call it by."""
        return refusal_words.schema_changed(self.name, self.changes, _told(self.faults), self.item)

    def details(self) -> dict[str, Any]:
        """`changes`, `contract`, `inputSchema` and, where there are any, `faults`.

        Callers that say what they saw call again with that contract.
        """
        now = {
            "contract": self.item.contract,
            "inputSchema": self.item.definition.get("inputSchema"),
        }
        found = {"faults": _listed(self.faults)} if self.faults else {}
        return {"changes": list(self.changes), **now, **found}


@dataclass(frozen=True, slots=True)
class ToolGone:
    """The tool is not in the newest published snapshot."""

    code: ClassVar[str] = "tool_gone"

    name: str
    near: tuple[str, ...] = ()
    """Names that the caller may call and that look alike, the most similar first."""
    renamed: str = ""
    """What it seems to be called now; empty: no guess."""
    was_there: bool = False
    """Whether it is known to have been there."""

    def in_words(self) -> str:
        """That it is gone, or was never seen, and what may be meant instead."""
        return refusal_words.tool_gone(self.name, self.renamed, self.near, was_there=self.was_there)

    def details(self) -> dict[str, Any]:
        """`near`, and `renamed` where there is a guess."""
        guess = {"renamed": self.renamed} if self.renamed else {}
        return {"near": list(self.near), **guess}


@dataclass(frozen=True, slots=True)
class BadArguments:
    """The arguments do not fit the schema that holds now and that the caller could see."""

    code: ClassVar[str] = "bad_arguments"

    name: str
    item: Item
    faults: tuple[Fault, ...]

    def in_words(self) -> str:
        """Which places are wrong, what is allowed there, and the schema."""
        return refusal_words.bad_arguments(self.name, _told(self.faults), self.item)

    def details(self) -> dict[str, Any]:
        """`faults`, each with `where` and `what`."""
        return {"faults": _listed(self.faults)}


@dataclass(frozen=True, slots=True)
class TooOld:
    """The newest snapshot is so old that nobody knows what the server has now."""

    code: ClassVar[str] = "catalog_too_old"

    name: str
    age: float
    """Seconds."""
    max_stale: float
    """Seconds."""

    def in_words(self) -> str:
        """How old, how old it may be, and that waiting may help."""
        return refusal_words.too_old(self.name, self.age, self.max_stale)

    def details(self) -> dict[str, Any]:
        """`ageSeconds` and `maxStaleSeconds`, whole."""
        return {"ageSeconds": int(self.age), "maxStaleSeconds": int(self.max_stale)}


@dataclass(frozen=True, slots=True)
class NotAllowed:
    """Policy does not let this caller call it; whether it exists is not said."""

    code: ClassVar[str] = "not_allowed"

    name: str

    def in_words(self) -> str:
        """That it may not be called, and nothing about the tool."""
        return refusal_words.not_allowed(self.name)

    def details(self) -> dict[str, Any]:
        """Nothing."""
        return {}


Refusal = SchemaChanged | ToolGone | BadArguments | TooOld | NotAllowed
Verdict = Go | Refusal


def admit(asked: Asked) -> Verdict:
    """Decide whether a call may go, by what is known now.

    The order is part of the answer. Who may not call learns nothing else. An old snapshot cannot
    say that a tool is gone. A changed contract is told before the arguments are: they were made for
    another schema. Where nobody knows what the caller saw, arguments that fail against a contract
    that lately changed are taken for some to the earlier one, unless they fail there, too.
    """
    if not asked.allowed:
        return NotAllowed(asked.name)
    if asked.age > asked.max_stale:
        return TooOld(asked.name, asked.age, asked.max_stale)
    if asked.item is None:
        return _gone(asked)
    if asked.seen and asked.seen != asked.item.contract:
        return _changed(asked, asked.item)
    if not asked.faults:
        return Go(asked.item, asked.unchecked)
    if not asked.seen and _outlived(asked, asked.item):
        return _changed(asked, asked.item)
    return BadArguments(asked.name, asked.item, asked.faults)


def _gone(asked: Asked) -> ToolGone:
    others = (name for name in asked.names if name not in (asked.name, asked.renamed))
    alike = near(asked.name, islice(others, _NEAR_AMONG))
    return ToolGone(asked.name, alike, asked.renamed, asked.was_there)


def _outlived(asked: Asked, item: Item) -> bool:
    """Whether the arguments may have been made for an earlier contract."""
    earlier = asked.earlier
    return (
        earlier is not None
        and earlier.contract != item.contract
        and asked.fitted_earlier is not False
    )


def _changed(asked: Asked, item: Item) -> SchemaChanged:
    """The difference to what was seen; an item with another contract than that tells nothing."""
    earlier = asked.earlier
    stranger = asked.seen and earlier is not None and earlier.contract != asked.seen
    changes = () if earlier is None or stranger else Changed(earlier, item).in_words()
    return SchemaChanged(asked.name, item, changes, asked.faults)


def _told(faults: Iterable[Fault]) -> tuple[tuple[str, str], ...]:
    return tuple((fault.where, fault.what) for fault in faults)


def _listed(faults: Iterable[Fault]) -> list[dict[str, str]]:
    return [{"where": fault.where, "what": fault.what} for fault in faults]
