"""Where the references of one schema lead, inside it: pointers, anchors, embedded identifiers.

JSON Schema 2020-12 core, sections 8 and 9. Nothing outside is ever looked for.
"""

from typing import Final
from urllib.parse import urldefrag, urljoin

from toolcrib.core.jsontypes import JsonObject, is_object
from toolcrib.core.refs import MISSING, Missing, resolved
from toolcrib.core.schema import subschemas

_ANCHORS: Final = ("$anchor", "$dynamicAnchor")


class References:
    """Identifiers and anchors of one schema, found once."""

    def __init__(self, root: object, identifier: str = "$id") -> None:
        """Walk along a schema whose dialect calls identifiers `identifier`."""
        self._root = root
        self._identifier = identifier
        self._documents: dict[str, object] = {"": root}
        self._anchors: dict[tuple[str, str], object] = {}
        self._dynamic: dict[str, list[object]] = {}
        self._bases: dict[int, str] = {}
        stack: list[tuple[object, str]] = [(root, "")]
        while stack:
            node, base = stack.pop()
            if is_object(node):
                base = self._enter(node, base)
                stack += [(inner, base) for _, inner in subschemas(node)]

    def _enter(self, node: JsonObject, base: str) -> str:
        own = node.get(self._identifier)
        if isinstance(own, str):
            base, anchor = _split(base, own)
            if anchor:
                self._anchors[base, anchor] = node
            else:
                self._documents[base] = node
        for keyword in _ANCHORS:
            name = node.get(keyword)
            if isinstance(name, str):
                self._anchors[base, name] = node
        dynamic = node.get("$dynamicAnchor")
        if isinstance(dynamic, str):
            self._dynamic.setdefault(dynamic, []).append(node)
        self._bases[id(node)] = base
        return base

    def target(self, node: JsonObject, reference: str) -> object:
        """What a reference that stands in `node` points at; `MISSING` where that is not inside."""
        document, fragment = _split(self._bases.get(id(node), ""), reference)
        root = self._documents.get(document, MISSING)
        if isinstance(root, Missing) or not fragment:
            return root
        if fragment.startswith("/"):
            return resolved(root, f"#{fragment}")
        return self._anchors.get((document, fragment), MISSING)

    def targets(self, node: JsonObject) -> list[object]:
        """Everything the references in a node may lead to, `MISSING` for each that leads out."""
        found: list[object] = []
        reference = node.get("$ref")
        if isinstance(reference, str):
            found.append(self.target(node, reference))
        dynamic = node.get("$dynamicRef")
        if isinstance(dynamic, str):
            named = self._dynamic.get(dynamic.removeprefix("#"), [])
            found += named or [self.target(node, dynamic)]
        if isinstance(node.get("$recursiveRef"), str):
            found.append(self._root)
        return found


def _split(base: str, reference: str) -> tuple[str, str]:
    """The absolute document and the fragment of a reference."""
    if reference.startswith("#"):
        return base, reference[1:]
    try:
        document, fragment = urldefrag(urljoin(base, reference))
    except ValueError:
        return reference, ""
    return document, fragment
