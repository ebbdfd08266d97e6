"""What a running gateway tells beside its listings: its servers, and what it finds among them.

Any other MCP server at that address is asked nothing of the kind: it has its listings only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from toolcrib.catalog.server_row import ServerRow
from toolcrib.cli.item_table import ItemRow
from toolcrib.cli.opening import GATEWAY, Opened
from toolcrib.core.instant import Instant
from toolcrib.core.jsontypes import JsonObject, is_array, is_object
from toolcrib.core.naming import JOINT
from toolcrib.core.snapshot import Item, Kind
from toolcrib.discovery.hits import Found, Hit
from toolcrib.discovery.lookup import LookedUp
from toolcrib.errors import BadArguments, UpstreamRefused
from toolcrib.gateway.inquiries import SEARCH, SERVERS
from toolcrib.protocol.listing import parse_page

_NAME: Final = "toolcrib"
_TEXTS: Final = frozenset(field.name for field in fields(ServerRow) if field.type in {"str", str})


def is_gateway(open_: Opened) -> bool:
    """Whether what `--url` names is there, and calls itself a gateway of ours."""
    status = open_.crib.catalogs().status(GATEWAY)
    return status.state == "ready" and status.facts is not None and status.facts.name == _NAME


async def servers_at(open_: Opened) -> tuple[ServerRow, ...] | None:
    """The servers behind the gateway; None where it does not tell."""
    told = await _asked(open_, SERVERS, {})
    rows = told.get("servers") if told is not None else None
    if not is_array(rows):
        return None
    return tuple(_row(row) for row in rows if is_object(row) and isinstance(row.get("id"), str))


async def found_at(open_: Opened, arguments: Mapping[str, Any]) -> LookedUp | None:
    """What a search of the gateway brings; None where it does not search.

    Raises:
        BadArguments: The gateway cannot search for it; it says why.
    """
    told = await _asked(open_, SEARCH, arguments)
    if told is None:
        return None
    text, hits = told.get("text"), told.get("hits")
    words = text if isinstance(text, str) else ""
    if not is_array(hits):
        return LookedUp(None, words)
    found = tuple(hit for hit in map(_hit, hits) if hit is not None)
    method = told.get("method")
    searched = method if method in {"lexical", "regex", "semantic", "hybrid", "subagent"} else None
    return LookedUp(
        Found(found, searched or "lexical", _texts(told.get("near")), _texts(told.get("notes"))),
        words,
    )


def by_server(rows: Iterable[ItemRow], servers: Sequence[ServerRow]) -> tuple[ItemRow, ...]:
    """The rows of a gateway's listing under the server that each name speaks of.

    A name that was cut or cleaned speaks of none for certain: it stays the gateway's.
    """
    ids = sorted((row.id for row in servers), key=len, reverse=True)

    def owner(row: ItemRow) -> str:
        return next((it for it in ids if row.name.startswith(f"{it}{JOINT}")), row.server)

    return tuple(replace(row, server=owner(row)) for row in rows)


async def _asked(open_: Opened, name: str, arguments: Mapping[str, Any]) -> JsonObject | None:
    if not is_gateway(open_):
        return None
    params = {"name": name, "arguments": dict(arguments)}
    try:
        result = await open_.crib.catalogs().request(GATEWAY, "tools/call", params)
    except UpstreamRefused:
        return None  # it has no such tool
    told = result.get("structuredContent")
    if not is_object(told):
        return None
    error = told.get("error")
    if result.get("isError") is True and is_object(error):
        raise BadArguments(str(error.get("message")), server=GATEWAY)
    return told


def _row(told: JsonObject) -> ServerRow:
    texts = {name: told[name] for name in _TEXTS if isinstance(told.get(name), str)}
    counts, age = told.get("counts"), told.get("age")
    known: Mapping[str, Any] = counts if is_object(counts) else {}
    return ServerRow(
        **texts,
        counts={kind: count for kind, count in known.items() if type(count) is int},
        age=float(age) if isinstance(age, int | float) else None,
        fresh=told.get("fresh") is True,
    )


def _hit(told: object) -> Hit | None:
    if not is_object(told):
        return None
    server, name, score = told.get("server"), told.get("name"), told.get("score")
    item = _item(told.get("definition"))
    if item is None or not isinstance(server, str) or not isinstance(name, str):
        return None
    return Hit(server, item, name, float(score) if isinstance(score, int | float) else 0.0)


def _item(definition: object) -> Item | None:
    """The definition, judged like any other one that comes from a server."""
    page = parse_page(
        Kind.TOOLS, {"tools": [definition]}, era="handshake", received=Instant(0.0, 0.0)
    )
    return page.items[0] if page.items else None


def _texts(told: object) -> tuple[str, ...]:
    return tuple(text for text in told if isinstance(text, str)) if is_array(told) else ()
