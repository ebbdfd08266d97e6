"""One live connection to one server."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from toolcrib.core.jsontypes import is_object

Era = Literal["modern", "handshake"]


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """What we declare to an upstream on behalf of whoever is served: the capability class."""

    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """ClientCapabilities as JSON, such as `{"elicitation": {"form": {}}}`."""
    name: str = "toolcrib"
    version: str = "0"

    @property
    def capability_class(self) -> tuple[str, ...]:
        """The dimension of the partition: sorted flat names.

        Such as `("elicitation.form", "roots")`.
        """
        names: set[str] = set()
        for key, value in self.capabilities.items():
            inner = [f"{key}.{sub}" for sub in value] if is_object(value) and value else [key]
            names.update(inner)
        return tuple(sorted(names))


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a connected server said of itself.

    For display and capability checks only, never for trust.
    """

    era: Era
    protocol_version: str
    capabilities: Mapping[str, Any]
    name: str = ""
    version: str = ""
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class EraMemory:
    """What is remembered of a server between starts."""

    era: Era
    protocol_version: str
    decided_at: float
    """Seconds since the epoch."""


Progress = Callable[[float, float | None, str | None], Awaitable[None]]

Ask = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Has a question of a server answered: (method, params) -> result, raw on both sides.

Methods are `elicitation/create`, `sampling/createMessage` and `roots/list`. Raises
`UpstreamRefused` to answer with that error.
"""

Heard = Callable[[str, Mapping[str, Any]], Awaitable[None]]
"""Takes a notification that belongs to one request, such as `notifications/message`."""


@dataclass(frozen=True, slots=True, eq=False)
class RequestContext:
    """What goes with one request to a server beside its parameters."""

    capabilities: Mapping[str, Any] | None = None
    """What whoever is behind this request can be asked, as `ClientCapabilities`; None: what the
    connection's profile says. Connections of the handshake revisions declared theirs for good."""
    input_schema: object = None
    """For `tools/call`: the input schema in the newest snapshot, from which parameters are mirrored
    into HTTP headers."""
    ask: Ask | None = None
    """Answers what a handshake-era server asks while this request is under way."""
    heard: Heard | None = None
    """Takes log messages that belong to this request."""
    log_level: str = ""
    """From which level on log messages are wanted; empty: none are."""
    caller: object = None
    """Who is behind this request: equal for requests of one caller, never for those of two.

    Where many requests share a pipe, it tells whom a question or a log message may be for. None:
    nothing is known, and only requests with equal `ask` or `heard` count as of one caller.
    """


class Upstream(Protocol):
    """One live connection to one server, in one era, with one client profile.

    Every failure is a `ToolcribError`: `UpstreamRefused` for a JSON-RPC error of the server (with
    HTTP status, challenge and Retry-After where there were any), `AuthRequired` for 401 and 403,
    `RateLimited` for 429, `RequestTimedOut` after `timeout`, `ResultInvalid` for an answer that
    came and cannot be read, `UpstreamUnreachable` for everything that broke the transport.
    """

    @property
    def facts(self) -> ServerFacts:
        """What the server said of itself when it was connected."""
        ...

    @property
    def closed(self) -> bool:
        """Whether the connection is over; requests then raise `UpstreamUnreachable` at once."""
        ...

    @property
    def stderr(self) -> str:
        """The tail of what a process wrote to standard error; empty for other transports."""
        ...

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
        headers: Mapping[str, str] | None = None,
        context: RequestContext | None = None,
    ) -> dict[str, Any]:
        """Send a request under an id of our own and return the raw result, whatever its shape.

        Time in which `context.ask` is being answered does not count into `timeout`.

        The envelope of the era (`_meta` keys and HTTP headers of MCP 2026-07-28, or the negotiated
        version header) is added here; cancelling the caller cancels the request upstream in the way
        of its era and transport.
        """
        ...

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification; a broken connection is no error."""
        ...

    async def wait_closed(self) -> str:
        """Wait until the connection is over; the reason, in one sentence."""
        ...
