"""Servers that could not be asked: told on standard error, with the reason."""

import shlex
from collections.abc import Sequence

from toolcrib.catalog.reading import Reading
from toolcrib.catalog.server_row import ServerRow, server_row
from toolcrib.cli.opening import Opened, Source
from toolcrib.cli.output import Output
from toolcrib.cli.server_table import servers_view

AS_WANTED = frozenset({"ready", "disabled"})


def is_absent(open_: Opened, source: Source, reading: Reading) -> bool:
    """Whether a reading is not its server's own answer of now.

    Who waits for no server wants what is kept; then only a catalog that is not there counts.
    """
    if reading.snapshot is None:
        return True
    return is_away(open_, source, reading.server)


def is_away(open_: Opened, source: Source, server: str) -> bool:
    """Whether a server was waited for and is not there."""
    return source.patience > 0 and open_.crib.catalogs().status(server).state != "ready"


def is_well(row: ServerRow) -> bool:
    """Whether a server is as it should be: one that nobody needs now may be let go."""
    idle = row.state == "idle" and bool(row.counts)
    return (row.state in AS_WANTED or idle) and not row.trouble


def tell_absent(open_: Opened, output: Output, absent: Sequence[Reading]) -> None:
    """Complains about these servers, if there are any."""
    catalogs = open_.crib.catalogs()
    tell_rows(output, [server_row(catalogs.status(each.server), [each]) for each in absent])


def tell_rows(output: Output, rows: Sequence[ServerRow]) -> None:
    """Complains about these servers, if there are any."""
    if rows:
        output.complain(servers_view(rows))


def asking_why(source: Source) -> str:
    """The command that tells of the same servers why one is not there."""
    where = [word for file in source.files for word in ("--config", str(file))]
    if source.url is not None:
        where = ["--url", source.url]
    return f"`{shlex.join(['toolcrib', 'list', '--servers', *where])}`"
