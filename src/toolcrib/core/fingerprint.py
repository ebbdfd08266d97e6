"""Hashes that say what is equal: definitions, contracts of tools, whole listings.

All are whole SHA-256 sums, 64 hex digits. Half of that would do against accidents; but a server
may prepare two definitions with one fingerprint, have a person approve the harmless one and serve
the other. Collisions against a truncated sum of 128 bits are within reach of somebody who tries
hard, and the digits cost nothing, because no model ever sees them.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from toolcrib.core.canonical import canonical
from toolcrib.core.jsontypes import JsonArray, JsonObject, is_array, is_object
from toolcrib.core.schema import KEYWORDS_WITH_SCHEMAS, LISTED, NAMED
from toolcrib.core.snapshot import Item, Kind, Quarantined

WORDS = frozenset({"$comment", "description", "examples", "title"})
"""Keywords that inform readers and bind no call; dropped at schema positions, nowhere else."""


def hashed(canonical_json: bytes) -> str:
    """The sum of a canonical form."""
    return hashlib.sha256(canonical_json).hexdigest()


def fingerprint(definition: object) -> str:
    """The hash of a whole definition as received.

    Raises:
        ValueError, TypeError: if it has no canonical form; see `canonical`.
    """
    return hashed(canonical(definition))


def contract(tool: Mapping[str, Any]) -> str:
    """The hash of what a call depends on: original name, and both schemas without their words."""
    return hashed(canonical([tool.get("name"), *_schemas(tool)]))


def shape(tool: Mapping[str, Any]) -> str:
    """The contract without the name: equal for a tool that was only renamed."""
    return hashed(canonical(_schemas(tool)))


def _schemas(tool: Mapping[str, Any]) -> list[object]:
    return [wordless(tool.get("inputSchema")), wordless(tool.get("outputSchema"))]


def wordless(schema: object) -> object:
    """A schema without `WORDS` at schema positions; data and unknown keywords are kept."""
    if not is_object(schema):
        return schema
    root: JsonObject = {}
    stack: list[tuple[JsonObject, JsonObject]] = [(schema, root)]
    while stack:
        source, copy = stack.pop()
        for keyword, value in source.items():
            if keyword in WORDS:
                continue
            if keyword in KEYWORDS_WITH_SCHEMAS:
                copy[keyword] = _begun(keyword, value, stack)
            else:
                copy[keyword] = value
    return root


def _begun(keyword: str, value: object, stack: list[tuple[JsonObject, JsonObject]]) -> object:
    """The value of a keyword that holds schemas, with empty copies that the stack will fill."""

    def begin(inner: object) -> object:
        if not is_object(inner):
            return inner
        copy: JsonObject = {}
        stack.append((inner, copy))
        return copy

    if is_array(value):
        copies: JsonArray = [begin(inner) for inner in value] if keyword in LISTED else value
        return copies
    if keyword in NAMED:
        return {name: begin(inner) for name, inner in value.items()} if is_object(value) else value
    return begin(value)


def digest(kind: Kind, items: Iterable[Item], quarantined: Iterable[Quarantined] = ()) -> str:
    """The hash of a whole snapshot, whatever the order in which its definitions were received.

    Usable and quarantined definitions are kept apart in it: where two tools claim one name, which
    of them is served is part of the content.
    """
    served = sorted(item.fingerprint for item in items)
    kept_out = sorted(item.fingerprint for item in quarantined)
    return hashed(canonical([kind.label, served, kept_out]))


def exposed_digest(kind: Kind, exposed: Iterable[tuple[str, str]]) -> str:
    """The hash of a listing that is shown: pairs of exposed name and fingerprint, in any order."""
    return hashed(canonical([kind.label, sorted([name, mark] for name, mark in exposed)]))
