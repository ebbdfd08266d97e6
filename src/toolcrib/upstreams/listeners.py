"""What a supervised connection tells those who live on it, and how late-comers catch up."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from toolcrib.ports import ServerFacts

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


class Fanout:
    """Passes what one connection says to all its listeners, and tells late-comers how things stand.

    A connector may hear signals before its connection counts as up; they are kept until then, so
    that every listener sees `connected` first.
    """

    def __init__(self) -> None:
        self._listeners: dict[ConnectionListener, None] = {}
        self._facts: ServerFacts | None = None
        self._stream: StreamState = "unknown"
        self._early: list[tuple[str, Mapping[str, Any]]] = []

    def add(self, listener: ConnectionListener) -> None:
        """Adds a listener and tells it what it missed."""
        self._listeners[listener] = None
        if self._facts is not None:
            listener.connected(self._facts)
            if self._stream != "unknown":
                listener.stream_changed(self._stream)

    def remove(self, listener: ConnectionListener) -> None:
        """Forgets a listener."""
        self._listeners.pop(listener, None)

    def __len__(self) -> int:
        return len(self._listeners)

    def connected(self, facts: ServerFacts) -> None:
        """Tells everybody that the connection is up, then what was heard before."""
        self._facts = facts
        for listener in tuple(self._listeners):
            listener.connected(facts)
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
        for listener in tuple(self._listeners):
            listener.disconnected(detail)

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Passes a notification on."""
        if self._facts is None:
            self._early.append((method, params))
            return
        for listener in tuple(self._listeners):
            listener.notified(method, params)

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
        if self._facts is None:
            return
        for listener in tuple(self._listeners):
            listener.stream_changed(self._stream)
