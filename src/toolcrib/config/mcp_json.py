"""The `mcp.json` files of all hosts: finds the servers in whatever form they are written.

| form | who writes it |
|---|---|
| `{"mcpServers": {…}}` | most hosts |
| `{"servers": {…}, "inputs": […]}` | VS Code, `.vscode/mcp.json` |
| `{"mcp": {"servers": {…}}}`, `{"mcp.servers": {…}}` | VS Code, `settings.json` |
| `{"mcp": {…}}` | OpenCode: commands as lists, `environment`, `enabled`, `{env:NAME}` |

A file may use several; all are read, in this order. Everything else in the file belongs to its host
and is left alone. Inside an entry an unknown key is a warning, once per file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from toolcrib.config.document import Node, repeated_keys
from toolcrib.config.entry import LAUNCH_KEYS, Entry, read_entry
from toolcrib.config.expansion import Scope
from toolcrib.config.problem import Problem, Report
from toolcrib.config.typed import kind_of, nearest

_CONTAINERS: Final = ("mcpServers", "servers", "mcp.servers")
_HOST_ONLY: Final = frozenset(
    {
        "$schema",
        "alwaysAllow",
        "autoApprove",
        "description",
        "gallery",
        "icon",
        "name",
        "tags",
        "title",
        "version",
    }
)
"""Keys of an entry that only say how its host shows it or asks: no word is lost about them."""
_ELSEWHERE: Final[Mapping[str, str]] = {
    "timeout": "hosts differ in its unit: set request_seconds in [servers.<id>] of toolcrib.toml",
    "envFile": "toolcrib does not read it: write ${NAME} in env, and set the variables",
    "disabledTools": "set tools.deny in [servers.<id>] of toolcrib.toml",
    "excludeTools": "set tools.deny in [servers.<id>] of toolcrib.toml",
    "includeTools": "set tools.allow in [servers.<id>] of toolcrib.toml",
    "enabledTools": "set tools.allow in [servers.<id>] of toolcrib.toml",
}
_UNKNOWN: Final = "check its spelling, or remove it"


@dataclass(frozen=True, slots=True)
class McpJson:
    """What one file says."""

    entries: tuple[Entry, ...]
    """In the order written, each with its report; ids may repeat if the file uses several forms."""
    problems: tuple[Problem, ...]
    """What concerns the file and no single entry."""


def read_mcp_json(root: Node, scope: Scope) -> McpJson:
    """Reads every entry of a file."""
    report = Report()
    entries: list[Entry] = []
    found = list(_containers(root, scope))
    if not found:
        if isinstance(root.value, dict):
            message, remedy = (
                "holds no servers",
                'put them under "mcpServers": {"name": {"command": …}}',
            )
        else:
            message, remedy = f"is {kind_of(root)}, not an object", 'write {"mcpServers": {…}}'
        report.error(root, message, remedy)
    for container, inner in found:
        if isinstance(container.value, dict):
            entries.extend(read_entry(key, node, inner) for key, node in container.value.items())
        else:
            remedy = 'write {"name": {"command": …}}'
            report.error(container, f"is {kind_of(container)}, not an object of servers", remedy)
    for node in repeated_keys(root):
        report.warn(node, "is written twice", "the last one counts: remove the other")
    _warn_of_unknown_keys(entries, report)
    return McpJson(tuple(entries), tuple(report.problems))


def _containers(root: Node, scope: Scope) -> Iterator[tuple[Node, Scope]]:
    """The objects that hold servers, each with what its references may refer to."""
    for key in _CONTAINERS:
        if key in root.table:
            yield root.table[key], scope
    mcp = root.table.get("mcp")
    if mcp is None:
        return
    nested = [mcp.table[key] for key in ("servers", "mcpServers") if _holds_servers(mcp, key)]
    yield from ((node, scope) for node in nested)
    if not nested:
        yield mcp, replace(scope, bare=True)


def _holds_servers(mcp: Node, key: str) -> bool:
    """Whether the member is a container, and not a server of that name."""
    member = mcp.table.get(key)
    if member is None:
        return False
    return not member.table.keys() & {"type", "command", "url"}


def _warn_of_unknown_keys(entries: list[Entry], report: Report) -> None:
    users: dict[str, list[Entry]] = {}
    for entry in entries:
        for key in entry.node.table.keys() - LAUNCH_KEYS - _HOST_ONLY:
            users.setdefault(key, []).append(entry)
    for key, using in sorted(users.items()):
        first = using[0].node.table[key]
        more = f", and {len(using) - 1} more like it" if len(using) > 1 else ""
        remedy = _ELSEWHERE.get(key) or nearest(key, LAUNCH_KEYS, otherwise=_UNKNOWN)
        report.warn(first, f"is not used{more}", remedy)
