"""`toolcrib probe`: does a server give the same listing each time."""

from toolcrib.catalog.probe import Probe
from toolcrib.cli.exits import Exit
from toolcrib.cli.exposed import kind_of
from toolcrib.cli.opening import Source, chosen, parts_of
from toolcrib.cli.output import Output
from toolcrib.cli.probe_table import probe_exit, probe_view
from toolcrib.crib import Deaf
from toolcrib.ports import ClientProfile


async def probe(
    source: Source,
    output: Output,
    servers: tuple[str, ...],
    kind_name: str,
    walks: int,
    connections: int,
) -> Exit:
    """Probes each server in turn and shows a report as soon as it is complete.

    Exit code 1 where a listing failed or listings differ.
    """
    kind = kind_of(kind_name)
    worst = Exit.FINE
    with parts_of(source, output, Deaf()) as (settings, parts, _):
        prober = Probe(parts.connector, parts.clock, settings.limits, ClientProfile())
        for server in chosen(settings, servers):
            with output.progress(f"probing {server.id}"):
                report = await prober.run(server, kind, walks=walks, connections=connections)
            output.line(probe_view(report))
            worst = max(worst, probe_exit(report))
    return worst
