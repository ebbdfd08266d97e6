"""What a server may ask of a client, and which client capability lets it.

MCP 2026-07-28, client: elicitation, sampling, roots; the handshake revisions ask the same.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from toolcrib.core.jsontypes import is_object

CAPABILITY_OF: Final[Mapping[str, str]] = MappingProxyType(
    {
        "elicitation/create": "elicitation",
        "roots/list": "roots",
        "sampling/createMessage": "sampling",
    }
)
"""Method of a question -> the client capability that lets it be asked."""


def lacking(
    method: str, params: Mapping[str, Any], capabilities: Mapping[str, Any]
) -> dict[str, Any]:
    """What a client would have to declare besides, to be asked this; empty where it declared it.

    The answer is in the form of `ClientCapabilities`. An elicitation without a mode is a form, and
    a client that declares no modes takes forms only (elicitation: capabilities).
    """
    name = CAPABILITY_OF[method]
    declared = capabilities.get(name)
    needed: dict[str, Any] = {}
    if name == "elicitation":
        mode = "url" if params.get("mode") == "url" else "form"
        needed = {mode: {}}
        if mode == "form" and is_object(declared) and "url" not in declared:
            return {}
    elif name == "sampling" and ("tools" in params or "toolChoice" in params):
        needed = {"tools": {}}
    if is_object(declared) and all(is_object(declared.get(part)) for part in needed):
        return {}
    return {name: needed}
