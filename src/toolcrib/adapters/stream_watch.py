"""What a transport tells about the stream that carries a server's unasked-for messages.

The seam between the HTTP transports, which open and re-open that stream, and the session, which
turns its state into `ports.Signals`.
"""

from typing import Final, Protocol

HTTP_OUTCOME: Final = "dev.toolcrib/http"
"""Key in a JSON-RPC error's `data` under which the HTTP transports, and nobody else, put what HTTP
itself said: see `http_outcome`."""


class StreamWatch(Protocol):
    """Hears of the GET stream (handshake revisions) or the SSE channel; must not block."""

    def stream_opened(self) -> None:
        """The stream is open: what the server sends without being asked arrives from now on."""
        ...

    def stream_lost(self, reason: str) -> None:
        """The open stream broke; the transport re-opens it by itself, or ends the connection."""
        ...

    def stream_refused(self, reason: str) -> None:
        """The server offers no such stream, and the transport has stopped asking."""
        ...
