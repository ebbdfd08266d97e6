"""The invalidation bus of one process: a hint reaches every listener before `publish` returns."""

from collections.abc import Callable

Listener = Callable[[str | None], None]
"""Takes a PID, or None for "anything may have changed"."""


class MemoryBus:
    """Hands hints to the listeners of this process, the one who caused the hint included.

    That the cause hears itself is one LOOK too many and no more: a doubled hint makes no difference
    (REPLICAS rule 21).
    """

    def __init__(self) -> None:
        self._listeners: dict[object, Listener] = {}

    def __bool__(self) -> bool:
        """Whether anybody listens."""
        return bool(self._listeners)

    async def publish(self, pid: str) -> None:
        """Tell every listener that the record of this PID may have changed."""
        self.tell(pid)

    def tell(self, pid: str | None) -> None:
        """Call every listener, in the order in which they subscribed; None after a gap."""
        for listener in tuple(self._listeners.values()):
            listener(pid)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` for each hint until the returned function is called, once or often."""
        token = object()
        self._listeners[token] = listener

        def unsubscribe() -> None:
            self._listeners.pop(token, None)

        return unsubscribe
