"""`toolcrib list`: what the servers have, under the names that hosts see."""

from toolcrib.cli.absent import is_absent, tell_absent
from toolcrib.cli.exits import Exit
from toolcrib.cli.exposed import exposed_name, kind_of
from toolcrib.cli.item_table import item_rows, items_view
from toolcrib.cli.opening import Source, opened, read_all
from toolcrib.cli.output import Output
from toolcrib.cli.server_table import ServerRow, server_row, servers_view
from toolcrib.cli.token_table import tokens_view
from toolcrib.core.snapshot import Kind

NOT_RUN = ("disabled", "unusable")
AS_WANTED = ("ready", "disabled")


async def list_items(source: Source, output: Output, kind_name: str) -> Exit:
    """Lists one kind; servers that do not answer are told on standard error: exit code 1."""
    kind = kind_of(kind_name)
    async with opened(source, output) as open_:
        readings = await read_all(open_, source, output, kind)
        rows = item_rows(
            readings, lambda server, key: exposed_name(open_.settings, server, key, kind)
        )
        output.show(items_view(kind, rows))
        absent = [reading for reading in readings if is_absent(open_, source, reading)]
        tell_absent(open_, output, absent)
        return Exit.FOUND if absent else Exit.FINE


async def list_tokens(source: Source, output: Output) -> Exit:
    """Lists what definitions cost; servers that do not answer are told: exit code 1."""
    async with opened(source, output) as open_:
        readings = await read_all(open_, source, output, Kind.TOOLS)
        with output.progress("counting tokens"):
            report = await open_.crib.discovery().showing.report()
        output.show(tokens_view(report))
        absent = [reading for reading in readings if is_absent(open_, source, reading)]
        tell_absent(open_, output, absent)
        return Exit.FOUND if absent else Exit.FINE


async def list_servers(source: Source, output: Output) -> Exit:
    """Lists the servers, with what each has and whether it is there."""
    async with opened(source, output) as open_:
        catalogs = open_.crib.catalogs()
        readings = await read_all(open_, source, output, *Kind)
        rows = [
            server_row(catalogs.status(server), [it for it in readings if it.server == server])
            for server in catalogs.server_ids()
        ]
        if open_.loaded is not None:
            entries = open_.loaded.entries.items()
            rows += [ServerRow(each, state) for each, state in entries if state in NOT_RUN]
        output.show(servers_view(sorted(rows, key=lambda row: row.id)))
        return Exit.FINE if all(row.state in AS_WANTED for row in rows) else Exit.FOUND
