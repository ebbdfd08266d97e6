"""`toolcrib approve --changes`: definitions that a person has to see before they are served."""

import json
import sys
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Any

from rich.console import Group
from rich.text import Text

from toolcrib.cli.absent import is_absent, tell_absent
from toolcrib.cli.exits import Exit, UsageError
from toolcrib.cli.json_text import json_text
from toolcrib.cli.opening import Source, chosen, opened, read_all
from toolcrib.cli.output import Output, View
from toolcrib.cli.person import Person, Refused, person_at
from toolcrib.cli.tables import BAD, DIM, GOOD, UNSURE
from toolcrib.cli.terminal_text import one_line, visible
from toolcrib.cli.verb_approve import check_store
from toolcrib.core.snapshot import Item, Kind
from toolcrib.core.vetting import Unapproved

Found = dict[str, tuple[Unapproved, ...]]
"""What waits, by server."""


async def approve_changes(
    source: Source, output: Output, servers: Sequence[str], *, sure: bool
) -> Exit:
    """Shows what is new or changed, and approves it where the person says yes.

    Exit code 1 where anything is left waiting, or a server could not be asked.

    Raises:
        UsageError: A server is not configured, or serves its changes unseen.
    """
    async with opened(source, output) as open_:
        check_store(open_.settings)
        wanted = chosen(open_.settings, servers)
        for server in wanted:
            if servers and server.on_change != "ask":
                raise UsageError(
                    f"{server.id} serves changes unseen",
                    remedy=f'write on_change = "ask" under [servers.{server.id}]',
                )
        names = [server.id for server in wanted if server.on_change == "ask"]
        readings = await read_all(open_, source, output, Kind.TOOLS)
        readings = tuple(each for each in readings if each.server in names)
        catalogs = open_.crib.catalogs()
        found = {name: waits for name in names if (waits := catalogs.server(name).waiting())}
        person = None if sure else person_at(output, sys.stdin, sys.stderr)
        approved: list[str] = []
        for server, waiting in found.items():
            if person is not None and not output.as_json:
                output.complain(View(Group(*_lines(server, waiting)), {}))
            if sure or (person is not None and await _agrees(person, server, waiting)):
                await open_.crib.approve_definitions(server, [one.after for one in waiting])
                approved.append(server)
        output.show(_view(found, approved, seen=person is not None))
        absent = [each for each in readings if is_absent(open_, source, each)]
        tell_absent(open_, output, absent)
        return Exit.FINE if len(approved) == len(found) and not absent else Exit.FOUND


async def _agrees(person: Person, server: str, waiting: Sequence[Unapproved]) -> bool:
    count = len(waiting)
    what = "this definition" if count == 1 else f"these {count} definitions"
    try:
        return await person.agrees(f"Serve {what} of {one_line(server)}?")
    except Refused:
        return False


def _view(found: Found, approved: Sequence[str], *, seen: bool) -> View:
    """What was found and what became of it; the definitions again only if nobody saw them."""
    document = {
        "changes": [
            {"server": server, "approved": server in approved, **_document(one)}
            for server, waiting in found.items()
            for one in waiting
        ]
    }
    if not found:
        return View(Text("Nothing waits for approval.", DIM), document)
    lines: list[Any] = []
    for server, waiting in found.items():
        if not seen:
            lines += _lines(server, waiting)
        done = server in approved
        what = "approved" if done else "left waiting"
        lines.append(Text(f"{one_line(server)}: {len(waiting)} {what}", GOOD if done else UNSURE))
    return View(Group(*lines), document)


def _lines(server: str, waiting: Sequence[Unapproved]) -> list[Any]:
    lines: list[Any] = [Text(f"{one_line(server)} tools", "bold")]
    for one in waiting:
        lines += _new(one) if one.before is None else _changed(one, one.before)
    return lines


def _new(one: Unapproved) -> list[Any]:
    """A definition that nobody has seen: what it says, and what it takes."""
    definition = one.after.definition
    lines: list[Any] = [Text(f"+ {one_line(one.after.key)}", GOOD)]
    description = definition.get("description")
    if isinstance(description, str):
        lines += [Text(f"    {line}") for line in visible(description.strip()).split("\n")]
    rest = {k: v for k, v in definition.items() if k not in {"name", "description"}}
    lines.append(_indented(json_text(rest)))
    return [*lines, *(_warning(note) for note in one.after.notes)]


def _changed(one: Unapproved, before: Item) -> list[Any]:
    """How a definition that was seen differs: in words, then all of it, line by line.

    Words inside a schema change no call, and are where a server would hide what a model should do.
    """
    calls = " (calls stay as they are, so the approved one is served)" if one.served else ""
    notes = set(one.after.notes)
    said = [
        _warning(words) if words in notes else Text(f"    {one_line(words)}")
        for words in one.in_words()
    ]
    head = Text(f"~ {one_line(one.after.key)}{calls}", UNSURE)
    return [head, *said, *_line_by_line(before.definition, one.after.definition)]


def _line_by_line(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Text]:
    old, new = (
        json.dumps(it, ensure_ascii=False, indent=2, sort_keys=True).split("\n")
        for it in (before, after)
    )
    lines = list(unified_diff(old, new, n=1, lineterm=""))[2:]
    styles = {"+": GOOD, "-": BAD}
    return [Text(f"    {one_line(line)}", styles.get(line[:1], DIM)) for line in lines]


def _warning(note: str) -> Text:
    return Text(f"    careful: {one_line(note)}", UNSURE)


def _indented(text: Text) -> Text:
    return Text("    ").append_text(Text("\n    ").join(text.split("\n")))


def _document(one: Unapproved) -> dict[str, Any]:
    return {
        "key": one.after.key,
        "change": "new" if one.before is None else "changed",
        "contract_changed": not one.served,
        "changes": list(one.in_words()),
        "definition": dict(one.after.definition),
        "fingerprint": one.after.fingerprint,
    }
