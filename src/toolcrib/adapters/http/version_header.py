"""A response header in which a server publishes a version of its own, handed up with the result.

No message carries headers, so the value travels in the result's `_meta` under a key of ours. Only
we write that key: whatever a server puts there is taken out.
"""

from typing import Any, cast

import httpx2
from mcp_types import JSONRPCResponse

from toolcrib.protocol.envelope import VERSION_KEY
from toolcrib.protocol.version_source import parse_version_source

__all__ = ["stamp_version", "version_header"]


def version_header(version_from: str) -> str:
    """The header that `version_from` of a server names; empty where it names none."""
    source = parse_version_source(version_from)
    return source.name if source is not None and source.where == "header" else ""


def stamp_version(answer: JSONRPCResponse, header: str, response: httpx2.Response) -> None:
    """Put the header of a response into the result that it carried."""
    given = answer.result.get("_meta")
    meta = {**cast("dict[str, Any]", given)} if isinstance(given, dict) else {}
    meta.pop(VERSION_KEY, None)
    version = response.headers.get(header)
    if version is not None:
        meta[VERSION_KEY] = version
    if meta or isinstance(given, dict):
        answer.result["_meta"] = meta
