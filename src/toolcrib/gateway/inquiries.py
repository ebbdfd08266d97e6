"""What the command line asks a running gateway: tools of ours that no listing shows.

They are calls like any other, so what lets a host in lets them in, and each caller learns of its
own servers only: their states, and reasons as a model may read them; no command, no address.
A name with our prefix is never a server's: whatever it calls its tools, these are answered here.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import anyio

from toolcrib.calls.call import Requester
from toolcrib.calls.results.refusal import refusal
from toolcrib.catalog.access import CatalogAccess
from toolcrib.catalog.reading import Reading
from toolcrib.catalog.server_row import server_row
from toolcrib.core.jsontypes import is_array, is_integer
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.hits import Hit
from toolcrib.discovery.lookup import HITS, Lookup, Question
from toolcrib.errors import BadArguments, ToolcribError
from toolcrib.gateway.discovering import GatewayDiscovery
from toolcrib.protocol.envelope import OWN_PREFIX
from toolcrib.settings import Limits

SERVERS: Final = f"{OWN_PREFIX}servers"
"""Answers `{"servers": [{"id", "state", "trouble", "counts", …}]}`: members of `ServerRow`."""

SEARCH: Final = f"{OWN_PREFIX}search"
"""Takes `query`, `server` (ids), `limit` and `pattern` (whether the query is a regular expression).
Answers `{"text", "method", "hits": [{"server", "name", "score", "definition"}], "near", "notes"}`.
"""


class Inquiries:
    """Answers them for one principal.

    Args:
        access: Its catalogs.
        discovery: What it finds tools with.
        limits: Of searches.
    """

    def __init__(self, access: CatalogAccess, discovery: GatewayDiscovery, limits: Limits) -> None:
        self._access = access
        self._enabling = discovery.enabling
        search = discovery.search
        self._lookup = (
            None if search is None else Lookup(search, discovery.meta, discovery.enabling, limits)
        )

    def takes(self, name: str) -> bool:
        """Whether a tool is one of them."""
        return name == SERVERS or (name == SEARCH and self._lookup is not None)

    async def call(
        self, name: str, arguments: Mapping[str, Any], requester: Requester
    ) -> dict[str, Any]:
        """The `CallToolResult`; what stops it is told as a result."""
        try:
            if self._lookup is None or name == SERVERS:
                told = await self._servers(requester)
            else:
                told = await self._search(self._lookup, arguments, requester)
        except ToolcribError as error:
            return refusal(error, name)
        return {"content": [], "structuredContent": told}

    async def _servers(self, requester: Requester) -> dict[str, Any]:
        readings: list[Reading] = []

        async def read(kind: Kind) -> None:
            readings.extend(await self._access.read(kind))

        async with anyio.create_task_group() as tasks:
            for kind in Kind:
                tasks.start_soon(read, kind)
        there = set(await self._enabling.searchable(requester))
        rows = [
            server_row(
                self._access.status(server),
                [it for it in readings if it.server == server],
                for_model=True,
            )
            for server in self._access.server_ids()
            if server in there
        ]
        return {"servers": [asdict(row) for row in rows]}

    async def _search(
        self, lookup: Lookup, arguments: Mapping[str, Any], requester: Requester
    ) -> dict[str, Any]:
        looked_up = await lookup.find(_question(arguments), requester)
        told: dict[str, Any] = {"text": looked_up.text}
        if (found := looked_up.found) is not None:
            told["method"] = found.method
            told["hits"] = [_hit(hit) for hit in found.hits]
            told["near"], told["notes"] = list(found.near), list(found.notes)
        return told


def _question(arguments: Mapping[str, Any]) -> Question:
    query, servers = arguments.get("query", ""), arguments.get("server", [])
    limit, pattern = arguments.get("limit", HITS), arguments.get("pattern", False)
    texts = is_array(servers) and all(isinstance(server, str) for server in servers)
    if not (isinstance(query, str) and texts and is_integer(limit)):
        raise BadArguments("a search takes a query, ids of servers and a limit")
    method = "regex" if pattern is True else "auto"
    return Question(query, tuple(servers), int(limit), method)


def _hit(hit: Hit) -> dict[str, Any]:
    definition = dict(hit.item.definition)
    return {"server": hit.server, "name": hit.name, "score": hit.score, "definition": definition}
