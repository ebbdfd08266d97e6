"""Opening connections, and where they tell what they hear."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from toolcrib.ports.upstream import ClientProfile, EraMemory, Upstream
from toolcrib.settings import ServerSettings


class Signals(Protocol):
    """Where a connection tells what it hears.

    Called on the event loop, in receive order; must not block.
    """

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """A notification arrived, declared or not.

        It came on a listen stream, the GET stream, a request's stream or a pipe.
        """
        ...

    def stream_opened(self) -> None:
        """Change signals flow from now on: an acknowledged listen, an open GET stream, a pipe."""
        ...

    def stream_lost(self) -> None:
        """A stream of signals broke; what came in between is lost.

        The connection opens it again, with backoff.
        """
        ...

    def stream_refused(self) -> None:
        """The server offers no change signals on this connection."""
        ...

    async def requested(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """A handshake-era server asks something of us; answers the raw result.

        Such as `elicitation/create` or `roots/list`. Raise `UpstreamRefused` to answer with that
        error.
        """
        ...


class Connector(Protocol):
    """Opens connections.

    One call is one attempt: it starts the process or dials, finds the era, and is ready.
    """

    def connect(
        self,
        server: ServerSettings,
        profile: ClientProfile,
        signals: Signals,
        remembered: EraMemory | None,
    ) -> AbstractAsyncContextManager[Upstream]:
        """A connection that lives as long as the context.

        Leaving it always ends the process group or the session.

        Raises, on entering: `UpstreamUnreachable`, `RequestTimedOut`, `AuthRequired`,
        `RateLimited`, `IncompatibleServer`, `ConfigError`.
        """
        ...
