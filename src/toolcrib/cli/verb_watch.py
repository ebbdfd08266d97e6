"""`toolcrib watch`: every change of every catalog, as it happens."""

from collections.abc import Callable

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from toolcrib.catalog.access import PublishedChange
from toolcrib.cli.exits import Exit
from toolcrib.cli.exposed import kind_of
from toolcrib.cli.opening import Source, opened
from toolcrib.cli.output import Output, View
from toolcrib.cli.watch_lines import change_line, fact_line
from toolcrib.core.snapshot import Kind
from toolcrib.facts import ConnectionChanged, Fact, Finding, RefreshFailed, StoreDegraded

BACKLOG = 10_000
"""Lines that may wait for a slow terminal before further ones are dropped."""

SHOWN = (ConnectionChanged, Finding, RefreshFailed, StoreDegraded)


class _Lines:
    """Turns what happens into lines and hands them to whoever prints."""

    def __init__(self, lines: MemoryObjectSendStream[Callable[[float], View]]) -> None:
        self._lines = lines
        self._begun: set[tuple[str, Kind]] = set()

    def note(self, fact: Fact) -> None:
        """Takes the facts a person watches for."""
        if isinstance(fact, SHOWN):
            self._send(lambda at: fact_line(fact, at))

    def changed(self, change: PublishedChange) -> None:
        """Takes a change of content; the first of a catalog is what was kept, or listed first."""
        catalog = (change.server, change.kind)
        first = change.before is None and catalog not in self._begun
        self._begun.add(catalog)
        self._send(lambda at: change_line(change, at, first=first))

    def _send(self, line: Callable[[float], View]) -> None:
        try:
            self._lines.send_nowait(line)
        except (anyio.WouldBlock, anyio.BrokenResourceError):
            return


async def watch(
    source: Source, output: Output, kinds: tuple[str, ...], seconds: float | None
) -> Exit:
    """Prints a line for each change, until interrupted or for `seconds`."""
    wanted = tuple(kind_of(name) for name in kinds) or (Kind.TOOLS,)
    send, receive = anyio.create_memory_object_stream[Callable[[float], View]](BACKLOG)
    lines = _Lines(send)
    with send, receive, anyio.move_on_after(seconds):
        async with opened(source, output, lines) as open_:
            catalogs = open_.crib.catalogs()
            catalogs.on_published(lines.changed)
            for server in catalogs.server_ids():
                for kind in wanted:
                    catalogs.server(server).keeper(kind).watch()
                    catalogs.server(server).keeper(kind).need()
            async for line in receive:
                output.line(line(open_.parts.clock.now().wall))
    return Exit.FINE
