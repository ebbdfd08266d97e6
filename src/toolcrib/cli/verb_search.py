"""`toolcrib search`: the tools that fit what somebody wants to do."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import anyio

from toolcrib.catalog.reading import Reading
from toolcrib.cli.absent import is_absent, tell_absent
from toolcrib.cli.call_result import call_exit, call_view
from toolcrib.cli.exits import Exit, UsageError
from toolcrib.cli.hit_table import Detail, hits_view
from toolcrib.cli.opening import GATEWAY, Source, chosen, opened, read_all
from toolcrib.cli.output import Output
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.hits import Query
from toolcrib.discovery.meta.definitions import SEARCH
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


async def search(source: Source, output: Output, wanted: Wanted) -> Exit:
    """Shows what was found; exit code 1 where that is nothing, or a server did not answer.

    A running gateway that shows its model a search is asked to search; the listing of any other one
    is searched here.
    """
    async with opened(source, output) as open_:
        if source.url is None:
            chosen(open_.settings, wanted.servers)
        readings = await read_all(open_, source, output, Kind.TOOLS)
        if source.url is not None and _searches(readings):
            arguments = _arguments(wanted)
            with output.progress("searching"):
                result = await open_.crib.call((GATEWAY, SEARCH), arguments)
            output.show(call_view(result))
            return call_exit(result)
        if source.url is not None and wanted.servers:
            raise UsageError(
                "this gateway shows all its tools, under names that do not say of which server",
                remedy="leave out --server",
            )
        with output.progress("searching"):
            discovery = open_.crib.discovery()
            with anyio.move_on_after(PATIENCE):
                await discovery.searcher.caught_up()
            found = await discovery.search.find(
                Query(wanted.text, wanted.servers or None, wanted.limit, wanted.method)
            )
        output.show(hits_view(wanted.text, found, wanted.detail))
        absent = [reading for reading in readings if is_absent(open_, source, reading)]
        tell_absent(open_, output, absent)
        return Exit.FINE if found.hits and not absent else Exit.FOUND


def _searches(readings: Iterable[Reading]) -> bool:
    """Whether the gateway has the meta-tool."""
    return any(it.snapshot is not None and it.snapshot.get(SEARCH) is not None for it in readings)


def _arguments(wanted: Wanted) -> dict[str, Any]:
    """The same question as the meta-tool takes it.

    Raises:
        UsageError: It has no such method: which one is used is the gateway's to say.
    """
    if wanted.method not in {"auto", "regex"}:
        raise UsageError(
            f"the gateway searches by its own method, and not by {wanted.method}",
            remedy="leave out --method, or give regex",
        )
    text = f"/{wanted.text}/" if wanted.method == "regex" else wanted.text
    arguments = {"query": text, "detail": wanted.detail, "limit": wanted.limit}
    return {**arguments, "server": list(wanted.servers)} if wanted.servers else arguments
