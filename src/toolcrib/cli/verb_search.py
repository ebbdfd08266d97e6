"""`toolcrib search`: the tools that fit what somebody wants to do."""

from dataclasses import dataclass
from typing import Any

import anyio

from toolcrib.calls.call import Requester
from toolcrib.cli.absent import is_absent, is_well, tell_absent, tell_rows
from toolcrib.cli.exits import Exit, UsageError
from toolcrib.cli.hit_table import Detail, hits_view, words_view
from toolcrib.cli.opening import Opened, Source, chosen, opened, read_all
from toolcrib.cli.output import Output
from toolcrib.cli.running_gateway import found_at, is_gateway, servers_at
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.lookup import LookedUp, Lookup, Question
from toolcrib.settings import SearchMethod

PATIENCE = 10.0
"""Seconds in which tools that were never searched before are made ready to be found by meaning;
the ones that are not are found by their words."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is searched for."""

    text: str
    servers: tuple[str, ...] = ()
    """None: all of them."""
    limit: int = 10
    detail: Detail = "brief"
    method: SearchMethod = "auto"

    @property
    def question(self) -> Question:
        """The same without how it is shown."""
        return Question(self.text, self.servers, self.limit, self.method)


async def search(source: Source, output: Output, wanted: Wanted) -> Exit:
    """Shows what was found; exit code 1 where that is nothing, or a server did not answer.

    A running gateway searches by itself; the listing of any other server is searched here.
    """
    async with opened(source, output) as open_:
        if source.url is None:
            chosen(open_.settings, wanted.servers)
        readings = await read_all(open_, source, output, Kind.TOOLS)
        looked_up = None
        with output.progress("searching"):
            if source.url is not None and is_gateway(open_):
                looked_up = await found_at(open_, _arguments(wanted))
            if looked_up is None:
                looked_up = await _searched(open_, source, wanted)
        found = looked_up.found
        if found is None:
            output.show(words_view(wanted.text, looked_up.text))
        else:
            output.show(hits_view(wanted.text, found, wanted.detail, instead=looked_up.text))
        absent = [reading for reading in readings if is_absent(open_, source, reading)]
        tell_absent(open_, output, absent)
        behind = await servers_at(open_) if source.url is not None else None
        ill = [row for row in behind or () if not is_well(row)]
        tell_rows(output, ill)
        well = not absent and not ill
        return Exit.FINE if well and (found is None or found.hits) else Exit.FOUND


async def _searched(open_: Opened, source: Source, wanted: Wanted) -> LookedUp:
    if source.url is not None and wanted.servers:
        raise UsageError(
            "what is there is no gateway: its tools are of one server",
            remedy="leave out --server",
        )
    discovery = open_.crib.discovery()
    with anyio.move_on_after(PATIENCE):
        await discovery.searcher.caught_up()
    lookup = Lookup(discovery.search, discovery.meta, discovery.enabling, open_.settings.limits)
    return await lookup.find(wanted.question, Requester())


def _arguments(wanted: Wanted) -> dict[str, Any]:
    """The same question as a gateway takes it.

    Raises:
        UsageError: It has no such method: which one is used is the gateway's to say.
    """
    if wanted.method not in {"auto", "regex"}:
        raise UsageError(
            f"the gateway searches by its own method, and not by {wanted.method}",
            remedy="leave out --method, or give regex",
        )
    return {
        "query": wanted.text,
        "server": list(wanted.servers),
        "limit": wanted.limit,
        "pattern": wanted.method == "regex",
    }
