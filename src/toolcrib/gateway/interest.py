"""Which catalogs hosts still care for: those they listed, while a stream of theirs is open."""

from collections.abc import Callable

from toolcrib.catalog.access import CatalogAccess
from toolcrib.core.snapshot import Kind
from toolcrib.wire.audience import TOPIC_OF, Audience


class Interest:
    """Keeps polls of silent servers going for as long as a host is subscribed."""

    def __init__(self, access: CatalogAccess, audience: Audience) -> None:
        self._access = access
        self._audience = audience
        self._listed: set[Kind] = set()
        self._watches: dict[Kind, Callable[[], None]] = {}
        audience.on_change(self._review)

    def listed(self, kind: Kind) -> None:
        """A host has seen this listing, so it may wait for news of it."""
        if kind not in self._listed:
            self._listed.add(kind)
            self._review()

    def leave(self) -> None:
        """Cares for nothing any more; idempotent."""
        self._listed.clear()
        self._review()

    def _review(self) -> None:
        wanted = {kind for kind in self._listed if self._audience.wants(TOPIC_OF[kind])}
        for kind in wanted - self._watches.keys():
            self._watches[kind] = self._access.watch(kind)
        for kind in self._watches.keys() - wanted:
            self._watches.pop(kind)()
