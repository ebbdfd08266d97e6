"""Servers that could not be asked: told on standard error, with the reason."""

from collections.abc import Sequence

from toolcrib.catalog.reading import Reading
from toolcrib.cli.opening import Opened, Source
from toolcrib.cli.output import Output
from toolcrib.cli.server_table import server_row, servers_view


def is_absent(open_: Opened, source: Source, reading: Reading) -> bool:
    """Whether a reading is not its server's own answer of now.

    Who waits for no server wants what is kept; then only a catalog that is not there counts.
    """
    if reading.snapshot is None:
        return True
    status = open_.crib.catalogs().status(reading.server)
    return source.patience > 0 and status.state != "ready"


def tell_absent(open_: Opened, output: Output, absent: Sequence[Reading]) -> None:
    """Complains about these servers, if there are any."""
    if absent:
        catalogs = open_.crib.catalogs()
        rows = [server_row(catalogs.status(each.server), [each]) for each in absent]
        output.complain(servers_view(rows))
