"""Extensions of MCP that are not spoken here, and what their marks in a definition become.

An extension counts only where both sides of a hop declare it (MCP 2026-07-28, versioning:
extensions). We declare none, so a mark that got through would promise what cannot be kept.
"""

from collections.abc import Mapping
from typing import Any, Final

_APPS: Final = ("ui", "ui/")
"""MCP apps: the member of `_meta`, and the prefix of its older form."""


def without_apps(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    """A definition's `_meta` without what MCP apps put there: views that nobody would show."""
    if not any(_is_of_apps(key) for key in meta):
        return meta
    return {key: value for key, value in meta.items() if not _is_of_apps(key)}


def _is_of_apps(key: str) -> bool:
    member, prefix = _APPS
    return key == member or key.startswith(prefix)
