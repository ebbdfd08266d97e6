"""URIs inside results: led back to the server that wrote them, as far as we can know it.

A server may link to resources that it lists nowhere, and two servers may mean different things by
one URI. So what a server links to is remembered, and a URI that would lead to another server (one
that lists it, has a template for it, or linked to it first) is shown in the form that names its
own.
"""

from collections.abc import Iterator
from typing import Any, Final

from toolcrib.core.jsontypes import is_object
from toolcrib.core.snapshot import Kind
from toolcrib.gateway.listings import Listings
from toolcrib.gateway.placing import listed_at, templated_at
from toolcrib.gateway.uris import looks_ours, qualified
from toolcrib.protocol.trust import IconPolicy, link_fault, with_icons

REMEMBERED: Final = 5_000
"""Links to resources that no listing has."""

LOOKUPS: Final = 20_000
"""Comparisons of URIs with templates for one result; further URIs get the form that names their
server, which is always right."""

_FEWEST: Final = 20
"""URIs of one result that are looked up, however many templates there are."""


class Links:
    """The unlisted URIs that servers linked to, newest last."""

    def __init__(self, listings: Listings, icons: IconPolicy = "drop") -> None:
        self._listings = listings
        self._icons: IconPolicy = icons
        self._servers: dict[str, str] = {}

    def server_of(self, uri: str) -> str | None:
        """The server that linked to an unlisted URI, if it is remembered."""
        return self._servers.get(uri)

    async def in_content(self, server: str, content: list[Any]) -> list[Any]:
        """Content blocks with their URIs as hosts may use them; changed blocks are copies.

        A link that leads to no resource becomes a text that says so.
        """
        if not any(_has_uri(block) for block in content):
            return content
        left = await self._lookups()
        return [await self._in_block(server, block, left) for block in content]

    async def in_contents(self, server: str, contents: list[Any]) -> list[Any]:
        """The `contents` of a read resource, in the same way."""
        left = await self._lookups()
        return [await self._in_place(server, part, left) for part in contents]

    async def _lookups(self) -> Iterator[int]:
        """One step for each URI of a result that may be looked up: servers link to any number."""
        templates = len((await self._listings.held(Kind.TEMPLATES)).entries)
        return iter(range(max(_FEWEST, LOOKUPS // (templates + 10))))

    async def _in_block(self, server: str, block: Any, left: Iterator[int]) -> Any:
        if not _has_uri(block):
            return block
        if block["type"] == "resource_link":
            uri = block.get("uri")
            if isinstance(uri, str) and (fault := link_fault(uri)):
                return {"type": "text", "text": f"[a link was left out: {fault}]"}
            return await self._in_place(server, with_icons(block, self._icons), left)
        return {**block, "resource": await self._in_place(server, block["resource"], left)}

    async def _in_place(self, server: str, holder: Any, left: Iterator[int]) -> Any:
        uri = holder.get("uri") if is_object(holder) else None
        if not isinstance(uri, str):
            return holder
        known = looks_ours(uri) or next(left, None) is None
        shown = qualified(server, uri) if known else await self._shown(server, uri)
        return holder if shown == uri else {**holder, "uri": shown}

    async def _shown(self, server: str, uri: str) -> str:
        held = self._listings.held
        owner = await listed_at(uri, held) or await templated_at(uri, held)
        if owner is not None:
            return uri if owner.server == server else qualified(server, uri)
        holder = self._servers.pop(uri, server)
        self._servers[uri] = holder
        if len(self._servers) > REMEMBERED:
            del self._servers[next(iter(self._servers))]
        return uri if holder == server else qualified(server, uri)


def _has_uri(block: object) -> bool:
    """Whether a content block refers to a resource: a link, or one that is embedded."""
    if not is_object(block):
        return False
    kind = block.get("type")
    return kind == "resource_link" or (kind == "resource" and is_object(block.get("resource")))
