"""The one hook through which changed content reaches index, stubs and hosts.

It is ordered and lossless, and lets each listener coalesce as it likes.
"""

from collections import deque
from collections.abc import Callable

from toolcrib.catalog.access import PublishedChange
from toolcrib.catalog.listening import Listeners
from toolcrib.catalog.resource_news import ResourceNews

Listener = Callable[[PublishedChange], None]


class PublishedHook:
    """Calls every listener after each change of content, in the order of the changes.

    Calls are synchronous and come from the one place that assigns the snapshot, so a listener that
    only marks what it has to do loses nothing and coalesces as it likes. One that raises is logged
    and costs nobody else. A change that a listener causes is told after the one it heard of.
    """

    def __init__(self) -> None:
        self._listeners = Listeners[PublishedChange]("published changes")
        self._due: deque[PublishedChange] = deque()
        self._telling = False
        self.resources = Listeners[ResourceNews]("news about resources")
        """Passes on what servers say of single resources."""

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Adds a listener; the answer removes it, however often it is called."""
        return self._listeners.subscribe(listener)

    def publish(self, change: PublishedChange) -> None:
        """Tells everybody."""
        self._due.append(change)
        if self._telling:
            return
        self._telling = True
        try:
            while self._due:
                self._listeners.tell(self._due.popleft())
        finally:
            self._telling = False
