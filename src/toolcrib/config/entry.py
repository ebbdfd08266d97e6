"""One configured server, in whatever form: how it is launched, and whether it is switched off."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from toolcrib.config import typed
from toolcrib.config.document import Node
from toolcrib.config.expansion import Scope
from toolcrib.config.fields import Fields
from toolcrib.config.launching import ADDRESSES, HTTP_ONLY, STDIO_ONLY, http_launch, stdio_launch
from toolcrib.config.problem import Report
from toolcrib.settings import HttpTransport, Launch

LAUNCH_KEYS: Final = frozenset(
    {"type", "transport", "command", "disabled", "enabled", *STDIO_ONLY, *HTTP_ONLY, *ADDRESSES}
)
"""Every key of an entry that is understood, in all forms together."""

_Kind = HttpTransport | Literal["stdio"]
_KINDS: Final[Mapping[str, _Kind]] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "auto",
    "remote": "auto",
    "streamablehttp": "streamable",
    "sse": "sse",
}
"""By the word in lower case, without `-` and `_`. By `http` editors mean what we call `auto`."""
_WORDS: Final = "write stdio, local, http, streamable-http, sse or remote, or leave it out"


@dataclass(frozen=True, slots=True)
class Entry:
    """What one file says of one server."""

    id: str
    node: Node
    launch: Launch | None
    """None where it cannot be made; the report says why."""
    off: bool
    """Whether the entry switches itself off."""
    report: Report
    description: str = ""
    """What it says of itself; empty where that is no text."""


def read_entry(server_id: str, node: Node, scope: Scope) -> Entry:
    """Reads one entry. Whatever is wrong with it is in its report and costs no other entry."""
    report = Report(server_id)
    if not server_id or not server_id.isprintable():
        report.error(node, "has an unusable name", "name the server with printable characters")
    if not isinstance(node.value, dict):
        remedy = 'write {"command": …} or {"url": …}'
        report.error(node, f"is {typed.kind_of(node)}, not an object", remedy)
        return Entry(server_id, node, None, off=False, report=report)
    fields = Fields(node, scope, report)
    off = _is_off(fields)
    launch = _launch(fields)
    said = fields.given.get("description")
    description = said.value if said is not None and isinstance(said.value, str) else ""
    launch = None if report.failed else launch
    return Entry(server_id, node, launch, off, report, description)


def _is_off(fields: Fields) -> bool:
    """Whether one of the two switches says so; a switch that says neither is an error."""
    given, report = fields.given, fields.report
    disabled = typed.flag(given["disabled"], report) if "disabled" in given else False
    enabled = typed.flag(given["enabled"], report) if "enabled" in given else True
    return disabled is True or enabled is False


def _launch(fields: Fields) -> Launch | None:
    """Reports all that is wrong with the entry, not only the first thing."""
    kind = _kind(fields)
    ways = fields.named("command", *ADDRESSES)
    if len(ways) > 1:
        remedy = "keep command for a local program, or one address for a remote server"
        fields.report.error(fields.node, f"has both {' and '.join(ways)}", remedy)
        return None
    if not ways:
        remedy = 'add "command" for a local program or "url" for a remote server'
        fields.report.error(fields.node, "has neither command nor url", remedy)
        return None
    way = ways[0]
    if kind is not None and (kind == "stdio") != (way == "command"):
        remedy = "stdio and local need command; all other types need url"
        fields.report.error(fields.node, f"has {way}, but its type says otherwise", remedy)
        return None
    if way == "command":
        return stdio_launch(fields)
    if kind is None or kind == "stdio":
        return http_launch(fields, way, "streamable" if way == "httpUrl" else "auto")
    return http_launch(fields, way, kind)


def _kind(fields: Fields) -> _Kind | None:
    """What `type` (or `transport`) says; None where neither says anything."""
    said: list[_Kind] = []
    for key in fields.named("type", "transport"):
        node = fields.given[key]
        word = node.value.lower() if isinstance(node.value, str) else ""
        kind = _KINDS.get(re.sub("[-_]", "", word))
        if kind is None:
            fields.report.error(node, "is no type of server", _WORDS)
        else:
            said.append(kind)
    if len(set(said)) > 1:
        fields.report.error(fields.node, "has a type and a transport that differ", "keep type")
    return said[0] if said else None
