"""One server at a glance: its connection, what it has, and what is the matter with it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from toolcrib.catalog.access import ServerStatus
from toolcrib.catalog.reading import Reading


@dataclass(frozen=True, slots=True)
class ServerRow:
    """One configured server."""

    id: str
    state: str
    """Of its connection; or `disabled`, `unusable`, `outdated` as the configuration has it."""
    era: str = ""
    protocol: str = ""
    """The revision in use."""
    name: str = ""
    """What it calls itself."""
    version: str = ""
    counts: Mapping[str, int] | None = None
    """Items by kind, as far as catalogs are held."""
    age: float | None = None
    """Seconds since the oldest of them was received."""
    fresh: bool = False
    """Whether all of them are fresh."""
    trouble: str = ""
    """Why it is not connected, or why a catalog of it is not there; empty when all is well."""


def server_row(
    status: ServerStatus, readings: Iterable[Reading], *, for_model: bool = False
) -> ServerRow:
    """The row of a server, out of its status and what was read of it.

    With `for_model` its trouble is told without what only whoever runs us may read.
    """
    read = tuple(readings)
    held = [it for it in read if it.snapshot is not None]
    ages = [it.age for it in held if it.age is not None]
    missing = next((it.trouble for it in read if it.snapshot is None and it.trouble), "")
    said = status.told if for_model else status.detail.removeprefix(f"{status.id}: ")
    facts = status.facts
    return ServerRow(
        id=status.id,
        state=status.state,
        era=facts.era if facts else "",
        protocol=facts.protocol_version if facts else "",
        name=facts.name if facts else "",
        version=facts.version if facts else "",
        counts={it.kind.label: len(it.snapshot) for it in held if it.snapshot is not None},
        age=max(ages, default=None),
        fresh=bool(held) and all(it.fresh for it in held),
        trouble=said or missing,
    )
