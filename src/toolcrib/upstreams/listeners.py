"""What a supervised connection tells those who live on it, and how late-comers catch up."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from toolcrib.ports import ServerFacts

_log = logging.getLogger(__name__)

StreamState = Literal["unknown", "open", "lost", "refused"]


class ConnectionListener(Protocol):
    """Hears about one connection, in order.

    First connected, then its streams and notifications, then disconnected.
    """

    def connected(self, facts: ServerFacts) -> None:
        """A connection is up, for the first time or again."""
        ...

    def disconnected(self, detail: str) -> None:
        """The connection is down, or an attempt failed."""
        ...

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """A notification arrived."""
        ...

    def stream_changed(self, state: StreamState) -> None:
        """Change signals flow, broke off, or are not offered."""
        ...


def log_fault(fault: Exception) -> None:
    """Report a listener's fault where nobody else takes it."""
    _log.error("a listener of a connection failed: %s", type(fault).__name__)


class Fanout:
    """Passes what one connection says to all its listeners, and tells late-comers how things stand.

    A connector may hear signals before its connection counts as up; they are kept until then, so
    that every listener sees `connected` first. What one listener raises is reported; the others
    hear the same, and it goes on hearing what comes later.
    """

    def __init__(self, report: Callable[[Exception], None] = log_fault) -> None:
        self._report = report
        self._listeners: dict[ConnectionListener, None] = {}
        self._facts: ServerFacts | None = None
        self._stream: StreamState = "unknown"
        self._early: list[tuple[str, Mapping[str, Any]]] = []

    def add(self, listener: ConnectionListener) -> None:
        """Adds a listener and tells it what it missed."""
        self._listeners[listener] = None
        facts, stream = self._facts, self._stream
        if facts is not None:
            self._tell(listener, lambda it: it.connected(facts))
            if stream != "unknown":
                self._tell(listener, lambda it: it.stream_changed(stream))

    def remove(self, listener: ConnectionListener) -> None:
        """Forgets a listener."""
        self._listeners.pop(listener, None)

    def __len__(self) -> int:
        return len(self._listeners)

    def connected(self, facts: ServerFacts) -> None:
        """Tells everybody that the connection is up, then what was heard before."""
        self._facts = facts
        self._tell_all(lambda it: it.connected(facts))
        if self._stream != "unknown":
            self._tell_stream()
        early, self._early = self._early, []
        for method, params in early:
            self.notified(method, params)

    def disconnected(self, detail: str) -> None:
        """Tells everybody that the connection is down."""
        self._facts = None
        self._stream = "unknown"
        self._early.clear()
        self._tell_all(lambda it: it.disconnected(detail))

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Passes a notification on."""
        if self._facts is None:
            self._early.append((method, params))
            return
        self._tell_all(lambda it: it.notified(method, params))

    def stream_opened(self) -> None:
        """Change signals flow from now on."""
        self._stream = "open"
        self._tell_stream()

    def stream_lost(self) -> None:
        """The stream of signals broke."""
        self._stream = "lost"
        self._tell_stream()

    def stream_refused(self) -> None:
        """The server offers no signals."""
        self._stream = "refused"
        self._tell_stream()

    def _tell_stream(self) -> None:
        stream = self._stream
        if self._facts is not None:
            self._tell_all(lambda it: it.stream_changed(stream))

    def _tell_all(self, tell: Callable[[ConnectionListener], None]) -> None:
        for listener in tuple(self._listeners):
            self._tell(listener, tell)

    def _tell(
        self, listener: ConnectionListener, tell: Callable[[ConnectionListener], None]
    ) -> None:
        try:
            tell(listener)
        except Exception as fault:  # noqa: BLE001 - one listener's fault must not be another's
            self._report(fault)
