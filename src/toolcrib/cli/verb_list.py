"""`toolcrib list`: what the servers have, under the names that hosts see."""

import shlex
from collections.abc import Sequence

from toolcrib.catalog.reading import Reading
from toolcrib.catalog.server_row import ServerRow, server_row
from toolcrib.cli.absent import is_absent, is_well, tell_absent, tell_rows
from toolcrib.cli.exits import Exit
from toolcrib.cli.exposed import exposed_name, kind_of
from toolcrib.cli.item_table import Waiting, item_rows, items_view, waiting_in
from toolcrib.cli.opening import Opened, Source, opened, reach, read_all
from toolcrib.cli.output import Output
from toolcrib.cli.running_gateway import by_server, servers_at
from toolcrib.cli.server_table import servers_view
from toolcrib.cli.token_table import tokens_view
from toolcrib.core.snapshot import Kind

NOT_RUN = ("disabled", "unusable")


async def list_items(source: Source, output: Output, kind_name: str) -> Exit:
    """Lists one kind; servers that do not answer are told on standard error: exit code 1.

    Those behind a running gateway are its own to tell of.
    """
    kind = kind_of(kind_name)
    async with opened(source, output) as open_:
        readings = await read_all(open_, source, output, kind)
        rows = item_rows(
            readings, lambda server, key: exposed_name(open_.settings, server, key, kind)
        )
        behind = await servers_at(open_) if source.url is not None else None
        if behind is not None and kind.key == "name":
            rows = by_server(rows, behind)
        waiting = waiting_in(readings)
        output.show(items_view(kind, rows, waiting, _approving(source, waiting)))
        return _told(open_, source, output, readings, behind)


def _approving(source: Source, waiting: Sequence[Waiting]) -> str:
    """The command that shows what waits at these servers, and approves it."""
    files = [word for file in source.files for word in ("--config", str(file))]
    return shlex.join(["toolcrib", "approve", "--changes", *(it.server for it in waiting), *files])


def _told(
    open_: Opened,
    source: Source,
    output: Output,
    readings: Sequence[Reading],
    behind: Sequence[ServerRow] | None,
) -> Exit:
    """Tells of what is missing, here and behind the gateway."""
    absent = [reading for reading in readings if is_absent(open_, source, reading)]
    tell_absent(open_, output, absent)
    ill = [row for row in behind or () if not is_well(row)]
    tell_rows(output, ill)
    return Exit.FOUND if absent or ill else Exit.FINE


async def list_tokens(source: Source, output: Output) -> Exit:
    """Lists what definitions cost; servers that do not answer are told: exit code 1."""
    async with opened(source, output) as open_:
        readings = await read_all(open_, source, output, Kind.TOOLS)
        with output.progress("counting tokens"):
            report = await open_.crib.discovery().showing.report()
        output.show(tokens_view(report))
        return _told(open_, source, output, readings, None)


async def list_servers(source: Source, output: Output) -> Exit:
    """Lists the servers, with what each has and whether it is there: exit code 1 where one is not.

    Of a running gateway, the servers behind it.
    """
    async with opened(source, output) as open_:
        rows = await _behind(open_, source, output)
        if rows is None:
            rows = await _own(open_, source, output)
        output.show(servers_view(sorted(rows, key=lambda row: row.id)))
        return Exit.FINE if all(map(is_well, rows)) else Exit.FOUND


async def _behind(open_: Opened, source: Source, output: Output) -> Sequence[ServerRow] | None:
    if source.url is None:
        return None
    with output.progress("asking the gateway for its servers"):
        await reach(open_, source)
        return await servers_at(open_)


async def _own(open_: Opened, source: Source, output: Output) -> Sequence[ServerRow]:
    catalogs = open_.crib.catalogs()
    readings = await read_all(open_, source, output, *Kind)
    rows = [
        server_row(catalogs.status(server), [it for it in readings if it.server == server])
        for server in catalogs.server_ids()
    ]
    if open_.loaded is not None:
        entries = open_.loaded.entries.items()
        rows += [ServerRow(each, state) for each, state in entries if state in NOT_RUN]
    return rows
