"""Listeners that are told of something, one after the other, whatever one of them does."""

import logging
from collections.abc import Callable
from typing import Final, Generic, TypeVar

_log = logging.getLogger(__name__)

T = TypeVar("T")


class Listeners(Generic[T]):
    """Calls every listener in the order in which they came; one that raises costs nobody else.

    Args:
        what: What they listen to, for the log entry about one that raises.
    """

    def __init__(self, what: str) -> None:
        self._what: Final = what
        self._listeners: dict[object, Callable[[T], None]] = {}

    def subscribe(self, listener: Callable[[T], None]) -> Callable[[], None]:
        """Adds a listener; the answer removes it, however often it is called."""
        token = object()
        self._listeners[token] = listener

        def unsubscribe() -> None:
            self._listeners.pop(token, None)

        return unsubscribe

    def tell(self, news: T) -> None:
        """Tells everybody who listens when their turn comes."""
        for token, listener in tuple(self._listeners.items()):
            if token not in self._listeners:
                continue
            try:
                listener(news)
            except Exception:  # noqa: BLE001 - a listener's own fault must not stop the others
                _log.exception("a listener of %s raised", self._what)
