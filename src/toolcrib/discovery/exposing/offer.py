"""What there is to show: exposed names, what they stand for, and which of them may be listed."""

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from toolcrib.catalog.reading import Reading
from toolcrib.core.naming import NameTable, Original, Style
from toolcrib.core.quoting import quoted
from toolcrib.facts import Finding


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """The items of one kind that a principal can name; equal to nothing but itself."""

    entries: Mapping[str, Original]
    """By exposed name or URI: everything that can be asked for, listed or not."""
    listed: Mapping[str, Original]
    """Those of them that a listing may show, in the order of (server id, original key)."""
    findings: tuple[Finding, ...] = ()
    complete: bool = True
    """Whether no catalog is missing that was, or may be, there."""


def offer_of(
    readings: Collection[Reading],
    *,
    style: Style,
    limit: int,
    listed: AbstractSet[str],
    reserved: AbstractSet[str] = frozenset(),
) -> Offer:
    """The offer of named items: tools or prompts.

    Servers that are not in `listed` take no name from one that is: what they have, and when it is
    known, must change no listing.

    Args:
        readings: The catalogs of all servers.
        style: Of exposed names.
        limit: Most characters of a qualified name.
        listed: The servers whose items may be listed.
        reserved: Names that are taken: whoever has one is kept out, and reported.
    """
    held = {it.server: it.snapshot.items for it in readings if it.snapshot is not None}
    table = NameTable.build(held, style=style, limit=limit, first=listed)
    findings = list(_collisions(table))
    entries: dict[str, Original] = {}
    for name, original in table.entries.items():
        if name in reserved:
            findings.append(_reserved(name, original))
        else:
            entries[name] = original
    shown = {name: it for name, it in entries.items() if it.server in listed}
    return Offer(entries, shown, tuple(findings), complete_in(readings, listed))


def complete_in(readings: Iterable[Reading], listed: AbstractSet[str]) -> bool:
    """Whether every catalog that counts is here; one that was withdrawn is not coming back."""
    return all(
        it.snapshot is not None or it.withdrawn or it.server not in listed for it in readings
    )


def _collisions(table: NameTable) -> Iterable[Finding]:
    for server, collided in table.collided.items():
        for kept_out in collided:
            yield Finding(server, kept_out.reason, kept_out.detail)


def _reserved(name: str, original: Original) -> Finding:
    detail = (
        f"{quoted(name)} is the name of a meta-tool; use qualified names, or deny it on this server"
    )
    return Finding(original.server, "name_collision", detail)
