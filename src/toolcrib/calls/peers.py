"""Calls to a server that is itself a toolcrib: what it is told that we saw, and what it refuses.

A peer marks each tool with its contract and each listing with a digest (DESIGN section 9). A call
to it carries both back, so that it can refuse what its own newest catalog contradicts. A server
that marked nothing is sent nothing.
"""

from collections.abc import Mapping
from typing import Any, Final

from toolcrib.calls.admission import Admitted
from toolcrib.core.jsontypes import is_object
from toolcrib.core.snapshot import Item
from toolcrib.errors import ChangedSilently, SchemaChanged, ToolGone
from toolcrib.protocol.envelope import CONTRACT_KEY, own_mark

_OUTDATED: Final = frozenset({SchemaChanged.code, ToolGone.code, ChangedSilently.code})
"""Codes of refusals that say: your catalog is not mine any more, and nothing was done."""


def marked_contract(item: Item) -> str:
    """The contract that a peer marked its tool with; empty for any other server."""
    return own_mark(item.definition.get("_meta"), CONTRACT_KEY)


def seen_of(admitted: Admitted) -> dict[str, str]:
    """What a call tells a peer that was seen of it; nothing for any other server."""
    snapshot = admitted.reading.snapshot
    marks = {
        "contract": marked_contract(admitted.item),
        "digest": "" if snapshot is None else snapshot.hints.peer_digest,
    }
    return {name: mark for name, mark in marks.items() if mark}


def outdated(item: Item, result: Mapping[str, Any]) -> str | None:
    """What a peer says where it refused a call made from an older catalog; None: it did not."""
    structured = result.get("structuredContent")
    error = structured.get("error") if is_object(structured) else None
    if not marked_contract(item) or result.get("isError") is not True or not is_object(error):
        return None
    code, message = error.get("code"), error.get("message")
    if not isinstance(code, str) or code not in _OUTDATED:
        return None
    if error.get("tool", item.key) != item.key:
        # What a peer's `call_tool` refuses speaks of the tool that was to be called through it.
        return None
    return message if isinstance(message, str) else code
