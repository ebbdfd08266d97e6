"""Exposed URIs: unchanged, but where two servers claim one (DESIGN section 9).

The first server by id keeps a contested URI. The other's is shown as
`toolcrib://server/<id>/<URI>`, with the URI as it is behind the id, so that a template stays a
template and every expansion of it can be led back. So is every URI of a server that looks like one
of ours: `toolcrib://server/…` could take another server's place, `toolcrib://result/…` that of a
result that was kept for the caller.
"""

from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote, unquote

from toolcrib.core.naming import Original
from toolcrib.core.quoting import quoted
from toolcrib.core.snapshot import Item
from toolcrib.facts import Finding

_OURS: Final = "toolcrib://"
PREFIX: Final = f"{_OURS}server/"


def qualified(server: str, uri: str) -> str:
    """The form that names its server."""
    return f"{PREFIX}{quote(server, safe='')}/{uri}"


def unqualified(uri: str) -> tuple[str, str] | None:
    """Server id and original URI of a qualified form; None for any other URI."""
    if not uri.startswith(PREFIX):
        return None
    server, slash, original = uri.removeprefix(PREFIX).partition("/")
    return (unquote(server), original) if slash and server and original else None


def looks_ours(uri: str) -> bool:
    """Whether a URI, or a template, has the scheme that only we give out."""
    return uri[: len(_OURS)].lower() == _OURS


def expose_uris(
    catalogs: Mapping[str, Iterable[Item]],
) -> tuple[Mapping[str, Original], tuple[Finding, ...]]:
    """A table by exposed URI, ordered by (server id, URI), and what an operator should know."""
    entries: dict[str, Original] = {}
    findings: list[Finding] = []
    for server in sorted(catalogs):
        for item in sorted(catalogs[server], key=lambda item: item.key):
            uri = item.key
            if (holder := entries.get(uri)) is not None:
                findings.append(_contested(server, uri, holder.server))
                uri = qualified(server, uri)
            elif looks_ours(uri):
                uri = qualified(server, uri)
            entries[uri] = Original(server, item)
    return entries, tuple(findings)


def _contested(server: str, uri: str, holder: str) -> Finding:
    shown = quoted(qualified(server, uri), 120)
    detail = f"{quoted(uri)} is also one of {quoted(holder)}, which keeps it; here it is {shown}"
    return Finding(server, "contested_uri", detail)
