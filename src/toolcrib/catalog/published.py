"""The one hook through which changed content reaches index, stubs and hosts: ordered, lossless,
coalescing.
"""

import logging
from collections.abc import Callable

from toolcrib.catalog.access import PublishedChange

_log = logging.getLogger(__name__)

Listener = Callable[[PublishedChange], None]


class PublishedHook:
    """Calls every listener after each change of content, in the order of the changes.

    Calls are synchronous and come from the one place that assigns the snapshot, so a listener that
    only marks what it has to do loses nothing and coalesces as it likes. One that raises is logged
    and costs nobody else.
    """

    def __init__(self) -> None:
        self._listeners: dict[object, Listener] = {}

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Adds a listener; the answer removes it, however often it is called."""
        token = object()
        self._listeners[token] = listener

        def unsubscribe() -> None:
            self._listeners.pop(token, None)

        return unsubscribe

    def publish(self, change: PublishedChange) -> None:
        """Tells everybody."""
        for listener in tuple(self._listeners.values()):
            try:
                listener(change)
            except Exception:  # a listener's own fault must not stop the others or the keeper
                _log.exception("a listener of published changes raised")
