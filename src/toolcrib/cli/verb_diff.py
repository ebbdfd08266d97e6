"""`toolcrib diff`: what changed since the catalogs were last kept."""

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

    Exit code 1 where anything changed. Servers that cannot be reached are left out and told.
    """
    kind = kind_of(kind_name)
    async with opened(source, output) as open_:
        wanted = chosen(open_.settings, servers)
        before = {each.id: await open_.crib.last_good(each, kind) for each in wanted}
        readings = await read_all(open_, source, output, kind)
        now = {each.server: each.snapshot for each in readings if not each.trouble}
        changes = [
            CatalogChange(server, kind, diff(before[server], snapshot))
            for server, snapshot in now.items()
            if server in before
        ]
        output.show(diff_view(changes))
        return Exit.FOUND if any(change.difference for change in changes) else Exit.FINE
