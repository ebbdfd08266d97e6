"""A version that a server publishes itself: another one than at the last listing makes that stale.

It is looked for in answers that come anyway; nothing is asked for its sake.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolcrib.core.snapshot import Kind
from toolcrib.protocol.version_source import VersionSource

_LISTED: Final = {kind.method: kind for kind in Kind}


class VersionWatch:
    """Remembers which version each catalog of a server was last seen with."""

    def __init__(self, source: VersionSource) -> None:
        self._source = source
        self._latest: str | None = None
        self._known: dict[Kind, str] = {}

    def heard(
        self,
        method: str,
        params: Mapping[str, Any],
        result: Mapping[str, Any],
        kinds: Iterable[Kind],
    ) -> tuple[Kind, ...]:
        """Which of these catalogs are of another version than this answer; each is told once.

        The first sight tells nothing. A listing that begins with another version is of that one; it
        is stale itself only where the version moves between its pages.
        """
        version = self._source.version(method, params, result)
        if version is None:
            return ()
        listed = _LISTED.get(method)
        if listed is not None and params.get("cursor") is None:
            self._known[listed] = version
        moved = tuple(kind for kind in kinds if self._moved(kind, version))
        self._latest = version
        return moved

    def _moved(self, kind: Kind, version: str) -> bool:
        known = self._known.get(kind, self._latest)
        self._known[kind] = version
        return known is not None and known != version
