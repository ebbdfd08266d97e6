"""`toolcrib show`: one definition in full, and how some arguments would fare with it."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group

from toolcrib.catalog.reading import Reading
from toolcrib.cli.exits import Exit, UsageError
from toolcrib.cli.exposed import kind_of
from toolcrib.cli.hit_table import brief_view
from toolcrib.cli.item_details import ItemDetails, item_view
from toolcrib.cli.missed import find_or_tell
from toolcrib.cli.opening import Opened, Source, opened, read_all
from toolcrib.cli.output import Output, View
from toolcrib.cli.trial import trial_view, tried
from toolcrib.core.naming import Original
from toolcrib.core.snapshot import Kind
from toolcrib.core.stubs.identifiers import FUNCTIONS, identifiers
from toolcrib.core.stubs.server_stubs import module_names


async def show(
    source: Source,
    output: Output,
    name: str,
    kind_name: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    brief: bool = False,
) -> Exit:
    """Shows the item of that exposed name; with arguments, exit code 1 where they would be refused.

    `brief` shows of a tool what a model reads of a hit.

    Raises:
        UsageError: Arguments are given for what is no tool.
    """
    kind = kind_of(kind_name)
    if arguments is not None and kind is not Kind.TOOLS:
        raise UsageError(f"{kind.label} are shown without arguments", remedy="leave them out")
    if brief and kind is not Kind.TOOLS:
        raise UsageError(f"{kind.label} are shown in full", remedy="leave out --detail")
    async with opened(source, output) as open_:
        readings = await read_all(open_, source, output, kind)
        original = await find_or_tell(open_, source, output, readings, kind, name)
        reading = next(each for each in readings if each.server == original.server)
        if brief:
            view = brief_view(original.server, name, original.item)
        else:
            view = item_view(
                ItemDetails(
                    server=original.server,
                    name=name,
                    item=original.item,
                    generation=reading.generation,
                    fresh=reading.fresh,
                    age=reading.age,
                    spoken="" if source.url else _spoken(open_, reading, original),
                )
            )
        if arguments is None:
            output.show(view)
            return Exit.FINE
        trial = tried(
            original.server,
            original.item,
            arguments,
            checker=open_.parts.checker,
            policy=open_.settings.approval,
        )
        tried_view = trial_view(trial)
        document = {**view.document, "trial": tried_view.document}
        output.show(View(Group(view.shown, tried_view.shown), document))
        return Exit.FINE if trial.passes else Exit.FOUND


def _spoken(open_: Opened, reading: Reading, original: Original) -> str:
    """What programs call a tool; empty for anything else."""
    if reading.kind is not Kind.TOOLS or reading.snapshot is None:
        return ""
    there = {it.id for it in open_.settings.servers if not (it.disabled or it.on_demand)}
    module = module_names({*there, original.server})[original.server]
    keys = (it.key for it in reading.snapshot.items)
    return f"{module}.{identifiers(keys, FUNCTIONS, original.server)[original.item.key]}"
