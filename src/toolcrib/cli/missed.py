"""A name that nothing has, and the servers that could not be asked whether they have it."""

from collections.abc import Sequence

from toolcrib.catalog.reading import Reading
from toolcrib.catalog.server_row import server_row
from toolcrib.cli.absent import asking_why, is_well, tell_rows
from toolcrib.cli.exposed import find
from toolcrib.cli.opening import Opened, Source
from toolcrib.cli.output import Output
from toolcrib.cli.running_gateway import servers_at
from toolcrib.core.naming import Original
from toolcrib.core.snapshot import Kind
from toolcrib.errors import ToolGone


async def find_or_tell(
    open_: Opened,
    source: Source,
    output: Output,
    readings: Sequence[Reading],
    kind: Kind,
    name: str,
) -> Original:
    """What a name stands for, as `find` has it.

    Raises:
        ToolGone: Nothing has that name. The servers that were not reached, also those behind a
            gateway, are named in it, and told on standard error with the reasons.
    """
    try:
        return find(open_.settings, readings, kind, name)
    except ToolGone as gone:
        catalogs = open_.crib.catalogs()
        away = [
            server_row(catalogs.status(it.server), [it]) for it in readings if it.snapshot is None
        ]
        if source.url is not None:
            away += [row for row in await servers_at(open_) or () if not is_well(row)]
        if not away:
            raise
        tell_rows(output, away)
        names = ", ".join(row.id for row in away)
        similar = (gone.remedy or "").startswith("similar")
        raise ToolGone(
            f"{gone.message}; not reached: {names}",
            remedy=gone.remedy if similar else f"see {asking_why(source)}",
        ) from None
