"""What a `$ref` points at, inside one schema. Nothing outside is ever fetched.

MCP 2026-07-28, basic: `$ref` resolution; JSON Schema 2020-12 core, sections 8 and 9.
"""

import re
from typing import Final
from urllib.parse import unquote

from toolcrib.core.jsontypes import JsonObject, is_array, is_object
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.core.schema import positions

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
"""An array index (RFC 6901, section 4), of no more digits than any array has elements."""
_ANCHORS = ("$anchor", "$dynamicAnchor", "$id", "id")


class Missing:
    """The value of a reference that points nowhere, or outside."""


MISSING: Final = Missing()


def resolved(root: object, reference: str) -> object:
    """What a reference of the form `#` or `#/path` points at in `root`, or `MISSING` (RFC 6901)."""
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        return MISSING
    node = root
    for part in unquote(reference[2:]).split("/"):
        step = part.replace("~1", "/").replace("~0", "~")
        if is_object(node) and step in node:
            node = node[step]
        elif is_array(node) and _INDEX.fullmatch(step) and int(step) < len(node):
            node = node[int(step)]
        else:
            return MISSING
    return node


def reference_notes(schema: object) -> tuple[str, ...]:
    """At most two notes on the references of a schema: those to outside, those to nowhere."""
    found = list(positions(schema))
    nodes = [node for _, node in found]
    anchors = _anchors(nodes)
    rebased = any("$id" in node for path, node in found if path)
    outside: dict[str, None] = {}
    broken: dict[str, None] = {}
    for reference in _references(nodes):
        if _is_anchored(reference, anchors):
            continue
        if not reference.startswith("#"):
            outside[reference] = None
        elif not rebased and isinstance(resolved(schema, reference), Missing):
            broken[reference] = None
    notes: list[str] = []
    if outside:
        notes.append(f"references that lead outside and are never followed: {_listed(outside)}")
    if broken:
        notes.append(f"references that point nowhere: {_listed(broken)}")
    return tuple(notes)


def _references(nodes: list[JsonObject]) -> list[str]:
    values = [node[keyword] for node in nodes for keyword in _REFERENCES if keyword in node]
    return [value for value in values if isinstance(value, str)]


def _anchors(nodes: list[JsonObject]) -> set[str]:
    """Names under which parts of the schema can be reached."""
    values = [node[keyword] for node in nodes for keyword in _ANCHORS if keyword in node]
    return {value.removeprefix("#").removesuffix("#") for value in values if isinstance(value, str)}


def _is_anchored(reference: str, anchors: set[str]) -> bool:
    if reference.startswith("#"):
        return reference[1:] in anchors and not reference.startswith("#/")
    document = reference.partition("#")[0]
    return document in anchors


def _listed(references: dict[str, None]) -> str:
    return enumerated(quoted(reference) for reference in references)
