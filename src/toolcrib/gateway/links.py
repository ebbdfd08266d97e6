"""URIs inside results: led back to the server that wrote them, as far as we can know it.

A server may link to resources that it lists nowhere, and two servers may mean different things by
one URI. So what a server links to is remembered, and a URI that would lead to another server (one
that lists it, has a template for it, or linked to it first) is shown in the form that names its
own.
"""

from typing import Any, Final

from toolcrib.core.jsontypes import is_object
from toolcrib.gateway.listings import Listings
from toolcrib.gateway.placing import listed_at, templated_at
from toolcrib.gateway.uris import looks_ours, qualified
from toolcrib.protocol.trust import IconPolicy, link_fault, with_icons

REMEMBERED: Final = 5_000
"""Links to resources that no listing has."""


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
        return [await self._in_block(server, block) for block in content]

    async def in_contents(self, server: str, contents: list[Any]) -> list[Any]:
        """The `contents` of a read resource, in the same way."""
        return [await self._in_place(server, part) for part in contents]

    async def _in_block(self, server: str, block: Any) -> Any:
        if not _has_uri(block):
            return block
        if block["type"] == "resource_link":
            uri = block.get("uri")
            if isinstance(uri, str) and (fault := link_fault(uri)):
                return {"type": "text", "text": f"[a link was left out: {fault}]"}
            return await self._in_place(server, with_icons(block, self._icons))
        return {**block, "resource": await self._in_place(server, block["resource"])}

    async def _in_place(self, server: str, holder: Any) -> Any:
        uri = holder.get("uri") if is_object(holder) else None
        if not isinstance(uri, str):
            return holder
        shown = await self._shown(server, uri)
        return holder if shown == uri else {**holder, "uri": shown}

    async def _shown(self, server: str, uri: str) -> str:
        if looks_ours(uri):
            return qualified(server, uri)
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
