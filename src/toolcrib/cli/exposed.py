"""The names under which hosts see what the servers have, for verbs that are given one."""

from collections.abc import Iterable, Mapping

from toolcrib.calls.approval.unapproved import awaits_approval
from toolcrib.catalog.reading import Reading
from toolcrib.cli.exits import UsageError
from toolcrib.core.naming import NameTable, Original, expose, near
from toolcrib.core.snapshot import Kind
from toolcrib.errors import ToolGone
from toolcrib.settings import Settings


def exposed_name(settings: Settings, server: str, key: str, kind: Kind) -> str:
    """The name a host sees; resources and templates keep their URI."""
    if kind.key != "name":
        return key
    return expose(server, key, style=settings.gateway.names, limit=settings.limits.name_length)


def find(settings: Settings, readings: Iterable[Reading], kind: Kind, name: str) -> Original:
    """What a name stands for.

    Raises:
        ConfirmationNeeded: A person has to see its definition first.
        ToolGone: Nothing has that name; the remedy lists names that look like it.
    """
    held: Mapping[str, Reading] = {reading.server: reading for reading in readings}
    catalogs = {s: r.snapshot.items for s, r in held.items() if r.snapshot is not None}
    if kind.key == "name":
        table = NameTable.build(
            catalogs, style=settings.gateway.names, limit=settings.limits.name_length
        )
        entries = table.entries
    else:
        entries = {
            item.key: Original(server, item)
            for server in sorted(catalogs, reverse=True)
            for item in catalogs[server]
        }
    found = entries.get(name)
    if found is not None:
        return found
    _refuse_unapproved(settings, held, name)
    similar = near(name, entries)
    remedy = f"similar names: {', '.join(similar)}" if similar else "see `toolcrib list`"
    raise ToolGone(f"there is no {kind.label[:-1]} {name!r}", remedy=remedy)


def _refuse_unapproved(settings: Settings, held: Mapping[str, Reading], name: str) -> None:
    for server, reading in held.items():
        if reading.snapshot is None:
            continue
        for one in reading.snapshot.quarantined:
            if exposed_name(settings, server, one.key, reading.kind) != name:
                continue
            if (waits := awaits_approval(server, one.key, reading.snapshot)) is not None:
                raise waits


def kind_of(name: str) -> Kind:
    """The kind of that label.

    Raises:
        UsageError: There is no such kind.
    """
    for kind in Kind:
        if kind.label == name:
            return kind
    known = ", ".join(kind.label for kind in Kind)
    raise UsageError(f"there is no kind {name!r}", remedy=f"one of {known}")
