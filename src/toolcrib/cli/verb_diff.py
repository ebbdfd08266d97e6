"""`toolcrib diff`: what changed since the catalogs were last kept."""

from toolcrib.cli.absent import is_absent, tell_absent
from toolcrib.cli.diff_lines import CatalogChange, diff_view
from toolcrib.cli.exits import Exit
from toolcrib.cli.exposed import kind_of
from toolcrib.cli.opening import Source, chosen, opened, read_all
from toolcrib.cli.output import Output
from toolcrib.core.diff import diff


async def show_difference(
    source: Source, output: Output, servers: tuple[str, ...], kind_name: str
) -> Exit:
    """Compares the last good catalogs of the store with the servers as they are now.

    Exit code 1 where anything changed, or a server could not be asked: that one is left out and
    told.
    """
    kind = kind_of(kind_name)
    async with opened(source, output) as open_:
        wanted = chosen(open_.settings, servers)
        before = {each.id: await open_.crib.last_good(each, kind) for each in wanted}
        readings = [
            reading
            for reading in await read_all(open_, source, output, kind)
            if reading.server in before
        ]
        absent = [reading for reading in readings if is_absent(open_, source, reading)]
        changes = [
            CatalogChange(reading.server, kind, diff(before[reading.server], reading.snapshot))
            for reading in readings
            if reading not in absent
        ]
        output.show(diff_view(changes))
        tell_absent(open_, output, absent)
        found = absent or any(change.difference for change in changes)
        return Exit.FOUND if found else Exit.FINE
