"""The kinds of change signal: their capability, their notification, their name in a filter."""

from collections.abc import Mapping
from typing import Any, Final

from toolcrib.core.jsontypes import is_object

FILTER_NAMES: Final[Mapping[str, str]] = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}
"""Capability -> member of the filter of `subscriptions/listen` (MCP 2026-07-28, subscriptions)."""


def declared_kinds(capabilities: Mapping[str, Any]) -> frozenset[str]:
    """The capabilities for which a server says that it signals changes (`listChanged: true`)."""
    return frozenset(kind for kind in FILTER_NAMES if _declares(capabilities.get(kind)))


def honoured_kinds(acknowledged: object) -> frozenset[str]:
    """The capabilities in the filter that an acknowledgement gives back; none if unreadable."""
    if not is_object(acknowledged):
        return frozenset()
    return frozenset(kind for kind, name in FILTER_NAMES.items() if acknowledged.get(name) is True)


def _declares(capability: object) -> bool:
    return is_object(capability) and capability.get("listChanged") is True
