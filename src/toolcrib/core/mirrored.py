"""Parameters that a server wants mirrored into HTTP headers, and when that spoils the tool.

MCP 2026-07-28, Streamable HTTP: custom headers from tool parameters. An `x-mcp-header` annotation
is in order on a string, integer or boolean property that a chain of `properties` alone leads to,
with a token as its value that no other annotation of the schema uses. Anywhere else it makes the
tool unusable.
"""

import re
from dataclasses import dataclass

from toolcrib.core.jsontypes import JsonObject, described
from toolcrib.core.quoting import clipped, literal
from toolcrib.core.schema import Path, positions, shown

ANNOTATION = "x-mcp-header"

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TYPES = ("string", "integer", "boolean")


@dataclass(frozen=True, slots=True)
class Mirrored:
    """One annotated parameter."""

    path: Path
    """The property names that lead to it, from the root of the arguments."""
    header: str
    """The name after `Mcp-Param-`."""


def mirrored(schema: object) -> tuple[Mirrored, ...]:
    """The annotated parameters of an input schema for which `mirror_fault` finds nothing wrong."""
    return tuple(
        Mirrored(properties_of(path), node[ANNOTATION])
        for path, node in positions(schema)
        if ANNOTATION in node
    )


def mirror_fault(schema: object) -> str | None:
    """What is wrong with the annotations of an input schema, in a sentence; or None."""
    taken: dict[str, Path] = {}
    for path, node in positions(schema):
        if ANNOTATION not in node:
            continue
        problem = _misplaced(path) or _misnamed(node[ANNOTATION]) or _mistyped(node)
        if problem is not None:
            return f"{ANNOTATION} at {shown(path) or 'the root'} {problem}"
        key = node[ANNOTATION].lower()
        if key in taken:
            name = clipped(node[ANNOTATION])
            return f"{ANNOTATION} {name} stands at {shown(taken[key])} and again at {shown(path)}"
        taken[key] = path
    return None


def properties_of(path: Path) -> Path:
    """The property names of a path that consists of `properties` and names alone."""
    return path[1::2]


def _misplaced(path: Path) -> str | None:
    if path and len(path) % 2 == 0 and set(path[::2]) == {"properties"}:
        return None
    return "is not on a property that `properties` alone lead to"


def _misnamed(header: object) -> str | None:
    if not isinstance(header, str):
        return f"is {described(header)}, but must be a string"
    return None if _TOKEN.fullmatch(header) else f"is {literal(header)}, which names no header"


def _mistyped(node: JsonObject) -> str | None:
    kind = node.get("type")
    if kind in _TYPES:
        return None
    return f"is on a property of type {literal(kind)}, but must be on one of {', '.join(_TYPES)}"
